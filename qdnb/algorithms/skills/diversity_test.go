package skills

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
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
func learn(t *testing.T, p *xla.Platform, d Diversity, h history, steps int) (reward, first, last float32) {
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
		end := xla.ForUnfused(g, steps, state{start, batchOf(in), none, none}, func(step *Node, s state) state {
			s.Diversity, s.Last = s.Diversity.Learn(s.Batch)
			s.First = Where(Equal(step, ZerosLike(step)), s.Last, s.First)
			return s
		})
		return []*Node{ReduceAllMean(end.Diversity.Reward(end.Batch)), end.First, end.Last}
	}, h.tensors()...)
	scalar := func(i int) float32 { return xlatest.Flat[float32](t, out[i])[0] }
	return scalar(0), scalar(1), scalar(2)
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

// Skills that can be told apart are recognised: the rewards of DIAYN and DADS approach their maximum, log(skills), and
// in METRA's space a step has length 1 and transitions that end an episode count for nothing.
func TestDiversitiesLearn(t *testing.T) {
	far, moving, straight := randomHistory(rand.New(rand.NewPCG(1, 2)), 60, 3, 2),
		randomHistory(rand.New(rand.NewPCG(1, 2)), 60, 3, 3), randomHistory(rand.New(rand.NewPCG(1, 2)), 60, 3, 3)
	for i := range far.now { // skills stay at distant positions
		far.now[i] += 8 * float32(far.skill[i/far.d])
	}
	far.next = far.now
	clear(moving.done)
	for i := range straight.now { // a step of length 1 along the skill's own axis, from anywhere
		straight.next[i] = straight.now[i]
		if z := straight.skill[i/straight.d]; i%straight.d == z {
			straight.next[i]++
		}
		if straight.done[i/straight.d] = 0; i/straight.d%7 == 0 {
			straight.done[i/straight.d], straight.next[i] = 1, 1000
		}
	}
	// The mean over three outputs of step^2 is 1, so |step| is at most sqrt(3), and |u| is sqrt(3/2); 9 of 60 end.
	log3, metra := float32(math.Log(3)), float32((1-9.0/60)*math.Sqrt(3*1.5))
	for _, c := range []struct {
		d                 Diversity
		h                 history
		steps             int
		least, most, fall float32 // of the reward, and of the loss
	}{
		{DIAYN{LearningRate: 1e-2, Hidden: []int{16, 16}}, far, 150, 0.95 * log3, log3, 0.5},
		{DADS{LearningRate: 1e-2, Hidden: []int{16, 16}, Components: 4}, moving, 200, 0.8 * log3, log3 + 1e-6, 0.5},
		{METRA{LearningRate: 1e-2, Hidden: []int{16, 16}, Multiplier: 30, Slack: 1e-3}, straight, 800, 0.8 * metra,
			1.1 * metra, 0.5},
	} {
		xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
			reward, first, last := learn(t, p, c.d, c.h, c.steps)
			if !(reward >= c.least && reward <= c.most && first-last >= c.fall) {
				t.Errorf("%T: the reward is %g of %g, the loss fell from %g to %g", c.d, reward, c.most, first, last)
			}
		})
	}
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
		errtest.Equal(t, "the loss", flat(0)[0], 0)
		errtest.Equal(t, "the networks", flat(1), flat(2))
		if mean, squares, count := flat(3), flat(4),
			flat(5)[0]; slices.Max(mean) != 0 || slices.Min(mean) != 0 || slices.Max(squares) != 1 || count != 12 {
			t.Errorf("mean %v, squares %v, count %v", mean, squares, count)
		}
	})
}

// 13_metra.npz and 16_metra_continuous.npz: rewards, losses and four updates, computed in JAX from
// the publication's equations and constants (tools/golden_metra.py).
func TestGoldenMETRA(t *testing.T) {
	t.Run("numbered", func(t *testing.T) { compareMETRA(t, "13_metra.npz", false) })
	t.Run("continuous", func(t *testing.T) { compareMETRA(t, "16_metra_continuous.npz", true) })
}

func compareMETRA(t *testing.T, file string, continuous bool) {
	f := golden.Read(t, file)
	batch, inputs := f.Shape("now_1")[0], f.Shape("now_1")[1]
	skills, params := f.Shape("skill_1")[1], f.Shape("row")[0]
	metra := METRA{LearningRate: f.Number("const.learning_rate"), Hidden: []int{6, 6},
		Multiplier: f.Number("const.multiplier"), Slack: f.Number("const.slack")}
	task := taskOf(skills, inputs)
	if continuous {
		metra.Components, task.Skills = skills, unitVectors(1, skills)
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		steps := xlatest.Few(p, 4)
		in := []*tensors.Tensor{xlatest.Tensor(f.Float32s("row"), 1, params), xlatest.Tensor(make([]float32, batch), batch)}
		for i := 1; i <= steps; i++ {
			for _, name := range []string{"skill", "now", "next"} {
				in = append(in, xlatest.Stored(f, fmt.Sprint(name, "_", i)))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			m := metra.Init(task, random.NewKey(in[0].Graph(), 1)).(METRA)
			m.Nets.Params.Encoder = m.Nets.Params.Encoder.MLP.Network(in[0], 0)
			var model Diversity = m
			var out []*Node
			for i := range steps {
				b := batchOf([]*Node{in[2+3*i], in[3+3*i], in[4+3*i], in[1]})
				reward := model.Reward(b)
				var loss *Node
				model, loss = model.Learn(b)
				nets := model.(METRA).Nets.Params
				out = append(out, reward, loss, Concatenate([]*Node{
					nets.Encoder.Join(), Reshape(nets.LogMultiplier, 1, 1)}, 1))
			}
			return out
		}, in...)
		for i := range steps {
			flat := func(k int) []float32 { return xlatest.Flat[float32](t, out[3*i+k]) }
			stored := func(name string) []float32 { return f.Float32s(fmt.Sprint(name, "_", i+1)) }
			row := append(stored("row"), stored("log_multiplier")...)
			xlatest.Close(t, fmt.Sprint("rewards ", i), flat(0), stored("reward"), 2e-5)
			xlatest.Close(t, fmt.Sprint("loss ", i), flat(1), stored("loss"), 2e-5)
			xlatest.Close(t, fmt.Sprint("parameters ", i), flat(2), row, 2e-5)
		}
	})
}

// Evaluated skills are unit vectors, all different.
func TestUnitVectors(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		skills := unitVectors(2, size).Evaluated
		for _, skill := range skills {
			square := 0.0
			for _, x := range skill {
				square += float64(x) * float64(x)
			}
			if math.Abs(square-1) > 1e-6 {
				t.Errorf("skill %v is no unit vector", skill)
			}
		}
		if size > 1 && slices.Equal(skills[0], skills[1]) {
			t.Errorf("skills %v are equal", skills)
		}
	}
}

// On pointmaze, whose descriptor keeps the last position when an episode ends, the first step of an
// episode starts where the episode does: a jump from the end of the last one would be rewarded.
func TestMETRAStartsEpisodesAnew(t *testing.T) {
	env := envs.Pointmaze{}
	m := defaultMetra(env.Spec())
	m.SAC, m.NumSkills = small(), 3
	parts.Change(m, func(d *METRA) { d.Hidden = []int{8} })
	const n, width = 6, 2*2 + 2 + 3 + 1 + 2*2
	s := startSearch(t, xlatest.Pure(t), m.method(env), small())
	steps(t, s, 11)
	rows, stored := stored(t, s)
	if stored != width || len(rows) != 10*n*width {
		t.Fatalf("%d numbers of width %d", len(rows), stored)
	}
	ends := 0
	for row := range slices.Chunk(rows, width) {
		if !slices.Equal(row[:2], row[10:12]) { // observations of pointmaze are its descriptors
			t.Errorf("a step from %v has the descriptor %v", row[:2], row[10:12])
		}
		ends += int(row[7])
	}
	errtest.Equal(t, "episodes that ended", ends, n)
}

// 20_csf.npz: rewards, losses and three updates, by the published losses in PyTorch (tools/golden_csf.py).
func TestGoldenCSF(t *testing.T) {
	f := golden.Read(t, "20_csf.npz")
	columns := []string{"obs", "next_obs", "options", "actions", "actor_actions", "next_actions", "negatives", "dones"}
	results := []string{"reward", "encoder_loss", "features_loss", "actor_loss", "phi", "psi", "targets"}
	observations, size, actions := f.Shape("obs_1")[1], f.Shape("options_1")[1], f.Shape("actions_1")[1]
	const hidden = 6
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		steps := xlatest.Few(p, 3)
		in := []*tensors.Tensor{xlatest.Tensor(f.Float32s("phi_0"), 1, f.Shape("phi_0")[0]), xlatest.Stored(f, "psi_0"),
			xlatest.Stored(f, "targets_0")}
		for i := range steps {
			for _, name := range columns {
				in = append(in, xlatest.Stored(f, fmt.Sprint(name, "_", i+1)))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) (out []*Node) {
			units := []int{hidden, hidden}
			phi, psi := nn.NewMLP(observations, units, size), nn.NewMLP(observations+size+actions, units, size)
			rate := f.Number("const.learning_rate")
			c := CSF{Discount: f.Number("const.discount"), Components: size, Weight: f.Number("const.weight"),
				Encoder:  nn.NewTrainable(phi.Network(in[0], 0), rate),
				Features: nn.NewTargeted(psi.Networks(in[1]), rate, f.Number("const.tau"))}
			c.Features.Target = psi.Networks(in[2])
			for i := range steps {
				x := in[3+len(columns)*i:]
				with := func(obs *Node) *Node { return Concatenate([]*Node{obs, x[2]}, 1) }
				b := Batch{Transitions: replay.Transitions{Obs: with(x[0]), NextObs: with(x[1]), Action: x[3], Done: x[7],
					Truncation: x[7]}, Skill: x[2], Now: x[0], Next: x[1], NextActorAction: x[5]}
				next, loss := c.learn(b, x[6])
				out = append(out, c.Reward(b), loss, c.featuresLoss(b, next.step(b)),
					Neg(ReduceAllMean(c.ActorObjective(b, x[4], nil, nil))), next.Encoder.Params.Join(),
					nn.JoinNetworks(next.Features.Params), nn.JoinNetworks(next.Features.Target))
				c = next
			}
			return out
		}, in...)
		for i, x := range out {
			name := fmt.Sprint(results[i%len(results)], "_", i/len(results)+1)
			xlatest.Close(t, name, xlatest.Flat[float32](t, x), f.Float32s(name), 5e-5)
		}
	})
}

// Skills end at different positions, along the directions of a learned space.
func TestCSFSpreadsSkills(t *testing.T) {
	config := quick(16)
	config.Discount, config.FixAlpha = 0.8, false
	config.EvaluationInterval = 1 << 20
	csf := CSF{LearningRate: 3e-3, Discount: 0.8, Tau: config.Tau, Hidden: []int{32, 32}, Components: 2,
		Negatives: 64, Weight: 5}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := startSearch(t, p, methodOf(endless, 8, csf, DiversityOnly{}), config)
		first := spread(t, s)
		steps(t, s, 24)
		if last := spread(t, s); !(last > 4*first) {
			t.Errorf("the distance of skills from their mean changed from %g to %g", first, last)
		}
	})
}

// spread evaluates the skills of a search in the plane, and returns the mean distance of their ends from their mean.
func spread(t *testing.T, s *search) (distance float64) {
	t.Helper()
	_, e, err := s.Evaluate()
	must.Do(err)
	var x, y float64
	n := float64(len(e.Fitnesses))
	for i := range e.Fitnesses {
		x, y = x+float64(e.Descriptors[2*i])/n, y+float64(e.Descriptors[2*i+1])/n
	}
	for i := range e.Fitnesses {
		distance += math.Hypot(float64(e.Descriptors[2*i])-x, float64(e.Descriptors[2*i+1])-y) / n
	}
	return distance
}
