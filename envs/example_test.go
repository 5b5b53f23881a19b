package envs_test

import (
	"context"
	"fmt"
	"log"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// constant is a policy that ignores the observation.
type constant struct{ Action *Node }

func (c constant) Memory() []*Node { return nil }

func (c constant) Act(memory []*Node, _ *Node) (next []*Node, action *Node) { return memory, c.Action }

// Two points move straight up, one from below the lower wall, one next to it. Their descriptors are
// their positions before the last step.
func ExampleRollout() {
	p, err := xla.Open(context.Background(), "")
	if err != nil {
		log.Fatal(err)
	}
	env := envs.Pointmaze{}
	type positions struct{ X, Y xla.Array }
	type results struct{ Fitness, Descriptor xla.Array }
	starts := positions{xla.Single(tensors.FromValue([]float32{0, -0.8})),
		xla.Single(tensors.FromValue([]float32{-0.7, -0.7}))}
	program, err := xla.Compile(p, "rollout", starts, func(in positions) results {
		up := constant{Const(in.X.Tree.Graph(), [][]float32{{0, 1}, {0, 1}})}
		fitness, descriptor := envs.Rollout(env, up, env.At(in.X.Tree, in.Y.Tree), 6)
		return results{xla.Out(fitness), xla.Out(descriptor)}
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := program.Run(starts)
	if err != nil {
		log.Fatal(err)
	}
	fitness := out.Fitness.Value()[0].Value().([]float32)
	descriptors := out.Descriptor.Value()[0].Value().([][]float32)
	for i := range fitness {
		fmt.Printf("fitness %.3f, descriptor %.2f\n", fitness[i], descriptors[i])
	}
	// Output:
	// fitness -8.451, descriptor [0.00 -0.50]
	// fitness -7.136, descriptor [-0.80 -0.20]
}

// An ant that is described by the height of its torso and its first knee, and rewarded for its speed
// to the left. The names of bodies and joints are those of [envs.StepView]; a wrong one lists them.
func ExampleWithDescriptor() {
	ant, err := envs.Make("ant-uni")
	if err != nil {
		log.Fatal(err)
	}
	heights := envs.Descriptor{Kind: envs.Mean, Components: []string{"mean height (m)", "mean knee (rad)"},
		Lower: []float32{0, 0}, Upper: []float32{1, 1.5}}
	env, err := envs.WithDescriptor(ant, "ant-height", heights, func(m envs.StepView) *Node {
		knee, _ := m.Joint("Aux 1_$ Body 4")
		return Concatenate([]*Node{InsertAxes(m.Frame("$ Torso").Position[2], 0), knee}, 0)
	})
	if err != nil {
		log.Fatal(err)
	}
	left, err := envs.WithReward(env, "ant-height-left", 5, func(_, after envs.StepView, _ *Node) *Node {
		return after.Frame("$ Torso").Velocity[1]
	})
	if err != nil {
		log.Fatal(err)
	}
	err = built(left)
	fmt.Println(left.Spec().Name, left.Spec().Descriptor.Components, err)
	_, err = envs.WithReward(ant, "ant-omni", 5, left.Reward)
	fmt.Println(err)
	// Output:
	// ant-height-left [mean height (m) mean knee (rad)] <nil>
	// ant-omni is the name of a built-in environment: choose another one
}

// An ant whose gravity and one leg change from episode to episode.
func ExampleWithVariations() {
	ant, err := envs.Make("ant-uni")
	if err != nil {
		log.Fatal(err)
	}
	env, err := envs.WithVariations(ant, "ant-varied", envs.Vary(envs.GravityMultiplier, 0.5, 2),
		envs.Vary(envs.ActuatorsMultiplier, 0.2, 1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(env.Spec().Name, env.Spec().Observations)
	// Output: ant-varied 87
}
