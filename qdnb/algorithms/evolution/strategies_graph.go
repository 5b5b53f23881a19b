package evolution

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// StrategySettings are the hyperparameters of [EvolutionStrategies].
type StrategySettings struct {
	Strategy    string  `json:"strategy"`     // see [StrategyNames]
	Emitters    int     `json:"emitters"`     // E, evolution strategies, which share the batch equally
	Sigma0      float64 `json:"sigma0"`       // initial step size
	RestartRule string  `json:"restart_rule"` // see [RestartRules]
	// Vectors is M, the number of direction vectors of LM-MA-ES; 0: as many as a strategy has
	// individuals.
	Vectors int `json:"vectors"`
	// AdamLearningRate and AdamL2Coeff are the learning rate and the L2 regularisation of OpenAI-ES.
	AdamLearningRate float64 `json:"adam_learning_rate"`
	AdamL2Coeff      float64 `json:"adam_l2_coeff"`
}

// The evolution strategies of [StrategyNames].
const (
	sepCMAESName = "sep-cma-es"
	lmMAESName   = "lm-ma-es"
	openAIESName = "openai-es"
)

// StrategyNames are the evolution strategies: separable CMA-ES (Ros and Hansen 2008), LM-MA-ES
// (Loshchilov, Glasmachers and Beyer 2019), and OpenAI-ES (Salimans et al. 2017).
var StrategyNames = []string{sepCMAESName, lmMAESName, openAIESName}

// RestartRules are the rules by which a strategy restarts at a random elite: once it has converged,
// or also after a generation in which it improved nothing.
var RestartRules = []string{"basic", "no_improvement"}

// EvolutionStrategies are E evolution strategies as emitters of CMA-MAE (pyribs,
// emitters/_evolution_strategy_emitter.py). Strategy e makes the individuals e B/E to (e+1) B/E - 1
// of a batch of B and adapts to those that improve the archive most. The memory is a few rows of a
// genotype for each strategy. It never holds all samples at once.
type EvolutionStrategies struct {
	StrategySettings
	Batch int // individuals per generation, a multiple of E
}

var _ Strategy = EvolutionStrategies{}

// distributions are the search distributions of E strategies over N parameters: a pytree. The mean
// of an individual's distribution plus a step, which is linear in standard normal noise, is the
// individual.
type distributions interface {
	// fields names the tensors of the state. The first is the means, [E, N]; the first axis of each is
	// E.
	fields() []string
	// start returns the state of distributions with means [E, N].
	start(mean *Node) []*Node
	// of returns the distributions of a state.
	of(state []*Node) distributions
	// weights are those of the individuals' noise by rank, for update.
	weights() []float32
	// steps turns noise [k, N] into steps of the strategies of these numbers, int32 [k, 1].
	steps(strategies, noise *Node) *Node
	// update returns the state after a generation, and which strategies have not converged, bool [E].
	// It gets the weighted sums of the individuals' noise and of its square, [E, N].
	update(noise, squares *Node) (after distributions, continues *Node)
}

// kind returns distributions of the chosen kind, without a state.
func (s EvolutionStrategies) kind() distributions {
	switch s.Strategy {
	case lmMAESName:
		return lmMAES{es: s}
	case openAIESName:
		return openAIES{es: s}
	case sepCMAESName, "":
		return sepCMAES{es: s}
	}
	panic(names.Unknown("strategy", s.Strategy, StrategyNames))
}

// Fields implements [Strategy].
func (s EvolutionStrategies) Fields() []string { return s.kind().fields() }

// Start implements [Strategy]. All strategies start at the same mean: a random policy, or the
// center of the initial range of a task without observations.
func (s EvolutionStrategies) Start(task scoring.Task, key xla.Key) []*Node {
	switch {
	case s.Emitters < 1 || s.Batch < s.Emitters:
		panic(errors.Errorf("a batch of %d cannot be divided among %d strategies", s.Batch, s.Emitters))
	case s.RestartRule != "" && !slices.Contains(RestartRules, s.RestartRule):
		panic(names.Unknown("restart_rule", s.RestartRule, RestartRules))
	}
	policy, one := task.Policy, Iota(key.Hi.Graph(), shapes.Make(dtypes.Int32, 1), 0)
	mean := policy.Init(key.FoldInEach(one))
	if task.Env.Spec().Observations == 0 {
		mean = BroadcastToShape(ConstAs(mean, (policy.Initial[0]+policy.Initial[1])/2), mean.Shape())
	}
	return s.kind().start(BroadcastToDims(mean, s.Emitters, policy.Params()))
}

// Offspring implements [Emitter].
func (s EvolutionStrategies) Offspring(parents Parents, _ xla.Key) *Node {
	means := parents.State[0]
	strategies := Div(parents.Individuals, ConstAs(parents.Individuals, int32(s.size())))
	strategies = InsertAxes(MinScalar(strategies, int32(s.Emitters-1)), -1)
	noise := s.noise(parents.Generation, parents.Individuals, means.Shape().Dimensions[1])
	return Add(Gather(means, strategies), s.kind().of(parents.State).steps(strategies, noise))
}

// size is the number of individuals of a strategy.
func (s EvolutionStrategies) size() int { return s.Batch / s.Emitters }

// numbers are those of the strategies, int32 [E].
func (s EvolutionStrategies) numbers(g *Graph) *Node {
	return Iota(g, shapes.Make(dtypes.Int32, s.Emitters), 0)
}

// noise draws the standard normal noise of individuals, [k, N]. OpenAI-ES samples antithetically:
// an odd individual has the noise of the one before it with the opposite sign.
func (s EvolutionStrategies) noise(generation xla.Key, individuals *Node, params int) *Node {
	k := individuals.Shape().Dimensions[0]
	if s.Strategy != openAIESName {
		return ChildKeys(generation, individuals).Normal(k, params)
	}
	odd := Mod(individuals, ConstAs(individuals, int32(2)))
	sign := ConvertDType(AddScalar(MulScalar(odd, -2), 1), dtypes.Float32)
	return Mul(ChildKeys(generation, Sub(individuals, odd)).Normal(k, params), InsertAxes(sign, -1))
}

// Adapt implements [Strategy]. Each strategy ranks its individuals by their improvement.
func (s EvolutionStrategies) Adapt(g Adaptation) []*Node {
	improvement := Reshape(g.Improvement, s.Emitters, s.size())
	before := s.kind().of(g.Parents.State)
	params := g.Parents.State[0].Shape().Dimensions[1]
	after, continues := before.update(s.recombine(g.Key, ranks(improvement), before.weights(), params))
	elites := g.Archive.Sample(g.Key.FoldIn(streamRestart).FoldInEach(s.numbers(improvement.Graph())))
	restarts := LogicalNot(And(continues, s.ranked(improvement)))
	state := xla.Flatten(after)
	for i, fresh := range before.start(elites) {
		wide := slices.Repeat([]int{1}, fresh.Rank())
		wide[0] = s.Emitters
		state[i] = Where(BroadcastToShape(Reshape(restarts, wide...), fresh.Shape()), fresh, state[i])
	}
	return state
}

// streamRestart is the random stream of a generation that draws the elites of restarts.
// Non-negative numbers are its individuals.
const streamRestart = -1

// recombine sums the noise of each strategy's individuals and its square, [E, N], with weights by
// rank. It draws the noise again, one rank at a time.
func (s EvolutionStrategies) recombine(generation xla.Key, ranks *Node, weights []float32,
	params int) (noise, squares *Node) {
	type state struct {
		Key                            xla.Key
		Ranks, Weights, Noise, Squares *Node
	}
	g := ranks.Graph()
	zeros := Zeros(g, shapes.Make(dtypes.Float32, s.Emitters, params))
	sums := xla.For(g, len(weights), state{generation, ranks, Const(g, weights), zeros, zeros},
		func(rank *Node, c state) state {
			first := MulScalar(s.numbers(rank.Graph()), int32(s.size()))
			ranked := Add(first, xla.FirstTrue(Equal(c.Ranks, rank), 1))
			noise := s.noise(c.Key, ranked, params)
			weighted := Mul(noise, xla.Row(c.Weights, rank))
			c.Noise, c.Squares = Add(c.Noise, weighted), Add(c.Squares, Mul(weighted, noise))
			return c
		})
	return sums.Noise, sums.Squares
}

// ranks returns the rank of each number in its row, int32 [E, n], the greatest first, then by
// index.
func ranks(x *Node) *Node {
	e, n := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	index := Iota(x.Graph(), shapes.Make(dtypes.Int32, e, n), 1)
	row, column := func(x *Node) *Node { return InsertAxes(x, 1) }, func(x *Node) *Node {
		return InsertAxes(x, 2)
	}
	ahead := Or(GreaterThan(row(x), column(x)),
		And(Equal(row(x), column(x)), LessThan(row(index), column(index))))
	return ReduceSum(ConvertDType(ahead, dtypes.Int32), 2)
}

// minSpread is the difference below which improvements are equal (pyribs).
const minSpread = 1e-12

// ranked returns which strategies continue after their individuals' improvements [E, n], bool [E].
func (s EvolutionStrategies) ranked(improvement *Node) *Node {
	best := ReduceMax(improvement, 1)
	spread := Sub(best, ReduceMin(improvement, 1))
	continues := GreaterOrEqual(spread, ConstAs(spread, minSpread))
	if s.RestartRule == "no_improvement" {
		continues = And(continues, GreaterThan(best, ZerosLike(best)))
	}
	return continues
}

// atLeast reports which numbers are finite and not below a limit; NaN is not.
func atLeast(x *Node, limit float64) *Node {
	return And(GreaterOrEqual(x, ConstAs(x, limit)), LessOrEqual(x, ConstAs(x, math.MaxFloat32)))
}

// logWeights returns the weights of the better half of n individuals by rank, with a sum of 1, and
// their effective number.
func logWeights(n int) (weights []float32, effective float64) {
	parents := max(1, n/2)
	weight := func(i int) float64 {
		return math.Log(float64(parents)+0.5) - math.Log(float64(i+1))
	}
	var sum, squares float64
	for i := range parents {
		sum, squares = sum+weight(i), squares+weight(i)*weight(i)
	}
	for i := range parents {
		weights = append(weights, float32(weight(i)/sum))
	}
	return weights, sum * sum / squares
}

// perRow makes a number of each row a factor of the row.
func perRow(x *Node) *Node { return InsertAxes(x, -1) }
