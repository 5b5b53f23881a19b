package td3

import (
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

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
	return New(config, nn.NewPolicy(2, []int{16}, 1))
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

// With known best actions, the greedy actor and an individual that ascends the critic's gradient
// come near them. The critics, whose targets are only rewards, come near the rewards.
func TestLearnsABandit(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		td3 := tiny()
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			buffer := bandit(td3, key.FoldIn(0), 1000)
			first := td3.Actor.Init(key.FoldIn(1).FoldInEach(Iota(key.Hi.Graph(),
				shapes.Make(dtypes.Int32, 2), 0)))
			ts := td3.Start(Slice(first, AxisRange(0, 1)), key.FoldIn(2))
			ts, critic, actor := td3.Train(ts, buffer, key.FoldIn(3), 800)
			child := td3.Vary(Slice(first, AxisRange(1, 2)), ts.Critic.Params[0],
				td3.DrawObservations(buffer, key.FoldIn(4), 200), noWorker(key), 1)
			obs := Slice(td3.Layout().Split(buffer.Rows).Obs, AxisRange(0, 200))
			off := func(policy nn.Network) *Node {
				best := MulScalar(Slice(obs, AxisRange(), AxisRange(0, 1)), 0.5)
				return ReduceAllMean(Abs(Sub(policy.Apply(obs), best)))
			}
			return []*Node{off(td3.Actor.Network(first, 0)), off(ts.Actor.Params), off(td3.Actor.Network(child, 0)),
				critic, actor}
		}, xlatest.Tensor(random.SeedWords(1), 2))
		at := func(i int) float32 { return xlatest.Flat[float32](t, out[i])[0] }
		if at(1) > 0.12 || at(2) > 0.12 || at(0) < 0.2 {
			t.Errorf("the first actor is off by %.3f, the greedy one by %.3f, the climber by %.3f", at(0),
				at(1), at(2))
		}
		if at(3) > 0.2 || max(at(4), -at(4)) > 0.2 {
			t.Errorf("losses %v and %v", at(3), at(4))
		}
	})
}

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
			t.Errorf("the loss of terminal steps is %v, and %v with other next observations", flat(0),
				flat(1))
		}
		if flat(2)[0] != 0 {
			t.Errorf("the loss of truncated steps is %v", flat(2))
		}
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
