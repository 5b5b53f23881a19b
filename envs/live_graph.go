package envs

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/xla"
)

// Conditions are what the adaptation experiments change in a task. The zero value is not the task
// as it is; see [Live.Nominal].
type Conditions struct {
	Gravity   float64    // multiplies gravity
	Actuators float64    // multiplies the strength of the actuators of one leg
	Target    [2]float64 // position x, y of the target of ant-maze; of other tasks it is not looked at
}

// Perturbable is a task whose conditions are a part of its states, so that one program serves all
// of them: where [Option]s are constants of a program, these are its inputs. Without [Live.Under] a
// state has the nominal ones, under which a task is what it is without Live.
type Perturbable struct{ *Rigid }

var _ Env = Perturbable{}

// NewPerturbable makes conditions of a task inputs. A task that has none is an error.
func NewPerturbable(env Env) (Perturbable, error) {
	rigid, ok := env.(*Rigid)
	if !ok {
		return Perturbable{}, errors.Errorf("%s has neither gravity nor actuators nor a target to change",
			env.Spec().Name)
	}
	return Perturbable{rigid}, nil
}

// Nominal are the conditions of the task as it is.
func (l Perturbable) Nominal() Conditions {
	c := Conditions{Gravity: 1, Actuators: 1}
	if l.Goal != nil {
		c.Target = *l.Goal
	}
	return c
}

// Values are conditions as numbers for [Live.Under], [Live.Width]. Conditions that the task does
// not have, or cannot take, are an error.
func (l Perturbable) Values(c Conditions) ([]float32, error) {
	for what, k := range map[string]float64{"gravity": c.Gravity,
		"the strength of actuators": c.Actuators} {
		if err := robots.CheckMultiplier(what, k); err != nil {
			return nil, errors.WithMessage(err, l.Spec().Name)
		}
	}
	if c.Actuators != 1 && len(l.Leg) == 0 {
		return nil, errors.Errorf("%s has no leg whose actuators could change", l.Spec().Name)
	}
	values := []float32{float32(c.Gravity), float32(c.Actuators)}
	if l.Goal == nil {
		if c.Target != ([2]float64{}) {
			return nil, errors.WithMessage(errNoTarget, l.Spec().Name)
		}
		return values, nil
	}
	limits := l.Spec().Descriptor
	if err := within(c.Target, float64(limits.Lower[0]), float64(limits.Upper[0])); err != nil {
		return nil, errors.WithMessage(err, l.Spec().Name)
	}
	return append(values, float32(c.Target[0]), float32(c.Target[1])), nil
}

// Width is how many numbers conditions are.
func (l Perturbable) Width() int {
	if l.Goal == nil {
		return 2
	}
	return 4
}

// Reset implements [Env]: under nominal conditions.
func (l Perturbable) Reset(keys xla.Key) State {
	values, err := l.Values(l.Nominal())
	if err != nil {
		panic(err)
	}
	s := l.Rigid.Reset(keys)
	s.PhysicsState = append(slices.Clone(s.PhysicsState), l.wide(Const(s.Reward.Graph(), values), s))
	return s
}

// Under puts states under conditions: values [Width]. What is seen of a state does not depend on
// them.
func (l Perturbable) Under(s State, values *Node) State {
	s.PhysicsState = append(slices.Clone(s.PhysicsState[:len(s.PhysicsState)-1]), l.wide(values, s))
	return s
}

// wide are values for all copies of a state, [Width, B].
func (l Perturbable) wide(values *Node, s State) *Node {
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

// condition is what a step is taken under: [B] each, or nil for the task as it is.
type condition struct {
	gravity, actuators *Node
	target             []*Node // x, y
}

// weakened are actions [actions, B] with those of the leg multiplied.
func (c condition) weakened(system *physics.System, leg []string, action *Node) *Node {
	if c.actuators == nil || len(leg) == 0 {
		return action
	}
	dims := action.Shape().Dimensions
	mask := make([]bool, dims[0])
	for _, i := range system.ActionsOf(leg...) {
		mask[i] = true
	}
	hit := BroadcastToDims(InsertAxes(Const(action.Graph(), mask), -1), dims...)
	factor := BroadcastToDims(InsertAxes(c.actuators, 0), dims...)
	return Where(hit, Mul(action, factor), action)
}

// away is the distance [B] of a body from a target.
func away(m StepView, body string, x, y *Node) *Node {
	at := m.Frame(body).Position
	return Sqrt(Add(Square(Sub(at[0], x)), Square(Sub(at[1], y))))
}
