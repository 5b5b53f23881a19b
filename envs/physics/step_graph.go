package physics

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/xla"
)

// Step advances a state by one control step under actions [Actions, B]. Actions are not clipped;
// nil is allowed for a system without actuators. The contact is the sum over the substeps.
func (s *System) Step(state State, action *Node) (State, algebra.Contact) {
	state.Under = algebra.Conditions{}
	return s.StepUnder(state, action)
}

// StepUnder is [System.Step] under the conditions of a state, of which it knows gravity, the strengths of actuators,
// and changes of the mass, the friction and the damping of all elements.
func (s *System) StepUnder(state State, action *Node) (State, algebra.Contact) {
	g, batch := state.Graph(), state.Batch()
	if s.actions > 0 && (action == nil || action.Rank() != 2 ||
		action.Shape().Dimensions[0] != s.actions || action.Shape().Dimensions[1] != batch) {
		panic(fmt.Errorf("actions must be a tensor [%d, %d], for %d actions and %d copies", s.actions, batch, s.actions, batch))
	}
	split, skips := s.splits(g), s.skipsWalls(g)
	total := s.noContact()
	if skips {
		total.unstopped = algebra.Constant(1, 0)
	}
	var sums []*algebra.Num // what Contacts holds
	for _, c := range total.components() {
		if split {
			*c = c.SplitRows()
		}
		sums = append(sums, c.Leaves()...)
	}
	run := running{Parts: s.carry(g, batch, s.limbs(state), split), Drive: s.drive(g, batch, action, state.Under)}
	for i, c := range sums {
		if accelerated(g) {
			run.Contacts = append(run.Contacts, zeros(run.Parts[0], i, c.Rows, batch))
		} else {
			run.Contacts = append(run.Contacts, Zeros(g, shapes.Make(dtypes.Float32, c.Rows*batch)))
		}
	}
	step, count := s.smallestStep()
	together := unrolled(g, count)
	steps := func(run running) running {
		return xla.For(run.Parts[0].Graph(), count/together, run, func(_ *Node, r running) running {
			g, all := r.Parts[0].Graph(), s.carried(r.Parts, split)
			for range together {
				var t contactEffect
				all, t = step(all, r.Drive)
				next := 0
				for _, c := range t.components() {
					if split {
						*c = c.SplitRows()
					}
					for _, row := range c.Leaves() {
						r.Contacts[next] = algebra.Num{Rows: row.Rows, Node: r.Contacts[next]}.Plus(*row).Spread(g, batch)
						next++
					}
				}
			}
			r.Parts = s.carry(g, batch, all, split)
			return r
		})
	}
	if skips {
		run = untilExact(run, steps)
	} else {
		run = steps(run)
	}
	for i, c := range sums {
		*c = algebra.Num{Rows: c.Rows, Node: run.Contacts[i]}
	}
	if split {
		return s.joined(g, batch, s.carried(run.Parts, true)), s.contact(g, batch, total)
	}
	return s.state(run.Parts, batch), s.contact(g, batch, total)
}

// running is what the loop over substeps carries.
type running struct {
	Parts    []*Node // see [System.carry]
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

// Drive returns the actions, which actuators take as they are.
func (s *System) Drive(action *Node) *Node { return action }

// Touching returns 1 where any component of the velocity change of a body by contacts is not 0, else 0, [B]
// (QDax, FeetContactWrapper). It panics if there is no such body.
func (s *System) Touching(_ State, contact algebra.Contact, body string) *Node {
	row := s.model.Body(body)
	if row < 0 {
		panic(names.Unknown("body", body, s.model.BodyNames()))
	}
	touched := func(axis int) *Node {
		v := Reshape(Slice(contact.Velocity[axis], AxisElem(row)), -1)
		return NotEqual(v, ZerosLike(v))
	}
	return ConvertDType(Or(Or(touched(0), touched(1)), touched(2)), dtypes.Float32)
}

// Contact computes the velocity changes that the contacts of a state would cause (Brax's info of a
// state). It uses the impulses of spring dynamics for both dynamics.
func (s *System) Contact(state State) algebra.Contact {
	d := drive{Friction: product(state.Under.Friction)}
	return s.contact(state.Graph(), state.Batch(), s.resolveContacts(s.limbs(state), d))
}

// contact reorders effects to the order of the model.
func (s *System) contact(g *Graph, batch int, t contactEffect) algebra.Contact {
	component := func(i int) *Node {
		var moving []algebra.Num
		for l := range t.moving {
			moving = append(moving, *t.moving[l].components()[i])
		}
		return s.table(g, batch, moving, algebra.Term{Value: *t.fixed.components()[i], To: algebra.Each(s.obstacles)})
	}
	return algebra.Contact{Velocity: [3]*Node{component(0), component(1), component(2)},
		AngularVelocity: [3]*Node{component(3), component(4), component(5)}}
}

// JointAngles returns the joint angles, rad, and joint velocities, rad/s, [Angles, B] each, in the
// order of the model. A velocity is that of the child relative to the parent about an axis: the
// derivative of the angle, if the other angles of the joint are 0. In the source it has the other sign.
func (s *System) JointAngles(state State) (angles, velocities *Node) {
	a, v := s.jointAngles(s.limbs(state))
	g, batch := state.Graph(), state.Batch()
	return Reshape(a.Spread(g, batch), s.dofs, batch), Reshape(v.Neg().Spread(g, batch), s.dofs, batch)
}
