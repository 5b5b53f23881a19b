package main

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"example.com/qdnb/qdnb/runs"
)

// runsFlag is that of all commands that look for runs.
type runsFlag struct {
	Runs string `placeholder:"DIR" help:"Folder of the runs (default $QDNB_RUNS, else \"runs\")."`
}

func (f runsFlag) folder() string { return cmp.Or(f.Runs, runs.Folder()) }

// backendFlag is that of all commands that compute.
type backendFlag struct {
	Backend string `placeholder:"NAME" help:"Backend: cpu, cuda, tpu, go, or the path of a PJRT plugin (default $QDNB_BACKEND, else the best that is found)."`
}

// runFlag names the run that a command is about.
type runFlag struct {
	Target string `required:"" name:"run" placeholder:"RUN" help:"Folder of a run, or its name in the folder of the runs; the beginning of a name is enough if it is the only one."`
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
		return errors.New("a point has two coordinates, as in 10,30, and is not " + strconv.Quote(string(text)))
	}
	return nil
}
