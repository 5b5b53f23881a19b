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
)

// density is log q(x|z) of DADS with two hidden layers, for normalised x.
func (h history) density(d DADS, row []float32, z int, now []float32, x []float64) float64 {
	last := d.Hidden[1]
	logits, rest := layer(row, last, d.Components, false)
	means, rest := layer(rest, last, d.Components*h.d, false)
	first, rest := layer(rest, d.Sees+h.skills, d.Hidden[0], true)
	second, _ := layer(rest, d.Hidden[0], last, true)
	hot := make([]float64, h.skills)
	hot[z] = 1
	hidden := second(first(append(floats64(now[h.d-d.Sees:]), hot...)))
	weights, centres := logits(hidden), means(hidden)
	total := logOfSum(weights)
	logs := make([]float64, d.Components)
	for k := range logs {
		logs[k] = weights[k] - total - float64(h.d)/2*math.Log(2*math.Pi)
		for j := range x {
			off := x[j] - centres[k*h.d+j]
			logs[k] -= off * off / 2
		}
	}
	return logOfSum(logs)
}

// Rewards and losses of random networks match a float64 implementation, with all, part or none of
// the descriptor as input.
func TestDADSOracle(t *testing.T) {
	h := random(rand.New(rand.NewPCG(1, 2)), 23, 4, 3)
	for sees := range h.d + 1 {
		dads := DADS{LearningRate: 1e-3, Hidden: []int{7, 6}, Components: 5, Sees: sees}
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				known := dads.Start(h.skills, h.d, xla.NewKey(in[0].Graph(), 3))
				m := dads.Model(known, h.skills, h.d).Observe(batchOf(in))
				_, loss := m.Learn(batchOf(in))
				return append([]*Node{m.Reward(batchOf(in)), loss, known[0]}, m.Params()[5:]...)
			}, h.tensors()...)
			row, mean, squares := xlatest.Flat[float32](t, out[2]), xlatest.Flat[float32](t, out[3]),
				xlatest.Flat[float32](t, out[4])
			n := float64(len(h.skill))
			var rewards []float32
			loss := 0.0
			for i, z := range h.skill {
				now := h.now[i*h.d : (i+1)*h.d]
				x := make([]float64, h.d)
				for j := range x {
					x[j] = float64(h.next[i*h.d+j]-now[j]) - float64(mean[j])
					x[j] = max(-5, min(x[j]/math.Sqrt(float64(squares[j])/(n+1)), 5))
				}
				own, others := h.density(dads, row, z, now, x), 0.0
				for other := range h.skills {
					others += math.Exp(h.density(dads, row, other, now, x) - own)
				}
				rewards = append(rewards, float32(math.Log(float64(h.skills))-math.Log(others)))
				loss -= own * (1 - float64(h.done[i])) / n
			}
			xlatest.Close(t, "rewards", xlatest.Flat[float32](t, out[0]), rewards, 2e-5)
			xlatest.Close(t, "loss", xlatest.Flat[float32](t, out[1]), []float32{float32(loss)}, 1e-5)
		})
	}
}

// If the dynamics see only the skill, evaluating them once per skill gives the same values and
// gradients as once per transition.
func TestSkillAlone(t *testing.T) {
	h := random(rand.New(rand.NewPCG(1, 2)), 17, 4, 3)
	dads := DADS{LearningRate: 1e-3, Hidden: []int{7, 6}, Components: 5}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			known := dads.Start(h.skills, h.d, xla.NewKey(in[0].Graph(), 3))
			b := batchOf(in)
			m := dads.Model(known, h.skills, h.d).Observe(b).(skillDynamics)
			x := m.change(b)
			each, all := m.Learned.Net.ofEach(x, b.Skill),
				ofSkill(m.Learned.Net.ofAll(oneHots(x.Graph(), h.skills), x), b.Skill)
			slope := func(y *Node) *Node { return Gradient(ReduceAllSum(Mul(y, b.Done)), known[0])[0] }
			return []*Node{each, all, slope(each), slope(all)}
		}, h.tensors()...)
		for i, what := range []string{"log q", "its gradient"} {
			xlatest.Close(t, what, xlatest.Flat[float32](t, out[2*i+1]), xlatest.Flat[float32](t, out[2*i]),
				1e-5)
		}
	})
}

// Skills that move in different directions become distinguishable: the reward approaches its
// maximum, log(skills).
func TestDADSLearns(t *testing.T) {
	h := random(rand.New(rand.NewPCG(1, 2)), 60, 3, 3)
	clear(h.done)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, sees := range []int{0, 2} {
			reward, first, last, _ := learn(t, p, DADS{LearningRate: 1e-2, Hidden: []int{16, 16},
				Components: 4, Sees: sees}, h, 200)
			if most := float32(math.Log(3)); reward < 0.8*most || reward > most+1e-6 || last > first-0.5 {
				t.Errorf("seeing %d features: the reward is %g of %g, the loss fell from %g to %g", sees,
					reward,
					most, first, last)
			}
		}
	})
}

// Transitions that end an episode are not learnt from. The statistics count them as zero changes.
func TestDADSOfEnds(t *testing.T) {
	h := random(rand.New(rand.NewPCG(1, 2)), 12, 3, 2)
	for i := range h.done {
		h.done[i] = 1
	}
	dads := DADS{LearningRate: 1e-2, Hidden: []int{6, 5}, Components: 3}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			known := dads.Start(h.skills, h.d, xla.NewKey(in[0].Graph(), 3))
			m := dads.Model(known, h.skills, h.d).Observe(batchOf(in))
			next, loss := m.Learn(batchOf(in))
			return append([]*Node{loss, next.Params()[0], known[0]}, m.Params()[5:]...)
		}, h.tensors()...)
		flat := func(i int) []float32 { return xlatest.Flat[float32](t, out[i]) }
		if flat(0)[0] != 0 || !slices.Equal(flat(1), flat(2)) {
			t.Errorf("the loss is %v, and learning changes the networks: %v", flat(0)[0],
				!slices.Equal(flat(1), flat(2)))
		}
		if mean, squares, count := flat(3), flat(4),
			flat(5)[0]; slices.Max(mean) != 0 || slices.Min(mean) != 0 || slices.Max(squares) !=
			1 || count != 12 {
			t.Errorf("mean %v, squares %v, count %v", mean, squares, count)
		}
	})
}

// Invalid settings are refused when the program is built.
func TestDADSMisfits(t *testing.T) {
	good := DADS{LearningRate: 1e-2, Hidden: []int{6, 5}, Components: 3}
	sees, blind, none, flat := good, good, good, good
	sees.Sees, blind.Sees, none.Components, flat.Hidden = 4, -1, 0, nil
	for name, c := range map[string]struct {
		dads   DADS
		params int
	}{"sees": {sees, 0}, "blind": {blind, 0}, "components": {none, 0}, "hidden": {flat, 0},
		"row": {good, 10}} {
		_, err := xlatest.Compile(xlatest.Pure(t), name,
			[]xlatest.Input{{Shape: shapes.Make(dtypes.Float32)}},
			func(in []*Node) []*Node {
				known := c.dads.Start(5, 3, xla.NewKey(in[0].Graph(), 3))
				if c.params > 0 {
					known[0] = Zeros(in[0].Graph(), shapes.Make(dtypes.Float32, 1, c.params))
				}
				return c.dads.Model(known, 5, 3).Params()
			})
		if err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}
