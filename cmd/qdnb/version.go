package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/alecthomas/kong"

	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla/backend"
)

type versionCmd struct{}

func (versionCmd) Run() error {
	printVersion(os.Stdout)
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
var frameworkModules = []string{"github.com/gomlx/gomlx", "github.com/gomlx/compute",
	"github.com/gomlx/go-xla"}

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
		return usageError{err}
	}
	return about.PrintUsage(false)
}
