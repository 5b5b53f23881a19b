package td3

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// first returns a learner and an actor from a key.
func (t TD3) first(key random.Key) TrainingState {
	return t.Start(t.Actor.Init(key.FoldIn(1).FoldInEach(Const(key.Hi.Graph(), []int32{0}))),
		key.FoldIn(2))
}

// Training equals successive updates with drawn batches, in one call or two, and is a function of
// its key, bit for bit.
func TestTrainIsUpdates(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		td3 := tiny()
		program, err := xlatest.Compile(p, "train",
			[]shapes.Shape{shapes.Make(dtypes.Uint32, 2)},
			func(in []*Node) []*Node {
				key := random.KeyOf(in[0])
				buffer, start := bandit(td3, key.FoldIn(0), 100), td3.first(key)
				once, loss, _ := td3.Train(start, buffer, key, 3)

				type state struct {
					Learner TrainingState
					Buffer  replay.Buffer
					Key     random.Key
					Loss    *Node
				}
				by := xla.For(key.Hi.Graph(), 3, state{start, buffer, key,
					ScalarZero(key.Hi.Graph(), dtypes.Float32)}, func(step *Node, s state) state {
					draw := s.Key.FoldInEach(step)
					batch := td3.Layout().Split(s.Buffer.Sample(draw.FoldIn(streamBatch),
						td3.TransitionsBatchSize))
					var each *Node
					s.Learner, each, _ = td3.step(s.Learner, batch,
						draw.FoldIn(streamNoise).Normal(td3.TransitionsBatchSize, 1))
					s.Loss = Add(s.Loss, DivScalar(each, 3.0))
					return s
				})
				return append(append(xla.Flatten(once), loss),
					append(xla.Flatten(by.Learner), by.Loss)...)
			})
		must.Do(err)
		defer program.Free()
		run := func(seed int64) []*tensors.Tensor {
			values := must.Get(program.Run(xla.Sharded{xlatest.Tensor(random.SeedWords(seed), 2)}))
			var out []*tensors.Tensor
			for _, v := range values {
				t.Cleanup(v.Free)
				out = append(out, v[0])
			}
			return out
		}
		out, again, other := run(1), run(1), run(2)
		n := len(out) / 2
		for i := range n {
			if out[i].DType() == dtypes.Int32 {
				if got := xlatest.Flat[int32](t, out[i])[0]; got != 3 || xlatest.Flat[int32](t,
					out[n+i])[0] != 3 {
					t.Errorf("the number of steps is %d", got)
				}
				continue
			}
			got := xlatest.Flat[float32](t, out[i])
			xlatest.Close(t, "a tensor of the learner", got, xlatest.Flat[float32](t, out[n+i]), 1e-5)
			if !slices.Equal(got, xlatest.Flat[float32](t, again[i])) {
				t.Errorf("tensor %d of the learner differs between two runs with the same key", i)
			}
		}
		if slices.Equal(xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, other[0])) {
			t.Error("different keys train the same critics")
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
		program, err := xlatest.Compile(p, "nan", []shapes.Shape{scalar, scalar, scalar},
			func(in []*Node) []*Node {
				key := random.NewKey(in[0].Graph(), 1)
				buffer, ts := bandit(td3, key.FoldIn(0), 32), td3.first(key)
				poison := func(x, with *Node, column int) *Node { // [n, width]
					return Add(x, Where(Equal(Iota(x.Graph(), x.Shape(), 1), ConstAs(x, column)), with,
						ZerosLike(x)))
				}
				buffer.Rows = poison(buffer.Rows, in[0], td3.Layout().Width()-3) // a reward
				actor, critic := ts.Actor.Params.Kernel, ts.Critic.Params[0].Kernel
				actor[0], critic[0] = poison(actor[0], in[1], 2), poison(critic[0], in[2], 2)
				_, criticLoss, actorLoss := td3.Train(ts, buffer, key, 2)
				return []*Node{criticLoss, actorLoss}
			})
		must.Do(err)
		defer program.Free()
		for at, what := range []string{"reward", "weight of the actor", "weight of the critics",
			"nothing"} {
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
			if shows := critic != critic || actor != actor; shows != (at < 3) {
				t.Errorf("%s is NaN: losses %v and %v", what, critic, actor)
			}
		}
	})
}

// The architecture of the critics is a field: other activations, no hidden layer.
func TestFormsOfCritics(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
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
				// One step of the variation, which splits the critic's first layer, compared with the loss as
				// written.
				adam := nn.NewAdam(td3.PolicyLearningRate)
				actor, critic := ts.Actor.Params.Join(), ts.Critic.Params
				loss := td3.policyLoss(actor, nn.JoinNetworks(critic), batch)
				want, _ := adam.Update(actor, Gradient(loss, actor)[0], adam.Start(actor))
				return []*Node{td3.Vary(actor, critic[0], batch.Obs, noWorker(key), 1), want}
			}, xlatest.Tensor(random.SeedWords(1), 2))
			xlatest.Close(t, name+": a varied actor", xlatest.Flat[float32](t, out[0]),
				xlatest.Flat[float32](t, out[1]), 1e-5)
		}
	})
}
