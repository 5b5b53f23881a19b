# Corrections to GoNB v0.11.5, with which `tools/setup go` builds it.

# A line of standard error with two colons before "main.go:N", such as klog's, kills the kernel.
s/strings\.Repeat(" ", col-1)/strings.Repeat(" ", max(col-1, 0))/

# A failed cell repeats the lines with places as HTML, which only those need that were not mapped to
# lines of cells before: a panic writes its places in pieces.
s/^\terrorLines .*/&\n\tmapped bool/
s/^\t\tres := bytes\.Join(\[\]\[\]byte{cellText, match}, nil)/\t\tw.mapped = true\n&/
s/if len(annotator\.errorLines) > 0 {/if len(annotator.errorLines) > 0 \&\& !annotator.mapped {/

# A failed cell prints its exit status on standard error, and the error below it repeats it.
s/if exec\.exitError != nil {/if exec.exitError != nil \&\& !exec.useNamedPipes {/

# The kernel tells the version of Go, and no lexer: JupyterLab writes both into each notebook that it
# opens, which is then unsaved.
s/^\t\t\t\tVersion:       runtime\.Version(),/\t\t\t\tVersion:       runtime.Version()[:0],\n\t\t\t\tPygmentsLexer: "go",/
