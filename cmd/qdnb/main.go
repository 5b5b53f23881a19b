// Command qdnb trains quality-diversity and skill-discovery algorithms and shows what they found.
//
//	qdnb train --algorithm map-elites --env pointmaze --generations 100
//	qdnb show runs/map-elites-pointmaze-0-1a2b3c4d
//	qdnb doctor
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"example.com/qdnb/qdnb"
)

var cli struct {
	Train   trainCmd   `cmd:"" help:"Train an algorithm, go on with a run that was interrupted, or extend one that is complete."`
	Show    showCmd    `cmd:"" help:"Print the numbers of a run and draw its figures."`
	Eval    evalCmd    `cmd:"" help:"Roll skills or policies of a run out again, also in a changed environment."`
	Import  importCmd  `cmd:"" help:"Make a run of a policy or a repertoire that another program found."`
	Export  exportCmd  `cmd:"" help:"Write policies or the repertoire of a run to a NumPy file."`
	Sweep   sweepCmd   `cmd:"" help:"Make plans of the paper's experiments, carry them out here or on a cluster, and collect their results."`
	Figures figuresCmd `cmd:"" help:"Draw the figures and write the tables of the paper from the runs of its experiments."`
	Claims  claimsCmd  `cmd:"" help:"Say which claims of the paper the runs that are there bear out."`
	Doctor  doctorCmd  `cmd:"" help:"Say which backend is found, and what to do if one is missing."`
	Bench   benchCmd   `cmd:"" help:"Measure the speed on this machine."`
	Verify  verifyCmd  `cmd:"" help:"Compare the environments of this build, on this machine's backend, with golden files."`
	Version versionCmd `cmd:"" help:"Print the versions of this build, Go, GoMLX and the XLA plugin."`
	Help    helpCmd    `cmd:"" help:"Print the help of a command."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`
}

// exit codes beside 0 and 1.
const (
	exitUsage       = 2
	exitInterrupted = 130 // as a shell reports a program that SIGINT ended
)

func main() {
	parser := kong.Must(&cli,
		kong.Name("qdnb"),
		kong.Description("Quality-diversity neuroevolution and skill discovery, compiled by XLA.\n\n"+
			"Runs are folders: rerun a command that was interrupted to resume its run. The backend is the "+
			"best that is found, "+
			"or what --backend or $QDNB_BACKEND says: cpu, cuda (or gpu), tpu, go, or the path of a PJRT "+
			"plugin."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	addExamples(parser)
	ctx, err := parser.Parse(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "qdnb: %s (`%s --help` says more)\n", oneLine(err), commandOf(err))
		os.Exit(exitUsage)
	}
	err = ctx.Run()
	switch {
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

// commandOf is the command whose flags or arguments are wrong, as far as it was given.
func commandOf(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context.Selected() != nil {
		return wrong.Context.Selected().FullPath()
	}
	return "qdnb"
}

// usageError is a mistake in the command line that a command finds itself.
type usageError struct{ error }

// makeFolder makes the folder that a flag names, where it is not there.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot make the folder %s: name another one (%w)", dir, err)
	}
	return nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
