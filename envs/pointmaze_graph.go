package envs

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Pointmaze is a point in the square [-1, 1]^2 that must move around two walls to a goal at (-0.5,
// 0.8) (QDax, environments/pointmaze.py). Observation and state descriptor are its position. An
// action is a displacement, clipped to +-1 and divided by 10. The reward is minus the distance to
// the goal.
type Pointmaze struct{}

// The maze, in units of half its side.
const (
	lowerWall     = -0.5 // a wall from x = -0.5 to the right border, y in [-0.5, -0.49)
	upperWall     = 0.2  // a wall from the left border to x = 0.5, y in [0.2, 0.21)
	wallThickness = 0.01
	wallEnd       = 0.5 // |x| where a wall ends
	goalX, goalY  = -0.5, 0.8
	goalRadius    = 0.05 // half the side of the goal's square
)

// Wall is an axis-parallel rectangle.
type Wall struct{ X0, Y0, X1, Y1 float64 }

// Walls returns the walls of the maze, for figures.
func (Pointmaze) Walls() []Wall {
	return []Wall{{-wallEnd, lowerWall, 1, lowerWall + wallThickness},
		{-1, upperWall, wallEnd, upperWall + wallThickness}}
}

// Goal returns the square in which an episode ends.
func (Pointmaze) Goal() Wall {
	return Wall{goalX - goalRadius, goalY - goalRadius, goalX + goalRadius, goalY + goalRadius}
}

func makePointmaze(o options) (Env, error) { return Pointmaze{}, o.none() }

// Spec implements [Env].
func (Pointmaze) Spec() Spec {
	return Spec{
		Name: "pointmaze", Observations: 2, Actions: 2, Length: 250, Offset: 2.3431,
		FitnessRange: [2]float64{-1000, 0},
		Descriptor: Descriptor{Kind: Final, Lower: []float32{-1, -1}, Upper: []float32{1, 1},
			Components: []string{"final x", "final y"}, Stays: true},
	}
}

// Reset draws x in +-0.1 and y in [-1, -0.7).
func (Pointmaze) Reset(keys xla.Key) State {
	n := keys.Hi.Shape().Dimensions[0]
	x := keys.FoldIn(0).Uniform(-0.1, 0.1, n)
	y := keys.FoldIn(1).Uniform(-1, -0.7, n)
	return pointmazeState(x, y, ZerosLike(x), ZerosLike(x))
}

// At returns the initial state of points at positions x, y, [B] each.
func (Pointmaze) At(x, y *Node) State { return pointmazeState(x, y, ZerosLike(x), ZerosLike(x)) }

func pointmazeState(x, y, reward, done *Node) State {
	xy := Stack([]*Node{x, y}, -1)
	return State{PhysicsState: []*Node{x, y}, Observation: xy, Descriptor: xy, Reward: reward,
		Done: done}
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
	move := DivScalar(clip(action), 10)
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

	const lowerTop, upperTop = lowerWall + wallThickness, upperWall + wallThickness
	blocked := atLeast(hit(lowerWall, y), -wallEnd)
	fromBelow := and(atMost(oldY, lowerWall), above(y, lowerWall), blocked)
	fromAbove := and(below(y, lowerTop), atLeast(oldY, lowerTop), below(oldY, upperWall), blocked)
	y = Where(fromAbove, ConstAs(y, lowerTop), Where(fromBelow, ConstAs(y, lowerWall), y))

	blocked = atMost(hit(upperWall, y), wallEnd)
	fromAbove = and(below(y, upperTop), atLeast(oldY, upperTop), blocked)
	fromBelow = and(above(y, upperWall), atMost(oldY, upperWall), above(oldY, lowerWall), blocked)
	y = Where(fromBelow, ConstAs(y, upperWall), Where(fromAbove, ConstAs(y, upperTop), y))

	x, y = clip(x), clip(y)
	reward := Neg(Sqrt(Add(Square(AddScalar(x, -goalX)), Square(AddScalar(y, -goalY)))))
	inGoal := and(atLeast(x, goalX-goalRadius), atMost(x, goalX+goalRadius),
		atLeast(y, goalY-goalRadius), atMost(y, goalY+goalRadius))
	return pointmazeState(x, y, reward, ConvertDType(inGoal, x.DType()))
}

// clip clips x to [-1, 1] and keeps NaN, which XLA:CPU's minimum and maximum may turn into a limit.
func clip(x *Node) *Node { return Where(NotEqual(x, x), x, ClipScalar(x, -1, 1)) }
