package physics

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/xla"
)

// Contact is what contacts did to all bodies in the order of the model, [bodies, B] each: changes of velocity and of angular
// velocity. Bodies that do not move feel contacts, too.
type Contact struct {
	Velocity, AngularVelocity [3]*Node
}

// Step advances a system by a control step under actions [Actions, B], which are not clipped. The contact is the sum over the
// substeps.
func (s *System) Step(state State, action *Node) (State, Contact) {
	if action.Rank() != 2 || action.Shape().Dimensions[0] != s.actions || action.Shape().Dimensions[1] != state.batch() {
		panic(errors.Errorf("%d actions for %d copies of a system are not a tensor %s", s.actions, state.batch(), action.Shape()))
	}
	type running struct {
		State  State
		Action *Node
		Touch  []*Node // [rows * B] each
	}
	g, batch := state.graph(), state.batch()
	run := running{State: state, Action: Reshape(action, action.Shape().Size())}
	untouched := s.untouched()
	for _, c := range untouched.components() {
		if c.rows > 0 {
			run.Touch = append(run.Touch, Zeros(g, shapes.Make(dtypes.Float32, c.rows*batch)))
		}
	}
	substep, count := s.springSubstep, s.model.Substeps
	if s.model.Dynamics == PositionBased {
		substep, count = s.positionIteration, s.model.Substeps/2
	}
	run = xla.For(g, count, run, func(_ *Node, r running) running {
		b, t := substep(s.bodies(r.State), num{rows: s.actions, node: r.Action}, nil)
		next := 0
		for _, c := range t.components() {
			if c.rows > 0 {
				r.Touch[next] = num{rows: c.rows, node: r.Touch[next]}.plus(*c).node
				next++
			}
		}
		r.State = s.state(r.Action.Graph(), batch, b)
		return r
	})
	next := 0
	for _, c := range untouched.components() {
		if c.rows > 0 {
			c.known, c.node = nil, run.Touch[next]
			next++
		}
	}
	return run.State, s.contact(g, batch, untouched)
}

// Contact is what the contacts of a state would do: Brax's info of a state, impulses of spring dynamics for both dynamics.
func (s *System) Contact(state State) Contact {
	return s.contact(state.graph(), state.batch(), s.bounce(s.bodies(state)))
}

func (t *touch) components() []*num {
	moving, still := t.moving.components(), t.still.components()
	return append(moving[:], still[:]...)
}

// contact puts what contacts did in the order of the model.
func (s *System) contact(g *Graph, batch int, t touch) Contact {
	all := make([]*Node, 6)
	components := t.components()
	for i := range all {
		all[i] = s.modelRows(g, batch, *components[i], *components[6+i])
	}
	return Contact{[3]*Node(all[:3]), [3]*Node(all[3:])}
}

// modelRows puts a component of the bodies that move and of those that can be touched in the order of the model,
// [bodies, B]: 0 for the rest.
func (s *System) modelRows(g *Graph, batch int, moving, touched num) *Node {
	rows := len(s.model.Bodies)
	return Reshape(sum(rows, addend{moving, s.moving}, addend{touched, s.touched}).spread(g, batch), rows, batch)
}

// JointAngles reads the angles of the joints, rad, and the angular velocities about their axes, rad/s, [Angles, B] each, in the
// order of the model.
func (s *System) JointAngles(state State) (angles, velocities *Node) {
	a, v := s.jointAngles(s.bodies(state))
	g, batch := state.graph(), state.batch()
	return Reshape(a.spread(g, batch), s.dofs, batch), Reshape(v.spread(g, batch), s.dofs, batch)
}
