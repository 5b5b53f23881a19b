package evolution

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// ArborescenceSettings are the hyperparameters of gradient arborescence, see
// [ArborescenceSettings.Emitter].
type ArborescenceSettings struct {
	Emitters     int     `json:"emitters" limits:"1,1048576"`   // solution points, which share the batch equally
	Sigma0       float64 `json:"sigma0" limits:">0,1e6"`        // initial step size of the coefficients
	GradOpt      string  `json:"grad_opt"`                      // how points move: gradient_ascent or adam
	LearningRate float64 `json:"learning_rate" limits:">0,1e6"` // step size of grad_opt
	// RestartRule restarts an emitter that has converged (basic), or also one that improves nothing
	// (no_improvement).
	RestartRule string `json:"restart_rule"`
}

// The optimisers of solution points.
const (
	gradientAscent = "gradient_ascent"
	adamName       = "adam"
)

var gradOpts = []string{gradientAscent, adamName}

// Check rejects settings that cannot work, for emitters of a number of individuals.
func (s ArborescenceSettings) Check(_, individuals, _ int) error {
	if !slices.Contains(gradOpts, s.GradOpt) {
		return names.Unknown("grad_opt", s.GradOpt, gradOpts)
	}
	return checkEmitters(individuals, s.Emitters, 3, s.RestartRule)
}

// fits rejects a task without gradients.
func (gradientArborescence) fits(task scoring.Task, _ int) error {
	if _, ok := envs.Inner(task.Env).(*envs.BlackBox); !ok {
		return names.Wrongf("%s has no gradients of fitness and descriptor: use arm, sphere, rastrigin or an "+
			"envs.BlackBox, or an algorithm that needs none, such as cma-mae", task.Env.Spec().Name)
	}
	return nil
}

// Emitter returns E gradient arborescences as an emitter of a [Mix], for tasks that are an
// [envs.BlackBox] (Fontaine and Nikolaidis 2021; pyribs,
// emitters/_gradient_arborescence_emitter.py). They share the emitter's individuals equally. The
// first individual of each is its solution point. The others branch off along the gradients of
// fitness and descriptor there, with coefficients that CMA-ES adapts to those that improve the
// archive most.
func (s ArborescenceSettings) Emitter() Emitter {
	return gradientArborescence{ArborescenceSettings: s}
}

// gradientArborescence is the emitter of [ArborescenceSettings.Emitter].
type gradientArborescence struct {
	ArborescenceSettings
	Points       *Node      // [E, N]
	Moments      nn.Moments // averages [E, N] and weights [E, 1] of adam; else nil
	Gradients    *Node      // [E, 1 + d, N] at the points, with a length of 1
	Coefficients cmaES      // n = 1 + d: of the fitness and of each component of the descriptor
}

var _ Starter = gradientArborescence{}

// StartsItself implements [Starter].
func (gradientArborescence) StartsItself() {}

// Init implements [Emitter]. All solution points start at the center of the task's initial range.
func (s gradientArborescence) Init(start Start, _ random.Key) Emitter {
	policy, spec := start.Task.Policy, start.Task.Env.Spec()
	center := ConstAs(start.First, (spec.Initial[0]+spec.Initial[1])/2)
	s.Coefficients = cmaES{size: start.Count/s.Emitters - 1, sigma0: s.Sigma0}
	s = s.start(BroadcastToDims(center, s.Emitters, policy.Params()), 1+len(spec.Descriptor.Lower))
	s.Gradients = taskGradients(start.Task, s.Points)
	return s
}

// start returns arborescences of n coefficients at points [E, N], without their gradients.
func (s gradientArborescence) start(points *Node, n int) gradientArborescence {
	none := ReduceSum(ZerosLike(points), 1)
	s.Points, s.Gradients = points, nil
	if s.GradOpt == adamName {
		zeros := ZerosLike(points)
		s.Moments = nn.Moments{First: zeros, Second: zeros, Weight1: perRow(none), Weight2: perRow(none)}
	}
	s.Coefficients = s.Coefficients.start(BroadcastToDims(perRow(none), s.Emitters, n))
	return s
}

// taskGradients returns the gradients of fitness and descriptor at points [E, N], divided by their lengths,
// [E, 1 + d, N]. Numbers that are not finite, as where a standard deviation is 0, count as 0.
func taskGradients(task scoring.Task, points *Node) *Node {
	fitness, descriptor := envs.Inner(task.Env).(*envs.BlackBox).Evaluate(points)
	sums := []*Node{ReduceAllSum(fitness)}
	for k := range descriptor.Shape().Dimensions[1] {
		sums = append(sums, ReduceAllSum(Slice(descriptor, AxisRange(), AxisElem(k))))
	}
	for i, sum := range sums {
		sums[i] = Gradient(sum, points)[0]
	}
	all := Stack(sums, 1)
	return unit(Where(xla.Finite(all), all, ZerosLike(all)))
}

// unit divides gradients [..., N] by their lengths.
func unit(x *Node) *Node {
	return Div(x, perRow(AddScalar(Sqrt(ReduceSum(Square(x), -1)), 1e-8)))
}

// branches returns the points of the given emitters, int32 [k, 1], after a step of coefficients
// [k, 1 + d] along their gradients, [k, N].
func (s gradientArborescence) branches(emitters, coefficients *Node) *Node {
	x := Gather(s.Points, emitters)
	for k := range coefficients.Shape().Dimensions[1] {
		gradient := Squeeze(Slice(s.Gradients, AxisRange(), AxisElem(k)), 1)
		x = Add(x, Mul(Gather(gradient, emitters), Slice(coefficients, AxisRange(), AxisElem(k))))
	}
	return x
}

// coefficients draws the coefficients of individuals by their emitters, int32 [k, 1]: 0 for solution points.
func (s gradientArborescence) coefficients(parents Parents, which, emitters *Node) *Node {
	dims := []int{which.Shape().Dimensions[0], s.Coefficients.Mean.Shape().Dimensions[1]}
	drawn := s.Coefficients.sample(emitters, parents.Keys(which).Normal(dims...))
	first := Equal(Mod(which, ConstAs(which, int32(s.Coefficients.size+1))), ZerosLike(which))
	return Where(wide(first, drawn), ZerosLike(drawn), drawn)
}

// emitters returns the numbers of the emitters of individuals, int32 [k, 1].
func (s gradientArborescence) emitters(which *Node) *Node {
	return perRow(MinScalar(Div(which, ConstAs(which, int32(s.Coefficients.size+1))), int32(s.Emitters-1)))
}

// Offspring implements [Emitter].
func (s gradientArborescence) Offspring(parents Parents, which *Node, _ random.Key) *Node {
	emitters := s.emitters(which)
	return s.branches(emitters, s.coefficients(parents, which, emitters))
}

// Update implements [Emitter]. Each emitter ranks its branches by their improvement. The weighted mean
// of the better half, relative to the solution point, is the gradient of the optimiser's step.
func (s gradientArborescence) Update(g Generation, key random.Key) (Emitter, []Metric) {
	which := Iota(g.Improvement.Graph(), shapes.Make(dtypes.Int32, g.Count), 0)
	size, n := s.Coefficients.size, s.Coefficients.Mean.Shape().Dimensions[1]
	branches := func(x *Node, dims ...int) *Node { // without the solution points
		x = Reshape(x, append([]int{s.Emitters, size + 1}, dims...)...)
		return Slice(x, AxisRange(), AxisRange(1))
	}
	improvement := branches(g.Own(g.Improvement))
	x := branches(s.coefficients(g.Parents, which, s.emitters(which)), n)
	after := s
	var continues *Node
	after.Coefficients, continues = s.Coefficients.update(x, xla.Ranks(improvement))
	after = after.step()
	elites := g.Sample(key.FoldInEach(Slice(which, AxisRange(0, s.Emitters))))
	after = restart(And(continues, g.continues(improvement, s.RestartRule)), after, s.start(elites, n))
	after.Gradients = taskGradients(g.Task, after.Points)
	return after, nil
}

// step moves the solution points towards the mean of the better half, and drops their gradients.
func (s gradientArborescence) step() gradientArborescence {
	direction := ReduceSum(Mul(s.Gradients, perRow(s.Coefficients.Mean)), 1) // [E, N]
	s.Gradients = nil
	if s.GradOpt == adamName {
		s.Points, s.Moments = nn.NewAdam(s.LearningRate).Update(s.Points, Neg(direction), s.Moments)
	} else {
		s.Points = Add(s.Points, MulScalar(direction, s.LearningRate))
	}
	return s
}

var _ = preset("cma-mega", defaultCMAMEGA)

// defaultCMAMEGA returns CMA-MEGA (Fontaine and Nikolaidis 2021): gradient arborescence on the grid of
// MAP-Elites, for tasks that are an [envs.BlackBox]. The hyperparameters are published ones
// (icaros-usc/cma_mae, experiments/lin_proj/lin_proj.py and experiments/arm/arm.py, whose sigma_g is
// 0.05 rad), with pyribs' restart_rule.
func defaultCMAMEGA(env envs.Spec) *MapElites {
	return arborescence(env, "no_improvement", repertoire.Grid{})
}

var _ = preset("cma-maega", defaultCMAMAEGA)

// defaultCMAMAEGA returns CMA-MAEGA (Fontaine and Nikolaidis 2023) with the publication's hyperparameters
// for sphere: CMA-MEGA with the annealed thresholds of CMA-MAE.
func defaultCMAMAEGA(env envs.Spec) *MapElites {
	return arborescence(env, "basic", repertoire.Annealed{LearningRate: 0.01, ThresholdMin: math.NaN()})
}

func arborescence(env envs.Spec, restartRule string, archive repertoire.Archive) *MapElites {
	s := ArborescenceSettings{Emitters: 15, Sigma0: 10, GradOpt: gradientAscent, LearningRate: 1, RestartRule: restartRule}
	if env.Name == armName {
		s.Sigma0 = 0.008
	}
	m := DefaultMapElites(env)
	m.Batch, m.Mix, m.Archive = 540, Mix{{s.Emitter(), 1}}, archive
	return m
}
