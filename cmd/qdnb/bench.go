package main

import (
	"encoding/json"
	"fmt"
	"os"

	"example.com/qdnb/cmd/qdnb/bench"
)

type benchCmd struct {
	Generation benchGenerationCmd `cmd:"" help:"Time the stages of one generation."`
	Rollout    benchRolloutCmd    `cmd:"" help:"Time rollouts of random policies, one per environment copy."`
	Updates    benchUpdatesCmd    `cmd:"" help:"Time the gradient updates of a learner."`
	Insertion  benchInsertionCmd  `cmd:"" help:"Time inserting policies into a repertoire."`
	Adaptation benchAdaptationCmd `cmd:"" help:"Time evaluating policies under several gravity multipliers."`
	Ceilings   benchCeilingsCmd   `cmd:"" help:"Measure the peak rates XLA reaches on this machine: arithmetic, cache, memory."`
}

type benchInsertionCmd struct {
	backendFlag
	Batch   int  `default:"1000" help:"Number of candidates."`
	Better  int  `default:"50" help:"Number of candidates that beat every occupant."`
	Repeats int  `default:"20" help:"Insertions to time; the fastest is reported."`
	JSON    bool `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchInsertionCmd) Run() error {
	r, err := bench.Insertion(bench.InsertionSpec{Batch: c.Batch, Better: c.Better,
		Repeats: c.Repeats, Backend: c.Backend})
	return printResult(c.JSON, r, err, func() {
		fmt.Printf("%s: %d candidates of %d numbers, of which %d enter, into %d full cells\n", r.Backend,
			r.Batch, r.Params, r.Entered, r.Cells)
		fmt.Printf("compile    %8.3f s\n", r.CompileSeconds)
		fmt.Printf("insertion  %8.5f s (best of %d)\n", r.BestSeconds, max(1, c.Repeats))
	})
}

type benchAdaptationCmd struct {
	backendFlag
	Env      string `default:"ant-uni" help:"Environment."`
	Policies int    `default:"64" help:"Number of distinct policies."`
	Episodes int    `default:"4" help:"Episodes per policy and gravity."`
	Values   int    `default:"5" help:"Number of gravity multipliers, starting at 0.25."`
	Steps    int    `default:"250" help:"Control steps per episode."`
	Repeats  int    `default:"3" help:"Runs to time; the fastest is reported."`
	JSON     bool   `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchAdaptationCmd) Run() error {
	r, err := bench.Adaptation(bench.AdaptationSpec{
		Env: c.Env, Policies: c.Policies, Episodes: c.Episodes, Values: c.Values, Steps: c.Steps,
		Repeats: c.Repeats, Backend: c.Backend,
	})
	return printResult(c.JSON, r, err, func() {
		fmt.Printf("%s on %s, %d workers: %d policies, %d episodes under each of %d values, %d steps\n",
			r.Env, r.Backend, r.Workers, r.Policies, r.Episodes, r.Values, r.Steps)
		fmt.Printf("first run       %8.3f s, including compilation\n", r.WholeSeconds)
		fmt.Printf("later runs      %8.4f s (best of %d)   %.0f environment steps/s\n", r.BestSeconds,
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
	return printResult(c.JSON, r, err, func() {
		fmt.Printf("%s, total of %d workers\n", r.Backend, r.Workers)
		fmt.Printf("large matrix products        %8.1f GFLOP/s\n", r.Products)
		fmt.Printf("register arithmetic          %8.1f GFLOP/s\n", r.Arithmetic)
		fmt.Printf("reading 1 MB per worker      %8.1f GB/s\n", r.Cache)
		fmt.Printf("reading main memory          %8.1f GB/s\n", r.Memory)
	})
}

type benchUpdatesCmd struct {
	backendFlag
	Learner     string `default:"td3" help:"Learner: td3, sac, or variation by policy gradient."`
	Individuals int    `default:"50" help:"Number of individuals varied by variation."`
	Steps       int    `default:"300" help:"Updates per program."`
	Buffer      int    `default:"100000" help:"Transitions in the replay buffer."`
	Repeats     int    `default:"3" help:"Programs to time; the fastest is reported."`
	JSON        bool   `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchUpdatesCmd) Run() error {
	r, err := bench.Updates(bench.UpdatesSpec{Learner: c.Learner, Steps: c.Steps, Buffer: c.Buffer,
		Individuals: c.Individuals, Repeats: c.Repeats, Backend: c.Backend})
	return printResult(c.JSON, r, err, func() {
		fmt.Printf("%s on %s: batches of 256, 87 observations, 8 actions, networks of 2 x 256 units\n",
			r.Learner, r.Backend)
		fmt.Printf("compile  %8.3f s\n", r.CompileSeconds)
		fmt.Printf("updates  %8.4f s for %d (best of %d)   %.1f updates/s\n", r.BestSeconds, r.Steps,
			max(1, c.Repeats), r.UpdatesPerSecond)
	})
}

type benchRolloutCmd struct {
	backendFlag
	Env     string `required:"" help:"Environment."`
	Batch   int    `default:"256" help:"Number of distinct policies."`
	Steps   int    `default:"250" help:"Control steps per episode."`
	Slice   int    `help:"Policies rolled out together; 0: the same as in training."`
	Repeats int    `default:"3" help:"Rollouts to time; the fastest is reported."`
	JSON    bool   `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchRolloutCmd) Run() error {
	r, err := bench.Rollout(bench.RolloutSpec{
		Env: c.Env, Batch: c.Batch, Steps: c.Steps, Slice: c.Slice, Repeats: c.Repeats,
		Backend: c.Backend,
	})
	return printResult(c.JSON, r, err, func() {
		fmt.Printf("%s on %s, %d workers: %d policies for %d steps, slices of %d\n", r.Env, r.Backend,
			r.Workers, r.Batch, r.Steps, r.Slice)
		fmt.Printf("compile  %8.3f s\n", r.CompileSeconds)
		fmt.Printf("rollout  %8.4f s (best of %d)   %.0f environment steps/s\n", r.BestSeconds,
			max(1, c.Repeats), r.EnvStepsPerSecond)
		fmt.Printf("memory   %8.1f MiB peak\n", float64(r.MemoryBytes)/(1<<20))
	})
}

type benchGenerationCmd struct {
	backendFlag
	Algorithm   string   `default:"map-elites" help:"Algorithm: map-elites, pga-map-elites, aurora or pga-aurora."`
	Env         string   `default:"pointmaze" help:"Environment."`
	Generations int      `default:"20" help:"Generations to time."`
	Warmup      int      `default:"20" help:"Untimed generations beforehand, to fill the repertoire."`
	Set         []string `sep:"none" placeholder:"NAME=VALUE" help:"Set a hyperparameter, as in batch=1000."`
	JSON        bool     `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchGenerationCmd) Run() error {
	r, err := bench.Generation(bench.GenerationSpec{
		Algorithm: c.Algorithm, Env: c.Env, Set: c.Set, Warmup: c.Warmup, Generations: c.Generations,
		Backend: c.Backend,
	})
	return printResult(c.JSON, r, err, func() {
		fmt.Printf("%s on %s, %d workers: batch %d, %d steps, slices of %d\n", r.Env, r.Backend,
			r.Workers, r.Batch, r.Steps, r.Slice)
		fmt.Printf("compile                  %8.3f s\n", r.CompileSeconds)
		fmt.Printf("generation               %8.4f s (median)   %.0f environment steps/s\n",
			r.GenerationSeconds, r.EnvStepsPerSecond)
		fmt.Printf("evaluation alone         %8.4f s\n", r.EvaluationSeconds)
		fmt.Printf("variation and insertion  %8.4f s, %.1f %% of the generation\n",
			r.GenerationSeconds-r.EvaluationSeconds, 100*r.VariationShare)
	})
}

// printResult prints a benchmark's result as one JSON object or as text.
func printResult(asJSON bool, found any, err error, words func()) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(os.Stdout).Encode(found)
	}
	words()
	return nil
}
