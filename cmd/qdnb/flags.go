package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/backend"
)

// runsFlag is shared by all commands that look up runs.
type runsFlag struct {
	Runs string `placeholder:"DIR"`
}

func (f runsFlag) folder() string { return cmp.Or(f.Runs, runs.Folder()) }

// inFlag is shared by all commands that read an experiments folder, which has plan.jsonl and runs.
type inFlag struct {
	In string `placeholder:"DIR"`
}

func (f inFlag) folder() string { return cmp.Or(f.In, paper.Folder()) }

func (f inFlag) open() (*paper.Data, error) { return paper.Open(f.folder()) }

// report prints problems of single runs, which do not fail a command.
func report(problems []error) {
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, "qdnb:", oneLine(problem))
	}
}

// backendFlag is shared by all commands that compute.
type backendFlag struct {
	Backend string `placeholder:"NAME"`
}

// AfterApply rejects unknown backend names, even if nothing will be computed.
func (f *backendFlag) AfterApply() error {
	_, err := backend.Canonical(f.Backend)
	return err
}

// seeds are the seeds of a flag such as 0..3,7.
type seeds []int64

// maxSeeds limits the seeds of one command; more are probably a typo.
const maxSeeds = 1 << 10

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *seeds) UnmarshalText(text []byte) error {
	for part := range strings.SplitSeq(string(text), ",") {
		first, last, isRange := strings.Cut(part, "..")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseInt(first, 10, 64)
		to, toErr := strconv.ParseInt(last, 10, 64)
		if err != nil || toErr != nil || to < from || to-from >= maxSeeds || to-from < 0 {
			return fmt.Errorf("%q is not a list of seeds such as 0..7 or 0,3,5", text)
		}
		for seed := from; ; seed++ {
			*s = append(*s, seed)
			if seed == to {
				break
			}
		}
	}
	return nil
}

// runArg selects a run by argument or by flag.
type runArg struct {
	Target string `arg:"" optional:"" name:"run"`
	Named  string `name:"run" placeholder:"RUN"`
	runsFlag
}

// Validate requires exactly one run.
func (r *runArg) Validate() error {
	switch {
	case r.Target == "" && r.Named == "":
		return errors.New("no run given: name one, as in map-elites-pointmaze-0")
	case r.Target != "" && r.Named != "" && r.Target != r.Named:
		return fmt.Errorf("give one run, not both %s and %s", r.Target, r.Named)
	}
	return nil
}

func (r *runArg) find() (*runs.Run, error) {
	return runs.LoadFrom(r.folder(), cmp.Or(r.Target, r.Named))
}

// given lists the number of a flag; none if it is not set.
func given(flag *int) []int {
	if flag == nil {
		return nil
	}
	return []int{*flag}
}

// point is a flag value of two coordinates.
type point [2]float64

func (p *point) UnmarshalText(text []byte) error {
	x, y, _ := strings.Cut(string(text), ",")
	var wrong [2]error
	p[0], wrong[0] = strconv.ParseFloat(x, 64)
	p[1], wrong[1] = strconv.ParseFloat(y, 64)
	if errors.Join(wrong[:]...) != nil {
		return fmt.Errorf("want two coordinates, as in 10,30, not %q", text)
	}
	return nil
}

// velocities are the commands of a flag such as 0.8,0,0:0.5,0,1; none, but not nil, if they are drawn.
type velocities [][3]float64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (v *velocities) UnmarshalText(text []byte) error {
	*v = velocities{}
	if string(text) == "drawn" {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ":") {
		numbers, next := strings.Split(part, ","), [3]float64{}
		wrong := len(numbers) != len(next)
		for i := range min(len(numbers), len(next)) {
			x, err := strconv.ParseFloat(numbers[i], 64)
			next[i], wrong = x, wrong || err != nil || math.IsInf(x, 0) || x != x
		}
		if wrong {
			return fmt.Errorf("%q is neither drawn nor a list of velocities ahead, to the left and of turning left, such as "+
				"0.8,0,0:0.5,0,1", text)
		}
		*v = append(*v, next)
	}
	return nil
}
