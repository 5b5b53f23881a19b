package xla_test

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// The gradient of a sum broadcasts, and arithmetic in the body reads the broadcast; the other
// results are unread.
func TestGradientInLoop(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			type state struct{ X, Target, Unread *Node }
			end := xla.For(in[0].Graph(), 3, state{in[0], in[1], in[1]}, func(_ *Node, s state) state {
				loss := ReduceAllMean(Square(Sub(s.X, s.Target)))
				s.X = Sub(s.X, Gradient(loss, s.X)[0]) // with four elements the difference is halved
				return s
			})
			return []*Node{end.X}
		}, xlatest.Tensor([]float32{8, 0, -8, 16}, 2, 2), xlatest.Tensor([]float32{0, 0, 0, 8}, 2, 2))
		xlatest.Close(t, "parameters", xlatest.Flat[float32](t, out[0]), []float32{1, 0, -1, 9}, 1e-6)
	})
}
