package repertoire_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// Two of three candidates for an empty archive are nearer to each other than the threshold. The
// fitter one enters, and the slot of the other stays empty. A re-insertion with a larger threshold
// then makes room.
func ExampleUnstructured() {
	p, err := xla.Open(context.Background(), "")
	if err != nil {
		log.Fatal(err)
	}
	empty := float32(math.Inf(-1))
	inputs := []*tensors.Tensor{
		tensors.FromValue([]float32{empty, empty, empty, empty}),
		tensors.FromValue([][]float32{{0, 0}, {0, 0}, {0, 0}, {0, 0}}),
		tensors.FromValue([]float32{1, 2, 3}), tensors.FromValue([][]float32{{0, 0}, {0.1, 0}, {0, 1}}),
	}
	var declared []xla.Input
	var values []xla.Sharded
	for _, input := range inputs {
		declared, values = append(declared, xla.Input{Shape: input.Shape()}),
			append(values, xla.Sharded{input})
	}
	program, err := p.Compile("insertion", declared, func(in []*graph.Node) []*graph.Node {
		before := repertoire.Unstructured{Fitness: in[0], Descriptors: in[1]}
		batch := repertoire.Batch{Fitness: in[2], Descriptors: in[3]}
		index, accepted := before.Winners(graph.Const(in[0].Graph(), float32(0.2)), batch)
		after := before.Update(batch, index, accepted)
		kept := after.Survivors(graph.Const(in[0].Graph(), float32(1.5)))
		return []*graph.Node{after.Fitness, after.Maintain(kept).Fitness}
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := program.Run(values...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("inserted:   ", out[0][0].Value())
	fmt.Println("re-inserted:", out[1][0].Value())
	// Output:
	// inserted:    [-Inf 2 3 -Inf]
	// re-inserted: [-Inf -Inf 3 -Inf]
}
