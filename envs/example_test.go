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

func (c constant) Apply(*Node) *Node { return c.Action }

// Two points move straight up, one from below the lower wall, one next to it. Their descriptors are
// their positions before the last step.
func ExampleRollout() {
	p, err := xla.Open(context.Background(), "")
	if err != nil {
		log.Fatal(err)
	}
	env := envs.Pointmaze{}
	type places struct{ X, Y xla.Array }
	type results struct{ Fitness, Descriptor xla.Array }
	starts := places{xla.Single(tensors.FromValue([]float32{0, -0.8})),
		xla.Single(tensors.FromValue([]float32{-0.7, -0.7}))}
	program, err := xla.Compile(p, "rollout", starts, func(in places) results {
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
