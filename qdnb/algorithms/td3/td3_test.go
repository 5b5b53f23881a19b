package td3

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// tiny returns the algorithm for small networks.
func tiny() TD3 {
	config := Default()
	config.CriticHidden, config.TransitionsBatchSize = []int{16}, 32
	config.CriticLearningRate, config.GreedyLearningRate, config.PolicyLearningRate = 3e-3, 3e-3, 1e-2
	return config.For(nn.NewPolicy(2, []int{16}, 1))
}

// bandit fills a buffer with episodes of one step. The reward of an action is its negative squared
// distance to half the first component of the observation, so the best policy is known.
func bandit(t TD3, key random.Key, rows int) replay.Buffer {
	g := key.Hi.Graph()
	obs, action := key.FoldIn(0).Uniform(-1, 1, rows, 2), key.FoldIn(1).Uniform(-1, 1, rows, 1)
	best := MulScalar(Slice(obs, AxisRange(), AxisRange(0, 1)), 0.5)
	reward := Reshape(Neg(Square(Sub(action, best))), rows)
	full := Const(g, int32(rows))
	return replay.Buffer{Rows: t.Layout().Join(replay.Transitions{
		Obs: obs, NextObs: obs, Action: action, Reward: reward, Done: OnesLike(reward),
		Truncation: ZerosLike(reward),
	}), Size: full, Position: ZerosLike(full)}
}

// noWorker is the index of the only worker.
func noWorker(key random.Key) *Node { return Const(key.Hi.Graph(), int32(0)) }

// Terminal steps do not bootstrap. Truncated steps contribute no error. The noise on the target's
// action is clipped. The actor and its target move only at every second step. A first step of Adam
// is as long as the learning rate. Varying several individuals equals varying each alone.
func TestLaws(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		td3 := tiny()
		td3.GreedyLearningRate = 2e-3
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			g := key.Hi.Graph()
			buffer := bandit(td3, key.FoldIn(0), 64)
			rows := td3.Actor.Init(key.FoldIn(1).FoldInEach(Iota(g, shapes.Make(dtypes.Int32, 14), 0)))
			ts := td3.Start(Slice(rows, AxisRange(0, 1)), key.FoldIn(2))
			batch := td3.Layout().Split(Slice(buffer.Rows, AxisRange(0, 32)))
			noise := key.FoldIn(3).Normal(32, 1)
			disturbed := func(b replay.Transitions, noise *Node) *Node {
				return ts.Critic.Params.Loss(td3.target(ts.Critic.Target, ts.Actor.Target, b, noise), b)
			}
			loss := func(b replay.Transitions) *Node { return disturbed(b, noise) }

			elsewhere, truncated, running := batch, batch, batch
			elsewhere.NextObs = AddScalar(batch.NextObs, 5)
			truncated.Truncation = OnesLike(batch.Truncation)
			running.Done = ZerosLike(batch.Done)
			clipped := OnesLike(noise)

			one, _, _ := td3.step(ts, batch, noise)
			two, _, _ := td3.step(one, batch, noise)
			three, _, _ := td3.step(two, batch, noise)

			actor := func(ts TrainingState) *Node { return ts.Actor.Params.Join() }
			observations := td3.DrawObservations(buffer, key.FoldIn(4), 3)
			// the last five overlap with those before
			all := td3.Vary(rows, ts.Critic.Params[0], observations, noWorker(key), 5)
			alone := td3.Vary(Slice(rows, AxisRange(9, 10)), ts.Critic.Params[0], observations, noWorker(key), 5)
			return []*Node{
				loss(batch), loss(elsewhere), loss(truncated),
				actor(ts), actor(one), actor(two), actor(three), one.Actor.Target.Join(), two.Actor.Target.Join(),
				Slice(all, AxisRange(9, 10)), alone,
				disturbed(running, MulScalar(clipped, td3.NoiseClip/td3.PolicyNoise)),
				disturbed(running, MulScalar(clipped, 100)), disturbed(running, clipped),
				ReduceAllMax(Abs(Sub(one.rows()[0], ts.rows()[0]))), ReduceAllMax(Abs(Sub(actor(one), actor(ts)))),
			}
		}, xlatest.Tensor(random.SeedWords(2), 2))
		flat := func(i int) []float32 { return xlatest.Flat[float32](t, out[i]) }
		if flat(0)[0] != flat(1)[0] || flat(0)[0] == 0 {
			t.Errorf("the loss of terminal steps is %v, and %v with other next observations", flat(0), flat(1))
		}
		errtest.Equal(t, "the loss of truncated steps", flat(2)[0], 0)
		if slices.Equal(flat(3), flat(4)) || !slices.Equal(flat(4), flat(5)) || slices.Equal(flat(5),
			flat(6)) || !slices.Equal(flat(7), flat(8)) {
			t.Error("the actor does not move exactly at the first and third step")
		}
		xlatest.Close(t, "an individual among others", flat(9), flat(10), 1e-6)
		xlatest.Close(t, "the loss with much noise", flat(12), flat(11), 1e-6)
		if flat(13)[0] == flat(11)[0] {
			t.Error("the noise changes nothing: the test proves nothing")
		}
		xlatest.Close(t, "the critics' step", flat(14), []float32{3e-3}, 1e-6)
		xlatest.Close(t, "the actor's step", flat(15), []float32{2e-3}, 1e-6)
	})
}

// first returns a learner and an actor from a key.
func (t TD3) first(key random.Key) TrainingState {
	return t.Start(t.Actor.Init(key.FoldIn(1).FoldInEach(Const(key.Hi.Graph(), []int32{0}))), key.FoldIn(2))
}

// Training equals successive updates with drawn batches.
func TestTrainIsUpdates(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		td3 := tiny()
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			buffer, start := bandit(td3, key.FoldIn(0), 100), td3.first(key)
			once, loss, _ := td3.Train(start, buffer, key, 3)
			by, mean := start, ZerosLike(loss)
			for step := range 3 {
				draw := key.FoldIn(step)
				batch := td3.Layout().Split(buffer.Sample(draw.FoldIn(streamBatch), td3.TransitionsBatchSize))
				var each *Node
				by, each, _ = td3.step(by, batch, draw.FoldIn(streamNoise).Normal(td3.TransitionsBatchSize, 1))
				mean = Add(mean, DivScalar(each, 3.0))
			}
			number := func(x *Node) *Node { return ConvertDType(x, dtypes.Float32) } // also of steps
			return xla.Map(append(append(xla.Flatten(once), loss), append(xla.Flatten(by), mean)...), number)
		}, xlatest.Tensor(random.SeedWords(1), 2))
		for i, n := 0, len(out)/2; i < n; i++ {
			xlatest.Close(t, "a tensor of the learner", xlatest.Flat[float32](t, out[i]), xlatest.Flat[float32](t, out[n+i]), 1e-5)
		}
	})
}

// NaN appears in the losses, even if units turn it into 0.
func TestLossesShowNaN(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		td3 := tiny()
		swallow := func(x *Node) *Node { return Where(GreaterThan(x, ZerosLike(x)), x, ZerosLike(x)) }
		td3.Actor.Hidden, td3.Critic.Hidden = swallow, swallow
		scalar := shapes.Make(dtypes.Float32)
		program, err := xlatest.Compile(p, "nan", []shapes.Shape{scalar, scalar, scalar}, func(in []*Node) []*Node {
			key := random.NewKey(in[0].Graph(), 1)
			buffer, ts := bandit(td3, key.FoldIn(0), 32), td3.first(key)
			poison := func(x, with *Node, column int) *Node { // [n, width]
				return Add(x, Where(Equal(Iota(x.Graph(), x.Shape(), 1), ConstAs(x, column)), with, ZerosLike(x)))
			}
			buffer.Rows = poison(buffer.Rows, in[0], td3.Layout().Width()-3) // a reward
			actor, critic := ts.Actor.Params.Kernel, ts.Critic.Params[0].Kernel
			actor[0], critic[0] = poison(actor[0], in[1], 2), poison(critic[0], in[2], 2)
			_, criticLoss, actorLoss := td3.Train(ts, buffer, key, 2)
			return []*Node{criticLoss, actorLoss}
		})
		must.Do(err)
		defer program.Free()
		for at, what := range []string{"reward", "weight of the actor", "weight of the critics", "nothing"} {
			var in []xla.Sharded
			for i := range 3 {
				x := float32(0)
				if i == at {
					x = float32(math.NaN())
				}
				in = append(in, xla.Sharded{tensors.FromScalar(x)})
			}
			out := must.Get(program.Run(in...))
			critic, actor := xlatest.Flat[float32](t, out[0][0])[0], xlatest.Flat[float32](t, out[1][0])[0]
			errtest.Equal(t, what+": a loss is NaN", critic != critic || actor != actor, at < 3)
		}
	})
}

// The architecture of the critics is a field: other activations, no hidden layer.
func TestFormsOfCritics(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for name, mlp := range map[string]nn.MLP{
			"tanh":      {Sizes: []int{3, 8, 8, 1}, Hidden: Tanh},
			"no layers": {Sizes: []int{3, 1}, Output: Tanh},
		} {
			td3 := tiny()
			td3.Critic = mlp
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				key := random.KeyOf(in[0])
				buffer, ts := bandit(td3, key.FoldIn(0), 100), td3.first(key)
				batch := replay.Transitions{Obs: xla.Rows(td3.Layout().Split(buffer.Rows).Obs,
					Const(key.Hi.Graph(), int32(0)), td3.TransitionsBatchSize)}
				// One step of the variation, which splits the critic's first layer, compared with the loss as written.
				adam := nn.NewAdam(td3.PolicyLearningRate)
				actor, critic := ts.Actor.Params.Join(), ts.Critic.Params
				loss := td3.policyLoss(actor, nn.JoinNetworks(critic), batch)
				want, _ := adam.Update(actor, Gradient(loss, actor)[0], adam.Start(actor))
				return []*Node{td3.Vary(actor, critic[0], batch.Obs, noWorker(key), 1), want}
			}, xlatest.Tensor(random.SeedWords(1), 2))
			xlatest.Close(t, name+": a varied actor", xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1]), 1e-5)
		}
	})
}

// rows returns the networks of a learner as rows: critics, their targets, the actor and its target.
func (ts TrainingState) rows() []*Node {
	return []*Node{nn.JoinNetworks(ts.Critic.Params), nn.JoinNetworks(ts.Critic.Target), ts.Actor.Params.Join(),
		ts.Actor.Target.Join()}
}

// criticLoss is the loss of the critics [2, C].
func (t TD3) criticLoss(critic, targetCritic, targetActor *Node, batch replay.Transitions, noise *Node) *Node {
	target := t.target(t.Critic.Networks(targetCritic), t.Actor.Network(targetActor, 0), batch, noise)
	return Twin(t.Critic.Networks(critic)).Loss(target, batch)
}

// policyLoss is the loss of an actor [1, N] by the first critic.
func (t TD3) policyLoss(actor, critic *Node, batch replay.Transitions) *Node {
	return policyLoss(t.Actor.Network(actor, 0), t.Critic.Network(critic, 0), batch.Obs)
}

// step is one step of [TD3.Train] on a batch, with standard normal noise [B, actions].
func (t TD3) step(ts TrainingState, batch replay.Transitions, noise *Node) (after TrainingState, critic, actor *Node) {
	after, sums := t.update(ts, none(noise.Graph()), batch, noise)
	critic, actor = sums.mean(after)
	return after, critic, actor
}

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
	return published{f, config.For(nn.NewPolicy(f.Shape("data.obs")[1], f.Hidden("actor.Dense_%d.bias"),
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
				return Zeros(rows.Graph(), shapes.Make(rows.DType(), append([]int{steps}, rows.Shape().Dimensions...)...))
			}
			set := func(all, step, rows *Node) *Node { return xla.SetRows(all, step, InsertAxes(rows, 0)) }
			start := state{f.start(in[0], in[1], in[2], in[3]), in[4], in[5], xla.Map(in[:4], all)}
			end := xla.For(in[0].Graph(), steps, start, func(step *Node, s state) state {
				batch := f.td3.TransitionsBatchSize
				rows := xla.Rows(s.Rows, MulScalar(step, int32(batch)), batch)
				ts, _, _ := f.td3.step(s.Learner, f.td3.Layout().Split(rows), Reshape(xla.Rows(s.Noise, step, 1), batch, -1))
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
			xlatest.Close(t, name+" after each step", xlatest.Flat[float32](t, out[i]), f.Float32s("chain."+name), 1e-5)
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
