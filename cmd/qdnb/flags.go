package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// runsFlag is that of all commands that look for runs.
type runsFlag struct {
	Runs string `placeholder:"DIR" help:"Folder of the runs (default $QDNB_RUNS, else \"runs\")."`
}

func (f runsFlag) folder() string { return cmp.Or(f.Runs, runs.Folder()) }

// backendFlag is that of all commands that compute.
type backendFlag struct {
	Backend string `placeholder:"NAME" help:"Backend: cpu, cuda (or gpu), tpu, go, or the path of a PJRT plugin (default $QDNB_BACKEND, else the best that is found)."`
}

// AfterApply refuses a name that no backend has, whether or not there is anything to compute.
func (f *backendFlag) AfterApply() error {
	_, err := xla.Canonical(f.Backend)
	return err
}

// runArg names the run that a command is about, as an argument or by a flag.
type runArg struct {
	Target string `arg:"" optional:"" name:"run" help:"Folder of a run, or its name in the folder of the runs; the beginning of a name is enough if it is the only one."`
	Named  string `name:"run" placeholder:"RUN" help:"The same, as a flag."`
	runsFlag
}

// Validate refuses a command without a run, or with two.
func (r *runArg) Validate() error {
	switch {
	case r.Target == "" && r.Named == "":
		return errors.New("which run? Name it, as in map-elites-pointmaze-0")
	case r.Target != "" && r.Named != "" && r.Target != r.Named:
		return fmt.Errorf("give one run, not %s and %s", r.Target, r.Named)
	}
	return nil
}

// find opens the run.
func (r *runArg) find() (*runs.Run, error) {
	return runs.LoadFrom(r.folder(), cmp.Or(r.Target, r.Named))
}

// point is the value of a flag: two coordinates.
type point [2]float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *point) UnmarshalText(text []byte) error {
	x, y, _ := strings.Cut(string(text), ",")
	var wrong [2]error
	p[0], wrong[0] = strconv.ParseFloat(x, 64)
	p[1], wrong[1] = strconv.ParseFloat(y, 64)
	if errors.Join(wrong[:]...) != nil {
		return errors.New("a point has two coordinates, as in 10,30, and is not " + strconv.Quote(string(
			text)))
	}
	return nil
}
