package nn_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Many steps in a loop agree with the equations in float64; rows are independent.
func TestAdamOracle(t *testing.T) {
	const steps, rate = 200, 0.05
	start, target := []float32{3, -2, 0.5, 0, 1e-3, 7}, []float32{1, 1, 1, 1, 1, 1}
	want := make([]float32, len(start))
	for i := range start {
		x, first, second := float64(start[i]), 0.0, 0.0
		for t := 1; t <= steps; t++ {
			gradient := 2 * (x - float64(target[i]))
			first, second = 0.9*first+0.1*gradient, 0.999*second+0.001*gradient*gradient
			x -= rate * first / (1 - math.Pow(0.9, float64(t))) / (math.Sqrt(second/(1-math.Pow(0.999,
				float64(t)))) + 1e-8)
		}
		want[i] = float32(x)
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			type state struct {
				X, Target *Node
				Adam      nn.Moments
			}
			adam := nn.NewAdam(rate)
			end := xla.For(in[0].Graph(), steps, state{in[0], in[1], adam.Start(in[0])},
				func(_ *Node, s state) state {
					gradient := Gradient(ReduceAllSum(Square(Sub(s.X, s.Target))), s.X)[0]
					s.X, s.Adam = adam.Update(s.X, gradient, s.Adam)
					return s
				})
			return []*Node{end.X}
		}, xlatest.Tensor(start, 2, 3), xlatest.Tensor(target, 2, 3))
		xlatest.Close(t, "parameters", xlatest.Flat[float32](t, out[0]), want, 2e-5)
	})
}

func TestPolyak(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			return xla.Flatten(nn.Polyak([]*Node{in[0], in[1]}, []*Node{in[1], in[0]}, 0.25))
		}, xlatest.Tensor([]float32{0, 4}, 2), xlatest.Tensor([]float32{8, 0}, 2))
		xlatest.Close(t, "first", xlatest.Flat[float32](t, out[0]), []float32{2, 3}, 1e-6)
		xlatest.Close(t, "second", xlatest.Flat[float32](t, out[1]), []float32{6, 1}, 1e-6)
	})
}
