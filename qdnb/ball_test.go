package qdnb

import (
	"context"
	"fmt"
	"os"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Ball is a diversity reward with a skill distribution of its own. A skill is uniform in a ball of
// three dimensions: its direction is where to go in a learned linear map of positions, its length
// how far. A step may be at most 1 long in the map:
//
//	reward = skill . (map(next) - map(now))
//	loss = -mean(reward) + Weight mean(max(|map(next) - map(now)|^2 - 1, 0))
type Ball struct {
	Weight, LearningRate float64
	Map                  nn.Trainable[nn.Network]
}

func (Ball) Condition(p skills.Problem) skills.Problem {
	p.Features = p.EpisodeDescriptors()
	p.Skills = skills.Distribution{
		Draw: func(keys random.Key) *Node {
			x := keys.FoldIn(0).Normal(keys.Hi.Shape().Dimensions[0], 3)
			radius := Pow(keys.FoldIn(1).Uniform(0, 1, x.Shape().Dimensions[0], 1), ConstAs(x, 1.0/3))
			return Mul(Div(x, Sqrt(ReduceAndKeep(Square(x), ReduceSum, 1))), radius)
		},
		Evaluated: [][]float32{{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}},
	}
	return p
}

func (b Ball) Init(p skills.Problem, key random.Key) skills.Diversity {
	mlp := nn.MLP{Sizes: []int{p.Width(), p.Skills.Size()}}
	b.Map = nn.NewTrainable(mlp.New(key), b.LearningRate)
	return b
}

func (b Ball) step(of skills.Batch) *Node { // 0 where the next state is of another episode
	return Mul(Sub(b.Map.Params.Apply(of.Next), b.Map.Params.Apply(of.Now)), InsertAxes(OneMinus(of.Done), 1))
}

func (b Ball) Reward(of skills.Batch) *Node { return ReduceSum(Mul(b.step(of), of.Skill), 1) }

func (b Ball) Learn(of skills.Batch) (skills.Diversity, *Node) {
	long := MaxScalar(AddScalar(ReduceSum(Square(b.step(of)), 1), -1), 0)
	loss := ReduceAllMean(Sub(MulScalar(long, b.Weight), b.Reward(of)))
	b.Map = b.Map.Step(loss)
	return b, loss
}

func (Ball) Loss() string { return "map_loss" }

// A custom diversity reward is trained like any other, with checkpoints and figures.
func Example_diversity() {
	folder, _ := os.MkdirTemp("", "runs")
	defer os.RemoveAll(folder)
	run, err := Train(context.Background(), Spec{
		Algorithm: "diayn-reward", Name: "ball",
		Env: "pointmaze", Runs: folder, Backend: "go", Budget: Generations(5), Quiet: true,
		Tune: Tuning(runs.Assign("env_batch_size=6", "batch_size=16", "replay_buffer_size=180", "hidden=[8]",
			"episode_length=20", "evaluation_states=2", "cells=32", "cvt_samples=500")).And(
			Tune(func(h *skills.Parts) { h.Diversity = Ball{Weight: 10, LearningRate: 1e-3} })),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := run.Skills()
	fmt.Println(found.Count, "skills,", found.Extra["Map.Params.Kernel.0"].Shape, err)
	// Output: 6 skills, [2 3] <nil>
}
