package evolution

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// StrategySettings are the hyperparameters of [SepCMAES].
type StrategySettings struct {
	Emitters    int     `json:"emitters"`     // E, evolution strategies, which share the batch equally
	Sigma0      float64 `json:"sigma0"`       // initial step size
	RestartRule string  `json:"restart_rule"` // see [RestartRules]
}

// RestartRules are the rules by which a strategy restarts at a random elite: once it has converged,
// or also after a generation in which it improved nothing.
var RestartRules = []string{"basic", "no_improvement"}

// SepCMAES are E evolution strategies with a diagonal covariance matrix: separable CMA-ES (Ros and
// Hansen 2008) as emitters of CMA-MAE (pyribs, emitters/_evolution_strategy_emitter.py and
// opt/_sep_cma_es.py). Strategy e makes the individuals e B/E to (e+1) B/E - 1 of a batch of B and
// adapts to those that improve the archive most. Its memory is 4 E rows of a genotype, and it never
// holds all samples at once.
type SepCMAES struct {
	StrategySettings
	Batch int // individuals per generation, a multiple of E
}

var _ Strategy = SepCMAES{}

// strategies is the state of E strategies over N parameters: a pytree.
type strategies struct {
	Mean     *Node // [E, N]
	Sigma    *Node // [E], the step size
	Variance *Node // [E, N], the diagonal of the covariance matrix
	Path     *Node // [E, N], evolution path of the covariance matrix
	StepPath *Node // [E, N], evolution path of the step size
	Age      *Node // [E], generations since the last restart
}

// Fields implements [Strategy].
func (SepCMAES) Fields() []string {
	return []string{"mean", "sigma", "variance", "path", "step_path", "age"}
}

// strategiesOf is the inverse of [xla.Flatten].
func strategiesOf(state []*Node) strategies {
	return strategies{state[0], state[1], state[2], state[3], state[4], state[5]}
}

// Start implements [Strategy]. All strategies start at the same mean: a random policy, or the
// center of the initial range of a task without observations.
func (s SepCMAES) Start(task scoring.Task, key xla.Key) []*Node {
	policy, one := task.Policy, Iota(key.Hi.Graph(), shapes.Make(dtypes.Int32, 1), 0)
	mean := policy.Init(key.FoldInEach(one))
	if task.Env.Spec().Observations == 0 {
		mean = BroadcastToShape(ConstAs(mean, (policy.Initial[0]+policy.Initial[1])/2), mean.Shape())
	}
	return xla.Flatten(s.at(BroadcastToDims(mean, s.Emitters, policy.Params())))
}

// at returns strategies that start at means [E, N].
func (s SepCMAES) at(mean *Node) strategies {
	zeros := Zeros(mean.Graph(), shapes.Make(dtypes.Float32, s.Emitters))
	return strategies{mean, AddScalar(zeros, s.Sigma0), OnesLike(mean), ZerosLike(mean),
		ZerosLike(mean), zeros}
}

// Offspring implements [Emitter].
func (s SepCMAES) Offspring(parents Parents, keys xla.Key) *Node {
	own := s.of(strategiesOf(parents.State), parents.Individuals)
	return Add(own.Mean, own.steps(keys))
}

// of returns the strategies that make individuals, int32 [k], as [k, ...].
func (s SepCMAES) of(all strategies, individuals *Node) strategies {
	which := Div(individuals, ConstAs(individuals, int32(s.size())))
	which = InsertAxes(MinScalar(which, int32(s.Emitters-1)), -1)
	return xla.Map(all, func(x *Node) *Node { return Gather(x, which) })
}

// size is the number of individuals of a strategy.
func (s SepCMAES) size() int { return s.Batch / s.Emitters }

// steps draws a step from the mean of each strategy, [E, N].
func (s strategies) steps(keys xla.Key) *Node {
	return s.scale(keys.Normal(s.Mean.Shape().Dimensions...))
}

// scale turns standard normal noise into steps, [E, N].
func (s strategies) scale(noise *Node) *Node {
	return Mul(noise, Mul(InsertAxes(s.Sigma, -1), Sqrt(s.Variance)))
}

// Adapt implements [Strategy]. The fitter half of a strategy's individuals, by their improvement,
// are its parents. It draws their steps again, one rank at a time.
func (s SepCMAES) Adapt(g Adaptation) []*Node {
	before := strategiesOf(g.Parents.State)
	improvement := Reshape(g.Improvement, s.Emitters, s.size())
	type state struct {
		Key              xla.Key
		Ranks            *Node
		Weights          *Node // [parents]
		Before           strategies
		Recombined       *Node // [E, N], weighted sum of the steps so far
		RecombinedSquare *Node // [E, N], weighted sum of their squares
	}
	rates := s.rates(before.Mean.Shape().Dimensions[1])
	graph := improvement.Graph()
	zeros := ZerosLike(before.Mean)
	sums := xla.For(graph, len(rates.weights), state{g.Key, ranks(improvement),
		Const(graph, rates.weights), before, zeros, zeros},
		func(rank *Node, s state) state {
			number := xla.FirstTrue(Equal(s.Ranks, rank), 1) // of each strategy
			size := s.Ranks.Shape().Dimensions[1]
			first := MulScalar(Iota(rank.Graph(), number.Shape(), 0), int32(size))
			step := s.Before.steps(ChildKeys(s.Key, Add(first, number)))
			weighted := Mul(step, xla.Row(s.Weights, rank))
			s.Recombined = Add(s.Recombined, weighted)
			s.RecombinedSquare = Add(s.RecombinedSquare, Mul(weighted, step))
			return s
		})
	after := before.adapt(rates, sums.Recombined, sums.RecombinedSquare)
	number := Iota(graph, shapes.Make(dtypes.Int32, s.Emitters), 0)
	elites := g.Archive.Sample(g.Key.FoldIn(streamRestart).FoldInEach(number))
	restarts := s.restarts(after, improvement)
	return xla.Flatten(xla.Map2(s.at(elites), after, func(fresh, x *Node) *Node {
		wide := Reshape(restarts, append([]int{s.Emitters}, slices.Repeat([]int{1}, x.Rank()-1)...)...)
		return Where(BroadcastToDims(wide, x.Shape().Dimensions...), fresh, x)
	}))
}

// streamRestart is the random stream of a generation that draws the elites of restarts.
// Non-negative numbers are its individuals.
const streamRestart = -1

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

// rates are the constants of a strategy over n parameters. Names are those of pyribs.
type rates struct {
	weights                         []float32 // of the parents by rank, with a sum of 1
	mueff, cc, cs, c1, cmu, damping float64
}

func (s SepCMAES) rates(parameters int) rates {
	n, parents := float64(parameters), max(1, s.size()/2)
	weight := func(i int) float64 {
		return math.Log(float64(parents)+0.5) - math.Log(float64(i+1))
	}
	var sum, squares float64
	for i := range parents {
		sum, squares = sum+weight(i), squares+weight(i)*weight(i)
	}
	r := rates{mueff: sum * sum / squares}
	for i := range parents {
		r.weights = append(r.weights, float32(weight(i)/sum))
	}
	r.cc = (1 + 1/n + r.mueff/n) / (math.Sqrt(n) + 1/n + 2*r.mueff/n)
	r.cs = (r.mueff + 2) / (n + r.mueff + 5)
	r.c1 = 2 / ((n+1.3)*(n+1.3) + r.mueff) / (n + 2*math.Sqrt(n) + r.mueff/n)
	r.cmu = min(1-r.c1, (r.mueff+1/r.mueff-2)/(n+4*math.Sqrt(n)+r.mueff/2))
	r.damping = 1 + 2*max(0, math.Sqrt((r.mueff-1)/(n+1))-1) + r.cs
	return r
}

// adapt returns the strategies after a generation, given the weighted sums [E, N] of the parents'
// steps and of their squares.
func (s strategies) adapt(r rates, steps, squares *Node) strategies {
	n := float64(s.Mean.Shape().Dimensions[1])
	wide := func(x *Node) *Node { return InsertAxes(x, -1) }
	s.Age = AddScalar(s.Age, 1)
	s.Mean = Add(s.Mean, steps)
	normal := Div(steps, Mul(Sqrt(s.Variance), wide(s.Sigma)))
	s.StepPath = Add(MulScalar(s.StepPath, 1-r.cs),
		MulScalar(normal, math.Sqrt(r.cs*(2-r.cs)*r.mueff)))
	length := DivScalar(ReduceSum(Square(s.StepPath), 1), n)
	// the path is shorter in the first generations
	expected := OneMinus(Exp(MulScalar(s.Age, 2*math.Log1p(-r.cs))))
	stalled := GreaterOrEqual(Div(length, expected), ConstAs(length, 2+4/(n+1)))
	moves := wide(ConvertDType(LogicalNot(stalled), dtypes.Float32))

	s.Path = Add(MulScalar(s.Path, 1-r.cc),
		Mul(MulScalar(steps, math.Sqrt(r.cc*(2-r.cc)*r.mueff)), moves))
	forget := MulScalar(AddScalar(MulScalar(OneMinus(moves), -r.cc*(2-r.cc)), 1), r.c1)
	rankOne := MulScalar(Square(s.Path), r.c1*r.c1)
	rankMu := Div(MulScalar(squares, r.cmu), wide(Square(s.Sigma)))
	s.Variance = Add(Add(Mul(s.Variance, AddScalar(Neg(forget), 1-r.cmu)), rankOne), rankMu)
	s.Sigma = Mul(s.Sigma, Exp(MinScalar(MulScalar(AddScalar(length, -1), r.cs/r.damping/2), 1)))
	return s
}

// The limits beyond which a strategy has converged (pyribs, opt/_sep_cma_es.py).
const (
	maxCondition = 1e14
	minStep      = 1e-11
	minSpread    = 1e-12
)

// restarts returns which strategies restart, bool [E]. NaN counts as converged.
func (s SepCMAES) restarts(after strategies, improvement *Node) *Node {
	widest, best := ReduceMax(after.Variance, 1), ReduceMax(improvement, 1)
	condition := Div(widest, ReduceMin(after.Variance, 1))
	step := Mul(after.Sigma, Sqrt(widest))
	spread := Sub(best, ReduceMin(improvement, 1))
	continues := And(LessOrEqual(condition, ConstAs(condition, maxCondition)),
		And(GreaterOrEqual(step, ConstAs(step, minStep)),
			And(LessOrEqual(step, ConstAs(step, math.MaxFloat32)),
				GreaterOrEqual(spread, ConstAs(spread, minSpread)))))
	if s.RestartRule == "no_improvement" {
		continues = And(continues, GreaterThan(best, ZerosLike(best)))
	}
	return LogicalNot(continues)
}
