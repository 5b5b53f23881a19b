package sac

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// published is 05_sac.npz: QDax's results for given networks, transitions and noise.
type published struct {
	golden.File
	sac    SAC
	layout replay.Layout
}

func readPublished(t *testing.T) published {
	f := golden.Read(t, "05_sac.npz")
	obs, actions := f.Shape("data.obs")[1], f.Shape("data.actions")[1]
	config := Config{
		LearningRate: f.Number("const.learning_rate"), Discount: f.Number("const.discount"),
		Tau:           f.Number("const.tau"),
		RewardScaling: f.Number("const.reward_scaling"), AlphaInit: f.Number("const.alpha_init"),
		BatchSize: f.Shape("one.idx")[0], Hidden: f.Hidden("policy.mlp.linear_%d.b"),
	}
	must.Do(limits.Of(config))
	return published{f, config.For(obs, actions), replay.Layout{Obs: obs, Actions: actions}}
}

// rows returns flat parameter sets as rows of one architecture.
func (f published) rows(name string, mlp nn.MLP) *tensors.Tensor {
	data := f.Float32s(name)
	return xlatest.Tensor(data, len(data)/mlp.Params(), mlp.Params())
}

// batch returns the transitions in the given rows of the data, joined to rows of the layout.
func (f published) batch(rows []int32) *tensors.Tensor {
	joined := f.Joined(rows, "data.obs", "data.next_obs", "data.actions", "data.rewards", "data.dones", "data.truncations")
	return xlatest.Tensor(joined, len(rows), f.layout.Width())
}

func (f published) logAlpha() *tensors.Tensor { return tensors.FromScalar(f.Float32s("log_alpha")[0]) }

func TestGoldenDistribution(t *testing.T) {
	f := readPublished(t)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			d := nn.NewTanhGaussian(in[0])
			action, logProb := d.Sample(in[1])
			return []*Node{action, logProb, d.Mode(), Tanh(d.Mode())}
		}, xlatest.Stored(f.File, "dist.logits"), xlatest.Stored(f.File, "dist.eps"))
		// The published code recovers the noise from the action, which loses digits where the scale is small.
		xlatest.Matches(t, f.File, out, 5e-5, "dist.action", "dist.log_prob", "dist.mode", "dist.mode_adaptation")
	})
}

func TestGoldenLosses(t *testing.T) {
	f := readPublished(t)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			critic, target, actor, logAlpha, batch := in[0], in[1], in[2], in[3], f.layout.Split(in[4])
			critics, pi := f.sac.Critic.Networks(critic), f.sac.Actor.Network(actor, 0)
			targets := f.sac.target(f.sac.Critic.Networks(target), pi, logAlpha, batch, in[5])
			q := MulScalar(td3.Twin(critics).Loss(targets, batch), 0.25)
			a := f.sac.actorLoss(pi, critics, logAlpha, batch.Obs, in[6])
			h := f.sac.alphaLoss(logAlpha, pi, batch.Obs, in[7])
			return []*Node{q, Gradient(q, critic)[0], a, Gradient(a, actor)[0], h, Gradient(h, logAlpha)[0]}
		}, f.rows("critic.flat", f.sac.Critic), f.rows("target_critic.flat", f.sac.Critic),
			f.rows("policy.flat", f.sac.Actor), f.logAlpha(),
			f.batch(f.Int32s("one.idx")), xlatest.Stored(f.File, "one.eps_critic"), xlatest.Stored(f.File, "one.eps_policy"),
			xlatest.Stored(f.File, "one.eps_alpha"))
		xlatest.Matches(t, f.File, out, 2e-5, "one.critic_loss", "one.critic_grad.flat", "one.policy_loss",
			"one.policy_grad.flat", "one.alpha_loss", "one.alpha_grad")
	})
}

// Successive updates, with the entropy coefficient learned and fixed.
func TestGoldenUpdates(t *testing.T) {
	f := readPublished(t)
	for _, prefix := range []string{"update", "update_fix"} {
		t.Run(prefix, func(t *testing.T) {
			s := f.sac
			s.FixAlpha = prefix == "update_fix"
			stored, batch := f.Shape(prefix + ".idx")[0], f.Shape(prefix + ".idx")[1]
			xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
				steps := xlatest.Few(p, stored)
				inputs := []*tensors.Tensor{
					f.rows("policy.flat", s.Actor), f.rows("critic.flat", s.Critic),
					f.rows("target_critic.flat", s.Critic), f.logAlpha(),
					f.batch(f.Int32s(prefix + ".idx")), xlatest.Stored(f.File, prefix+".eps_critic"),
					xlatest.Stored(f.File, prefix+".eps_policy"),
				}
				if !s.FixAlpha {
					inputs = append(inputs, xlatest.Stored(f.File, prefix+".eps_alpha"))
				}
				out := xlatest.Run(t, p, func(in []*Node) []*Node {
					ts := s.StateOf(in[0], in[1], in[2], in[3])
					var results []*Node
					for k := range steps {
						step := func(x *Node) *Node {
							return Reshape(Slice(x, AxisRange(k, k+1)), x.Shape().Dimensions[1:]...)
						}
						noise := Noise{Critic: step(in[5]), Actor: step(in[6])}
						if !s.FixAlpha {
							noise.Alpha = step(in[7])
						}
						var critic, actor, alpha *Node
						rows := Slice(in[4], AxisRange(k*batch, (k+1)*batch))
						ts, critic, actor, alpha = s.Update(ts, f.layout.Split(rows), noise)
						results = append(results, ts.Actor.Params.Join(), nn.JoinNetworks(ts.Critic.Params),
							nn.JoinNetworks(ts.Critic.Target), ts.LogAlpha.Params, actor, critic, alpha)
					}
					return results
				}, inputs...)
				names := []string{"policy", "critic", "target_critic", "log_alpha", "actor_loss", "critic_loss", "alpha_loss"}
				for i, value := range out {
					k, name := i/len(names), prefix+"."+names[i%len(names)]
					want := f.Float32s(name)
					want = want[k*len(want)/stored : (k+1)*len(want)/stored]
					xlatest.Close(t, fmt.Sprintf("%s after %d", name, k+1), xlatest.Flat[float32](t, value), want, 2e-5)
				}
			})
		})
	}
}
