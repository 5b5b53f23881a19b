package envs

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/xla/random"
)

// Perturbable is a task whose conditions are part of its state, so that one program serves all of
// them: gravity, the actuators of a leg, the target. States have the nominal conditions until
// [Perturbable.Under] sets others.
type Perturbable struct{ *Rigid }

// NewPerturbable makes the conditions of a task part of its state, those of [Randomised] at the nominal
// values. A task without conditions is an error.
func NewPerturbable(env Env) (Perturbable, error) {
	if drawn, ok := env.(Randomised); ok {
		return drawn.Perturbable, nil
	}
	rigid, ok := env.(*Rigid)
	if _, wrapped := Inner(env).(*Rigid); !ok && wrapped {
		return Perturbable{}, fmt.Errorf("the conditions of %s cannot be part of its state together "+
			"with a fixed start or automatic resets", env.Spec().Name)
	}
	if !ok {
		return Perturbable{}, fmt.Errorf("%s has neither gravity nor actuators nor a target to change",
			env.Spec().Name)
	}
	return Perturbable{rigid}, nil
}

// Nominal returns the conditions of the unperturbed task.
func (l Perturbable) Nominal() Conditions {
	c := Conditions{Gravity: 1, Actuators: 1}
	if l.Goal != nil {
		c.Target = *l.Goal
	}
	return c
}

// Values converts conditions to the numbers that [Perturbable.Under] takes, [Perturbable.Width] of
// them. Conditions that the task does not have or that are out of range are an error.
func (l Perturbable) Values(c Conditions) ([]float32, error) {
	for i, k := range []float64{c.Gravity, c.Actuators} {
		if !(k >= 0) || math.IsInf(k, 1) {
			return nil, fmt.Errorf("%s: the multiplier of %s must be finite and not negative, not %g",
				l.Spec().Name, []string{"gravity", "actuator strength"}[i], k)
		}
	}
	if c.Actuators != 1 && len(l.Leg) == 0 {
		return nil, fmt.Errorf("%s has no leg whose actuators can be weakened", l.Spec().Name)
	}
	if l.Goal == nil && c.Target != ([2]float64{}) {
		return nil, fmt.Errorf("%s has no target to move; only ant-maze has one", l.Spec().Name)
	}
	if l.Goal != nil && c.Target != *l.Goal {
		if err := checkTarget(c.Target, l.Spec()); err != nil {
			return nil, err
		}
	}
	return l.values(c), nil
}

func (l Perturbable) values(c Conditions) []float32 {
	return []float32{float32(c.Gravity), float32(c.Actuators), float32(c.Target[0]),
		float32(c.Target[1])}[:l.Width()]
}

// Width is the number of values of the conditions.
func (l Perturbable) Width() int {
	if l.Goal == nil {
		return 2
	}
	return 4
}

// Reset implements [Env], with nominal conditions.
func (l Perturbable) Reset(keys random.Key) State { return l.nominal(l.Rigid.Reset(keys)) }

// Begin is [Rigid.Begin] with nominal conditions.
func (l Perturbable) Begin(keys random.Key, state algebra.State) State {
	return l.nominal(l.Rigid.Begin(keys, state))
}

func (l Perturbable) nominal(s State) State {
	s.PhysicsState = append(slices.Clone(s.PhysicsState),
		l.broadcast(Const(s.Reward.Graph(), l.values(l.Nominal())), s))
	return s
}

// Under sets the conditions of a state to values, Width numbers. The observation does not depend on them.
func (l Perturbable) Under(s State, values *Node) State {
	s.PhysicsState = append(slices.Clone(s.PhysicsState[:len(s.PhysicsState)-1]),
		l.broadcast(values, s))
	return s
}

// broadcast broadcasts values to all copies of a state, [Width, B].
func (l Perturbable) broadcast(values *Node, s State) *Node {
	return BroadcastToDims(InsertAxes(values, -1), l.Width(), s.Reward.Shape().Dimensions[0])
}

// Step implements [Env].
func (l Perturbable) Step(s State, action *Node) State {
	n := len(s.PhysicsState) - 1
	values := s.PhysicsState[n]
	row := func(i int) *Node { return Reshape(Slice(values, AxisElem(i)), -1) }
	now := condition{gravity: row(0), actuators: row(1)}
	if l.Goal != nil {
		now.target = []*Node{row(2), row(3)}
	}
	s.PhysicsState = s.PhysicsState[:n]
	next := l.step(s, action, now)
	next.PhysicsState = append(slices.Clone(next.PhysicsState), values)
	return next
}

// Randomised is a [Perturbable] task whose conditions are drawn at the start of each episode, uniformly
// between two limits: domain randomisation. Observations do not contain them.
type Randomised struct {
	Perturbable
	lower, upper []float32
}

// WithConditions returns a copy of a task of rigid bodies with another name whose conditions are drawn for
// each episode: gravity, the strength of a leg's actuators and the target, which is (0, 0) for tasks
// without one. With automatic resets, a copy keeps the conditions of its first episode: see [AutoReset].
func WithConditions(env Env, name string, lower, upper Conditions) (r Randomised, err error) {
	rigid, err := with(env, name, func(*Rigid) {})
	if err != nil {
		return r, err
	}
	r.Perturbable = Perturbable{rigid}
	if r.lower, err = r.Values(lower); err != nil {
		return r, err
	}
	if r.upper, err = r.Values(upper); err != nil {
		return r, err
	}
	for i, low := range r.lower {
		if low > r.upper[i] {
			return r, fmt.Errorf("the lower conditions of %s, %+v, exceed the upper ones, %+v", name, lower, upper)
		}
	}
	return r, nil
}

// Unwrap returns the task whose conditions are drawn.
func (r Randomised) Unwrap() Env { return r.Perturbable }

// Reset implements [Env].
func (r Randomised) Reset(keys random.Key) State {
	s := r.Perturbable.Reset(keys)
	share := Transpose(keys.FoldIn(2).Uniform(0, 1, keys.Hi.Shape().Dimensions[0], r.Width()), 0, 1)
	column := func(values []float32) *Node {
		return BroadcastToDims(InsertAxes(Const(share.Graph(), values), -1), share.Shape().Dimensions...)
	}
	lower, upper := column(r.lower), column(r.upper)
	s.PhysicsState[len(s.PhysicsState)-1] = Add(lower, Mul(share, Sub(upper, lower)))
	return s
}

// checkTarget checks that a target is finite and lies within the limits of a descriptor that is a
// position.
func checkTarget(target [2]float64, spec Spec) error {
	for axis, c := range target {
		low, high := math.Inf(-1), math.Inf(1)
		if spec.Positions() {
			low, high = float64(spec.Descriptor.Lower[axis]), float64(spec.Descriptor.Upper[axis])
		}
		if !(c > low && c < high) {
			return fmt.Errorf("target (%g, %g) of %s: %c must lie between %g and %g", target[0],
				target[1], spec.Name, "xy"[axis], low, high)
		}
	}
	return nil
}

// condition holds the conditions of a step, [B] each; nil means nominal.
type condition struct {
	gravity, actuators *Node
	target             []*Node // x, y
}

// weakened scales the leg's inputs [actions, B] by the actuator multiplier. If forces are not proportional to
// inputs, as in servos, it returns the multipliers of forces [actions, B].
func (c condition) weakened(system System, leg []string, action *Node) (drive, strengths *Node) {
	if c.actuators == nil || len(leg) == 0 {
		return action, nil
	}
	dims := action.Shape().Dimensions
	mask := make([]bool, dims[0])
	for _, i := range system.ActionsOf(leg...) {
		mask[i] = true
	}
	hit := BroadcastToDims(InsertAxes(Const(action.Graph(), mask), -1), dims...)
	factor := BroadcastToDims(InsertAxes(c.actuators, 0), dims...)
	servo := func(a physics.Actuator) bool { return a.Servo != nil }
	if brax, ok := system.(*physics.System); !ok || slices.ContainsFunc(brax.Model().Actuators, servo) {
		return action, Where(hit, factor, OnesLike(factor))
	}
	return Where(hit, Mul(action, factor), action), nil
}
