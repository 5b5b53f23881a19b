package random_test

import (
	"context"
	"fmt"
	"log"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// A falling stone: the state of the loop is a struct with names.
// Individuals 0, 1 and 2 draw from their own streams: individual 1 draws the same with or without
// the others.
func ExampleKey() {
	p, err := xla.Open(context.Background(), "")
	if err != nil {
		log.Fatal(err)
	}
	type draws struct{ Together, Alone xla.Array }
	seed := p.Seed(42).First()
	program, err := xla.Compile(p, "draw", seed, func(seed xla.Array) draws {
		key := random.KeyOf(seed.Tree).FoldIn(100) // of generation 100
		together := key.FoldInEach(Const(seed.Tree.Graph(), []int32{0, 1, 2})).Uniform(0, 1, 3, 2)
		alone := key.FoldInEach(Const(seed.Tree.Graph(), int32(1))).Uniform(0, 1, 2)
		return draws{xla.Out(together), xla.Out(alone)}
	})
	if err != nil {
		log.Fatal(err)
	}
	defer program.Free()
	out, err := program.Run(seed)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n%.4f\n", out.Together.Value()[0].Value(), out.Alone.Value()[0].Value())
	// Output:
	// [[0.9798 0.9177] [0.1269 0.8298] [0.4358 0.6571]]
	// [0.1269 0.8298]
}
