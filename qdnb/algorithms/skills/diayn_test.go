package skills

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// history is B transitions in plain Go.
type history struct {
	skills, d       int
	skill           []int
	now, next, done []float32
}

// random returns transitions of skills that move in different directions: skill z steps by z+1
// along axis z mod d, plus noise.
func random(rng *rand.Rand, batch, skills, d int) history {
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

func batchOf(in []*Node) Batch { return Batch{in[0], in[1], in[2], in[3], nil} }

// layer is a network layer in plain Go: its parameters are at the start of a row, and it returns
// those that follow.
func layer(row []float32, in, out int, relu bool) (apply func(x []float64) []float64,
	rest []float32) {
	bias, kernel := row[:out], row[out:out+in*out]
	return func(x []float64) []float64 {
		y := make([]float64, out)
		for j := range y {
			y[j] = float64(bias[j])
			for i := range x {
				y[j] += x[i] * float64(kernel[i*out+j])
			}
			if relu {
				y[j] = max(y[j], 0)
			}
		}
		return y
	}, row[out+in*out:]
}

func floats64(x []float32) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = float64(x[i])
	}
	return y
}

// learn takes steps on one batch, in a loop that carries the model, after the initial model has
// observed the batch. It returns the mean reward, the losses before the first and the last step,
// and the final parameters.
func learn(t *testing.T, p *xla.Platform, d Diversity, h history, steps int) (reward, first,
	last float32, known []*tensors.Tensor) {
	t.Helper()
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		g := in[0].Graph()
		type state struct {
			Model       Model
			Batch       Batch
			First, Last *Node
		}
		none := Zeros(g, shapes.Make(dtypes.Float32))
		m := d.Model(d.Start(h.skills, h.d, xla.NewKey(g, 3)), h.skills, h.d).Observe(batchOf(in))
		end := xla.ForUnfused(g, steps, state{m, batchOf(in), none, none},
			func(step *Node, s state) state {
				s.Model, s.Last = s.Model.Learn(s.Batch)
				s.First = Where(Equal(step, ZerosLike(step)), s.Last, s.First)
				return s
			})
		return append([]*Node{ReduceAllMean(end.Model.Reward(end.Batch)), end.First, end.Last},
			end.Model.Params()...)
	}, h.tensors()...)
	scalar := func(i int) float32 { return xlatest.Flat[float32](t, out[i])[0] }
	return scalar(0), scalar(1), scalar(2), out[3:]
}

// Distinguishable skills are recognised: the reward approaches its maximum, log(skills).
func TestDIAYNLearns(t *testing.T) {
	h := random(rand.New(rand.NewPCG(1, 2)), 60, 3, 2)
	for i := range h.now { // skills stay at distant positions
		h.now[i] += 8 * float32(h.skill[i/h.d])
	}
	h.next = h.now
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		reward, first, last, _ := learn(t, p, DIAYN{LearningRate: 1e-2, Hidden: []int{16, 16}}, h, 150)
		if most := float32(math.Log(3)); reward < 0.95*most || reward > most || last > 0.1 || first <
			5*last {
			t.Errorf("the reward is %g of %g, the loss fell from %g to %g", reward, most, first, last)
		}
	})
}

// A diversity's parameters match its field names, and a model made from them returns them.
func TestKnown(t *testing.T) {
	for _, d := range []Diversity{
		DIAYN{LearningRate: 1e-2, Hidden: []int{6, 5}},
		DADS{LearningRate: 1e-2, Hidden: []int{6, 5}, Components: 3},
		DADS{LearningRate: 1e-2, Hidden: []int{6, 5}, Components: 3, Sees: 1},
		METRA{LearningRate: 1e-2, Hidden: []int{6, 5}, Multiplier: 30, Slack: 1e-3},
	} {
		h := random(rand.New(rand.NewPCG(1, 2)), 12, 3, 2)
		fields := d.Fields()
		if sorted := slices.Sorted(slices.Values(fields)); len(slices.Compact(sorted)) != len(fields) {
			t.Errorf("%T: two of the fields %v are the same", d, fields)
		}
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			_, _, _, learnt := learn(t, p, d, h, 3)
			if len(learnt) != len(fields) {
				t.Fatalf("%T has %d tensors for %d names", d, len(learnt), len(fields))
			}
			var inputs []*tensors.Tensor
			var want [][]float32
			for _, x := range learnt {
				want = append(want, xlatest.Flat[float32](t, x))
				inputs = append(inputs, xlatest.Tensor(want[len(want)-1], x.Shape().Dimensions...))
			}
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				for i, start := range d.Start(h.skills, h.d, xla.NewKey(in[0].Graph(), 3)) {
					if !start.Shape().Equal(in[i].Shape()) {
						t.Errorf("%T: %s is of shape %s at first, then %s", d, fields[i], start.Shape(),
							in[i].Shape())
					}
				}
				return d.Model(in, h.skills, h.d).Params()
			}, inputs...)
			for i, x := range out {
				if got := xlatest.Flat[float32](t, x); !slices.Equal(got, want[i]) {
					t.Errorf("%T: %s is %v, was %v", d, fields[i], got, want[i])
				}
			}
		})
	}
}

// Learning is an Adam step on the row of a model's networks, and observing does not learn.
func TestStepIsAdam(t *testing.T) {
	h := random(rand.New(rand.NewPCG(1, 2)), 12, 3, 2)
	for _, d := range []Diversity{
		DIAYN{LearningRate: 1e-2, Hidden: []int{6, 5}},
		DADS{LearningRate: 1e-2, Hidden: []int{6, 5}, Components: 3},
	} {
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				known := d.Start(h.skills, h.d, xla.NewKey(in[0].Graph(), 3))
				// keeps units away from the kink of ReLU
				known[0] = Add(known[0], MulScalar(OnesLike(known[0]), 0.01))
				known[3], known[4] = AddScalar(known[3], 0.1), AddScalar(known[4], 0.001)
				adam := nn.NewAdam(1e-2)
				next, loss := d.Model(known, h.skills, h.d).Learn(batchOf(in))
				rows, m := adam.Update(known[0], Gradient(loss, known[0])[0],
					nn.Moments{First: known[1], Second: known[2], Weight1: known[3], Weight2: known[4]})
				seen := d.Model(known, h.skills, h.d).Observe(batchOf(in)).Params()
				return slices.Concat(next.Params()[:5], []*Node{rows, m.First, m.Second, m.Weight1, m.Weight2},
					[]*Node{seen[0], known[0]})
			}, h.tensors()...)
			for i, name := range d.Fields()[:5] {
				xlatest.Close(t, name, xlatest.Flat[float32](t, out[i]), xlatest.Flat[float32](t, out[5+i]),
					1e-6)
			}
			if !slices.Equal(xlatest.Flat[float32](t, out[10]), xlatest.Flat[float32](t, out[11])) {
				t.Errorf("%T learns while observing", d)
			}
		})
	}
}

// A NaN parameter makes the loss NaN.
func TestLossOfNaN(t *testing.T) {
	h := random(rand.New(rand.NewPCG(1, 2)), 12, 3, 2)
	for _, d := range []Diversity{
		DIAYN{LearningRate: 1e-2, Hidden: []int{6, 5}},
		DADS{LearningRate: 1e-2, Hidden: []int{6, 5}, Components: 3},
		DADS{LearningRate: 1e-2, Hidden: []int{6, 5}, Components: 3, Sees: 2},
	} {
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			var n int
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				known := d.Start(h.skills, h.d, xla.NewKey(in[0].Graph(), 3))
				n = known[0].Shape().Dimensions[1]
				type state struct {
					Known  []*Node
					Losses *Node
					Batch  Batch
				}
				start := state{known, Zeros(in[0].Graph(), shapes.Make(dtypes.Float32, n)), batchOf(in)}
				return []*Node{xla.For(in[0].Graph(), n, start, func(step *Node, s state) state {
					at := Equal(Iota(step.Graph(), shapes.Make(dtypes.Int32, 1, n), 1), step)
					known := slices.Clone(s.Known)
					known[0] = Where(at, ConstAs(known[0], math.NaN()), known[0])
					_, loss := d.Model(known, h.skills, h.d).Learn(s.Batch)
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
