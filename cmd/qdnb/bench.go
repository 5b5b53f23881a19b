package main

import (
	"context"
	"encoding/json"
	"os"

	"example.com/qdnb/cmd/qdnb/bench"
	"example.com/qdnb/xla"
)

type benchCmd struct {
	Generation timed[bench.Generation] `cmd:""`
	Rollout    timed[bench.Rollout]    `cmd:""`
	Updates    timed[bench.Updates]    `cmd:""`
	Insertion  timed[bench.Insertion]  `cmd:""`
	Adaptation timed[bench.Adaptation] `cmd:""`
	Ceilings   timed[bench.Ceilings]   `cmd:""`
}

// timed is the command of a benchmark, whose fields are flags.
type timed[B bench.Benchmark] struct {
	backendFlag
	Benchmark B    `embed:""`
	JSON      bool `name:"json"`
}

func (c *timed[B]) Run() error {
	platform, err := xla.Open(context.Background(), c.Backend)
	if err != nil {
		return err
	}
	result, err := c.Benchmark.Measure(platform)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	if !c.JSON {
		encoder.SetIndent("", "  ")
	}
	return encoder.Encode(result)
}
