package skills

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

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
	for _, name := range []string{"obs", "next_obs", "state_desc", "next_state_desc", "dones", "rewards"} {
		inputs = append(inputs, xlatest.Stored(f.File, "data."+name))
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
func (f published) compare(t *testing.T, out []*tensors.Tensor, prefix string, names []string, tolerance float64) {
	t.Helper()
	for i, name := range names {
		xlatest.Close(t, prefix+name, xlatest.Flat[float32](t, out[i]), f.Float32s(prefix+name), tolerance)
	}
}

// withRow returns a diversity reward whose networks are those of a row of the published code [1, N]:
// in the dynamics of DADS logits, means, hidden layers. Its other state is kept.
func withRow(d Diversity, task Problem, row *Node) Diversity {
	switch d := d.(type) {
	case DIAYN:
		d.Discriminator = nn.NewTrainable(nn.NewMLP(task.Width(), d.Hidden, task.Skills.Size()).Network(row, 0), d.LearningRate)
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
	units := f.Layers(prefix + "discriminator.mlp.linear_%d.b")
	return DIAYN{LearningRate: f.Number("const.learning_rate"), Hidden: units[:len(units)-1]},
		taskOf(f.skills, f.Shape(prefix + "discriminator.mlp.linear_0.w")[0])
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
			}, append([]*tensors.Tensor{xlatest.Stored(f.File, prefix+"discriminator.flat")}, f.transitions()...)...)
			f.compare(t, out, prefix, []string{"logits", "reward", "loss", "grad.flat", "reward_combined"}, 1e-5)
		})
	}
}

// dads returns the algorithm of a set of networks in 07_dads.npz, and its task.
func (f published) dads(prefix string) (DADS, Problem) {
	leaf := prefix + "dynamics.dynamics_network."
	return DADS{LearningRate: f.Number("const.learning_rate"),
		Components: int(f.Number("const.num_components")), Hidden: f.Layers(leaf + "mlp.linear_%d.b"),
	}, taskOf(f.skills, f.Shape("data.state_desc")[1])
}

// normaliser returns the statistics used by the golden networks: those after the last batch.
func (f published) normaliser() []*tensors.Tensor {
	last := f.statistics() - 1
	return []*tensors.Tensor{
		xlatest.Stored(f.File, fmt.Sprint("stats.mean_", last)), xlatest.Stored(f.File, fmt.Sprint("stats.var_", last)),
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
		}, append(append([]*tensors.Tensor{xlatest.Stored(f.File, prefix+"dynamics.flat")}, f.normaliser()...),
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
		inputs := []*tensors.Tensor{xlatest.Stored(f.File, "stats.x")}
		for k := range batches {
			inputs = append(inputs, xlatest.Stored(f.File, fmt.Sprint("stats.target_", k)),
				xlatest.Stored(f.File, fmt.Sprint("stats.done_", k)))
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			x := Batch{Now: ZerosLike(in[0]), Next: in[0]}
			m := dads.Init(of, random.NewKey(in[0].Graph(), 1)).(DADS)
			after := []*Node{m.change(x)}
			for k := range batches {
				target, done := in[1+2*k], in[2+2*k]
				m = m.Observe(Batch{Transitions: replay.Transitions{Done: done}, Now: ZerosLike(target), Next: target}).(DADS)
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

// The clip50.* arrays of 07_dads.npz: log-probabilities so far apart that the reward clamps their differences.
func TestGoldenDistinction(t *testing.T) {
	f := readPublished(t, "07_dads.npz")
	shape, active := f.Shape("clip50.log_prob_all"), f.Int32s("clip50.skill")
	hot := make([]float32, shape[0]*shape[1])
	for i, z := range active {
		hot[i*shape[1]+int(z)] = 1
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{distinction(in[0], in[1])} },
			xlatest.Stored(f.File, "clip50.log_prob_all"), xlatest.Tensor(hot, shape...))
		f.compare(t, out, "clip50.", []string{"reward"}, 1e-5)
	})
}

// 08_smerl.npz: the rewards of transitions, given the returns of their episodes.
func TestGoldenSMERL(t *testing.T) {
	f := golden.Read(t, "08_smerl.npz")
	smerl := SMERL{f.Number("const.smerl_target"), f.Number("const.smerl_margin"), f.Number("const.diversity_reward_scale")}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			always := SMERL{Target: negativeInfinity, Scale: smerl.Scale}
			return []*Node{smerl.Reward(in[0], in[1], in[2]), always.Reward(in[0], in[1], in[2]),
				PlusReward{smerl.Scale}.Reward(in[0], in[1], nil)}
		}, xlatest.Stored(f, "rewards"), xlatest.Stored(f, "diversity"), xlatest.Stored(f, "returns"))
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

// rowsOf returns the given rows of the transitions and their skills.
func (f published) rowsOf(in []*Node, index *Node, full bool) Batch {
	at := func(x *Node) *Node { return Gather(x, InsertAxes(index, -1)) }
	obs, nextObs, now, next, done, reward, action, truncation := at(in[0]), at(in[1]), at(in[2]),
		at(in[3]), at(in[4]), at(in[5]), at(in[6]), at(in[7])
	width := obs.Shape().Dimensions[1] - f.skills
	b := Batch{Transitions: replay.Transitions{Obs: obs, NextObs: nextObs, Action: action, Reward: reward, Done: done,
		Truncation: truncation}, Skill: Slice(obs, AxisRange(), AxisRange(width)), Now: now, Next: next}
	if full {
		b.Now, b.Next = Slice(obs, AxisRange(), AxisRange(0, width)),
			Slice(nextObs, AxisRange(), AxisRange(0, width))
	}
	return b
}

// sac returns the algorithm of the golden networks.
func (f published) sac(prefix string) sac.SAC {
	config := sac.Config{
		LearningRate: f.Number("const.learning_rate"), Discount: f.Number("const.discount"),
		Tau:           f.Number("const.tau"),
		RewardScaling: f.Number("const.reward_scaling"), AlphaInit: f.Number("const.alpha_init"),
		FixAlpha: true, BatchSize: f.Shape(prefix + "update.idx")[1],
	}
	units := f.Layers(prefix + "policy.mlp.linear_%d.b")
	config.Hidden = units[:len(units)-1]
	return config.For(f.Shape("data.obs")[1], f.Shape("data.actions")[1])
}

// updates compares successive updates of +REWARD with the arrays of a prefix. name names the network
// of the diversity reward. more returns its initial state other than that.
func (f published) updates(t *testing.T, prefix, name string, diversity Diversity, task Problem,
	full bool, more func() []*tensors.Tensor) {
	stored := f.Shape(prefix + "update.idx")[0]
	algorithm := f.sac(prefix)
	it := iteration{sac: algorithm, method: method{task, diversity, PlusReward{f.Number("const.diversity_reward_scale")}}}
	rows := func(name string, mlp nn.MLP) *tensors.Tensor {
		data := f.Float32s(prefix + name)
		return xlatest.Tensor(data, len(data)/mlp.Params(), mlp.Params())
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		steps := xlatest.Few(p, stored)
		inputs := []*tensors.Tensor{
			rows("policy.flat", algorithm.Actor), rows("critic.flat", algorithm.Critic),
			rows("target_critic.flat", algorithm.Critic),
			xlatest.Stored(f.File, prefix+name+".flat"), xlatest.Tensor(f.Int32s(prefix+"update.idx"),
				f.Shape(prefix+"update.idx")...),
			xlatest.Stored(f.File, prefix+"update.eps_critic"), xlatest.Stored(f.File, prefix+"update.eps_policy"),
		}
		own := len(inputs)
		inputs = append(append(inputs, f.transitions()...), xlatest.Stored(f.File, "data.actions"),
			xlatest.Stored(f.File, "data.truncations"))
		data := len(inputs)
		inputs = append(inputs, more()...)
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			alpha := Log(Const(in[0].Graph(), float32(algorithm.AlphaInit)))
			l := learning{algorithm.StateOf(in[0], in[1], in[2], alpha), withRow(diversity, task, InsertAxes(in[3], 0))}
			if dads, ok := l.Diversity.(DADS); ok {
				dads.Changes = xla.Unflatten(dads.Changes, in[data:])
				l.Diversity = dads
			}
			var results []*Node
			for k := range steps {
				step := func(x *Node) *Node {
					return Reshape(Slice(x, AxisRange(k, k+1)), x.Shape().Dimensions[1:]...)
				}
				var means metrics
				l, means = it.learn(l, f.rowsOf(in[own:data], step(in[4]), full), nil,
					sac.Noise{Critic: step(in[5]), Actor: step(in[6])})
				results = append(results, l.Learner.Actor.Params.Join(),
					nn.JoinNetworks(l.Learner.Critic.Params), nn.JoinNetworks(l.Learner.Critic.Target),
					rowOf(l.Diversity), means.Actor, means.Critic, means.Diversity)
			}
			return results
		}, inputs...)
		names := []string{"policy", "critic", "target_critic", name, "actor_loss", "critic_loss", name + "_loss"}
		for i, value := range out {
			k, array := i/len(names), prefix+"update."+names[i%len(names)]
			want := f.Float32s(array)
			want = want[k*len(want)/stored : (k+1)*len(want)/stored]
			xlatest.Close(t, fmt.Sprintf("%s after %d", array, k+1), xlatest.Flat[float32](t, value), want, 5e-5)
		}
	})
}

func TestGoldenUpdatesOfDIAYN(t *testing.T) {
	f := readPublished(t, "06_diayn.npz")
	none := func() []*tensors.Tensor { return nil }
	for _, prefix := range []string{"desc.", "full."} {
		diayn, task := f.diayn(prefix)
		t.Run(prefix, func(t *testing.T) {
			f.updates(t, prefix, "discriminator", diayn, task, prefix == "full.", none)
		})
	}
}

func TestGoldenUpdatesOfDADS(t *testing.T) {
	f := readPublished(t, "07_dads.npz")
	dads, task := f.dads("paper.")
	f.updates(t, "paper.", "dynamics", dads, task, false, f.normaliser)
}

// three is an environment with 3 observations and 2 actions, as in 17_qdac.npz.
type three struct{ point }

func (three) Spec() envs.Spec {
	spec := point{}.Spec()
	spec.Observations = 3
	return spec
}

// qdacNumbers returns the settings of 17_qdac.npz.
func qdacNumbers(f golden.File) (sac.Config, QDAC) {
	number := func(name string) float64 { return f.Number("const." + name) }
	config := sac.Config{LearningRate: number("learning_rate"), Discount: number("discount"),
		Tau: number("tau"), RewardScaling: number("reward_scaling"), AlphaInit: number("alpha_init")}
	for _, units := range f.Int32s("const.hidden") {
		config.Hidden = append(config.Hidden, int(units))
	}
	return config, QDAC{LearningRate: config.LearningRate, Discount: config.Discount, Tau: config.Tau,
		Hidden: config.Hidden, Distance: number("distance"), Smooth: number("smooth")}
}

// 17_qdac.npz: losses, gradients and three updates, computed by the published losses in JAX (tools/golden_qdac.py).
func TestGoldenQDAC(t *testing.T) {
	f := golden.Read(t, "17_qdac.npz")
	config, qdac := qdacNumbers(f)
	it := newIteration(methodOf(three{}, 1, qdac, TaskOnly{}), config)
	nets := []string{"actor", "critic", "target_critic", "features", "target_features", "multiplier"}
	columns := []string{"obs", "next_obs", "desc_prime", "actions", "rewards", "dones", "truncations",
		"state_desc", "noise_actor", "noise_critic", "noise_alpha"}
	losses := []string{"actor", "critic", "features", "log_alpha"}
	gradients := []string{"actor", "critic", "features", "multiplier"}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		steps := xlatest.Few(p, 3)
		var inputs []*tensors.Tensor
		for _, name := range nets {
			inputs = append(inputs, xlatest.Stored(f, name))
		}
		for i := range steps {
			for _, name := range columns {
				inputs = append(inputs, xlatest.Stored(f, fmt.Sprint(name, "_", i+1)))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) (out []*Node) {
			l := begin(it, in)
			for i := range steps {
				batch, noise := transitions(in[len(nets)+i*len(columns):])
				var m metrics
				l, m = it.learn(l, batch, nil, noise)
				now, q := l.Learner, l.Diversity.(QDAC)
				out = append(out, now.Actor.Params.Join(), nn.JoinNetworks(now.Critic.Params),
					nn.JoinNetworks(now.Critic.Target), nn.JoinNetworks(q.Features.Params),
					nn.JoinNetworks(q.Features.Target), q.Multiplier.Params.Join(), now.LogAlpha.Params, m.Actor,
					m.Critic, m.Diversity, m.Alpha)
				if i == 0 { // the first average is a tenth of the gradient
					for _, x := range []*Node{now.Actor.Moments.First.Join(),
						nn.JoinNetworks(now.Critic.Moments.First), nn.JoinNetworks(q.Features.Moments.First),
						q.Multiplier.Moments.First.Join()} {
						out = append(out, MulScalar(x, 10))
					}
				}
			}
			return out
		}, inputs...)
		compare := func(names []string, step int, format string) {
			for _, name := range names {
				array := fmt.Sprintf(format, name, step)
				xlatest.Close(t, array, xlatest.Flat[float32](t, out[0]), f.Float32s(array), 5e-5)
				out = out[1:]
			}
		}
		for step := 1; step <= steps; step++ {
			compare(append(nets, "log_alpha"), step, "%s_after_%d")
			compare(losses, step, "%s_loss_%d")
			if step == 1 {
				compare(gradients, step, "%s_gradient_%d")
			}
		}
	})
}

// begin returns what updates change, with the networks in[:6] and moments of 0.
func begin(it iteration, in []*Node) learning {
	g := in[0].Graph()
	q := it.Diversity.Init(it.Problem, random.NewKey(g, 1)).(QDAC)
	psi := q.Features.Target[0].MLP
	q.Features.Params, q.Features.Target = psi.Networks(in[3]), psi.Networks(in[4])
	q.Multiplier.Params = q.Multiplier.Params.MLP.Network(in[5], 0)
	return learning{it.sac.StateOf(in[0], in[1], in[2], Log(Const(g, float32(it.sac.AlphaInit)))), q}
}

// transitions returns the transitions of an update from the columns of TestGoldenQDAC.
func transitions(in []*Node) (Batch, sac.Noise) {
	conditioned := func(x *Node) *Node { return Concatenate([]*Node{x, in[2]}, 1) }
	return Batch{Transitions: replay.Transitions{Obs: conditioned(in[0]), NextObs: conditioned(in[1]),
			Action: in[3], Reward: in[4], Done: in[5], Truncation: in[6]},
			Skill: in[2], Now: in[7], Next: in[7]},
		sac.Noise{Actor: in[8], Critic: in[9], Alpha: in[10]}
}

// Skills end near their desired positions, although the task's reward leads elsewhere.
func TestQDACReachesSkills(t *testing.T) {
	config := quick(16)
	config.Discount, config.FixAlpha = 0.8, false
	config.EvaluationInterval = 1 << 20
	qdac := QDAC{LearningRate: config.LearningRate, Discount: config.Discount, Tau: config.Tau,
		Hidden: []int{32, 32}, Distance: 0.05, Smooth: 1e-3, Changes: true, Redraw: 0.5}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := startSearch(t, p, methodOf(endless, 16, qdac, TaskOnly{}), config)
		first := distanceToSkills(t, s)
		steps(t, s, 24)
		if last := distanceToSkills(t, s); !(last < first/3) {
			t.Errorf("the mean distance from the desired position changed from %g to %g", first, last)
		}
	})
}

// distanceToSkills evaluates the skills of a search in the plane, whose limits are -2 and 2, and
// returns their mean distance from the desired positions.
func distanceToSkills(t *testing.T, s *search) float64 {
	t.Helper()
	_, e, err := s.Evaluate()
	must.Do(err)
	desired, sum := s.it.Skills.Evaluated, 0.0
	for i := range e.Fitnesses {
		z := desired[i%len(desired)]
		sum += math.Hypot(float64(e.Descriptors[2*i]-2*z[0]), float64(e.Descriptors[2*i+1]-2*z[1]))
	}
	return sum / float64(len(e.Fitnesses))
}

// A share of the sampled transitions gets random skills; nothing else changes.
func TestMixedSkills(t *testing.T) {
	const n = 10
	skills := cube(3, 2)
	skills.Redraw = 0.5
	rows := make([]float32, n*2)
	for i := range rows {
		rows[i] = 5 + float32(i)
	}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Flat[float32](t, xlatest.Run(t, p, func(in []*Node) []*Node {
			return []*Node{skills.redrawn(in[0], random.NewKey(in[0].Graph(), 1))}
		}, xlatest.Tensor(rows, n, 2))[0])
		for i, x := range out {
			if drawn := i < n; drawn && math.Abs(float64(x)) > 1 || !drawn && x != rows[i] {
				t.Errorf("component %d of row %d is %g, was %g", i%2, i/2, x, rows[i])
			}
		}
		if slices.Equal(out[:2], out[2:4]) {
			t.Errorf("two random skills are %v", out[:2])
		}
	})
}

// Evaluated skills spread over the cube: each of its 16 squares has some of 64.
func TestSpread(t *testing.T) {
	var counts [16]int
	for _, z := range cube(64, 2).Evaluated {
		counts[4*int((z[0]+1)*2)+int((z[1]+1)*2)]++
	}
	if slices.Min(counts[:]) < 2 || slices.Max(counts[:]) > 6 {
		t.Errorf("the squares have %v points", counts)
	}
}

// QDAC refuses descriptors that are neither means nor final states, and changes of means.
func TestQDACNeedsDescriptors(t *testing.T) {
	h := defaultQdac(endless.Spec())
	parts.Change(h, func(q *QDAC) { q.Changes = true })
	_, err := newSearch(xlatest.Pure(t), h.method(of{endless, envs.Mean}), small(), 1)
	errtest.Want(t, err, "must be false for point")
	_, err = newSearch(xlatest.Pure(t), h.method(of{endless, envs.Outcome}), small(), 1)
	errtest.Want(t, err, "skills of point cannot be descriptors")
}

// Features are changes exactly where the descriptor is a final position that observations lack.
func TestQDACPredictsChangesOfUnseenPositions(t *testing.T) {
	for _, name := range envs.Names() {
		spec := must.Get(envs.Make(name)).Spec()
		unseen := slices.Contains([]string{"ant-omni", "humanoid-omni", "Ant-v5-position", "Humanoid-v5-position",
			"Swimmer-v5"}, name)
		errtest.Equal(t, name+": descriptor_changes", defaultQdac(spec).Diversity.(QDAC).Changes, unseen)
	}
}

// of is a point whose descriptor is of another kind.
type of struct {
	point
	kind envs.DescriptorKind
}

func (o of) Spec() envs.Spec {
	spec := o.point.Spec()
	spec.Descriptor.Kind = o.kind
	return spec
}
