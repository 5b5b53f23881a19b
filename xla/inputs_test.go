package xla_test

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// A program may return an input unchanged and ignore others.
func TestInputsAreReturned(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		var inputs []*tensors.Tensor
		for i := range 5 {
			inputs = append(inputs, xlatest.Tensor([]float32{float32(i), 1}, 2))
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node { return in[:1] }, inputs...)
		if got := xlatest.Flat[float32](t, out[0]); got[0] != 0 || got[1] != 1 {
			t.Errorf("the first input comes back as %v", got)
		}
	})
}
