package xla_test

import (
	"context"
	"fmt"
	"log"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/xla"
)

// A falling stone: the state of the loop is a struct with names.
func ExampleFor() {
	p, err := xla.Open(context.Background(), "")
	if err != nil {
		log.Fatal(err)
	}
	type stone struct{ Height, Speed *Node }
	height := xla.Single(tensors.FromScalar(float32(100)))
	program, err := xla.Compile(p, "fall", height, func(height xla.Array) xla.State[stone] {
		const dt = 0.125
		s := stone{Height: height.Tree, Speed: ZerosLike(height.Tree)}
		return xla.Out(xla.For(height.Tree.Graph(), 8, s, func(_ *Node, s stone) stone {
			s.Speed = AddScalar(s.Speed, -10*dt)
			s.Height = Add(s.Height, MulScalar(s.Speed, dt))
			return s
		}))
	})
	if err != nil {
		log.Fatal(err)
	}
	defer program.Free()
	out, err := program.Run(height)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("after a second: height and speed", out.Scalars())
	// Output: after a second: height and speed [94.375 -10]
}
