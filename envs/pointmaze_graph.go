package envs

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/xla/random"
)

// Pointmaze is a point in the square [-1, 1]^2 that must move around two walls to a goal at (-0.5,
// 0.8) (QDax, environments/pointmaze.py). Observation and state descriptor are its position. An
// action is a displacement, clipped to +-1 and divided by 10. The reward is minus the distance to
// the goal.
type Pointmaze struct{}

// Walls returns the walls of the maze, for figures: one from x = -0.5 to the right border, and
// above it one from the left border to x = 0.5.
func (Pointmaze) Walls() []Wall { return pointmaze().Walls }

// Goal returns the square in which an episode ends.
func (Pointmaze) Goal() Wall { return *pointmaze().Goal }

func pointmaze() catalog.Task {
	task, _ := catalog.Find("pointmaze")
	return task
}

// Spec implements [Env].
func (Pointmaze) Spec() Spec { return pointmaze().Spec }

// Reset draws x in +-0.1 and y in [-1, -0.7).
func (Pointmaze) Reset(keys random.Key) State {
	n := keys.Hi.Shape().Dimensions[0]
	x := keys.FoldIn(0).Uniform(-0.1, 0.1, n)
	y := keys.FoldIn(1).Uniform(-1, -0.7, n)
	return pointmazeState(x, y, ZerosLike(x), ZerosLike(x))
}

// At returns the initial state of points at positions x, y, [B] each.
func (Pointmaze) At(x, y *Node) State { return pointmazeState(x, y, ZerosLike(x), ZerosLike(x)) }

func pointmazeState(x, y, reward, done *Node) State {
	xy := Stack([]*Node{x, y}, -1)
	return State{PhysicsState: []*Node{x, y}, Observation: xy, Descriptor: xy, Reward: reward, Done: done}
}

// observePoints computes the observation and the descriptor from the physics state. It selects
// columns where pointmazeState stacks them, because XLA fuses a selection into its users.
func observePoints(s State) State {
	x, y := s.PhysicsState[0], s.PhysicsState[1]
	wide := func(x *Node) *Node {
		return BroadcastToDims(InsertAxes(x, 1), x.Shape().Dimensions[0], 2)
	}
	column := Iota(x.Graph(), shapes.Make(dtypes.Int32, x.Shape().Dimensions[0], 2), 1)
	xy := Where(Equal(column, ZerosLike(column)), wide(x), wide(y))
	s.Observation, s.Descriptor = xy, xy
	return s
}

// Step implements [Env]. It handles the lower wall, then the upper wall with the resulting y, then
// the borders. A wall stops only y. As in the published code, both directions test where the path
// crosses the wall's lower edge. A path parallel to the wall (y unchanged) crosses it at infinity
// or nowhere, and is not stopped.
func (Pointmaze) Step(s State, action *Node) State {
	oldX, oldY := s.PhysicsState[0], s.PhysicsState[1]
	move := DivScalar(clipTo(action, -1, 1), 10)
	x := Add(oldX, Reshape(Slice(move, AxisRange(), AxisElem(0)), -1))
	y := Add(oldY, Reshape(Slice(move, AxisRange(), AxisElem(1)), -1))

	below := func(a *Node, limit float64) *Node { return LessThan(a, ConstAs(a, limit)) }
	above := func(a *Node, limit float64) *Node { return GreaterThan(a, ConstAs(a, limit)) }
	atMost := func(a *Node, limit float64) *Node { return LessOrEqual(a, ConstAs(a, limit)) }
	atLeast := func(a *Node, limit float64) *Node { return GreaterOrEqual(a, ConstAs(a, limit)) }
	and := func(first *Node, more ...*Node) *Node {
		for _, c := range more {
			first = And(first, c)
		}
		return first
	}
	// hit is the x at which the path from the old to the new position crosses height.
	hit := func(height float64, y *Node) *Node {
		return Add(Mul(Div(Sub(ConstAs(y, height), oldY), Sub(y, oldY)), Sub(x, oldX)), oldX)
	}

	maze := pointmaze()
	lower, upper, goal, target := maze.Walls[0], maze.Walls[1], maze.Goal, maze.Target
	blocked := atLeast(hit(lower.Y0, y), lower.X0)
	fromBelow := and(atMost(oldY, lower.Y0), above(y, lower.Y0), blocked)
	fromAbove := and(below(y, lower.Y1), atLeast(oldY, lower.Y1), below(oldY, upper.Y0), blocked)
	y = Where(fromAbove, ConstAs(y, lower.Y1), Where(fromBelow, ConstAs(y, lower.Y0), y))

	blocked = atMost(hit(upper.Y0, y), upper.X1)
	fromAbove = and(below(y, upper.Y1), atLeast(oldY, upper.Y1), blocked)
	fromBelow = and(above(y, upper.Y0), atMost(oldY, upper.Y0), above(oldY, lower.Y0), blocked)
	y = Where(fromBelow, ConstAs(y, upper.Y0), Where(fromAbove, ConstAs(y, upper.Y1), y))

	x, y = clipTo(x, -1, 1), clipTo(y, -1, 1)
	reward := Neg(Sqrt(Add(Square(AddScalar(x, -target[0])), Square(AddScalar(y, -target[1])))))
	inGoal := and(atLeast(x, goal.X0), atMost(x, goal.X1), atLeast(y, goal.Y0), atMost(y, goal.Y1))
	return pointmazeState(x, y, reward, ConvertDType(inGoal, x.DType()))
}
