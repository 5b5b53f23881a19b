package algebra_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// Sines and cosines are exact to a unit in the last place of 1 for angles of many turns, and NaN for what is not
// finite.
func TestSinCos(t *testing.T) {
	var angles []float32
	for _, scale := range []float64{1e-6, 1, 20, 1e4} {
		for i := -500; i <= 500; i++ {
			angles = append(angles, float32(scale*float64(i)/500))
		}
	}
	for i := range 9 { // where the sign or the polynomial changes
		for _, side := range []float64{-1e-6, 0, 1e-6} {
			angles = append(angles, float32(float64(i-4)*math.Pi/4+side))
		}
	}
	finite := len(angles)
	angles = append(angles, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)))
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			sin, cos := algebra.SinCos(algebra.Num{Rows: 1, Node: in[0]})
			return []*Node{sin.Node, cos.Node}
		}, xlatest.Tensor(angles, len(angles)))
		sin, cos := xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1])
		worst := 0.0
		for i, angle := range angles {
			wantSin, wantCos := math.Sincos(float64(angle))
			if i >= finite {
				if sin[i] == sin[i] || cos[i] == cos[i] {
					t.Errorf("of %v: %v and %v, want NaN", angle, sin[i], cos[i])
				}
				continue
			}
			worst = max(worst, math.Abs(float64(sin[i])-wantSin), math.Abs(float64(cos[i])-wantCos))
		}
		if !(worst < 1.2e-7) {
			t.Errorf("off by %.1e", worst)
		}
	})
}
