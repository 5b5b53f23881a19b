package envs

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/xla/random"
)

// BlackBox is a task without physics: an action is a solution, and a function computes its fitness
// and descriptor. There are no observations, so that a policy is the solution itself, and an
// episode has one step. The physics state is the solution of the last step, [n, B], at first 0.
type BlackBox struct {
	Facts Spec
	// Evaluate returns the fitness [B] and the descriptor [B, d] of solutions [B, n]. If Facts has
	// objectives, it returns the parts of the fitness, [B, objectives].
	Evaluate func(solutions *Node) (fitness, descriptor *Node)
}

// Spec implements [Env].
func (f *BlackBox) Spec() Spec { return f.Facts }

// Reset implements [Env]. It ignores the keys: nothing in these tasks is random.
func (f *BlackBox) Reset(keys random.Key) State {
	batch := keys.Hi.Shape().Dimensions[0]
	zeros := func(dims ...int) *Node {
		return Zeros(keys.Hi.Graph(), shapes.Make(dtypes.Float32, dims...))
	}
	return State{PhysicsState: []*Node{zeros(f.Facts.Actions, batch)}, Reward: zeros(batch),
		Done: zeros(batch), Descriptor: zeros(batch, len(f.Facts.Descriptor.Lower))}
}

// Step implements [Env]: the episode ends.
func (f *BlackBox) Step(s State, action *Node) State {
	fitness, descriptor := f.Evaluate(action)
	if len(f.Facts.Objectives) > 0 {
		if s.Objectives != nil {
			s.Objectives = fitness
		}
		fitness = ReduceSum(fitness, 1)
	}
	return State{PhysicsState: []*Node{Transpose(action, 0, 1)}, Reward: fitness,
		Done: OnesLike(fitness), Descriptor: descriptor, Objectives: s.Objectives}
}

// clipTo clips x and keeps NaN, which XLA:CPU's minimum and maximum may turn into a limit.
func clipTo(x *Node, lower, upper float64) *Node {
	return Where(NotEqual(x, x), x, ClipScalar(x, lower, upper))
}

// blackBox is the constructor of a task that is made for a number of components.
func blackBox(of func(dims int) *BlackBox) func(catalog.Task, options) (Env, error) {
	return func(task catalog.Task, _ options) (Env, error) { return of(task.Actions), nil }
}

// Arm is the planar arm with redundant joints (QDax, tasks/arm.py). A solution has an angle per
// joint, as a share of a full turn, clipped to [0, 1]. The fitness is minus the standard deviation
// of the angles, the descriptor the position of the end of the arm, whose length is 1/2 and whose
// base is at (0.5, 0.5).
func Arm(joints int) *BlackBox {
	task, _ := catalog.Find("arm")
	task.Actions = joints
	return &BlackBox{task.Spec, arm}
}

func arm(solutions *Node) (fitness, descriptor *Node) {
	x := clipTo(solutions, 0, 1)
	mean := InsertAxes(ReduceMean(x, 1), 1)
	fitness = Neg(Sqrt(ReduceMean(Square(Sub(x, mean)), 1)))
	angles := CumSum(AddScalar(MulScalar(x, 2*math.Pi), -math.Pi), 1)
	end := func(part *Node) *Node { return AddScalar(MulScalar(ReduceMean(part, 1), 0.5), 0.5) }
	return fitness, Stack([]*Node{end(Cos(angles)), end(Sin(angles))}, 1)
}

// optimum is the value of all components of the fittest solution.
const optimum = 0.4 * catalog.ProjectionLimit

// Sphere is the linear projection benchmark with a sphere (Fontaine et al. 2020, "Covariance matrix
// adaptation for the rapid illumination of behavior space"; pyribs, examples/sphere.py). The
// fitness is minus the squared distance from the optimum, scaled to 100 there and to 0 in the
// farthest corner of the limits. The descriptor is the sum of the first half of the components and
// that of the second, of which components outside of the limits count as limit/x.
func Sphere(dims int) *BlackBox { return projection("sphere", dims, Square) }

// Rastrigin is [Sphere] with the Rastrigin function.
func Rastrigin(dims int) *BlackBox { return projection("rastrigin", dims, rastrigin) }

// lags are the optima of the objectives of [RastriginMulti].
var lags = []float64{0, 2.2}

// RastriginMulti is the task with two objectives of Pierrot et al. 2022 (QDax,
// examples/mome.ipynb): each is minus the Rastrigin function of the distance from its own optimum,
// a lag in all components. The descriptor is the first two components. Components are clipped to
// [-2, 4].
func RastriginMulti(dims int) *BlackBox {
	task, _ := catalog.Find("rastrigin-multi")
	task.Spec = task.WithLags(dims)
	return &BlackBox{task.Spec, func(x *Node) (objectives, descriptor *Node) {
		x = clipTo(x, task.Initial[0], task.Initial[1])
		var parts []*Node
		for _, lag := range lags {
			parts = append(parts, Neg(ReduceSum(rastrigin(AddScalar(x, -lag)), 1)))
		}
		return Stack(parts, 1), Slice(x, AxisRange(), AxisRange(0, 2))
	}}
}

// rastrigin is the Rastrigin function of components.
func rastrigin(x *Node) *Node {
	return AddScalar(Sub(Square(x), MulScalar(Cos(MulScalar(x, 2*math.Pi)), 10)), 10)
}

// projection returns a task that minimises the mean loss of the distances from the optimum.
func projection(name string, dims int, loss func(*Node) *Node) *BlackBox {
	task, _ := catalog.Find(name)
	task.Spec = task.WithProjection(dims)
	return &BlackBox{task.Spec, func(x *Node) (fitness, descriptor *Node) {
		worst := loss(ConstAs(x, -catalog.ProjectionLimit-optimum))
		share := Div(ReduceMean(loss(AddScalar(x, -optimum)), 1), worst)
		fitness = MulScalar(OneMinus(share), 100)

		outside := GreaterThan(Abs(x), ConstAs(x, catalog.ProjectionLimit))
		divisor := Where(outside, x, OnesLike(x)) // finite gradients where x is 0
		counted := Where(outside, Div(ConstAs(x, catalog.ProjectionLimit), divisor), x)
		sum := func(from, to int) *Node {
			return ReduceSum(Slice(counted, AxisRange(), AxisRange(from, to)), 1)
		}
		return fitness, Stack([]*Node{sum(0, dims/2), sum(dims/2, dims)}, 1)
	}}
}
