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
	if s.actions > 0 && (action == nil || action.Rank() != 2 || action.Shape().Dimensions[0] !=
		s.actions || action.Shape().Dimensions[1] != state.batch()) {
		panic(fmt.Errorf("actions must be a tensor [%d, %d], for %d actions and %d copies", s.actions,
			state.batch(), s.actions, state.batch()))
	}
	g, batch := state.graph(), state.batch()
	if accelerated(g) {
		return s.stepOnAccelerator(state, s.drive(action, gravity))
	}
	run := running{Parts: state.flat(), Drive: s.drive(action, gravity).carry(g, batch)}
	total := s.noContact()
	if s.skipsWalls() {
		total.unstopped = constant(1, 0)
	}
	for _, c := range total.carried() {
		run.Contacts = append(run.Contacts, Zeros(g, shapes.Make(dtypes.Float32, c.rows*batch)))
	}
	substep, count := s.smallestStep()
	substeps := func(run running) running {
		return xla.For(run.Parts[0].Graph(), count, run, func(_ *Node, r running) running {
			all, t := substep(s.complete(r.Parts), s.driveOf(r.Drive))
			for i, c := range t.carried() {
				r.Contacts[i] = num{rows: c.rows, node: r.Contacts[i]}.plus(*c).node
			}
			r.Parts = s.varyingParts(r.Parts[0].Graph(), batch, all)
			return r
		})
	}
	if s.skipsWalls() {
		run = untilExact(run, substeps)
	} else {
		run = substeps(run)
	}
	for i, c := range total.carried() {
		c.known, c.node = nil, run.Contacts[i]
	}
	return s.state(run.Parts, batch), s.contact(g, batch, total)
}

// running is what the loop over substeps carries.
type running struct {
	Parts    []*Node // [limbs * B], see [State]
	Drive    carriedDrive
	Contacts []*Node // [rows * B] each
}

// smallestStep returns the smallest step of the dynamics and its count per control step.
func (s *System) smallestStep() (step func(limbs, drive) (limbs, contactEffect),
	count int) {
	if s.model.Dynamics == PositionBased {
		return s.positionIteration, s.model.Substeps / 2
	}
	return s.springSubstep, s.model.Substeps
}

// carried returns the components that have rows, as loops carry them.
func (t *contactEffect) carried() []*num {
	all, fixed := t.components()
	if fixed[0].rows > 0 {
		all = append(all, fixed...)
	}
	if t.unstopped.rows > 0 {
		all = append(all, &t.unstopped)
	}
	return all
}

// Contact computes the velocity changes that the contacts of a state would cause (Brax's info of a
// state). It uses the impulses of spring dynamics for both dynamics.
func (s *System) Contact(state State) Contact {
	return s.contact(state.graph(), state.batch(), s.resolveContacts(s.limbs(state)))
}

// contact reorders effects to the order of the model.
func (s *System) contact(g *Graph, batch int, t contactEffect) Contact {
	moving, fixed := t.components()
	all := make([]*Node, 6)
	for i := range all {
		var parts []term
		for l, level := range s.levels {
			parts = append(parts, term{*moving[6*l+i], level.toModel()})
		}
		parts = append(parts, term{*fixed[i], each(s.obstacles)})
		all[i] = s.table(g, batch, parts...)
	}
	return Contact{[3]*Node(all[:3]), [3]*Node(all[3:])}
}

// JointAngles returns the joint angles, rad, and joint velocities, rad/s, [Angles, B] each, in the
// order of the model.
func (s *System) JointAngles(state State) (angles, velocities *Node) {
	a, v := s.jointAngles(s.limbs(state))
	g, batch := state.graph(), state.batch()
	return Reshape(a.spread(g, batch), s.dofs, batch), Reshape(v.spread(g, batch), s.dofs, batch)
}
