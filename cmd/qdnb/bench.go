package main

import (
	"encoding/json"
	"fmt"
	"os"

	"example.com/qdnb/qdnb"
)

type benchCmd struct {
	Generation benchGenerationCmd `cmd:"" help:"Time the stages of a generation of MAP-Elites."`
}

type benchGenerationCmd struct {
	Env         string   `default:"pointmaze" help:"Environment."`
	Generations int      `default:"20" help:"Generations to time."`
	Warmup      int      `default:"20" help:"Generations before them, which fill the repertoire."`
	Set         []string `sep:"none" placeholder:"NAME=VALUE" help:"Set a hyperparameter, as in batch=1000."`
	Backend     string   `help:"Backend: cpu, cuda, tpu, go, or the path of a PJRT plugin."`
	JSON        bool     `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *benchGenerationCmd) Run() error {
	r, err := qdnb.BenchGeneration(qdnb.Spec{Algorithm: "map-elites", Env: c.Env, Set: c.Set, Backend: c.Backend}, c.Warmup, c.Generations)
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
