package skills

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// history is B transitions in plain Go.
type history struct {
	skills, d       int
	skill           []int
	now, next, done []float32
}

// randomHistory returns transitions of skills that move in different directions: skill z steps by z+1
// along axis z mod d, plus noise.
func randomHistory(rng *rand.Rand, batch, skills, d int) history {
	h := history{skills: skills, d: d}
	for i := range batch {
		z := i % skills
		h.skill, h.done = append(h.skill, z), append(h.done, float32(rng.IntN(5)/4))
		for axis := range d {
			x := rng.NormFloat64() + 2*float64(z)
			h.now = append(h.now, float32(x))
			if axis == z%d {
				x += float64(z + 1)
			}
			h.next = append(h.next, float32(x+0.1*rng.NormFloat64()))
		}
	}
	return h
}

// tensors returns the inputs of batchOf.
func (h history) tensors() []*tensors.Tensor {
	hot := make([]float32, len(h.skill)*h.skills)
	for i, z := range h.skill {
		hot[i*h.skills+z] = 1
	}
	n := len(h.skill)
	return []*tensors.Tensor{xlatest.Tensor(hot, n, h.skills), xlatest.Tensor(h.now, n, h.d),
		xlatest.Tensor(h.next, n, h.d), xlatest.Tensor(h.done, n)}
}

func batchOf(in []*Node) Batch {
	return Batch{Transitions: replay.Transitions{Done: in[3]}, Skill: in[0], Now: in[1], Next: in[2]}
}

// taskOf returns a task of one-hot skills that d features distinguish.
func taskOf(skills, d int) Problem {
	return Problem{Skills: Distribution{OneHot: skills}, Features: Features{Columns: []int{d, d}}}
}

// begin returns the state before the first iteration.
func (h history) begin(d Diversity, g *Graph) Diversity {
	return d.Init(taskOf(h.skills, h.d), random.NewKey(g, 3))
}

// observed returns the state after the transitions of a batch were seen.
func observed(d Diversity, b Batch) Diversity {
	if o, ok := d.(Observer); ok {
		return o.Observe(b)
	}
	return d
}

// learn takes steps on one batch, in a loop that carries the diversity reward, after it has observed
// the batch. It returns the mean reward, and the losses before the first and the last step.
func learn(t *testing.T, p *xla.Platform, d Diversity, h history, steps int) (reward, first,
	last float32) {
	t.Helper()
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		g := in[0].Graph()
		type state struct {
			Diversity   Diversity
			Batch       Batch
			First, Last *Node
		}
		none := Zeros(g, shapes.Make(dtypes.Float32))
		start := observed(h.begin(d, g), batchOf(in))
		end := xla.ForUnfused(g, steps, state{start, batchOf(in), none, none},
			func(step *Node, s state) state {
				s.Diversity, s.Last = s.Diversity.Learn(s.Batch)
				s.First = Where(Equal(step, ZerosLike(step)), s.Last, s.First)
				return s
			})
		return []*Node{ReduceAllMean(end.Diversity.Reward(end.Batch)), end.First, end.Last}
	}, h.tensors()...)
	scalar := func(i int) float32 { return xlatest.Flat[float32](t, out[i])[0] }
	return scalar(0), scalar(1), scalar(2)
}

// Distinguishable skills are recognised: the reward approaches its maximum, log(skills).
func TestDIAYNLearns(t *testing.T) {
	h := randomHistory(rand.New(rand.NewPCG(1, 2)), 60, 3, 2)
	for i := range h.now { // skills stay at distant positions
		h.now[i] += 8 * float32(h.skill[i/h.d])
	}
	h.next = h.now
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		reward, first, last := learn(t, p, DIAYN{LearningRate: 1e-2, Hidden: []int{16, 16}}, h, 150)
		if most := float32(math.Log(3)); reward < 0.95*most || reward > most || last > 0.1 || first < 5*last {
			t.Errorf("the reward is %g of %g, the loss fell from %g to %g", reward, most, first, last)
		}
	})
}

// A NaN parameter makes the loss NaN.
func TestLossOfNaN(t *testing.T) {
	h := randomHistory(rand.New(rand.NewPCG(1, 2)), 12, 3, 2)
	for _, d := range []Diversity{
		DIAYN{LearningRate: 1e-2, Hidden: []int{6, 5}},
		DADS{LearningRate: 1e-2, Hidden: []int{6, 5}, Components: 3},
	} {
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			var n int
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				row := rowOf(h.begin(d, in[0].Graph()))
				n = row.Shape().Dimensions[1]
				type state struct {
					Row, Losses *Node
					Batch       Batch
				}
				start := state{row, Zeros(in[0].Graph(), shapes.Make(dtypes.Float32, n)), batchOf(in)}
				return []*Node{xla.For(in[0].Graph(), n, start, func(step *Node, s state) state {
					at := Equal(Iota(step.Graph(), shapes.Make(dtypes.Int32, 1, n), 1), step)
					broken := Where(at, ConstAs(s.Row, math.NaN()), s.Row)
					_, loss := withRow(d, taskOf(h.skills, h.d), broken).Learn(s.Batch)
					s.Losses = xla.SetRows(s.Losses, step, Reshape(loss, 1))
					return s
				}).Losses}
			}, h.tensors()...)
			for i, loss := range xlatest.Flat[float32](t, out[0]) {
				if loss == loss {
					t.Errorf("%T: with NaN as parameter %[3]d of %[2]d, the loss is %[4]g", d, n, i, loss)
				}
			}
		})
	}
}
