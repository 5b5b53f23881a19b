package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla/backend"
)

// helpFile has the help of commands, flags and arguments: a section for each command, and one for
// what several commands share. Lines that begin with a $ are the examples of a command.
//
//go:embed help.txt
var helpFile string

// helpTexts parses the help by names such as "train" and "train --env", and the examples by
// command.
func helpTexts() (texts, examples map[string]string) {
	texts, examples = map[string]string{}, map[string]string{}
	command, key := "", ""
	for line := range strings.SplitSeq(strings.Replace(helpFile, "ALGORITHMS",
		strings.Join(qdnb.Algorithms(), ", "), 1), "\n") {
		name, text, _ := strings.Cut(line, "  ")
		switch {
		case line == "":
		case line[0] == '[':
			command = strings.Trim(line, "[]")
			key = command
		case line[0] == '$':
			examples[command] += "\n  " + line[2:]
		case line[0] == ' ':
			texts[key] += " " + strings.TrimSpace(line)
		case line[0] == '-' || line[0] == '<':
			key = command + " " + name
			texts[key] = text
		default:
			texts[key] = line
		}
	}
	return texts, examples
}

func addHelp(parser *kong.Kong) {
	texts, examples := helpTexts()
	var add func(*kong.Node)
	add = func(n *kong.Node) {
		command := n.Path()
		text := func(name string) string { return cmp.Or(texts[command+" "+name], texts["* "+name]) }
		n.Help = cmp.Or(n.Help, texts[command]) // the program has a description
		for _, argument := range n.Positional {
			argument.Help = text("<" + argument.Name + ">")
		}
		for _, flag := range n.Flags {
			flag.Help = cmp.Or(flag.Help, text("--"+flag.Name)) // kong has the text of --help
		}
		if lines := examples[command]; lines != "" {
			n.Detail = "For example:\n" + lines
		}
		for _, child := range n.Children {
			add(child)
		}
	}
	add(parser.Model.Node)
}

// printHelp prints the help of a command, or that of all and which build it is of.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	err := kong.DefaultHelpPrinter(options, ctx)
	if ctx.Selected() == nil {
		version, commit := session.Build()
		fmt.Fprintf(ctx.Stdout, "\nThis is qdnb %s, commit %s.\n", version, commit)
	}
	return err
}

type versionCmd struct{}

func (versionCmd) Run() error {
	printVersion(stdout)
	return nil
}

type versionFlag bool

// BeforeReset prints the version and exits before a command is looked up.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	printVersion(app.Stdout)
	app.Exit(0)
	return nil
}

// frameworkModules are the modules that compile and run programs.
var frameworkModules = []string{"github.com/gomlx/gomlx", "github.com/gomlx/compute", "github.com/gomlx/go-xla"}

// printVersion writes the versions recorded in this build and the path of the XLA:CPU plugin. It
// does not open a backend.
func printVersion(out io.Writer) {
	version, commit := session.Build()
	fmt.Fprintf(out, "qdnb      %s\ncommit    %s\ngo        %s on %s/%s\n", version, commit,
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
	found := modules(frameworkModules...)
	for _, module := range frameworkModules {
		fmt.Fprintf(out, "module    %s %s\n", module, found[module])
	}
	fmt.Fprintf(out, "plugin    %s\n", cmp.Or(backend.FindPlugin(backend.CPU),
		"none for the CPU: `qdnb doctor --install` installs it"))
}

type helpCmd struct {
	Command []string `arg:"" optional:""`
}

// Run prints the help of a command, or of all commands.
func (c *helpCmd) Run(ctx *kong.Context) error {
	about, err := kong.Trace(ctx.Kong, c.Command)
	if err == nil {
		err = about.Error
	}
	if err != nil {
		return names.Wrongf("%w (`qdnb --help` lists all commands)", err)
	}
	return about.PrintUsage(false)
}
