package evolution

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// ASCIISettings are the hyperparameters of action sequence crossover, see [ASCIISettings.Emitter].
type ASCIISettings struct {
	NumEpochs    int     `json:"num_epochs" limits:"1,1048576"` // Adam steps of a parent, all on the same episode
	LearningRate float64 `json:"learning_rate" limits:">0,1e6"` // Adam's learning rate
	DiscountRate float64 `json:"discount_rate" limits:"0,1"`    // discount factor of rewards to go
	// ClipParam is how far a parent moves away from actions that were worse than its own.
	ClipParam float64 `json:"clip_param" limits:"0,1"`
	// Std is the standard deviation of the Gaussian that compares actions.
	Std float64 `json:"std" limits:">0,1e6"`
}

var _ = preset("ascii-me", defaultASCIIME)

// defaultASCIIME returns ASCII-ME with the hyperparameters of the published code's configuration: MAP-Elites
// with half of the offspring from action sequence crossover.
func defaultASCIIME(env envs.Spec) *MapElites {
	m := DefaultMapElites(env)
	m.Batch, m.Hidden = 256, []int{64, 64}
	crossover := ASCIISettings{NumEpochs: 32, LearningRate: 3e-3, DiscountRate: 0.99, ClipParam: 0.2, Std: 2}
	m.Mix = Mix{{crossover.Emitter(), Rest}, {defaultIsoLine, 0.5}}
	return m
}

// Emitter returns the emitter that makes ASCII-ME of MAP-Elites (Mitsides, Faldor and Cully 2025):
// action sequence crossover with performance-informed interpolation. It compares the latest episode
// of a parent with a random one of the previous generation, step by step, and moves the parent's
// actions towards those with a greater reward to go, and away from the others. There is no critic.
//
// It works with any archive: the emitter itself keeps the episodes of the individuals in it.
func (s ASCIISettings) Emitter() Emitter { return actionCrossover{ASCIISettings: s} }

// actionCrossover is the emitter of [ASCIISettings.Emitter].
type actionCrossover struct {
	ASCIISettings
	// Observations are observations [slots, T * observations] and Returns rewards to go [slots, T] of the
	// episodes in which the individuals in the archive entered it.
	Observations *Node `checkpoint:"Members"`
	Returns      *Node
	// Finite is 1 for the individuals of the latest generation whose episode is finite, [P], else 0.
	Finite *Node
	// Others are the episodes of the latest generation, after Prepare.
	Others episodes

	task  scoring.Task
	batch int
}

var _ Proposer = actionCrossover{}

// episodes are the episodes of n individuals: a pytree. What follows the end of an episode is not part of it.
type episodes struct {
	Obs, Actions *Node // [n, T, width]
	Returns      *Node // [n, T], rewards to go
	Alive        *Node // [n, T], 1 up to the end, 0 after it
}

// episodes cuts transitions [n * T, width] into episodes.
func (e actionCrossover) episodes(rows *Node) episodes {
	steps := layoutOf(e.task).Split(rows)
	n, length := rows.Shape().Dimensions[0]/e.task.Length, e.task.Length
	ends := Reshape(steps.Done, n, length)
	before := Sub(CumSum(ends, 1), ends)
	alive, rewards := Equal(before, ZerosLike(before)), Reshape(steps.Reward, n, length)
	return episodes{Obs: Reshape(steps.Obs, n, length, -1), Actions: Reshape(steps.Action, n, length, -1),
		Returns: e.toGo(Where(alive, rewards, ZerosLike(rewards))), Alive: ConvertDType(alive, dtypes.Float32)}
}

// toGo returns the discounted sums of rewards [n, T] from each step on. The sums of 1, 2, 4 ... steps
// are added up.
func (e actionCrossover) toGo(rewards *Node) *Node {
	n, length := rewards.Shape().Dimensions[0], rewards.Shape().Dimensions[1]
	for k := 1; k < length; k *= 2 {
		later := Concatenate([]*Node{Slice(rewards, AxisRange(), AxisRange(k)),
			Zeros(rewards.Graph(), shapes.Make(dtypes.Float32, n, k))}, 1)
		rewards = Add(rewards, MulScalar(later, math.Pow(e.DiscountRate, float64(k))))
	}
	return rewards
}

// Capacity implements [Proposer]: the transitions of the latest generation.
func (e actionCrossover) Capacity(generation int) int { return generation }

func (actionCrossover) fits(task scoring.Task, _ int) error { return task.CheckMLP() }

// Init implements [Emitter].
func (e actionCrossover) Init(start Start, key random.Key) Emitter {
	e.task, e.batch = start.Task, start.Batch
	zeros := func(width int) *Node {
		return Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32, start.Slots, width))
	}
	e.Observations, e.Returns = zeros(e.task.Length*e.task.Env.Spec().Observations), zeros(e.task.Length)
	e.Finite = Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32, start.Batch))
	return e
}

// Update implements [Emitter]: it stores the episodes of the individuals that enter the archive, and
// notes which are finite: the buffer replaces steps that are not by those of others.
func (e actionCrossover) Update(g Generation, _ random.Key) (Emitter, []Metric) {
	all := e.episodes(g.Found.Transitions)
	slots, count := xla.Nonzero(g.Accepted)
	from := Gather(g.Index, InsertAxes(slots, -1))
	e.Observations = xla.SetRowsAt(e.Observations, Reshape(all.Obs, e.batch, -1), from, slots, count)
	e.Returns = xla.SetRowsAt(e.Returns, all.Returns, from, slots, count)
	finite := Reshape(xla.FiniteRows(g.Found.Transitions), e.batch, -1)
	over := Equal(all.Alive, ZerosLike(all.Alive))
	e.Finite = ConvertDType(LogicalAll(Or(finite, over), 1), dtypes.Float32)
	return e, nil
}

// Prepare implements [Proposer]: the episodes of the latest generation, which are the rows of the
// buffer written last. Those that were not finite have no steps: parents stay as they are.
func (e actionCrossover) Prepare(buffer replay.Buffer, _ random.Key) Emitter {
	n, capacity := e.batch*e.task.Length, buffer.Rows.Shape().Dimensions[0]
	rows := AddScalar(Iota(buffer.Rows.Graph(), shapes.Make(dtypes.Int32, n, 1), 0), int32(capacity-n))
	e.Others = e.episodes(buffer.At(ModScalar(Add(rows, buffer.Position), int32(capacity))))
	e.Others.Alive = Mul(e.Others.Alive, perRow(e.Finite))
	return e
}

// Offspring implements [Emitter].
func (e actionCrossover) Offspring(parents Parents, which *Node, keys random.Key) *Node {
	type group struct{ Cells, Partner *Node } // [k, 1]
	type shared struct {
		Emitter   actionCrossover
		Genotypes *Node
	}
	k := which.Shape().Dimensions[0]
	partner := ConvertDType(keys.FoldIn(1).Uniform(0, float64(e.batch), k), dtypes.Int32)
	return xla.MapGroups(k, e.task.Policy.Params(), parents.Count, Reshape(Slice(which, AxisRange(0, 1))),
		group{perRow(parents.Sampler.Draw(keys)), perRow(MinScalar(partner, int32(e.batch-1)))},
		shared{e, parents.Genotypes}, func(g group, s shared) *Node {
			e, other := s.Emitter, xla.Map(s.Emitter.Others, func(x *Node) *Node { return Gather(x, g.Partner) })
			weights := e.weights(Reshape(Gather(e.Observations, g.Cells), other.Obs.Shape().Dimensions...),
				Gather(e.Returns, g.Cells), other)
			return e.vary(Gather(s.Genotypes, g.Cells), weights, other)
		})
}

// minSimilarity is the least weight of a step, also where the states differ entirely.
const minSimilarity = 0.25

// weights returns how much better the steps of other episodes are than those of parents, given the
// observations [m, T, observations] and rewards to go [m, T] of the parents: the difference of the
// rewards to go, times the cosine similarity of the observations, [m, T].
func (e actionCrossover) weights(obs, returns *Node, other episodes) *Node {
	dot := func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 2) }
	norms := Mul(Sqrt(dot(obs, obs)), Sqrt(dot(other.Obs, other.Obs)))
	none := Equal(norms, ZerosLike(norms))
	similarity := Div(dot(obs, other.Obs), Where(none, OnesLike(norms), norms))
	return Mul(Mul(MaxScalar(similarity, minSimilarity), Sub(other.Returns, returns)), other.Alive)
}

// vary returns the children of parents [m, N], after Adam steps on the weights times
//
//	ratio = exp(-|action - policy(observation)|^2 / (2 std^2))
//
// where a step of negative weight counts while its ratio is above 1 - clip_param. The loss is the sum
// of the children's losses.
func (e actionCrossover) vary(parents, weights *Node, other episodes) *Node {
	type state struct {
		Policies nn.Net
		Moments  nn.MomentsOf[nn.Net]
		Weights  *Node
		Other    episodes
	}
	adam, policy := nn.NewAdam(e.LearningRate), e.task.MLP()
	start := state{policy.View(parents), nn.MapMoments(adam.Start(parents), policy.View), weights, other}
	return xla.ForUnfused(parents.Graph(), e.NumEpochs, start, func(_ *Node, s state) state {
		away := ReduceSum(Square(Sub(s.Other.Actions, s.Policies.Apply(s.Other.Obs))), 2)
		ratio := Exp(MulScalar(away, -0.5/(e.Std*e.Std)))
		limit := ConstAs(ratio, 1-e.ClipParam)
		clipped := And(LessThan(s.Weights, ZerosLike(s.Weights)), LessThan(ratio, limit))
		gain := Mul(s.Weights, Where(clipped, BroadcastToShape(limit, ratio.Shape()), ratio))
		loss := DivScalar(Neg(ReduceAllSum(gain)), float64(e.task.Length))
		s.Policies, s.Moments = nn.UpdateTree(adam, s.Policies, Gradient(loss, xla.Flatten(s.Policies)...), s.Moments)
		return s
	}).Policies.Join()
}
