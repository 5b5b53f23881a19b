package main

import (
	"encoding/json"
	"fmt"
	"os"

	"example.com/qdnb/qdnb"
)

type benchCmd struct {
	Generation benchGenerationCmd `cmd:"" help:"Time the stages of a generation."`
	Rollout    benchRolloutCmd    `cmd:"" help:"Time rolling out random policies, one per copy of an environment."`
	Updates    benchUpdatesCmd    `cmd:"" help:"Time the gradient updates of a learner."`
}

type benchUpdatesCmd struct {
	Learner string `default:"td3" help:"Learner: td3 or sac."`
	Steps   int    `default:"300" help:"Updates in a program."`
	Buffer  int    `default:"100000" help:"Transitions to draw from."`
	Repeats int    `default:"3" help:"Programs to time; the best counts."`
	Backend string `help:"Backend: cpu, cuda, tpu, go, or the path of a PJRT plugin."`
	JSON    bool   `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchUpdatesCmd) Run() error {
	r, err := qdnb.BenchUpdates(qdnb.UpdatesSpec{Learner: c.Learner, Steps: c.Steps, Buffer: c.Buffer, Repeats: c.Repeats, Backend: c.Backend})
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	fmt.Printf("%s on %s: batches of 256, 87 observations, 8 actions, networks of 2 x 256 units\n", r.Learner, r.Backend)
	fmt.Printf("compile  %8.3f s\n", r.CompileSeconds)
	fmt.Printf("updates  %8.4f s for %d (best of %d)   %.1f a second\n", r.BestSeconds, r.Steps, max(1, c.Repeats), r.UpdatesPerSecond)
	return nil
}

type benchRolloutCmd struct {
	Env     string `required:"" help:"Environment."`
	Batch   int    `default:"256" help:"Policies, all different."`
	Steps   int    `default:"250" help:"Control steps."`
	Slice   int    `help:"Policies that are rolled out together; 0: as training has it."`
	Repeats int    `default:"3" help:"Rollouts to time; the best counts."`
	Backend string `help:"Backend: cpu, cuda, tpu, go, or the path of a PJRT plugin."`
	JSON    bool   `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchRolloutCmd) Run() error {
	r, err := qdnb.BenchRollout(qdnb.RolloutSpec{
		Env: c.Env, Batch: c.Batch, Steps: c.Steps, Slice: c.Slice, Repeats: c.Repeats, Backend: c.Backend,
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	fmt.Printf("%s on %s, %d workers: %d policies for %d steps, slices of %d\n", r.Env, r.Backend, r.Workers, r.Batch, r.Steps, r.Slice)
	fmt.Printf("compile  %8.3f s\n", r.CompileSeconds)
	fmt.Printf("rollout  %8.4f s (best of %d)   %.0f environment steps/s\n", r.BestSeconds, max(1, c.Repeats), r.EnvStepsPerSecond)
	fmt.Printf("memory   %8.1f MiB at most\n", float64(r.MemoryBytes)/(1<<20))
	return nil
}

type benchGenerationCmd struct {
	Algorithm   string   `default:"map-elites" help:"Algorithm: map-elites, pga-map-elites, aurora or pga-aurora."`
	Env         string   `default:"pointmaze" help:"Environment."`
	Generations int      `default:"20" help:"Generations to time."`
	Warmup      int      `default:"20" help:"Generations before them, which fill the repertoire."`
	Set         []string `sep:"none" placeholder:"NAME=VALUE" help:"Set a hyperparameter, as in batch=1000."`
	Backend     string   `help:"Backend: cpu, cuda, tpu, go, or the path of a PJRT plugin."`
	JSON        bool     `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchGenerationCmd) Run() error {
	r, err := qdnb.BenchGeneration(qdnb.Spec{Algorithm: c.Algorithm, Env: c.Env, Set: c.Set, Backend: c.Backend}, c.Warmup, c.Generations)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	fmt.Printf("%s on %s, %d workers: batch %d, %d steps, slices of %d\n", r.Env, r.Backend, r.Workers, r.Batch, r.Steps, r.Slice)
	fmt.Printf("compile                  %8.3f s\n", r.CompileSeconds)
	fmt.Printf("generation               %8.4f s (median)   %.0f environment steps/s\n", r.GenerationSeconds, r.EnvStepsPerSecond)
	fmt.Printf("evaluation alone         %8.4f s\n", r.EvaluationSeconds)
	fmt.Printf("variation and insertion  %8.4f s, %.1f %% of a generation\n", r.GenerationSeconds-r.EvaluationSeconds, 100*r.VariationShare)
	return nil
}
