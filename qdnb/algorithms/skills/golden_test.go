package skills

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// array returns an array of a golden file as a tensor.
func array(f golden.File, name string) *tensors.Tensor {
	return xlatest.Tensor(f.Float32s(name), f.Shape(name)...)
}

// published is 06_diayn.npz or 07_dads.npz: results of QDax for given networks and transitions.
type published struct {
	golden.File
	skills int
}

func readPublished(t *testing.T, name string) published {
	f := golden.Read(t, name)
	return published{f, int(f.Number("const.num_skills"))}
}

// transitions returns the inputs of transitionsOf.
func (f published) transitions() []*tensors.Tensor {
	var inputs []*tensors.Tensor
	for _, name := range []string{"obs", "next_obs", "state_desc", "next_state_desc", "dones",
		"rewards"} {
		inputs = append(inputs, array(f.File, "data."+name))
	}
	return inputs
}

// transitionsOf returns the first rows of the transitions and their task rewards. The observations
// end in the skill; full uses the rest of them as descriptors.
func (f published) transitionsOf(in []*Node, rows int, full bool) (b Batch, task *Node) {
	first := func(x *Node) *Node { return Slice(x, AxisRange(0, rows)) }
	obs := in[0].Shape().Dimensions[1] - f.skills
	b = Batch{Skill: Slice(first(in[0]), AxisRange(), AxisRange(obs)), Now: first(in[2]),
		Next: first(in[3]), Transitions: replay.Transitions{Done: first(in[4])}}
	if full {
		b.Now, b.Next = Slice(first(in[0]), AxisRange(), AxisRange(0, obs)),
			Slice(first(in[1]), AxisRange(), AxisRange(0, obs))
	}
	return b, first(in[5])
}

// compare compares outputs with arrays whose names have a prefix.
func (f published) compare(t *testing.T, out []*tensors.Tensor, prefix string, names []string,
	tolerance float64) {
	t.Helper()
	for i, name := range names {
		xlatest.Close(t, prefix+name, xlatest.Flat[float32](t, out[i]), f.Float32s(prefix+name),
			tolerance)
	}
}

// withRow returns a diversity reward whose networks are those of a row of the published code [1, N]:
// in the dynamics of DADS logits, means, hidden layers. Its other state is kept.
func withRow(d Diversity, task Problem, row *Node) Diversity {
	switch d := d.(type) {
	case DIAYN:
		d.Discriminator = nn.NewTrainable(nn.NewMLP(task.Width(), d.Hidden,
			task.Skills.Size()).Network(row, 0), d.LearningRate)
		return d
	case DADS:
		logits, means, hidden := d.architectures(task.Skills.Size(), task.Width())
		start := 0
		cut := func(mlp nn.MLP) nn.Network {
			start += mlp.Params()
			return mlp.Network(Slice(row, AxisRange(), AxisRange(start-mlp.Params(), start)), 0)
		}
		d.Dynamics = nn.NewTrainable(skillDynamics{cut(logits), cut(means), cut(hidden)}, d.LearningRate)
		if d.Changes.Mean == nil {
			d.Changes = nn.NewStatistics(row.Graph(), task.Width())
		}
		return d
	}
	panic("no such row")
}

// rowOf is the inverse of withRow.
func rowOf(d Diversity) *Node {
	if d, ok := d.(DIAYN); ok {
		return d.Discriminator.Params.Join()
	}
	net := d.(DADS).Dynamics.Params
	return Concatenate([]*Node{net.Logits.Join(), net.Means.Join(), net.Hidden.Join()}, 1)
}

// diayn returns the algorithm of a set of networks in 06_diayn.npz, and its task.
func (f published) diayn(prefix string) (DIAYN, Problem) {
	units := f.hidden(prefix + "discriminator.mlp.linear_%d.b")
	return DIAYN{LearningRate: f.Number("const.learning_rate"),
			Hidden: units[:len(units)-1]},
		taskOf(f.skills, f.Shape(prefix + "discriminator.mlp.linear_0.w")[0])
}

// hidden returns the sizes of the layers whose biases have a name.
func (f published) hidden(bias string) (units []int) {
	for layer := 0; f.Has(fmt.Sprintf(bias, layer)); layer++ {
		units = append(units, f.Shape(fmt.Sprintf(bias, layer))[0])
	}
	return units
}

func TestGoldenDIAYN(t *testing.T) {
	f := readPublished(t, "06_diayn.npz")
	for _, prefix := range []string{"desc.", "full."} {
		diayn, of := f.diayn(prefix)
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				b, task := f.transitionsOf(in[1:], f.Shape(prefix + "reward")[0], prefix == "full.")
				m := withRow(diayn, of, InsertAxes(in[0], 0)).(DIAYN)
				reward, loss := m.Reward(b), m.loss(b)
				_, learnt := m.Learn(b)
				combined := PlusReward{f.Number("const.diversity_reward_scale")}.Reward(task, reward, nil)
				return []*Node{m.Discriminator.Params.Apply(b.Now), reward, learnt, Gradient(loss, in[0])[0], combined}
			}, append([]*tensors.Tensor{array(f.File, prefix+"discriminator.flat")}, f.transitions()...)...)
			f.compare(t, out, prefix, []string{"logits", "reward", "loss", "grad.flat", "reward_combined"},
				1e-5)
		})
	}
}

// dads returns the algorithm of a set of networks in 07_dads.npz, and its task.
func (f published) dads(prefix string) (DADS, Problem) {
	leaf := prefix + "dynamics.dynamics_network."
	return DADS{LearningRate: f.Number("const.learning_rate"),
		Components: int(f.Number("const.num_components")), Hidden: f.hidden(leaf + "mlp.linear_%d.b"),
	}, taskOf(f.skills, f.Shape("data.state_desc")[1])
}

// normaliser returns the statistics used by the golden networks: those after the last batch.
func (f published) normaliser() []*tensors.Tensor {
	last := f.statistics() - 1
	return []*tensors.Tensor{
		array(f.File, fmt.Sprint("stats.mean_", last)), array(f.File, fmt.Sprint("stats.var_", last)),
		tensors.FromScalar(f.Float32s(fmt.Sprint("stats.count_", last))[0]),
	}
}

// statistics is the number of batches of the stats.* arrays.
func (f published) statistics() int {
	n := 0
	for f.Has(fmt.Sprint("stats.target_", n)) {
		n++
	}
	return n
}

func TestGoldenDADS(t *testing.T) {
	f := readPublished(t, "07_dads.npz")
	const prefix = "paper."
	dads, of := f.dads(prefix)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			b, task := f.transitionsOf(in[4:], f.Shape(prefix + "reward")[0], false)
			m := withRow(dads, of, InsertAxes(in[0], 0)).(DADS)
			m.Changes = xla.Unflatten(m.Changes, in[1:4])
			change := m.change(b)
			whole := common(change)
			all := Add(m.all(change, b.Skill), InsertAxes(whole, 1))
			own := dot(all, b.Skill)
			reward, loss := m.Reward(b), m.loss(b)
			_, learnt := m.Learn(b)
			combined := PlusReward{f.Number("const.diversity_reward_scale")}.Reward(task, reward, nil)
			return []*Node{change, own, all, reward, combined, learnt, Gradient(loss, in[0])[0]}
		}, append(append([]*tensors.Tensor{array(f.File, prefix+"dynamics.flat")}, f.normaliser()...),
			f.transitions()...)...)
		f.compare(t, out, prefix, []string{"target", "log_prob", "log_prob_all", "reward",
			"reward_combined", "loss", "grad.flat"}, 2e-5)
	})
}

// The stats.* arrays of 07_dads.npz: the model's statistics after each batch, and changes
// normalised before and after it.
func TestGoldenObserve(t *testing.T) {
	f := readPublished(t, "07_dads.npz")
	dads, of := f.dads("paper.")
	batches := f.statistics()
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		inputs := []*tensors.Tensor{array(f.File, "stats.x")}
		for k := range batches {
			inputs = append(inputs, array(f.File, fmt.Sprint("stats.target_", k)),
				array(f.File, fmt.Sprint("stats.done_", k)))
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			x := Batch{Now: ZerosLike(in[0]), Next: in[0]}
			m := dads.Init(of, random.NewKey(in[0].Graph(), 1)).(DADS)
			after := []*Node{m.change(x)}
			for k := range batches {
				target, done := in[1+2*k], in[2+2*k]
				m = m.Observe(Batch{Transitions: replay.Transitions{Done: done}, Now: ZerosLike(target),
					Next: target}).(DADS)
				after = append(after, xla.Flatten(m.Changes)...)
			}
			return append(after, m.change(x))
		}, inputs...)
		names := []string{"normalized_initial"}
		for k := range batches {
			names = append(names, fmt.Sprint("mean_", k), fmt.Sprint("var_", k), fmt.Sprint("count_", k))
		}
		f.compare(t, out, "stats.", append(names, "normalized"), 1e-5)
	})
}

// The clip50.* arrays of 07_dads.npz: log-probabilities so far apart that the reward clamps their
// differences.
func TestGoldenDistinction(t *testing.T) {
	f := readPublished(t, "07_dads.npz")
	shape, active := f.Shape("clip50.log_prob_all"), f.Int32s("clip50.skill")
	hot := make([]float32, shape[0]*shape[1])
	for i, z := range active {
		hot[i*shape[1]+int(z)] = 1
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{distinction(in[0], in[1])} },
			array(f.File, "clip50.log_prob_all"), xlatest.Tensor(hot, shape...))
		f.compare(t, out, "clip50.", []string{"reward"}, 1e-5)
	})
}

// 08_smerl.npz: the rewards of transitions, given the returns of their episodes.
func TestGoldenSMERL(t *testing.T) {
	f := golden.Read(t, "08_smerl.npz")
	smerl := SMERL{f.Number("const.smerl_target"), f.Number("const.smerl_margin"),
		f.Number("const.diversity_reward_scale")}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			always := SMERL{Target: negativeInfinity, Scale: smerl.Scale}
			return []*Node{smerl.Reward(in[0], in[1], in[2]), always.Reward(in[0], in[1], in[2]),
				PlusReward{smerl.Scale}.Reward(in[0], in[1], nil)}
		}, array(f, "rewards"), array(f, "diversity"), array(f, "returns"))
		xlatest.Close(t, "combined", xlatest.Flat[float32](t, out[0]), f.Float32s("combined"), 1e-5)
		variant := f.Float32s("combined_reward_variant")
		xlatest.Close(t, "combined_reward_variant", xlatest.Flat[float32](t, out[1]), variant, 1e-5)
		plus := xlatest.Flat[float32](t, out[2]) // the variant except where a return is NaN
		for i, x := range f.Float32s("returns") {
			if x != x {
				plus[i] = variant[i]
			}
		}
		xlatest.Close(t, "combined_reward_variant by PlusReward", plus, variant, 1e-5)
	})
}
