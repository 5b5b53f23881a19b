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

// 17_qdac.npz: losses, gradients and three updates, computed by the published losses in JAX
// (tools/golden_qdac.py).
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
	config.SAC.Discount, config.SAC.FixAlpha = 0.8, false
	config.EvaluationInterval = 1 << 20
	qdac := QDAC{LearningRate: config.LearningRate, Discount: config.Discount, Tau: config.Tau,
		Hidden: []int{32, 32}, Distance: 0.05, Smooth: 1e-3, Changes: true, Redraw: 0.5}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := startSearch(t, p, methodOf(endless, 16, qdac, TaskOnly{}), config)
		first := distanceToSkills(t, s)
		steps(t, s, 71)
		if last := distanceToSkills(t, s); !(last < first/2) {
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
	_, err := newSearch(xlatest.Pure(t), h.method(of{endless, envs.Mean}), small())
	errtest.Want(t, err, "must be false for point")
	_, err = newSearch(xlatest.Pure(t), h.method(of{endless, envs.Outcome}), small())
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
