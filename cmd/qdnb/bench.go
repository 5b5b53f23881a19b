package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"example.com/qdnb/cmd/qdnb/bench"
	"example.com/qdnb/xla"
)

type benchCmd struct {
	Generation timed[bench.Generation] `cmd:"" help:"Time the stages of one generation."`
	Rollout    timed[bench.Rollout]    `cmd:"" help:"Time rollouts of random policies, one per environment copy."`
	Updates    timed[bench.Updates]    `cmd:"" help:"Time the gradient updates of a learner."`
	Insertion  timed[bench.Insertion]  `cmd:"" help:"Time inserting policies into a repertoire."`
	Adaptation timed[bench.Adaptation] `cmd:"" help:"Time evaluating policies under several gravity multipliers."`
	Ceilings   timed[bench.Ceilings]   `cmd:"" help:"Measure the peak rates XLA reaches on this machine: arithmetic, cache, memory."`
}

// timed is the command of a benchmark, whose fields are flags.
type timed[B bench.Benchmark] struct {
	backendFlag
	Benchmark B    `embed:""`
	JSON      bool `name:"json" help:"Print one JSON object."`
}

// Run measures.
func (c *timed[B]) Run() error {
	platform, err := xla.Open(context.Background(), c.Backend)
	if err != nil {
		return err
	}
	result, err := c.Benchmark.Measure(platform)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(result)
	}
	fmt.Print(result)
	return nil
}
