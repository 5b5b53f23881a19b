package td3

import (
	"slices"
	"testing"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// published is 04_td3_pga.npz: QDax's results for given networks, transitions and noise.
type published struct {
	golden.File
	td3 TD3
}

func readPublished(t *testing.T) published {
	f := golden.Read(t, "04_td3_pga.npz")
	config := Config{
		CriticLearningRate: f.Number("const.critic_learning_rate"),
		GreedyLearningRate: f.Number("const.actor_learning_rate"),
		PolicyLearningRate: f.Number("const.policy_learning_rate"),
		NoiseClip:          f.Number("const.noise_clip"),
		PolicyNoise:        f.Number("const.policy_noise"), Discount: f.Number("const.discount"),
		RewardScaling: f.Number("const.reward_scaling"), SoftTauUpdate: f.Number("const.soft_tau_update"),
		PolicyDelay: int(f.Number("const.policy_delay")), TransitionsBatchSize: f.Shape("one.idx")[0],
		CriticHidden:     f.Hidden("critic.MLP_0.hidden_%d.bias"),
		ReplayBufferSize: 1, NumCriticTrainingSteps: 1, NumPGTrainingSteps: 1,
	}
	must.Do(limits.Of(config))
	return published{f, New(config, nn.NewPolicy(f.Shape("data.obs")[1], f.Hidden("actor.Dense_%d.bias"),
		f.Shape("data.actions")[1]))}
}

// batch returns the transitions in the given rows of the data, joined to rows of the layout.
func (f published) batch(rows []int32) *tensors.Tensor {
	joined := f.Joined(rows, "data.obs", "data.next_obs", "data.actions", "data.rewards", "data.dones", "data.truncations")
	return xlatest.Tensor(joined, len(rows), f.td3.Layout().Width())
}

// rows returns flat parameter sets as rows of one architecture.
func (f published) rows(name string, mlp nn.MLP) *tensors.Tensor {
	data := f.Float32s(name)
	return xlatest.Tensor(data, len(data)/mlp.Params(), mlp.Params())
}

func (f published) critics(name string) *tensors.Tensor { return f.rows(name, f.td3.Critic) }
func (f published) actor(name string) *tensors.Tensor   { return f.rows(name, f.td3.Actor) }

// start returns the initial learner of the data.
func (f published) start(critic, targetCritic, actor, targetActor *Node) TrainingState {
	c := f.td3.Config
	ts := TrainingState{nn.NewTargeted[Twin](f.td3.Critic.Networks(critic), c.CriticLearningRate, c.SoftTauUpdate),
		nn.NewTargeted(f.td3.Actor.Network(actor, 0), c.GreedyLearningRate, c.SoftTauUpdate),
		Const(critic.Graph(), int32(0))}
	ts.Critic.Target, ts.Actor.Target = f.td3.Critic.Networks(targetCritic), f.td3.Actor.Network(targetActor, 0)
	return ts
}

// stepped compares parameters after an Adam step where the gradient exceeds rounding noise, because
// Adam normalises the gradient's magnitude.
func stepped(t *testing.T, what string, got, want, gradient []float32) {
	t.Helper()
	got = slices.Clone(got)
	for i, g := range gradient {
		if max(g, -g) <= 1e-6 {
			got[i] = want[i]
		}
	}
	xlatest.Close(t, what, got, want, 2e-6)
}

// The losses, their gradients, and a step.
func TestGoldenStep(t *testing.T) {
	f := readPublished(t)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			batch := f.td3.Layout().Split(in[4])
			critic := f.td3.criticLoss(in[0], in[1], in[3], batch, in[5])
			policy := f.td3.policyLoss(in[2], in[0], batch)
			ts, criticLoss, actorLoss := f.td3.step(f.start(in[0], in[1], in[2], in[3]), batch, in[5])
			return append([]*Node{critic, Gradient(critic, in[0])[0], policy, Gradient(policy, in[2])[0], criticLoss, actorLoss,
				ts.Step}, ts.rows()...)
		}, f.critics("critic.flat"), f.critics("target_critic.flat"), f.actor("actor.flat"), f.actor("target_actor.flat"),
			f.batch(f.Int32s("one.idx")), xlatest.Stored(f.File, "one.eps"))
		xlatest.Matches(t, f.File, out, 1e-5, "one.critic_loss", "one.critic_grad.flat", "one.policy_loss")
		xlatest.Matches(t, f.File, out[3:], 1e-6, "one.policy_grad.flat")
		xlatest.Matches(t, f.File, out[4:], 1e-5, "one.critic_loss", "one.policy_loss")
		errtest.Equal(t, "the step after the first", xlatest.Flat[int32](t, out[6])[0], 1)
		for i, name := range []string{"critic", "target_critic", "actor", "target_actor"} {
			gradient := f.Float32s([]string{"one.critic_grad.flat", "one.policy_grad.flat"}[i/2])
			stepped(t, name, xlatest.Flat[float32](t, out[7+i]), f.Float32s("one.new_"+name+".flat"), gradient)
		}
	})
}

// Four steps in one loop, with their moments and the actor's delay.
func TestGoldenChain(t *testing.T) {
	f := readPublished(t)
	steps := f.Shape("chain.idx")[0]
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			type state struct {
				Learner     TrainingState
				Rows, Noise *Node
				After       []*Node // networks after each step
			}
			all := func(rows *Node) *Node {
				return Zeros(rows.Graph(), shapes.Make(rows.DType(),
					append([]int{steps}, rows.Shape().Dimensions...)...))
			}
			set := func(all, step, rows *Node) *Node { return xla.SetRows(all, step, InsertAxes(rows, 0)) }
			start := state{f.start(in[0], in[1], in[2], in[3]), in[4], in[5],
				xla.Map(in[:4], all)}
			end := xla.For(in[0].Graph(), steps, start, func(step *Node, s state) state {
				batch := f.td3.TransitionsBatchSize
				rows := xla.Rows(s.Rows, MulScalar(step, int32(batch)), batch)
				ts, _, _ := f.td3.step(s.Learner, f.td3.Layout().Split(rows),
					Reshape(xla.Rows(s.Noise, step, 1), batch, -1))
				for i, rows := range ts.rows() {
					s.After[i] = set(s.After[i], step, rows)
				}
				s.Learner = ts
				return s
			})
			return end.After
		}, f.critics("critic.flat"), f.critics("target_critic.flat"), f.actor("actor.flat"),
			f.actor("target_actor.flat"), f.batch(f.Int32s("chain.idx")), xlatest.Stored(f.File, "chain.eps"))
		for i, name := range []string{"critic", "target_critic", "actor", "target_actor"} {
			xlatest.Close(t, name+" after each step", xlatest.Flat[float32](t, out[i]),
				f.Float32s("chain."+name), 1e-5)
		}
	})
}

// The data's three steps of the variation, of both individuals at once, on given batches.
func TestGoldenVariation(t *testing.T) {
	f := readPublished(t)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		parents := xlatest.Tensor(slices.Concat(f.Float32s("individual.flat"),
			f.Float32s("individual2.flat")), 2, f.td3.Actor.Params())
		want := slices.Concat(f.Float32s("pg.new_individual.flat"), f.Float32s("pg.new_individual2.flat"))
		vary := func(rows []int32) []float32 {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				return []*Node{f.td3.Vary(in[0], f.td3.Critic.Network(in[1], 0), f.td3.Layout().Split(in[2]).Obs,
					Const(in[0].Graph(), int32(0)), 2)}
			}, parents, f.critics("critic.flat"), f.batch(rows))
			return xlatest.Flat[float32](t, out[0])
		}
		xlatest.Close(t, "two individuals after all steps", vary(f.Int32s("pg.idx")), want, 1e-5)
		n := f.td3.Actor.Params()
		xlatest.Close(t, "an individual after one step", vary(f.Int32s("one.idx"))[:n],
			f.Float32s("one.new_individual.flat"), 1e-5)
	})
}
