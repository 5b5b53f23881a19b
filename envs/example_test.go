package envs_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
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
	vector := xla.Input{Shape: shapes.Make(dtypes.Float32, 2)}
	program, err := p.Compile("rollout", []xla.Input{vector, vector}, func(in []*Node) []*Node {
		up := constant{Const(in[0].Graph(), [][]float32{{0, 1}, {0, 1}})}
		fitness, descriptor := envs.Rollout(env, up, env.At(in[0], in[1]), 6)
		return []*Node{fitness, descriptor}
	})
	if err != nil {
		log.Fatal(err)
	}
	x, y := tensors.FromValue([]float32{0, -0.8}), tensors.FromValue([]float32{-0.7, -0.7})
	out, err := program.Run(xla.Sharded{x}, xla.Sharded{y})
	if err != nil {
		log.Fatal(err)
	}
	fitness, descriptors := out[0][0].Value().([]float32), out[1][0].Value().([][]float32)
	for i := range fitness {
		fmt.Printf("fitness %.3f, descriptor %.2f\n", fitness[i], descriptors[i])
	}
	// Output:
	// fitness -8.451, descriptor [0.00 -0.50]
	// fitness -7.136, descriptor [-0.80 -0.20]
}
