package evolution

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// PPGASettings are the hyperparameters of proximal policy gradient arborescence, see
// [PPGASettings.Emitter].
type PPGASettings struct {
	Sigma0 float64 `json:"sigma0" limits:">0,1e6"` // initial step size of the coefficients
	// RestartRule restarts the search policy if all branches are equal (basic), or if none improves the
	// archive (no_improvement).
	RestartRule string `json:"restart_rule"`
	// Iterations is the number of iterations of PPO for each gradient, and to move the search policy.
	Iterations int `json:"ppo_iterations" limits:"1,1048576"`

	LearningRate   float64 `json:"learning_rate"`                      // Adam's learning rate, of PPO
	Discount       float64 `json:"discount"`                           // discount factor per step
	GAELambda      float64 `json:"gae_lambda"`                         // decay of later errors in the advantage
	ClipEpsilon    float64 `json:"clip_epsilon"`                       // bound of the probability ratio
	EntropyCost    float64 `json:"entropy_cost"`                       // weight of the entropy in the loss
	NumEnvs        int     `json:"num_envs"`                           // environments of PPO
	UnrollLength   int     `json:"unroll_length"`                      // control steps of each per iteration
	NumMinibatches int     `json:"num_minibatches" limits:"1,1048576"` // Adam steps per epoch; divides num_envs
	UpdateEpochs   int     `json:"update_epochs"`                      // epochs per iteration
	ValueHidden    []int   `json:"value_hidden"`                       // units of the value functions' hidden layers
}

var _ = preset("ppga", defaultPPGA)

// defaultPPGA returns PPGA (Batra et al. 2024), CMA-MAEGA with gradients of PPO, with the hyperparameters of
// the published configuration for a robot: those of humanoid, but
// for ant, walker2d and halfcheetah (icaros-usc/PPGA, runners/local/train_ppga_{humanoid,ant,walker2d,
// halfcheetah}.sh). Thresholds are not: theirs belong to other rewards and episodes of 1000 steps.
func defaultPPGA(env envs.Spec) *MapElites {
	s := PPGASettings{Sigma0: 0.5, RestartRule: "no_improvement",
		Iterations: 10, LearningRate: 3e-4, Discount: 0.99, GAELambda: 0.95,
		ClipEpsilon: 0.2, NumEnvs: 1000, UnrollLength: 128, NumMinibatches: 8, UpdateEpochs: 4,
		ValueHidden: []int{256, 256}}
	archive := repertoire.Annealed{LearningRate: 0.1, ThresholdMin: math.NaN()}
	switch robot, _, _ := strings.Cut(env.Name, "-"); robot {
	case "walker", "halfcheetah":
		s.LearningRate, s.Sigma0, archive.LearningRate = 1e-3, 1, 0.5
	case "ant":
		s.LearningRate, s.Sigma0 = 1e-3, 3
	}
	m := DefaultMapElites(env)
	m.Batch, m.Hidden = 300, []int{128, 128}
	m.Mix, m.Archive = Mix{{s.Emitter(), 1}}, archive
	return m
}

// ppo are the settings of PPO, for policies of the given hidden layers.
func (s PPGASettings) ppo(hidden []int) ppo.PPO {
	return ppo.PPO{LearningRate: s.LearningRate, AdamEpsilon: 1e-5, Discount: s.Discount, GAELambda: s.GAELambda,
		ClipEpsilon: s.ClipEpsilon, EntropyCost: s.EntropyCost, RewardScaling: 1, UnrollLength: s.UnrollLength,
		BatchSize: s.NumEnvs / s.NumMinibatches, NumMinibatches: s.NumMinibatches, UpdateEpochs: s.UpdateEpochs,
		PolicyHidden: hidden, ValueHidden: s.ValueHidden, NumEnvs: s.NumEnvs, EpisodeLength: 1, EvaluationEnvs: 1,
		EvaluationInterval: 1, CVT: repertoire.DefaultCVT()}
}

// Check rejects settings that cannot work, for an emitter of a number of individuals.
func (s PPGASettings) Check(_, individuals, _ int) error {
	if err := cmp.Or(checkEmitters(individuals, 1, 3, s.RestartRule),
		limits.Int("num_envs", s.NumEnvs, s.NumMinibatches, 1<<20)); err != nil {
		return err
	}
	if s.NumEnvs%s.NumMinibatches != 0 {
		return fmt.Errorf("num_envs must be a multiple of num_minibatches, but %d is not a multiple of %d", s.NumEnvs,
			s.NumMinibatches)
	}
	return s.ppo(nil).Check()
}

// Emitter returns a proximal policy gradient arborescence as an emitter of a [Mix] (Batra et al. 2024,
// pyribs/ribs/emitters/_proximal_policy_gradient_arborescence_emitter.py). Its first individual is the
// search policy. The others branch off along the gradients of fitness and descriptor there, with
// coefficients that xNES adapts to those that improve the archive most. PPO estimates the gradients: each
// is the way that it goes if it maximises the reward alone, or one component of the descriptor. It also
// moves the search policy, by their sum with the mean coefficients.
func (s PPGASettings) Emitter() Emitter { return ppga{PPGASettings: s} }

// ppga is the emitter of [PPGASettings.Emitter].
type ppga struct {
	PPGASettings
	Policy       *Node // [1, N], the search policy, with the scales of its actions
	Critics      *Node // [2 + d, M], value functions of the weighted sum, the fitness, and each component
	Gradients    *Node // [1 + d, N] at the search policy, with a length of 1; 0 in generation 0
	Coefficients xNES

	improver ppo.Improver
}

var _ Starter = ppga{}

// StartsItself implements [Starter].
func (ppga) StartsItself() {}

// EnvSteps implements actor.
func (s ppga) EnvSteps(task scoring.Task) int64 {
	walks := 2 + len(task.Env.Spec().Descriptor.Lower)
	return int64(walks) * int64(s.Iterations) * int64(s.NumEnvs) * int64(s.UnrollLength)
}

func (ppga) fits(task scoring.Task, _ int) error { return task.CheckMLP() }

// Init implements [Emitter].
func (s ppga) Init(start Start, key random.Key) Emitter {
	n := 1 + len(start.Task.Env.Spec().Descriptor.Lower)
	sizes := start.Task.MLP().Sizes
	s.improver = s.ppo(sizes[1:len(sizes)-1]).Improver(start.Task, start.First.Graph())
	s.Policy, s.Critics = s.improver.Policies(key.FoldIn(0), 1), s.improver.Values(key.FoldIn(1), n+1)
	s.Gradients = BroadcastToDims(ZerosLike(s.Policy), n, s.Policy.Shape().Dimensions[1])
	s.Coefficients = xNES{size: start.Count - 1, sigma0: s.Sigma0}.start(n, key.FoldIn(2))
	return s
}

// noise draws the noise of the coefficients of individuals, [k, 1 + d].
func (s ppga) noise(parents Parents, which *Node) *Node {
	return parents.Keys(which).Normal(which.Shape().Dimensions[0], s.Gradients.Shape().Dimensions[0])
}

// Offspring implements [Emitter].
func (s ppga) Offspring(parents Parents, which *Node, _ random.Key) *Node {
	drawn := s.Coefficients.sample(s.noise(parents, which))
	drawn = Where(wide(Equal(which, ZerosLike(which)), drawn), ZerosLike(drawn), drawn)
	return s.improver.Genotypes(s.branches(drawn))
}

// branches returns the policies at coefficients [k, 1 + d] along the gradients, [k, N].
func (s ppga) branches(coefficients *Node) *Node {
	x := BroadcastToDims(s.Policy, coefficients.Shape().Dimensions[0], s.Policy.Shape().Dimensions[1])
	for k := range s.Gradients.Shape().Dimensions[0] {
		x = Add(x, Mul(Slice(coefficients, AxisRange(), AxisElem(k)), Slice(s.Gradients, AxisElem(k))))
	}
	return x
}

// Update implements [Emitter].
func (s ppga) Update(g Generation, key random.Key) (Emitter, []Metric) {
	n := s.Gradients.Shape().Dimensions[0]
	branches := Iota(key.Hi.Graph(), shapes.Make(dtypes.Int32, g.Count-1), 0)
	improvement := Slice(g.Own(g.Improvement), AxisRange(1))
	continues := g.continues(InsertAxes(improvement, 0), s.RestartRule)
	adapted := s.Coefficients.update(s.noise(g.Parents, AddScalar(branches, 1)), xla.Ranks(improvement))
	// the branches of generation 0 do not depend on their coefficients
	adapted = restart(Equal(g.Number, ZerosLike(g.Number)), s.Coefficients, adapted)
	elite := g.Sample(key.FoldInEach(Slice(branches, AxisRange(0, 1))))
	s.Policy = restart(continues, s.Policy, s.improver.WithScales(elite, s.Policy))
	s.Coefficients = restart(continues, adapted, s.Coefficients.start(n, key.FoldIn(1)))
	return s.walk(key.FoldIn(2))
}

// walk moves the search policy by PPO on the sum of reward and descriptor that the mean coefficients
// weigh, then estimates the gradients there. Each walk starts at the search policy. It also returns the
// mean losses of the walks.
func (s ppga) walk(key random.Key) (ppga, []Metric) {
	type state struct {
		Policy, Critics, Gradients, Mean *Node
		Key                              random.Key
		PolicyLoss, ValueLoss            *Node // means
	}
	n := s.Gradients.Shape().Dimensions[0]
	none := ScalarZero(key.Hi.Graph(), dtypes.Float32)
	end := xla.ForUnfused(key.Hi.Graph(), n+1, state{s.Policy, s.Critics, s.Gradients, s.Coefficients.Mean, key, none, none},
		func(k *Node, st state) state {
			moves := Equal(k, ZerosLike(k))
			only := func(x, y *Node) *Node { return Where(BroadcastToShape(moves, x.Shape()), x, y) }
			gradient := AddScalar(k, int32(-1)) // its number; that of the first step is overwritten
			alone := Equal(Iota(k.Graph(), shapes.Make(dtypes.Int32, 1, n), 1), gradient)
			policy, critic, policyLoss, valueLoss := s.improver.Improve(st.Policy, xla.Rows(st.Critics, k, 1),
				only(st.Mean, ConvertDType(alone, dtypes.Float32)), s.Iterations, st.Key.FoldInEach(k))
			st.PolicyLoss = Add(st.PolicyLoss, DivScalar(policyLoss, float64(n+1)))
			st.ValueLoss = Add(st.ValueLoss, DivScalar(valueLoss, float64(n+1)))
			step := unit(Sub(policy, st.Policy))
			st.Gradients = xla.SetRows(st.Gradients, MaxScalar(gradient, int32(0)), step)
			st.Critics = xla.SetRows(st.Critics, k, critic)
			st.Policy = only(policy, st.Policy)
			return st
		})
	s.Policy, s.Critics, s.Gradients = end.Policy, end.Critics, end.Gradients
	return s, []Metric{{"policy_loss", end.PolicyLoss}, {"value_loss", end.ValueLoss}}
}

// xNES is an exponential natural evolution strategy in few dimensions n (Glasmachers et al. 2010;
// evotorch, distributions.py, ExpGaussian): a pytree.
type xNES struct {
	size   int // individuals
	sigma0 float64

	Mean *Node // [1, n]
	Root *Node // [1, n, n], A: individuals are Mean + A z for standard normal noise z
}

// start returns the strategy of PPGA before its first individuals: the mean is uniform in [0, 2] for the
// fitness and in [-2, 2] for the components of the descriptor.
func (x xNES) start(n int, key random.Key) xNES {
	low := make([]float32, n)
	for i := range low[1:] {
		low[i+1] = -2
	}
	from := Const(key.Hi.Graph(), [][]float32{low})
	x.Mean = Add(from, Mul(key.Uniform(0, 1, 1, n), AddScalar(Neg(from), 2)))
	x.Root = MulScalar(diagonal(OnesLike(x.Mean)), x.sigma0)
	return x
}

// sample turns standard normal noise [k, n] into individuals.
func (x xNES) sample(noise *Node) *Node { return Add(x.Mean, times(x.Root, noise)) }

// update returns the strategy after individuals of noise [size, n] and ranks int32 [size]:
//
//	Mean = Mean + A sum u z,   A = A exp(rate / 2 sum u z z^T)
//
// The utilities u of the ranks add up to 0.
func (x xNES) update(noise, ranks *Node) xNES {
	utilities, sum := make([]float32, x.size), 0.0
	utility := func(rank int) float64 {
		return max(0, math.Log(float64(x.size)/2+1)-math.Log(float64(rank+1)))
	}
	for rank := range utilities {
		sum += utility(rank)
	}
	for rank := range utilities {
		utilities[rank] = float32(utility(rank)/sum - 1/float64(x.size))
	}
	n := float64(noise.Shape().Dimensions[1])
	rate := 0.6 * (3 + math.Log(n)) / (n * math.Sqrt(n))
	u := Gather(Const(noise.Graph(), utilities), InsertAxes(ranks, -1))
	step := ReduceSum(Mul(perRow(u), noise), 0)
	spread := ReduceSum(Mul(InsertAxes(u, -1, -1), square(noise)), 0)
	x.Mean = Add(x.Mean, times(x.Root, InsertAxes(step, 0)))
	x.Root = product(x.Root, exponential(MulScalar(InsertAxes(spread, 0), rate/2)))
	return x
}

// product multiplies matrices [1, n, n], as a sum.
func product(a, b *Node) *Node { return ReduceSum(Mul(InsertAxes(a, -1), InsertAxes(b, 1)), 2) }

// exponential is the matrix exponential of a small [1, n, n]: a Taylor series at 1/16, then squared. Each
// squaring doubles the rounding error.
func exponential(x *Node) *Node {
	const halvings, terms = 4, 8
	x = MulScalar(x, 1./(1<<halvings))
	unit := diagonal(OnesLike(ReduceSum(x, 2)))
	sum := unit
	for k := terms; k > 0; k-- { // Horner's scheme
		sum = Add(unit, DivScalar(product(x, sum), float64(k)))
	}
	for range halvings {
		sum = product(sum, sum)
	}
	return sum
}
