package skills

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

var negativeInfinity = math.Inf(-1)

// Each objective with values that are exact in float32; the return of the second transition is the
// lowest accepted one.
func TestObjectives(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	task, diversity := []float32{1, 2, 3, 4, 5, 6}, []float32{0.5, -1, 2, 4, 8, nan}
	returns := []float32{9.5, 10, 11, nan, -inf, 9}
	for _, c := range []struct {
		objective Objective
		needs     bool
		want      []float32
	}{
		{DiversityOnly{}, false, []float32{0.5, -1, 2, 4, 8}},
		{PlusReward{3}, false, []float32{2.5, -1, 9, 16, 29}},
		// The last episode is not accepted, so its NaN does not propagate.
		{SMERL{Target: 12, Margin: 2, Scale: 3}, true, []float32{1, -1, 9, 4, 5, 6}},
	} {
		if c.objective.NeedsReturns() != c.needs {
			t.Errorf("%T: NeedsReturns is %v", c.objective, !c.needs)
		}
		xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				if !c.needs {
					return []*Node{c.objective.Reward(in[0], in[1], nil)}
				}
				return []*Node{c.objective.Reward(in[0], in[1], Const(in[0].Graph(), returns))}
			}, xlatest.Tensor(task, 6), xlatest.Tensor(diversity, 6))
			if got := xlatest.Flat[float32](t, out[0])[:len(c.want)]; !slices.Equal(got, c.want) {
				t.Errorf("%+v: %v, want %v", c.objective, got, c.want)
			}
		})
	}
}
