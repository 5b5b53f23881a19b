package evolution

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// StrategySettings are the hyperparameters of evolution strategies, see [StrategySettings.Emitter].
type StrategySettings struct {
	Strategy string  `json:"strategy"`                    // evolution strategy: cma-es, sep-cma-es, lm-ma-es or openai-es
	Emitters int     `json:"emitters" limits:"1,1048576"` // evolution strategies, which share the batch equally
	Sigma0   float64 `json:"sigma0" limits:">0,1e6"`      // initial step size, also after a restart
	// RestartRule restarts a strategy that has converged (basic), or also one that improves nothing
	// (no_improvement).
	RestartRule string `json:"restart_rule"`
	// Vectors is the number of direction vectors of lm-ma-es; 0: as many as a strategy has individuals.
	Vectors          int     `json:"vectors" limits:"0,128"`
	AdamLearningRate float64 `json:"adam_learning_rate" limits:"0,1e6"` // Adam's learning rate, of openai-es
	AdamL2Coeff      float64 `json:"adam_l2_coeff" limits:"0,1e6"`      // L2 regularisation, of openai-es
}

// The evolution strategies of [strategyNames].
const (
	cmaESName    = "cma-es"
	sepCMAESName = "sep-cma-es"
	lmMAESName   = "lm-ma-es"
	openAIESName = "openai-es"
)

// strategyNames are the evolution strategies: CMA-ES (Hansen 2016), separable CMA-ES (Ros and Hansen
// 2008), LM-MA-ES (Loshchilov, Glasmachers and Beyer 2019), and OpenAI-ES (Salimans et al. 2017).
var strategyNames = []string{cmaESName, sepCMAESName, lmMAESName, openAIESName}

// restartRules are the rules by which a strategy restarts at a random elite: once it has converged,
// or also after a generation in which it improved nothing.
var restartRules = []string{"basic", "no_improvement"}

// Check rejects settings that cannot work, for emitters of a number of individuals.
func (s StrategySettings) Check(_, individuals, _ int) error {
	// ranks of one individual have no spread
	if err := checkEmitters(individuals, s.Emitters, 2, s.RestartRule); err != nil {
		return err
	}
	switch {
	case s.Strategy != "" && !slices.Contains(strategyNames, s.Strategy):
		return names.Unknown("strategy", s.Strategy, strategyNames)
	case s.Strategy != lmMAESName && s.Vectors != 0:
		return fmt.Errorf("vectors is a setting of %s: set strategy=%[1]s", lmMAESName)
	case s.Strategy != openAIESName && !slices.Contains([][2]float64{{}, {adamLearningRate, adamL2Coeff}},
		[2]float64{s.AdamLearningRate, s.AdamL2Coeff}):
		return fmt.Errorf("adam_learning_rate and adam_l2_coeff are settings of %s: set strategy=%[1]s", openAIESName)
	case s.Strategy == openAIESName && s.AdamLearningRate == 0:
		return fmt.Errorf("adam_learning_rate must be above 0 for %s", openAIESName)
	case s.Strategy == openAIESName && individuals/s.Emitters%2 != 0:
		return fmt.Errorf("%s samples pairs: batch/emitters must be even, not %d", openAIESName, individuals/s.Emitters)
	}
	return nil
}

// fits rejects a policy with too many parameters, or too few.
func (s evolutionStrategies) fits(task scoring.Task, individuals int) error {
	size, n := individuals/s.Emitters, task.Policy.Params()
	switch {
	case s.Strategy == cmaESName && n > maxDense:
		return fmt.Errorf("%s has matrices of %d x %[2]d numbers for the parameters of a policy, at most %d x %[3]d are "+
			"possible: set strategy=%s", cmaESName, n, maxDense, sepCMAESName)
	case s.Strategy == lmMAESName && size > n:
		return fmt.Errorf("%s needs at most as many policies per strategy (batch/emitters) as a "+
			"policy has parameters, not %d for %d: lower batch", lmMAESName, size, n)
	}
	return nil
}

// checkEmitters checks what evolution strategies and gradient arborescences have in common. least is the
// smallest number of individuals of an emitter.
func checkEmitters(individuals, emitters, least int, restartRule string) error {
	switch {
	case emitters < 1 || individuals%emitters != 0 || individuals < least*emitters:
		return fmt.Errorf("batch, or a share of it, must be a multiple of emitters, at least %d times as many, "+
			"not %d of %d", least, individuals, emitters)
	case restartRule != "" && !slices.Contains(restartRules, restartRule):
		return names.Unknown("restart_rule", restartRule, restartRules)
	}
	return nil
}

// Emitter returns E evolution strategies as an emitter of a [Mix] (pyribs,
// emitters/_evolution_strategy_emitter.py). They share the emitter's individuals equally: strategy e
// of E makes the individuals e B/E to (e+1) B/E - 1 of B, and adapts to those that improve the archive
// most. The memory is a few rows of a genotype for each strategy. It never holds all samples at once.
func (s StrategySettings) Emitter() Emitter { return evolutionStrategies{StrategySettings: s} }

// evolutionStrategies is the emitter of [StrategySettings.Emitter].
type evolutionStrategies struct {
	StrategySettings
	State distributions

	limits [2]float64 // of the parameters; zero: none
}

var _ Starter = evolutionStrategies{}

// strategy is the settings of one of several evolution strategies.
type strategy struct {
	StrategySettings
	size   int        // individuals of each strategy
	limits [2]float64 // of the parameters; zero: none
}

// within clips means to the limits of the task.
func (s strategy) within(mean *Node) *Node {
	if s.limits == ([2]float64{}) {
		return mean
	}
	return nn.Bounded(mean, s.limits[0], s.limits[1])
}

// weights are those of the better half.
func (s strategy) weights() []float32 {
	weights, _ := logWeights(s.size)
	return weights
}

// second are the weighted squares, [E, N].
func (strategy) second(weighted, noise *Node) *Node { return Mul(weighted, noise) }

// distributions are the search distributions of E strategies over N parameters: a pytree, whose first
// axis is E. The mean of an individual's distribution plus a step, which is linear in standard normal
// noise, is the individual.
type distributions interface {
	// start returns distributions with means [E, N].
	start(mean *Node) distributions
	mean() *Node // [E, N]
	// weights are those of the individuals' noise by rank, for update.
	weights() []float32
	// steps turns noise [k, N] into steps of the strategies of these numbers, int32 [k, 1].
	steps(strategies, noise *Node) *Node
	// update returns the state after a generation, and which strategies have not converged, bool [E].
	// It gets the weighted sums of the individuals' noise, [E, N], and of second.
	update(noise, squares *Node) (after distributions, continues *Node)
	// second returns what update needs of products of the noise [E, N] with the noise times a weight.
	second(weighted, noise *Node) *Node
}

// StartsItself implements [Starter].
func (evolutionStrategies) StartsItself() {}

// Init implements [Emitter]. All strategies start at the same mean: a random policy, or the center of
// the initial range of a task without observations.
func (s evolutionStrategies) Init(start Start, key random.Key) Emitter {
	policy, spec := start.Task.Policy, start.Task.Env.Spec()
	mean := start.Task.Init(key.FoldInEach(Iota(key.Hi.Graph(), shapes.Make(dtypes.Int32, 1), 0)))
	if spec.Observations == 0 {
		mean = BroadcastToShape(ConstAs(mean, (spec.Initial[0]+spec.Initial[1])/2), mean.Shape())
	}
	mean = BroadcastToDims(mean, s.Emitters, policy.Params())
	if simulator, ok := envs.Inner(start.Task.Env).(*envs.Simulator); ok && simulator.Bounded {
		s.limits = simulator.Facts.Initial
	}
	s.State = s.distributions(start.Count / s.Emitters).start(mean)
	return s
}

// distributions returns distributions of the chosen kind without means, for strategies of a number of
// individuals each.
func (s evolutionStrategies) distributions(size int) distributions {
	es := strategy{s.StrategySettings, size, s.limits}
	switch s.Strategy {
	case cmaESName:
		return denseCMAES{strategy: es}
	case lmMAESName:
		return lmMAES{strategy: es}
	case openAIESName:
		return openAIES{strategy: es}
	case sepCMAESName, "":
		return sepCMAES{strategy: es}
	}
	panic(names.Unknown("strategy", s.Strategy, strategyNames))
}

// Offspring implements [Emitter].
func (s evolutionStrategies) Offspring(parents Parents, which *Node, _ random.Key) *Node {
	means, size := s.State.mean(), parents.Count/s.Emitters
	strategies := Div(which, ConstAs(which, int32(size)))
	strategies = InsertAxes(MinScalar(strategies, int32(s.Emitters-1)), -1)
	noise := s.noise(parents, strategies, which)
	return Add(Gather(means, strategies), s.State.steps(strategies, noise))
}

// numbers are those of the strategies, int32 [E].
func (s StrategySettings) numbers(g *Graph) *Node {
	return Iota(g, shapes.Make(dtypes.Int32, s.Emitters), 0)
}

// noise draws the standard normal noise of individuals of these strategies, int32 [k, 1]: [k, N].
// OpenAI-ES samples antithetically: an odd individual has the noise of the one before it with the
// opposite sign. If the task has limits, the noise belongs to the clipped individual, so that strategies
// learn from what was evaluated.
func (s evolutionStrategies) noise(parents Parents, strategies, which *Node) (noise *Node) {
	k, params := which.Shape().Dimensions[0], s.State.mean().Shape().Dimensions[1]
	if s.Strategy != openAIESName {
		noise = parents.Keys(which).Normal(k, params)
	} else {
		odd := Mod(which, ConstAs(which, int32(2)))
		sign := ConvertDType(AddScalar(MulScalar(odd, -2), 1), dtypes.Float32)
		noise = Mul(parents.Keys(Sub(which, odd)).Normal(k, params), InsertAxes(sign, -1))
	}
	if !s.limited() {
		return noise
	}
	if d, ok := s.State.(denseCMAES); ok {
		mean := Gather(d.mean(), strategies)
		return d.noiseOf(strategies, Sub(d.within(Add(mean, d.steps(strategies, noise))), mean))
	}
	return Mul(noise, s.share(strategies, noise))
}

// limited reports whether the task has limits.
func (s evolutionStrategies) limited() bool { return s.limits != [2]float64{} }

// share returns which share of the steps of noise [k, N] is within the limits, from 0 to 1, by component.
// The noise times the share is that of the clipped individual: approximately for LM-MA-ES, whose
// components depend on each other.
func (s evolutionStrategies) share(strategies, noise *Node) *Node {
	mean, step := Gather(s.State.mean(), strategies), s.State.steps(strategies, noise)
	x, one := Add(mean, step), OnesLike(step)
	at := func(limit float64) *Node { return nn.Bounded(Div(Sub(ConstAs(x, limit), mean), step), 0, 1) }
	share := Where(LessThan(x, ConstAs(x, s.limits[0])), at(s.limits[0]), one)
	return Where(GreaterThan(x, ConstAs(x, s.limits[1])), at(s.limits[1]), share)
}

// Update implements [Emitter]. Each strategy ranks its individuals by their improvement.
func (s evolutionStrategies) Update(g Generation, key random.Key) (Emitter, []Metric) {
	improvement := Reshape(g.Own(g.Improvement), s.Emitters, -1)
	after, continues := s.State.update(s.recombine(g.Parents, xla.Ranks(improvement), s.State.weights()))
	elites := g.Sample(key.FoldInEach(s.numbers(improvement.Graph())))
	s.State = restart(And(continues, g.continues(improvement, s.RestartRule)), after, s.State.start(elites))
	return s, nil
}

// restart returns the states after a generation, and fresh ones where continues, bool [E], is false.
func restart[T any](continues *Node, after, fresh T) T {
	return xla.Map2(after, fresh, func(after, fresh *Node) *Node {
		wide := slices.Repeat([]int{1}, fresh.Rank())
		wide[0] = fresh.Shape().Dimensions[0]
		return Where(BroadcastToShape(Reshape(continues, wide...), fresh.Shape()), after, fresh)
	})
}

// recombine sums the noise of each strategy's individuals, [E, N], and its products, with weights by
// rank. It draws the noise again, one rank at a time.
func (s evolutionStrategies) recombine(parents Parents, ranks *Node, weights []float32) (noise, squares *Node) {
	type state struct {
		Of                             *evolutionStrategies // if the noise depends on it
		Key                            random.Key
		Ranks, Weights, Noise, Squares *Node
	}
	g, size := ranks.Graph(), int32(parents.Count/s.Emitters)
	zeros := Zeros(g, s.State.mean().Shape())
	var of *evolutionStrategies
	if s.limited() {
		of = &s
	}
	sums := xla.For(g, len(weights), state{of, parents.Key, ranks, Const(g, weights), zeros, s.State.second(zeros, zeros)},
		func(rank *Node, c state) state {
			ranked := Add(MulScalar(s.numbers(rank.Graph()), size), xla.FirstTrue(Equal(c.Ranks, rank), 1))
			of, from, strategies := s, parents, (*Node)(nil)
			if from.Key = c.Key; c.Of != nil {
				of, strategies = *c.Of, InsertAxes(s.numbers(rank.Graph()), -1)
			}
			noise := of.noise(from, strategies, ranked)
			weighted := Mul(noise, xla.Row(c.Weights, rank))
			c.Noise, c.Squares = Add(c.Noise, weighted), Add(c.Squares, s.State.second(weighted, noise))
			return c
		})
	return sums.Noise, sums.Squares
}

// minSpread is the difference below which improvements are equal (pyribs).
const minSpread = 1e-12

// ranked returns which strategies continue after their individuals' improvements [E, n], bool [E].
func (g Generation) continues(improvement *Node, rule string) *Node {
	best := ReduceMax(improvement, 1)
	spread := Sub(best, ReduceMin(improvement, 1))
	continues := GreaterOrEqual(spread, ConstAs(spread, minSpread))
	if rule == "no_improvement" {
		continues = And(continues, GreaterThan(best, ZerosLike(best)))
	}
	if g.Given != nil { // they were not drawn from the distributions
		continues = And(continues, LogicalNot(BroadcastToShape(g.Given, continues.Shape())))
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
