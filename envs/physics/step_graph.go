package physics

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Contact holds the velocity changes of all bodies by contacts, linear and angular, [bodies, B]
// each, in the order of the model. They include fixed bodies, which do not move.
type Contact struct {
	Velocity, AngularVelocity [3]*Node
}

// Step advances a state by one control step under actions [Actions, B]. Actions are not clipped;
// nil is allowed for a system without actuators. The contact is the sum over the substeps.
func (s *System) Step(state State, action *Node) (State, Contact) {
	return s.StepUnder(state, action, nil)
}

// StepUnder is [System.Step] with the model's gravity multiplied by gravity [B]; nil means 1.
func (s *System) StepUnder(state State, action, gravity *Node) (State, Contact) {
	g, batch := state.graph(), state.batch()
	if s.actions > 0 && (action == nil || action.Rank() != 2 || action.Shape().Dimensions[0] !=
		s.actions || action.Shape().Dimensions[1] != batch) {
		panic(fmt.Errorf("actions must be a tensor [%d, %d], for %d actions and %d copies", s.actions,
			batch, s.actions, batch))
	}
	d := s.drive(g, batch, action, gravity)
	if accelerated(g) {
		return s.stepOnAccelerator(state, d)
	}
	run := running{Parts: state.flat(), Drive: d}
	total := s.noContact()
	if s.skipsWalls() {
		total.unstopped = constant(1, 0)
	}
	for _, c := range total.components() {
		run.Contacts = append(run.Contacts, Zeros(g, shapes.Make(dtypes.Float32, c.rows*batch)))
	}
	step, count := s.smallestStep()
	steps := func(run running) running {
		return xla.For(run.Parts[0].Graph(), count, run, func(_ *Node, r running) running {
			all, t := step(s.complete(r.Parts), r.Drive)
			for i, c := range t.components() {
				r.Contacts[i] = num{rows: c.rows, node: r.Contacts[i]}.plus(*c).node
			}
			r.Parts = s.varyingParts(r.Parts[0].Graph(), batch, all)
			return r
		})
	}
	if s.skipsWalls() {
		run = untilExact(run, steps)
	} else {
		run = steps(run)
	}
	for i, c := range total.components() {
		*c = num{rows: c.rows, node: run.Contacts[i]}
	}
	return s.state(run.Parts, batch), s.contact(g, batch, total)
}

// running is what the loop over substeps carries.
type running struct {
	Parts    []*Node // [limbs * B], see [State]
	Drive    drive
	Contacts []*Node // [rows * B] each
}

// smallestStep returns the smallest step of the dynamics and its count per control step.
func (s *System) smallestStep() (step func(limbs, drive) (limbs, contactEffect), count int) {
	if s.model.Dynamics == PositionBased {
		return s.positionIteration, s.model.Substeps / 2
	}
	return s.springSubstep, s.model.Substeps
}

// Contact computes the velocity changes that the contacts of a state would cause (Brax's info of a
// state). It uses the impulses of spring dynamics for both dynamics.
func (s *System) Contact(state State) Contact {
	return s.contact(state.graph(), state.batch(), s.resolveContacts(s.limbs(state)))
}

// contact reorders effects to the order of the model.
func (s *System) contact(g *Graph, batch int, t contactEffect) Contact {
	component := func(i int) *Node {
		var parts []term
		for l, level := range s.levels {
			parts = append(parts, term{*t.moving[l].components()[i], level.toModel()})
		}
		return s.table(g, batch, append(parts, term{*t.fixed.components()[i], each(s.obstacles)})...)
	}
	return Contact{[3]*Node{component(0), component(1), component(2)},
		[3]*Node{component(3), component(4), component(5)}}
}

// JointAngles returns the joint angles, rad, and joint velocities, rad/s, [Angles, B] each, in the
// order of the model.
func (s *System) JointAngles(state State) (angles, velocities *Node) {
	a, v := s.jointAngles(s.limbs(state))
	g, batch := state.graph(), state.batch()
	return Reshape(a.spread(g, batch), s.dofs, batch), Reshape(v.spread(g, batch), s.dofs, batch)
}
