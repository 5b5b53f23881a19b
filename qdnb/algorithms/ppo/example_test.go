package ppo_test

import (
	"context"
	"fmt"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// The example trains a meta-controller that chooses among three policies in pointmaze, each for ten
// steps. Its skills are up, left and right; those of a repertoire come from policies.All.
func ExamplePPO() {
	platform, err := xla.Open(context.Background(), "go")
	if err != nil {
		fmt.Println(err)
		return
	}
	net := nn.NewPolicy(2, nil, 2) // no layers: the bias is the action
	rows := []float32{0, 9, 0, 0, 0, 0, -9, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0}
	env := envs.Hierarchical{Env: envs.Pointmaze{}, Every: 10,
		Skills: envs.Skills{Net: net, Rows: npz.Of(rows, 3, net.Params())}}

	algorithm := ppo.Default(env.Env.Spec())
	algorithm.Cells, algorithm.CVTSamples, algorithm.NumEnvs, algorithm.EvaluationEnvs = 16, 1000, 8, 8
	algorithm.BatchSize, algorithm.NumMinibatches, algorithm.UpdateEpochs = 8, 1, 1
	search, err := algorithm.New(platform, env, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer search.Close()
	for range 2 {
		outcome, err := search.Step()
		fmt.Println(outcome.Generation, outcome.EnvSteps, outcome.Evaluations, err)
	}
	// Output:
	// 0 0 8 <nil>
	// 1 1600 16 <nil>
}
