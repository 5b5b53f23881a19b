// Command qdnb trains quality-diversity and skill-discovery algorithms and shows what they found.
//
//	qdnb train --algorithm map-elites --env pointmaze --generations 100
//	qdnb show runs/map-elites-pointmaze-0-1a2b3c4d
//	qdnb doctor
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	_ "example.com/qdnb/internal/addressspace"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/nb"
)

var cli struct {
	Train    trainCmd    `cmd:""`
	List     listCmd     `cmd:""`
	Show     showCmd     `cmd:""`
	Play     playCmd     `cmd:""`
	Eval     evalCmd     `cmd:""`
	Import   importCmd   `cmd:""`
	Export   exportCmd   `cmd:""`
	Sweep    sweepCmd    `cmd:""`
	Figures  figuresCmd  `cmd:""`
	Claims   claimsCmd   `cmd:""`
	Record   recordCmd   `cmd:"" name:"reproduction"`
	Doctor   doctorCmd   `cmd:""`
	Robot    robotCmd    `cmd:""`
	Notebook notebookCmd `cmd:""`
	Programs programsCmd `cmd:""`
	Version  versionCmd  `cmd:""`
	Help     helpCmd     `cmd:""`

	ShowVersion versionFlag `name:"version"`
}

// Exit codes other than 0 and 1.
const (
	exitUsage       = 2   // also of names.Wrong
	exitInterrupted = 130 // what a shell reports for a program ended by SIGINT
)

func main() {
	parser := kong.Must(&cli, kong.Name("qdnb"),
		kong.Description("Quality-diversity neuroevolution and skill discovery, compiled by XLA.\n\n"+
			"Runs are folders: rerun an interrupted command to resume its run. The backend is the best "+
			"one available, or the one set by --backend or $QDNB_BACKEND: cpu, cuda (or gpu), tpu, go, or "+
			"the path of a PJRT plugin.\n\n"+
			"Exit status: 0; 1 if the command failed; 2 if a name, value or flag is wrong, or a run, file or folder "+
			"to read does not exist; 130 if interrupted."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Help(printHelp),
		// Only commands that save or stop in order take a context; others end at the first signal.
		kong.BindToProvider(func() (context.Context, error) { return nb.Interruptible(), nil }),
	)
	addHelp(parser)
	ctx, err := parser.Parse(joined(os.Args[1:]))
	if wrong := (*kong.ParseError)(nil); errors.As(err, &wrong) && strings.HasPrefix(err.Error(), "expected one of ") {
		_ = wrong.Context.PrintUsage(false) // no command is named
		os.Exit(exitUsage)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "qdnb: %s (see `%s --help`)\n", usage(err), commandOf(err))
		os.Exit(exitUsage)
	}
	if err = ctx.Run(); err == nil {
		err = stdout.err
	}
	if slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}, func(full error) bool {
		return errors.Is(err, full) && !strings.Contains(err.Error(), "free space")
	}) {
		err = fmt.Errorf("%w: free space, or choose another folder", err)
	}
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "qdnb: interrupted")
		os.Exit(exitInterrupted)
	case errors.Is(err, qdnb.ErrInterrupted):
		fmt.Fprintln(os.Stderr, "qdnb:", oneLine(err))
		os.Exit(exitInterrupted)
	case errors.As(err, new(names.Wrong)):
		fmt.Fprintln(os.Stderr, "qdnb:", oneLine(err))
		os.Exit(exitUsage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "qdnb:", oneLine(err))
		os.Exit(1)
	}
}

// lead matches the values of flags that begin as flags do: numbers, and the axes of --forward.
var lead = regexp.MustCompile(`^-([xy]$|[0-9.])`)

// joined joins long flags with such values, as in --generations=-1.
func joined(args []string) (list []string) {
	for i, arg := range args {
		if last := i - 1; last >= 0 && strings.HasPrefix(args[last], "--") && args[last] != "--" && lead.MatchString(arg) {
			list[len(list)-1] += "=" + arg
		} else {
			list = append(list, arg)
		}
	}
	return list
}

// withoutValue matches kong's error for a flag that ends the command, or is followed by another one.
var withoutValue = regexp.MustCompile(
	`^(--?[a-z-]+): (?:expected .* value but got .*\((?:<EOL>|.* flag)\)|missing value).*$`)

// usage returns what is wrong with flags or arguments, in one line.
func usage(err error) string {
	text := withoutValue.ReplaceAllString(oneLine(err), "$1 needs a value")
	var wrong *kong.ParseError
	if !errors.As(err, &wrong) || wrong.Context.Selected() == nil || !strings.HasPrefix(text, "unexpected argument") {
		return text
	}
	for _, flag := range wrong.Context.Selected().Flags { // which the argument may be meant for
		if flag.Required && !flag.Set {
			text += ", and --" + flag.Name + "=" + flag.PlaceHolder + " is missing"
		}
	}
	return text
}

// commandOf returns the command whose flags or arguments are wrong, as far as it was parsed.
func commandOf(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context.Selected() != nil {
		return wrong.Context.Selected().FullPath()
	}
	return "qdnb"
}

// stdout is the standard output, where a command that cannot print its result fails.
var stdout = new(output)

// output remembers the first failure to write.
type output struct{ err error }

func (o *output) Write(text []byte) (int, error) {
	n, err := os.Stdout.Write(text)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("not all could be printed: free space, or redirect the output elsewhere (%w)", err)
	}
	return n, o.err
}

// checkName refuses the file of a flag whose name ends in none of the extensions.
func checkName(flag, path string, extensions ...string) error {
	if path == "" || slices.Contains(extensions, strings.ToLower(filepath.Ext(path))) {
		return nil
	}
	return names.Wrongf("%s %s: want a file that ends in %s", flag, path, strings.Join(extensions, " or "))
}

// makeFolder creates the folder named by a flag if it does not exist.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot create the folder %s: choose another one (%w)", dir, err)
	}
	return nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
