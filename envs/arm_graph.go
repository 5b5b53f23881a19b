package envs

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/catalog"
)

// Arm is the planar arm with redundant joints (QDax, tasks/arm.py). A solution has an angle per
// joint, as a share of a full turn, clipped to [0, 1]. The fitness is minus the standard deviation
// of the angles, the descriptor the position of the end of the arm, whose length is 1/2 and whose
// base is at (0.5, 0.5).
func Arm(joints int) *BlackBox {
	task, _ := catalog.Find("arm")
	task.Actions = joints
	return &BlackBox{task.Spec, arm}
}

func makeArm(task catalog.Task, _ options) (Env, error) { return Arm(task.Actions), nil }

func arm(solutions *Node) (fitness, descriptor *Node) {
	x := clipTo(solutions, 0, 1)
	mean := InsertAxes(ReduceMean(x, 1), 1)
	fitness = Neg(Sqrt(ReduceMean(Square(Sub(x, mean)), 1)))
	angles := CumSum(AddScalar(MulScalar(x, 2*math.Pi), -math.Pi), 1)
	end := func(part *Node) *Node { return AddScalar(MulScalar(ReduceMean(part, 1), 0.5), 0.5) }
	return fitness, Stack([]*Node{end(Cos(angles)), end(Sin(angles))}, 1)
}
