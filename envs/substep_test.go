package envs_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
)

// substep_*.npz holds the smallest step of the published code's dynamics, from states in contact: a
// substep with springs, two with position based dynamics.
func TestGoldenSubsteps(t *testing.T) {
	for name, model := range map[string]physics.Model{
		"ant-uni": robots.Ant(physics.Spring), "ant-trap": robots.Trap(robots.Ant(physics.PositionBased)),
		"walker-uni": robots.Walker2d(), "halfcheetah-uni": robots.HalfCheetah(),
		"halfcheetah-hurdles": robots.Hurdles(robots.HalfCheetah()), "hopper-uni": robots.Hopper(),
		"humanoid-uni": robots.Humanoid(),
	} {
		data := golden.Read(t, "substep_"+name+".npz")
		substeps := 1 + int(model.Dynamics)
		model.TimeStep, model.Substeps = model.TimeStep*float64(substeps)/float64(model.Substeps), substeps
		s := must.Get(physics.NewSystem(model))
		arrays := []string{"pos", "rot", "vel", "ang"}
		var inputs []*tensors.Tensor
		for _, name := range append(slices.Clone(arrays), "act") {
			if name != "act" {
				name += "_before"
			}
			inputs = append(inputs, xlatest.Tensor(data.Float32s(name), data.Shape(name)...))
		}
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
			after, _ := s.Step(s.Import(in[0], in[1], in[2], in[3]), Transpose(in[4], 0, 1))
			position, rotation, velocity, angular := s.Export(after)
			return []*Node{position, rotation, velocity, angular}
		}, inputs...)
		for i, array := range arrays {
			want := data.Float32s("after_" + array)
			largest := math.Max(1, float64(max(slices.Max(want), -slices.Min(want))))
			for k, got := range xlatest.Flat[float32](t, out[i]) {
				if off := math.Abs(float64(got - want[k])); !(off <= 1e-4*largest) {
					t.Fatalf("%s: element %d of after_%s is %g, not %g", name, k, array, got, want[k])
				}
			}
		}
	}
}
