package skills

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Skills that move in different directions become distinguishable: the reward approaches its
// maximum, log(skills).
func TestDADSLearns(t *testing.T) {
	h := randomHistory(rand.New(rand.NewPCG(1, 2)), 60, 3, 3)
	clear(h.done)
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		reward, first, last := learn(t, p, DADS{LearningRate: 1e-2, Hidden: []int{16, 16}, Components: 4}, h, 200)
		if limit := float32(math.Log(3)); reward < 0.8*limit || reward > limit+1e-6 || last > first-0.5 {
			t.Errorf("the reward is %g of %g, the loss fell from %g to %g", reward, limit, first, last)
		}
	})
}

// Transitions that end an episode are not learnt from. The statistics count them as zero changes.
func TestDADSOfEnds(t *testing.T) {
	h := randomHistory(rand.New(rand.NewPCG(1, 2)), 12, 3, 2)
	for i := range h.done {
		h.done[i] = 1
	}
	dads := DADS{LearningRate: 1e-2, Hidden: []int{6, 5}, Components: 3}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			start := h.begin(dads, in[0].Graph())
			m := observed(start, batchOf(in)).(DADS)
			next, loss := m.Learn(batchOf(in))
			return append([]*Node{loss, rowOf(next), rowOf(start)}, xla.Flatten(m.Changes)...)
		}, h.tensors()...)
		flat := func(i int) []float32 { return xlatest.Flat[float32](t, out[i]) }
		if flat(0)[0] != 0 || !slices.Equal(flat(1), flat(2)) {
			t.Errorf("the loss is %v, and learning changes the networks: %v", flat(0)[0],
				!slices.Equal(flat(1), flat(2)))
		}
		if mean, squares, count := flat(3), flat(4),
			flat(5)[0]; slices.Max(mean) != 0 || slices.Min(mean) != 0 || slices.Max(squares) != 1 ||
			count != 12 {
			t.Errorf("mean %v, squares %v, count %v", mean, squares, count)
		}
	})
}

// Invalid settings are refused when the program is built.
func TestDADSMisfits(t *testing.T) {
	good := DADS{LearningRate: 1e-2, Hidden: []int{6, 5}, Components: 3}
	none, flat := good, good
	none.Components, flat.Hidden = 0, nil
	for name, dads := range map[string]DADS{"components": none, "hidden": flat} {
		if _, err := xlatest.Compile(xlatest.Pure(t), name,
			[]shapes.Shape{shapes.Make(dtypes.Float32)},
			func(in []*Node) []*Node {
				return xla.Flatten(dads.Init(taskOf(5, 3), random.NewKey(in[0].Graph(), 3)))
			}); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}
