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
	type inputs struct {
		Archive xla.State[repertoire.Unstructured]
		Batch   xla.State[repertoire.Batch]
	}
	type results struct{ Inserted, Reinserted xla.Array }
	in := inputs{
		xla.Pack(func(n []*graph.Node) repertoire.Unstructured {
			return repertoire.Unstructured{Fitness: n[0], Descriptors: n[1]}
		}, xla.Single(tensors.FromValue([]float32{empty, empty, empty, empty})),
			xla.Single(tensors.FromValue([][]float32{{0, 0}, {0, 0}, {0, 0}, {0, 0}}))),
		xla.Pack(func(n []*graph.Node) repertoire.Batch {
			return repertoire.Batch{Fitness: n[0], Descriptors: n[1]}
		}, xla.Single(tensors.FromValue([]float32{1, 2, 3})),
			xla.Single(tensors.FromValue([][]float32{{0, 0}, {0.1, 0}, {0, 1}}))),
	}
	program, err := xla.Compile(p, "insertion", in, func(in inputs) results {
		before, batch := in.Archive.Tree, in.Batch.Tree
		threshold := func(l float32) *graph.Node { return graph.Const(before.Fitness.Graph(), l) }
		index, accepted := before.Winners(threshold(0.2), batch)
		after := before.Update(batch, index, accepted)
		kept := after.Survivors(threshold(1.5))
		return results{xla.Out(after.Fitness), xla.Out(after.Maintain(kept).Fitness)}
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := program.Run(in)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("inserted:   ", out.Inserted.Value()[0].Value())
	fmt.Println("re-inserted:", out.Reinserted.Value()[0].Value())
	// Output:
	// inserted:    [-Inf 2 3 -Inf]
	// re-inserted: [-Inf -Inf 3 -Inf]
}
