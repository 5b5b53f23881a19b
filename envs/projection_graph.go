package envs

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/catalog"
)

// optimum is the value of all components of the fittest solution.
const optimum = 0.4 * catalog.ProjectionLimit

// Sphere is the linear projection benchmark with a sphere (Fontaine et al. 2020, "Covariance matrix
// adaptation for the rapid illumination of behavior space"; pyribs, examples/sphere.py). The
// fitness is minus the squared distance from the optimum, scaled to 100 there and to 0 in the
// farthest corner of the limits. The descriptor is the sum of the first half of the components and
// that of the second, of which components outside of the limits count as limit/x.
func Sphere(dims int) *BlackBox {
	return projection("sphere", dims, func(x *Node) *Node { return Square(x) })
}

// Rastrigin is [Sphere] with the Rastrigin function.
func Rastrigin(dims int) *BlackBox {
	return projection("rastrigin", dims, rastrigin)
}

func makeSphere(task catalog.Task, _ options) (Env, error) { return Sphere(task.Actions), nil }

func makeRastriginMulti(task catalog.Task, _ options) (Env, error) {
	return RastriginMulti(task.Actions), nil
}

func makeRastrigin(task catalog.Task, _ options) (Env, error) {
	return Rastrigin(task.Actions), nil
}

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
		counted := Where(outside, Div(ConstAs(x, catalog.ProjectionLimit), x), x)
		sum := func(from, to int) *Node {
			return ReduceSum(Slice(counted, AxisRange(), AxisRange(from, to)), 1)
		}
		return fitness, Stack([]*Node{sum(0, dims/2), sum(dims/2, dims)}, 1)
	}}
}
