package evolution

import (
	"fmt"
	"math"
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
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// publishedTask has the sizes, limits and reward offset of 15_dcrl.npz.
type publishedTask struct {
	scripted
	spec envs.Spec
}

func (p publishedTask) Spec() envs.Spec { return p.spec }

// readDCRL reads 15_dcrl.npz: single steps of QDax 0.5.0 (qdax/core/emitters/dcrl_emitter.py) for
// given networks and transitions, without noise on the target's action. tools/golden_dcrl.py made
// it.
func readDCRL(t *testing.T) (golden.File, DescriptorConditioned, scoring.Task) {
	f := golden.Read(t, "15_dcrl.npz")
	settings := partOf[td3.Config](defaultDCRLMapElites(envs.Spec{}))
	settings.CriticHidden, settings.TransitionsBatchSize = []int{7, 6}, f.Shape("data.obs")[0]
	settings.CriticLearningRate = f.Number("const.critic_learning_rate")
	settings.GreedyLearningRate = f.Number("const.actor_learning_rate")
	settings.PolicyLearningRate = f.Number("const.policy_learning_rate")
	settings.SoftTauUpdate, settings.Discount = f.Number("const.soft_tau_update"),
		f.Number("const.discount")
	settings.RewardScaling, settings.PolicyNoise = f.Number("const.reward_scaling"),
		f.Number("const.policy_noise")
	settings.PolicyDelay = int(f.Number("const.policy_delay"))
	env := publishedTask{spec: envs.Spec{Observations: f.Shape("data.obs")[1],
		Actions: f.Shape("data.actions")[1], Offset: f.Number("const.offset"),
		Descriptor: envs.Descriptor{
			Lower: f.Float32s("lower"), Upper: f.Float32s("upper")}}}
	task := scoring.NewTask(env, []int{7, 6}, 1)
	return f, DescriptorConditioned{PolicyGradient: PolicyGradient{
		Config: settings, policy: task.MLP()},
		Lengthscale: f.Number("const.lengthscale"), task: task}, task
}

// transitionsOf returns the transitions of 15_dcrl.npz as rows of the replay buffer.
func transitionsOf(f golden.File) (rows [][]float32) {
	for i := range f.Shape("data.obs")[0] {
		rows = append(rows, f.Joined([]int32{int32(i)}, "data.obs", "data.next_obs", "data.actions", "data.rewards",
			"data.dones", "data.truncations", "desc", "target"))
	}
	return rows
}

// Scaled descriptors and rewards, and up to three updates of critics and actor.
func TestGoldenDCRLUpdates(t *testing.T) {
	f, l, task := readDCRL(t)
	rows, names := transitionsOf(f), []string{"critic", "target_critic", "actor", "target_actor"}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		steps := xlatest.Few(p, 3)
		in := []*tensors.Tensor{xlatest.Stored(f, "data.desc"), xlatest.Stored(f, "data.target")}
		for _, name := range names {
			in = append(in, xlatest.Stored(f, name))
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g, limits := in[0].Graph(), task.Env.Spec().Descriptor
			out := []*Node{normalised(limits, in[0]), normalised(limits, in[1]),
				l.read(Const(g, rows)).Reward}
			learner, key := l.conditioned(), random.NewKey(g, 1)
			learner.Read = func(drawn *Node) replay.Transitions { // all of them, instead of those drawn
				return l.read(Const(drawn.Graph(), rows))
			}
			state := learner.Start(in[4], key)
			state.Critic.Params, state.Critic.Target = learner.Critic.Networks(in[2]), learner.Critic.Networks(in[3])
			state.Actor.Target = learner.Actor.Network(in[5], 0)
			buffer := l.layout().NewBuffer(g, 1)
			for n := range steps {
				after, critic, actor := learner.Train(state, buffer, key, n+1)
				out = append(out, nn.JoinNetworks(after.Critic.Params), nn.JoinNetworks(after.Critic.Target),
					after.Actor.Params.Join(), after.Actor.Target.Join(), critic, actor)
			}
			return out
		}, in...)
		xlatest.Matches(t, f, out, 1e-6, "desc", "target", "reward")
		for n := range steps {
			for i, name := range append(names, "critic_loss", "actor_loss") {
				name := fmt.Sprint(name, "_", n+1)
				xlatest.Close(t, name, xlatest.Flat[float32](t, out[3+6*n+i]), f.Float32s(name), 1e-5)
			}
		}
	})
}

// Gradient steps of two parents towards their own descriptors, and actors specialised to five
// descriptors: their parameters and actions.
func TestGoldenDCRLOffspring(t *testing.T) {
	f, l, task := readDCRL(t)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			goals, td3 := normalised(task.Env.Spec().Descriptor, in[5]), l.unconditioned()
			policies := l.specialise(l.conditioned().Actor.Network(in[4], 0), goals)
			children := td3.VaryTowards(in[0], in[1], td3.Critic.Network(in[2], 0), in[3],
				Const(in[0].Graph(), int32(0)), 2)
			return []*Node{children, policies, task.MLP().View(policies).Apply(in[6])}
		}, xlatest.Stored(f, "vary.parents"), xlatest.Stored(f, "vary.goals"), xlatest.Stored(f, "vary.critic"),
			xlatest.Stored(f, "vary.obs"), xlatest.Stored(f, "inject.actor"), xlatest.Stored(f, "inject.goals"),
			xlatest.Stored(f, "inject.obs"))
		xlatest.Matches(t, f, out, 1e-5, "vary.children", "inject.policies", "inject.actions")
	})
}

// aims is a scripted task whose policies can reach any descriptor: the actions are bounded.
func aims() scoring.Task {
	task := unlimited.task()
	task.Policy = nn.NewPolicy(1, []int{8}, 2)
	return task
}

// smallDCRL are settings for networks of a few units.
func smallDCRL() *MapElites {
	d := defaultDCRLMapElites(aims().Env.Spec())
	parts.Change(d, func(e *DescriptorConditioned) {
		e.CriticHidden, e.ReplayBufferSize, e.TransitionsBatchSize = []int{16}, 4000, 64
		e.NumCriticTrainingSteps, e.NumPGTrainingSteps, e.Lengthscale = 60, 10, 0.4
		e.CriticLearningRate, e.GreedyLearningRate = 3e-3, 3e-3
	})
	return d
}

func newDCRL(t *testing.T, p *xla.Platform, d *MapElites, settings settings) *search {
	t.Helper()
	return searchOf(t, p, aims(), d.Parts, settings)
}

// The transitions of a proposal have an individual's descriptor as their target, all others the one that
// their episode reached.
func TestDCRLTargets(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		const batch = 16
		settings := settings{Batch: batch, Slice: 8, Centroids: line(20), Seed: 3}
		proposed := smallDCRL() // all offspring, not half of them
		proposed.Mix[1].Of = 0
		steps(t, newDCRL(t, p, proposed, settings), 2)
		s := newDCRL(t, p, smallDCRL(), settings)
		for generation := range 3 {
			before := floats(t, stateOf(t, s), "descriptors")
			steps(t, s, 1)
			_, rows := replayOf(t, s)
			rows = rows[len(rows)-2*batch*9:]
			away := 0
			for i := range 2 * batch { // observation, next, two actions, reward, done, truncation, columns
				action, reached, target := rows[9*i+3], rows[9*i+7], rows[9*i+8]
				errtest.Equal(t, fmt.Sprint("descriptor of row ", i), reached, action)
				meant := []float32{reached}
				if generation > 0 && i/2 < 8 {
					meant = before
				}
				if !slices.Contains(meant, target) {
					t.Errorf("generation %d, row %d: target %v, want one of %v", generation, i, target, meant)
				}
				if target != reached {
					away++
				}
			}
			errtest.Equal(t, fmt.Sprint("other targets in generation ", generation), away > 0, generation > 0)
		}
	})
}

// Proposals are the same bits however they are divided among workers, and the share of injection is
// kept.
func TestDCRLProposalsAreDivided(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for _, c := range []struct{ isoline, inject float64 }{{0.5, 0.25}, {0.25, 0.125}, {0.5, 0},
			{0.5, 0.5}} {
			task := aims()
			start := DescriptorConditioned{PolicyGradient: PolicyGradient{Config: partOf[td3.Config](smallDCRL())},
				InjectionShare: c.inject, Lengthscale: 0.1}
			const batch, cells, steps = 16, 5, 640
			n := batch - int(c.isoline*batch)
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				key := random.KeyOf(in[0])
				g := in[0].Graph()
				number := func(from, k int) *Node {
					return MinScalar(AddScalar(Iota(g, shapes.Make(dtypes.Int32, k), 0), int32(from)), int32(n-1))
				}
				l := start.Init(Start{Task: task}, key).(DescriptorConditioned)
				genotypes := task.Policy.Init(key.FoldIn(5).FoldInEach(number(0, cells)))
				cells := repertoire.Cells{Fitness: ReduceSum(genotypes, 1),
					Descriptors: key.FoldIn(6).Uniform(-1, 1, cells, 1)}
				parents := newParents(genotypes, cells)
				parents.Batch, parents.Count = batch, n
				l.Observations = key.FoldIn(7).Uniform(-1, 1, steps, 1)
				propose := func(from, k int) *Node {
					which := number(from, k)
					return l.Offspring(parents, which, key.FoldIn(8).FoldInEach(which))
				}
				_, targets := l.parents(parents, key.FoldIn(8).FoldInEach(number(0, n)))
				third := (n + 2) / 3
				return []*Node{propose(0, n), Concatenate([]*Node{propose(0, third), propose(third, third),
					propose(2*third, third)}, 0), l.specialise(l.Learner.Actor.Params, targets)}
			}, xlatest.Tensor(random.SeedWords(1), 2))
			whole, parts, actors := xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1]),
				xlatest.Flat[float32](t, out[2])
			errtest.Equal(t, fmt.Sprintf("%+v: proposals of one worker and of three", c), whole, parts[:len(whole)])
			injected, params := 0, task.Policy.Params()
			for at := 0; at < len(whole); at += params {
				if slices.Equal(whole[at:at+params], actors[at:at+params]) {
					injected++
				}
			}
			errtest.Equal(t, fmt.Sprintf("%+v: specialised actors of %d proposals", c, n), injected, int(c.inject*batch))
		}
	})
}

// The actor learns to reach the descriptors that it is specialised to, at a high reward.
func TestDCRLLearnsToReachDescriptors(t *testing.T) {
	p := xlatest.Quick(t)
	d := smallDCRL()
	s := newDCRL(t, p, d, settings{Batch: 64, Slice: 32, Centroids: line(16), Seed: 1})
	task := aims()
	l := s.parts.Mix[0].Emitter.(DescriptorConditioned)
	l.task, l.policy = task, task.MLP()
	var goals []float32
	for i := range 9 {
		goals = append(goals, float32(i)/5-0.8)
	}
	measure := func() (off, reward float64) {
		in, state := []*tensors.Tensor{xlatest.Tensor(goals, len(goals), 1)}, stateOf(t, s)
		mlp := l.conditioned().Actor
		for layer := range mlp.Sizes[1:] {
			for _, part := range []string{"Bias", "Kernel"} {
				const actor = "proposing_0.Emitter.PolicyGradient.Learner.Actor.Trainable.Params"
				x := state[fmt.Sprintf("%s.%s.%d", actor, part, layer)]
				in = append(in, xlatest.Tensor(must.Get(x.Float32s()), x.Shape...))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			actor := nn.Network{MLP: mlp}
			for i := 1; i < len(in); i += 2 {
				actor.Bias, actor.Kernel = append(actor.Bias, in[i]), append(actor.Kernel, in[i+1])
			}
			return []*Node{task.MLP().View(l.specialise(actor, in[0])).Apply(OnesLike(in[0]))}
		}, in...)
		actions := xlatest.Flat[float32](t, out[0])
		for i, goal := range goals {
			off += math.Abs(float64(actions[2*i+1]-goal)) / float64(len(goals))
			reward += float64(actions[2*i]) / float64(len(goals))
		}
		return off, reward
	}
	before, _ := measure()
	steps(t, s, 25)
	after, reward := measure()
	t.Logf("off by %.3f before, %.3f after, reward %.3f", before, after, reward)
	if !(after < 0.5*before) || !(after < 0.25) || !(reward > 0.7) {
		t.Errorf("specialised actors miss their descriptors by %.3f at a reward of %.3f; untrained ones "+
			"by %.3f", after, reward, before)
	}
}
