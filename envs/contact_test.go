package envs

import (
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// The foot of this walker is about to leave the ground, so rounding decides whether it is in
// contact. Compiled for vectors of eight copies, the kernel that computed the impulse once had the
// contact and the kernel that counted contacts did not. The foot then left at a thousand kilometres
// per second. This happened in one of thirty thousand episodes and gave the best fitness of all.
func TestContactAtItsEdge(t *testing.T) {
	position := []float32{
		0.11386168, 0, 1.0982776, 0.23237994, 0, 0.9228742, -0.07817272, 0, 0.28868303, -0.030746778,
		0.2, 0.21919346, 0.22696924, 0, 0.95164615, 0.06244859, 0, 0.29067954, 0.20800962, 0.2,
		0.15734598, 0, 0, 0,
	}
	rotation := []float32{
		0.9524356, 0, -0.30473995, 0, 0.97331697, 0, 0.22946484, 0, 0.9736726, 0, 0.22795098, 0,
		0.9868614, 0, -0.16156918, 0, 0.9931641, 0, 0.11672635, 0, 0.99315435, 0, 0.11680937, 0,
		0.99951303, 0, 0.031206604, 0, 1, 0, 0, 0,
	}
	velocity := []float32{
		-0.2992579, 0, -0.15793236, -0.14036992, 0, -0.08474594, -0.1456781, 0, -0.07881504,
		-0.10815586, 0, -0.10563254, -0.2355132, 0, -0.093967415, -0.12353456, 0, -0.13518752,
		-0.12289554, 0, 0.002920121, 0, 0, 0,
	}
	angular := []float32{
		0, -0.6105285, 0, 0, -0.059449047, 0, 0, 0.37717083, 0, 0, -0.26703793, 0, 0, 0.010787009, 0, 0,
		-0.27986798, 0, 0, -0.77233034, 0, 0, 0, 0,
	}
	action := []float32{-0.09130541, 0.7097754, 0.44205195, 0.17717467, 0.36061513, -0.20631464}
	env := must.Get(Make("walker-uni"))
	system := env.(*Rigid).brax()
	bodies := len(system.Model().Bodies)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, copies := range []int{1, 8} {
			repeated := func(x []float32) []float32 { return slices.Repeat(x, copies) }
			var actions []float32
			for _, a := range action {
				actions = append(actions, slices.Repeat([]float32{a}, copies)...)
			}
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				next, _ := system.Step(system.Import(in[0], in[1], in[2], in[3]), in[4])
				_, _, velocity, angular := system.Export(next)
				return []*Node{velocity, angular}
			}, xlatest.Tensor(repeated(position), copies, bodies, 3), xlatest.Tensor(repeated(rotation), copies, bodies, 4),
				xlatest.Tensor(repeated(velocity), copies, bodies, 3),
				xlatest.Tensor(repeated(angular), copies, bodies, 3), xlatest.Tensor(actions, len(action), copies))
			for i, name := range []string{"velocity", "angular velocity"} {
				if fastest := slices.Max(xlatest.Flat[float32](t, out[i])); !(fastest < 2) {
					t.Errorf("%d copies: a %s of %g", copies, name, fastest)
				}
			}
		}
	})
}
