package mujoco

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/names"
)

// felt is what acts in a state under what the actuators are told: as MuJoCo's sensors, but of this state, not of
// the one a physics step before.
type felt struct {
	control  *Node
	motions  motions
	contacts []touched
}

// feel computes the accelerations and the contact forces of a state.
func (s *System) feel(state algebra.State, control *Node) *felt {
	v := s.view(state)
	if v.felt != nil && v.felt.control == control {
		return v.felt
	}
	now := s.State(state)
	r := running{Q: split(now.QPos, s.places), V: split(now.QVel, s.dofs), A: split(now.QAcc, s.dofs),
		Inputs: s.inputs(control, now.Act), Under: s.under(state.Under)}
	d := s.accelerate(r)
	f := &felt{control: control}
	f.motions, _ = s.inverseDynamics(d.Kinematics, s.toWorld(d.Kinematics, r.V), d.Acceleration)
	if n := d.Solution; len(s.acting)+len(s.selected) > 0 {
		f.contacts = s.touching(n.Constraints, n.At.Rate, n.At.Cones, n.At.Visits)
	}
	v.felt = f
	return f
}

// Acceleration returns the acceleration of a body's frame or of a site less that of gravity, m/s², [B] each, in the
// axes of the world, in a state under controls [nu, B]: at rest it is upward. It panics if there is neither of this
// name.
func (s *System) Acceleration(state algebra.State, control *Node, name string) (out [3]*Node) {
	body, own := s.find(name)
	g, batch := state.Graph(), state.Batch()
	a := s.gravity(s.view(state).kinematics, []float64{-1})
	if i, row := s.link(body); i != static {
		f, k := s.feel(state, control), s.view(state).kinematics
		a = s.pointAcceleration(k, f.motions, i, row, own.position)
	}
	for axis := range out {
		out[axis] = component(a, axis).Spread(g, batch)
	}
	return out
}

// pointAcceleration returns the acceleration, less that of gravity, of a point in the frame of a link.
func (s *System) pointAcceleration(k kinematics, of motions, group, row int, point algebra.Vector) algebra.Vector {
	start := k.Position[group].Minus(s.reference(k, group)).Take(row)
	arm := start.Plus(takeRotation(k.Rotation[group], []int{row}).Of(point)).Materialize()
	velocity, acceleration := of.Velocity[group].take([]int{row}), of.Acceleration[group].take([]int{row})
	return acceleration.at(arm).Plus(velocity.Ang.Cross(velocity.at(arm))).Materialize()
}

// ContactForce returns the force on a body by its contacts with what cannot move, N, [B] each, in the axes of the
// world, in a state under controls [nu, B]. It panics if there is no such body.
func (s *System) ContactForce(state algebra.State, control *Node, body string) (out [3]*Node) {
	i := slices.Index(s.BodyNames(), body)
	if i < 0 {
		panic(names.Unknown("body", body, s.BodyNames()))
	}
	f, sum := s.feel(state, control), zeroVector(1)
	for _, t := range f.contacts {
		set := t.set
		if set.acts != nil && !slices.ContainsFunc(set.parts, (*contactSet).withWorld) {
			continue
		}
		total := t.force().Materialize()
		if set.parts != nil {
			for side, sign := range []float64{-1, 1} {
				sum = sum.Plus(total.Each(func(x algebra.Num) algebra.Num {
					return s.perBody([]int{i}, set, t.at, side, true, x).Scale(sign)
				}))
			}
			continue
		}
		for row := range set.rows {
			geoms := set.geoms[row%len(set.geoms)]
			force := total.Take(row)
			if s.model.GeomBodyID[geoms[1]] == i {
				sum = sum.Plus(force)
			}
			if s.model.GeomBodyID[geoms[0]] == i {
				sum = sum.Minus(force)
			}
		}
	}
	for axis := range out {
		out[axis] = component(sum, axis).Spread(state.Graph(), state.Batch())
	}
	return out
}

// Push adds a velocity to the free joint of a tree, m/s, [B] each: that of a body, or the first one without a name.
// It panics if there is none.
func (s *System) Push(state algebra.State, body string, by [3]*Node) algebra.State {
	dof := s.PushedDof(body)
	if dof < 0 {
		panic(fmt.Errorf("nothing can be pushed: %q is not on a free joint", body))
	}
	qvel := state.Parts[1]
	parts := []*Node{Slice(qvel, AxisRange(0, dof)), Stack(by[:], 0), Slice(qvel, AxisRange(dof+3))}
	parts[1] = Add(parts[1], Slice(qvel, AxisRange(dof, dof+3)))
	next := algebra.State{Parts: append([]*Node{}, state.Parts...), Under: state.Under}
	next.Parts[1] = Concatenate(parts, 0)
	return next
}

// PushedDof returns the first dof of the free joint that [System.Push] pushes, or -1.
func (s *System) PushedDof(body string) int {
	m := s.model
	of := slices.Index(s.BodyNames(), body)
	for id, kind := range m.JntType {
		if kind == Free && (body == "" || of >= 0 && m.above(m.JntBodyID[id], of)) {
			return m.JntDofAdr[id]
		}
	}
	return -1
}

// Land moves the robots of a state up or down until the lowest geom of each touches the plane below. It moves
// those that are free to, and only by geoms that may touch a plane.
func (s *System) Land(state algebra.State) algebra.State {
	v := s.view(state)
	qpos := state.Parts[0]
	g, batch := state.Graph(), state.Batch()
	parts := make([]*Node, s.model.Sizes.NQ)
	for i := range parts {
		parts[i] = Slice(qpos, AxisRange(i, i+1))
	}
	for _, group := range s.groups {
		if group.parent >= 0 || group.joints[0].kind != Free {
			continue
		}
		for row, root := range group.body {
			var gaps []algebra.Num
			for _, set := range s.contacts {
				for pair, geoms := range set.geoms {
					if set.onTerrain > 0 || s.model.GeomType[geoms[0]] != Plane || !s.model.above(root, s.model.GeomBodyID[geoms[1]]) {
						continue
					}
					distance := s.collide(v.kinematics, set).Distance
					for point := range set.points {
						gaps = append(gaps, distance.Take(point*len(set.geoms)+pair))
					}
				}
			}
			for _, set := range s.landing {
				if s.model.above(root, s.model.GeomBodyID[set.geoms[0][1]]) {
					at, _ := s.relativePlaces(v.kinematics, set.sides)
					for _, t := range set.collide(set, at[0], at[1]) {
						height := s.options.Terrain.below(v.kinematics, t.point.Minus(at[0].position))
						gaps = append(gaps, t.distance.Minus(height))
					}
				}
			}
			if len(gaps) == 0 {
				continue
			}
			least := gaps[0]
			for _, gap := range gaps[1:] {
				least = least.Min(gap)
			}
			z := s.model.JntQPosAdr[group.joints[0].id[row]] + 2
			parts[z] = Sub(parts[z], Reshape(least.Spread(g, batch), 1, batch))
		}
	}
	return algebra.State{Parts: append([]*Node{Concatenate(parts, 0)}, state.Parts[1:]...), Under: state.Under}
}
