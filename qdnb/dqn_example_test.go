package qdnb_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// DQN is double deep Q-learning (van Hasselt et al. 2016) with slow target networks and an
// exploration rate for each environment (Horgan et al. 2018).
type DQN struct {
	LearningRate  float64 `json:"learning_rate"`
	Discount      float64 `json:"discount"`
	Tau           float64 `json:"tau"` // share of the networks in their targets, per update
	Batch         int     `json:"batch"`
	Buffer        int     `json:"buffer"`
	Environments  int     `json:"environments"`
	Unroll        int     `json:"unroll"`  // steps of each environment in an iteration
	Updates       int     `json:"updates"` // after each of these steps
	Hidden        []int   `json:"hidden"`
	EpisodeLength int     `json:"episode_length"`
	repertoire.CVT
}

// memory is what DQN remembers: a pytree.
type memory struct {
	Values nn.Targeted[nn.Network]
	Envs   envs.State
	Buffer replay.Buffer
}

// played is the state of the loop over the steps of an iteration: a pytree.
type played struct {
	Memory              memory
	Key                 random.Key
	Step, Loss, Invalid *Node // Loss and Invalid are sums
}

func (d *DQN) Check() error {
	if d.Environments < 2 || d.Unroll < 1 || d.Batch < 1 || d.Buffer < d.Environments {
		return errors.New("environments must be at least 2, unroll and batch 1, and buffer a step of all environments")
	}
	return d.CVT.Check()
}

func (d *DQN) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	discrete := env.(envs.Discrete)
	task, episodes := scoring.NewTask(env, d.Hidden, d.EpisodeLength), envs.AutoReset(env, d.EpisodeLength)
	layout := replay.Layout{Obs: env.Spec().Observations, Actions: 1}
	rows, err := discrete.Choices().Float32s()
	rule := algorithms.Rule[memory]{Metrics: []string{"loss"}, Steps: int64(d.Environments * d.Unroll),
		Every: 2000, Episodes: 16}
	rule.Start = func(key random.Key) memory {
		return memory{nn.NewTargeted(task.MLP().New(key.FoldIn(0)), d.LearningRate, d.Tau),
			envs.Reset(episodes, key.FoldIn(1).Split(d.Environments)), layout.NewBuffer(key.Hi.Graph(), d.Buffer)}
	}
	rule.Iterate = func(m memory, key random.Key) (memory, []*Node) {
		zero := Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32))
		begin := played{m, key, Const(zero.Graph(), int32(0)), zero, zero}
		end := xla.ForUnfused(zero.Graph(), d.Unroll, begin, func(step *Node, s played) played {
			s.Step = step
			key, before := s.Key.FoldInEach(step), s.Memory.Envs
			choice := d.explore(s.Memory.Values.Params.Apply(before.Observation), key.FoldIn(0))
			choices := Reshape(Const(step.Graph(), rows), discrete.Choices().Shape...)
			after := envs.Step(episodes, before, Gather(choices, InsertAxes(choice, -1)))
			seen, invalid := s.Memory.Buffer.KeepFinite(layout.Join(replay.Transitions{Obs: before.Observation,
				NextObs: after.Observation, Action: ConvertDType(InsertAxes(choice, -1), dtypes.Float32),
				Reward: after.Reward, Done: after.Done, Truncation: episodes.Truncation(after)}))
			s.Memory.Envs, s.Memory.Buffer = after, s.Memory.Buffer.Insert(seen)
			s.Invalid = Add(s.Invalid, ConvertDType(invalid, dtypes.Float32))
			return xla.ForUnfused(step.Graph(), d.Updates, s, func(update *Node, s played) played {
				draw := s.Key.FoldInEach(s.Step).FoldIn(1).FoldInEach(update)
				loss := d.loss(s.Memory.Values, layout.Split(s.Memory.Buffer.Sample(draw, d.Batch)))
				s.Memory.Values, s.Loss = s.Memory.Values.Step(loss), Add(s.Loss, loss)
				return s
			})
		})
		return end.Memory, []*Node{DivScalar(end.Loss, float64(d.Unroll*d.Updates)), end.Invalid}
	}
	// Evaluations draw actions by their logits. These are the values over a temperature of 0.001, so
	// that the best action is drawn.
	rule.Policy = func(m memory) *Node {
		net, last := m.Values.Target, len(d.Hidden)
		net.Kernel, net.Bias = slices.Clone(net.Kernel), slices.Clone(net.Bias)
		net.Kernel[last], net.Bias[last] = MulScalar(net.Kernel[last], 1000), MulScalar(net.Bias[last], 1000)
		return net.Join()
	}
	search, failed := rule.New(p, task, d.CVT, seed)
	return search, cmp.Or(err, failed)
}

// explore returns the choices with the highest values [n, choices], or random ones: with a
// probability of 0.4^(1 + 7 i / (n - 1)) in environment i.
func (d *DQN) explore(values *Node, key random.Key) *Node {
	n, choices, rates := values.Shape().Dimensions[0], values.Shape().Dimensions[1], []float32(nil)
	for i := range n {
		rates = append(rates, float32(math.Pow(0.4, 1+7*float64(i)/float64(n-1))))
	}
	any := ConvertDType(MulScalar(key.FoldIn(0).Uniform(0, 1, n), float64(choices)), dtypes.Int32)
	return Where(LessThan(key.FoldIn(1).Uniform(0, 1, n), Const(values.Graph(), rates)), any, best(values))
}

func best(values *Node) *Node { return ArgMax(StopGradient(values), -1, dtypes.Int32) }

// loss is the Huber loss of the temporal-difference errors. Where only its length ended an episode,
// the next observation is of another episode, and nothing is learnt.
func (d *DQN) loss(q nn.Targeted[nn.Network], b replay.Transitions) *Node {
	of := func(values, choice *Node) *Node { // the values of choices, [n]
		hit := Equal(Iota(values.Graph(), shapes.Make(dtypes.Int32, values.Shape().Dimensions...), -1), InsertAxes(choice, -1))
		return ReduceSum(Where(hit, values, ZerosLike(values)), -1)
	}
	next := of(q.Target.Apply(b.NextObs), best(q.Params.Apply(b.NextObs)))
	target := StopGradient(Add(b.Reward, MulScalar(Mul(OneMinus(b.Done), next), d.Discount)))
	now := of(q.Params.Apply(b.Obs), ConvertDType(Reshape(b.Action, -1), dtypes.Int32))
	off := Mul(Sub(target, now), OneMinus(b.Truncation))
	return ReduceAllMean(Where(LessThan(Abs(off), OnesLike(off)), MulScalar(Square(off), 0.5), AddScalar(Abs(off), -0.5)))
}

// cartPole is CartPole-v1 of Gymnasium, a pole on a cart that is pushed to the left or the right,
// with observations in units of about their ranges.
type cartPole struct{}

func (cartPole) Spec() envs.Spec {
	return envs.Spec{Name: "cart-pole", Observations: 4, Actions: 1, Length: 500, Descriptor: envs.Descriptor{
		Kind: envs.Final, Lower: []float32{-2.4}, Upper: []float32{2.4}, Components: []string{"position (m)"}}}
}

func (cartPole) Choices() npz.Array { return npz.Of([]float32{-10, 10}, 2, 1) } // N

func (c cartPole) Reset(keys random.Key) envs.State {
	start := func(i int) *Node { return keys.FoldIn(i).Uniform(-0.05, 0.05, keys.Hi.Shape().Size()) }
	return c.state(start(0), start(1), start(2), start(3))
}

func (c cartPole) Step(s envs.State, action *Node) envs.State {
	x, v, angle, spin := s.PhysicsState[0], s.PhysicsState[1], s.PhysicsState[2], s.PhysicsState[3]
	sin, cos := Sin(angle), Cos(angle)
	push := DivScalar(Add(Reshape(action, -1), MulScalar(Mul(Square(spin), sin), 0.05)), 1.1)
	turning := Div(Sub(MulScalar(sin, 9.8), Mul(cos, push)), MulScalar(OneMinus(MulScalar(Square(cos), 0.75/11)), 2./3))
	moving := Sub(push, MulScalar(Mul(turning, cos), 0.05/1.1))
	after := func(value, rate *Node) *Node { return Add(value, MulScalar(rate, 0.02)) }
	s = c.state(after(x, v), after(v, moving), after(angle, spin), after(spin, turning))
	s.Reward = OnesLike(x)
	return s
}

// state returns the state of position, velocity, angle and angular velocity, [B] each.
func (cartPole) state(x, v, angle, spin *Node) envs.State {
	beyond := func(x *Node, limit float64) *Node { return GreaterThan(Abs(x), ConstAs(x, limit)) }
	scaled := []*Node{DivScalar(x, 2.4), DivScalar(v, 2), MulScalar(angle, 5), DivScalar(spin, 2)}
	return envs.State{PhysicsState: []*Node{x, v, angle, spin}, Observation: Stack(scaled, 1), Reward: ZerosLike(x),
		Done:       ConvertDType(Or(beyond(x, 2.4), beyond(angle, 12*math.Pi/180)), dtypes.Float32),
		Descriptor: InsertAxes(x, -1)}
}

// defaultDQN solves the cart pole: 16 episodes that last 475 of 500 steps on average.
func defaultDQN() *DQN {
	return &DQN{LearningRate: 1e-3, Discount: 0.97, Tau: 0.01, Batch: 128, Buffer: 50_000, Environments: 8, Unroll: 25,
		Updates: 4, Hidden: []int{64, 64}, EpisodeLength: 500, CVT: repertoire.CVT{Cells: 16, CVTSamples: 1000}}
}

// A new learner is an algorithms.Rule: three functions that build graphs. Its runs have checkpoints,
// progress, metrics, figures and a repertoire.
func Example_dqn() {
	folder, _ := os.MkdirTemp("", "runs")
	defer os.RemoveAll(folder)
	run := nb.Must(qdnb.Train(context.Background(), qdnb.Spec{Name: "dqn", Environment: cartPole{}, Loop: defaultDQN(),
		Runs: folder, Backend: qdnb.Device(), Budget: qdnb.Generations(400), Quiet: true}))
	figure := nb.Must(figures.Columns([]*runs.Run{run}, figures.EnvSteps, "fitness_mean", "loss"))
	nb.Check(figure.Save(filepath.Join(folder, "dqn.svg")))
	table, longest := nb.Must(run.Metrics()), 0.0
	for _, row := range table.Rows {
		longest = max(longest, row[slices.Index(table.Columns, "fitness_mean")])
	}
	fmt.Println("solved:", longest >= 475)
	// Output: solved: true
}
