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
	"strings"

	"github.com/alecthomas/kong"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/nb"
)

var cli struct {
	Train    trainCmd    `cmd:"" help:"Train an algorithm, resume an interrupted run, or extend a complete one."`
	Show     showCmd     `cmd:"" help:"Print the numbers of a run and draw its figures."`
	Eval     evalCmd     `cmd:"" help:"Re-evaluate skills or policies of a run, optionally in a perturbed environment."`
	Import   importCmd   `cmd:"" help:"Create a run from a policy or repertoire trained elsewhere."`
	Export   exportCmd   `cmd:"" help:"Write policies or the repertoire of a run to a NumPy file."`
	Sweep    sweepCmd    `cmd:"" help:"Plan the paper's experiments, run them here or on a cluster, and collect the results."`
	Figures  figuresCmd  `cmd:"" help:"Draw the paper's figures and tables from existing runs."`
	Claims   claimsCmd   `cmd:"" help:"Check the paper's claims against existing runs."`
	Record   recordCmd   `cmd:"" name:"reproduction" help:"Record what runs reach in each cell of the paper's tables 1 and 9, as a page with a figure."`
	Doctor   doctorCmd   `cmd:"" help:"Check the installation and show which backend is available."`
	Bench    benchCmd    `cmd:"" help:"Benchmark this machine."`
	Verify   verifyCmd   `cmd:"" help:"Verify the environments against golden files on this machine's backend."`
	Programs programsCmd `cmd:"" help:"Write the StableHLO of every program of a run, as it is built for a kind of backend, without compiling it."`
	Version  versionCmd  `cmd:"" help:"Print the versions of this build, Go, GoMLX and the XLA plugin."`
	Help     helpCmd     `cmd:"" help:"Print the help of a command."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`
}

// Exit codes other than 0 and 1.
const (
	exitUsage       = 2
	exitInterrupted = 130 // what a shell reports for a program ended by SIGINT
)

func main() {
	parser := kong.Must(&cli,
		kong.Name("qdnb"),
		kong.Description("Quality-diversity neuroevolution and skill discovery, compiled by XLA.\n\n"+
			"Runs are folders: rerun an interrupted command to resume its run. The backend is the best "+
			"one available, or the one set by --backend or $QDNB_BACKEND: cpu, cuda (or gpu), tpu, go, or "+
			"the path of a PJRT plugin."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		// Only commands that save or stop in order take a context; others end at the first signal.
		kong.BindToProvider(func() (context.Context, error) { return nb.Interruptible(), nil }),
	)
	addExamples(parser)
	ctx, err := parser.Parse(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "qdnb: %s (see `%s --help`)\n", oneLine(err), commandOf(err))
		os.Exit(exitUsage)
	}
	err = ctx.Run()
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "qdnb: interrupted")
		os.Exit(exitInterrupted)
	case errors.Is(err, qdnb.ErrInterrupted):
		fmt.Fprintln(os.Stderr, "qdnb:", oneLine(err))
		os.Exit(exitInterrupted)
	case errors.As(err, new(usageError)):
		fmt.Fprintf(os.Stderr, "qdnb: %s (`qdnb --help` lists all commands)\n", oneLine(err))
		os.Exit(exitUsage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "qdnb:", oneLine(err))
		os.Exit(1)
	}
}

// commandOf returns the command whose flags or arguments are wrong, as far as it was parsed.
func commandOf(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context.Selected() != nil {
		return wrong.Context.Selected().FullPath()
	}
	return "qdnb"
}

// usageError is a command-line mistake found by the command itself.
type usageError struct{ error }

// makeFolder creates the folder named by a flag if it does not exist.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot create the folder %s: choose another one (%w)", dir, err)
	}
	return nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
