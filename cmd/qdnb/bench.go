package main

import (
	"encoding/json"
	"fmt"
	"os"

	"example.com/qdnb/cmd/qdnb/bench"
)

type benchCmd struct {
	Generation benchGenerationCmd `cmd:"" help:"Time the stages of a generation."`
	Rollout    benchRolloutCmd    `cmd:"" help:"Time rolling out random policies, one per copy of an environment."`
	Updates    benchUpdatesCmd    `cmd:"" help:"Time the gradient updates of a learner."`
	Insertion  benchInsertionCmd  `cmd:"" help:"Time the insertion of policies into a repertoire."`
	Adaptation benchAdaptationCmd `cmd:"" help:"Time evaluating policies under multiples of gravity."`
	Ceilings   benchCeilingsCmd   `cmd:"" help:"Measure what XLA gets from this machine at most: arithmetic, cache, memory."`
}

type benchInsertionCmd struct {
	backendFlag
	Batch   int  `default:"1000" help:"Candidates."`
	Better  int  `default:"50" help:"Candidates that are fitter than all occupants."`
	Repeats int  `default:"20" help:"Insertions to time; the best counts."`
	JSON    bool `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchInsertionCmd) Run() error {
	r, err := bench.Insertion(bench.InsertionSpec{Batch: c.Batch, Better: c.Better,
		Repeats: c.Repeats, Backend: c.Backend})
	return tell(c.JSON, r, err, func() {
		fmt.Printf("%s: %d candidates of %d numbers, of which %d enter, into %d full cells\n", r.Backend,
			r.Batch, r.Params, r.Entered, r.Cells)
		fmt.Printf("compile    %8.3f s\n", r.CompileSeconds)
		fmt.Printf("insertion  %8.5f s (best of %d)\n", r.BestSeconds, max(1, c.Repeats))
	})
}

type benchAdaptationCmd struct {
	backendFlag
	Env      string `default:"ant-uni" help:"Environment."`
	Policies int    `default:"64" help:"Policies, all different."`
	Episodes int    `default:"4" help:"Episodes of each under each value."`
	Values   int    `default:"5" help:"Multiples of gravity, from 0.25 on."`
	Steps    int    `default:"250" help:"Control steps."`
	Repeats  int    `default:"3" help:"Runs to time; the best counts."`
	JSON     bool   `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchAdaptationCmd) Run() error {
	r, err := bench.Adaptation(bench.AdaptationSpec{
		Env: c.Env, Policies: c.Policies, Episodes: c.Episodes, Values: c.Values, Steps: c.Steps,
		Repeats: c.Repeats, Backend: c.Backend,
	})
	return tell(c.JSON, r, err, func() {
		fmt.Printf("%s on %s, %d workers: %d policies, %d episodes under each of %d values, %d steps\n",
			r.Env, r.Backend, r.Workers, r.Policies, r.Episodes, r.Values, r.Steps)
		fmt.Printf("the first time  %8.3f s, compilation included\n", r.WholeSeconds)
		fmt.Printf("later           %8.4f s (best of %d)   %.0f environment steps/s\n", r.BestSeconds,
			max(1, c.Repeats), r.EnvStepsPerSecond)
	})
}

type benchCeilingsCmd struct {
	backendFlag
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchCeilingsCmd) Run() error {
	r, err := bench.MeasureCeilings(c.Backend)
	return tell(c.JSON, r, err, func() {
		fmt.Printf("%s, %d workers together\n", r.Backend, r.Workers)
		fmt.Printf("products of large matrices   %8.1f GFLOP/s\n", r.Products)
		fmt.Printf("arithmetic in registers      %8.1f GFLOP/s\n", r.Arithmetic)
		fmt.Printf("going through 1 MB a worker  %8.1f GB/s\n", r.Cache)
		fmt.Printf("going through memory         %8.1f GB/s\n", r.Memory)
	})
}

type benchUpdatesCmd struct {
	backendFlag
	Learner string `default:"td3" help:"Learner: td3 or sac."`
	Steps   int    `default:"300" help:"Updates in a program."`
	Buffer  int    `default:"100000" help:"Transitions to draw from."`
	Repeats int    `default:"3" help:"Programs to time; the best counts."`
	JSON    bool   `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchUpdatesCmd) Run() error {
	r, err := bench.Updates(bench.UpdatesSpec{Learner: c.Learner, Steps: c.Steps, Buffer: c.Buffer,
		Repeats: c.Repeats, Backend: c.Backend})
	return tell(c.JSON, r, err, func() {
		fmt.Printf("%s on %s: batches of 256, 87 observations, 8 actions, networks of 2 x 256 units\n",
			r.Learner, r.Backend)
		fmt.Printf("compile  %8.3f s\n", r.CompileSeconds)
		fmt.Printf("updates  %8.4f s for %d (best of %d)   %.1f a second\n", r.BestSeconds, r.Steps,
			max(1, c.Repeats), r.UpdatesPerSecond)
	})
}

type benchRolloutCmd struct {
	backendFlag
	Env     string `required:"" help:"Environment."`
	Batch   int    `default:"256" help:"Policies, all different."`
	Steps   int    `default:"250" help:"Control steps."`
	Slice   int    `help:"Policies that are rolled out together; 0: as training has it."`
	Repeats int    `default:"3" help:"Rollouts to time; the best counts."`
	JSON    bool   `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchRolloutCmd) Run() error {
	r, err := bench.Rollout(bench.RolloutSpec{
		Env: c.Env, Batch: c.Batch, Steps: c.Steps, Slice: c.Slice, Repeats: c.Repeats,
		Backend: c.Backend,
	})
	return tell(c.JSON, r, err, func() {
		fmt.Printf("%s on %s, %d workers: %d policies for %d steps, slices of %d\n", r.Env, r.Backend,
			r.Workers, r.Batch, r.Steps, r.Slice)
		fmt.Printf("compile  %8.3f s\n", r.CompileSeconds)
		fmt.Printf("rollout  %8.4f s (best of %d)   %.0f environment steps/s\n", r.BestSeconds,
			max(1, c.Repeats), r.EnvStepsPerSecond)
		fmt.Printf("memory   %8.1f MiB at most\n", float64(r.MemoryBytes)/(1<<20))
	})
}

type benchGenerationCmd struct {
	backendFlag
	Algorithm   string   `default:"map-elites" help:"Algorithm: map-elites, pga-map-elites, aurora or pga-aurora."`
	Env         string   `default:"pointmaze" help:"Environment."`
	Generations int      `default:"20" help:"Generations to time."`
	Warmup      int      `default:"20" help:"Generations before them, which fill the repertoire."`
	Set         []string `sep:"none" placeholder:"NAME=VALUE" help:"Set a hyperparameter, as in batch=1000."`
	JSON        bool     `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchGenerationCmd) Run() error {
	r, err := bench.Generation(bench.GenerationSpec{
		Algorithm: c.Algorithm, Env: c.Env, Set: c.Set, Warmup: c.Warmup, Generations: c.Generations,
		Backend: c.Backend,
	})
	return tell(c.JSON, r, err, func() {
		fmt.Printf("%s on %s, %d workers: batch %d, %d steps, slices of %d\n", r.Env, r.Backend,
			r.Workers, r.Batch, r.Steps, r.Slice)
		fmt.Printf("compile                  %8.3f s\n", r.CompileSeconds)
		fmt.Printf("generation               %8.4f s (median)   %.0f environment steps/s\n",
			r.GenerationSeconds, r.EnvStepsPerSecond)
		fmt.Printf("evaluation alone         %8.4f s\n", r.EvaluationSeconds)
		fmt.Printf("variation and insertion  %8.4f s, %.1f %% of a generation\n",
			r.GenerationSeconds-r.EvaluationSeconds, 100*r.VariationShare)
	})
}

// tell prints what a benchmark found: as one JSON object, or in words.
func tell(asJSON bool, found any, err error, words func()) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(os.Stdout).Encode(found)
	}
	words()
	return nil
}
