package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
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

// variations are those of a flag such as friction=0.5:1.5,mass/trunk=0.9:1.1; none, but not nil, if it is none.
type variations []envs.Variation

// UnmarshalText implements [encoding.TextUnmarshaler].
func (v *variations) UnmarshalText(text []byte) error {
	*v = variations{}
	if string(text) == "none" {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		what, limits, _ := strings.Cut(part, "=")
		quantity, of, single := strings.Cut(what, "/")
		low, high, ranged := strings.Cut(limits, ":")
		if !ranged {
			high = low
		}
		lower, wrong := strconv.ParseFloat(low, 64)
		upper, wrongToo := strconv.ParseFloat(high, 64)
		if wrong != nil || wrongToo != nil {
			return fmt.Errorf("%q is neither none nor a list of quantities with their ranges, such as friction=0.5:1.5,"+
				"mass/trunk=0.9:1.1", text)
		}
		if known := envs.Perturbations(); !slices.Contains(known, envs.Perturbation(quantity)) {
			return names.Unknown("quantity", quantity, lists.Map(known, func(p envs.Perturbation) string { return string(p) }))
		}
		next := envs.Vary(envs.Perturbation(quantity), lower, upper)
		if single {
			next.Of = []string{of}
		}
		*v = append(*v, next)
	}
	return nil
}

// terrain is that of a flag such as rough:0.05 or stairs:0.1:0.4; without cells if it is none.
type terrain mujoco.Terrain

// terrains are the kinds with their heights and widths of cells, m, unless the flag has them.
var terrains = map[string]struct {
	height, cell float64
	make         func(height, cell float64) mujoco.Terrain
}{
	"none":   {0, 0, func(_, _ float64) mujoco.Terrain { return mujoco.Terrain{} }},
	"rough":  {0.05, 0.25, func(height, cell float64) mujoco.Terrain { return mujoco.RoughGround(64, height, cell, 0) }},
	"stairs": {0.1, 0.4, func(height, cell float64) mujoco.Terrain { return mujoco.Stairs(20, cell, height, cell) }},
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *terrain) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ":")
	kind, ok := terrains[parts[0]]
	if !ok {
		return names.Unknown("terrain", parts[0], slices.Sorted(maps.Keys(terrains)))
	}
	sizes := []*float64{&kind.height, &kind.cell}
	for i, part := range parts[1:] {
		x, err := strconv.ParseFloat(part, 64)
		if err != nil || i >= len(sizes) || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%q is no terrain with a height and a width of cells in m, such as rough:0.05:0.25", text)
		}
		*sizes[i] = x
	}
	*t = terrain(kind.make(kind.height, kind.cell))
	return nil
}
