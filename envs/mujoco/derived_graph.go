package mujoco

import (
	"errors"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// What MuJoCo derives of a state, as it orders it: of each body but the world, about the centre of mass of
// the robot. Robots of several trees have several such centres, for which these functions panic.

// inertialFrames are the inertial frames of the bodies that move, about the centre of mass of the robot.
type inertialFrames struct {
	place
	side   side // their links
	center algebra.Vector
	bodies []int
}

func (s *System) inertialFrames(v *view) (f inertialFrames) {
	if s.trees() != 1 {
		panic(errors.New("quantities about the centre of mass need a robot with one tree of joints"))
	}
	m, links := s.model, s.allLinks()
	f.side.group = anyLink
	var at []pose
	for body := 1; body < m.Sizes.NBody; body++ {
		link := slices.Index(links, m.link(body))
		if link < 0 {
			continue // fixed to the world
		}
		f.bodies, f.side.link = append(f.bodies, body), append(f.side.link, link)
		at = append(at, s.poses[body].then(pose{algebra.Vectors(m.BodyIPos[body]), algebra.KnownQuaternion(m.BodyIQuat[body])}))
	}
	own, k := stackPoses(at), v.kinematics
	turn := algebra.Rotation{X: s.linksOf(f.side, func(g int) algebra.Vector { return k.Rotation[g].X }),
		Y: s.linksOf(f.side, func(g int) algebra.Vector { return k.Rotation[g].Y }),
		Z: s.linksOf(f.side, func(g int) algebra.Vector { return k.Rotation[g].Z })}
	f.center = s.center(k, func(g int) algebra.Vector { return k.Position[g] })
	position := s.linksOf(f.side, func(g int) algebra.Vector { return k.Position[g] }).Plus(turn.Of(own.position))
	f.position = position.Minus(f.center.Each(f.spread)).Materialize()
	f.turn = materializeRotation(turned(turn, own.rotation.Rotation().Snap()))
	return f
}

// spread returns a num of one row for each body.
func (f inertialFrames) spread(x algebra.Num) algebra.Num { return spread(x, len(f.bodies)) }

// flat returns components of bodies, body by body, [components * bodies, B].
func flat(state algebra.State, components ...algebra.Num) *Node {
	g, batch := state.Graph(), state.Batch()
	n := components[0].Rows
	var all []*Node
	for _, c := range components {
		all = append(all, Reshape(c.Spread(g, batch), n, batch))
	}
	return Reshape(Stack(all, 1), n*len(components), batch)
}

// Inertias returns MuJoCo's cinert of the bodies that move: xx, yy, zz, xy, xz, yz of the inertia about the
// robot's centre of mass (kg m²), mass times the position from there (kg m), and mass (kg), [10 * bodies, B].
func (s *System) Inertias(state algebra.State) *Node {
	m, f := s.model, s.inertialFrames(s.view(state))
	moments := algebra.VectorsOf(f.bodies, func(b int) [3]float64 { return m.BodyInertia[b] })
	mass := algebra.ColumnOf(f.bodies, func(b int) float64 { return m.BodyMass[b] })
	sum := diagonal(f.position.Dot(f.position).Times(mass))
	for _, part := range []symmetric{dyad(f.turn.X, moments.X), dyad(f.turn.Y, moments.Y), dyad(f.turn.Z, moments.Z),
		dyad(f.position, mass.Neg())} {
		entries := part.entries()
		for i, entry := range sum.entries() {
			*entry = entry.Plus(*entries[i])
		}
	}
	first := f.position.By(mass)
	return flat(state, sum.XX, sum.YY, sum.ZZ, sum.XY, sum.XZ, sum.YZ, first.X, first.Y, first.Z, mass)
}

// Velocities returns MuJoCo's cvel of the bodies that move: angular velocity (rad/s), and the velocity that the
// body would have at the robot's centre of mass (m/s), [6 * bodies, B].
func (s *System) Velocities(state algebra.State) *Node {
	v := s.view(state)
	f := s.inertialFrames(v)
	motion := spatial{s.linksOf(f.side, func(g int) algebra.Vector { return v.velocity[g].Ang }),
		s.linksOf(f.side, func(g int) algebra.Vector { return v.velocity[g].Lin })}
	reference := s.linksOf(f.side, func(g int) algebra.Vector { return s.reference(v.kinematics, g) })
	at := motion.at(f.center.Each(f.spread).Minus(reference))
	return flat(state, motion.Ang.X, motion.Ang.Y, motion.Ang.Z, at.X, at.Y, at.Z)
}

// ActuatorForces returns MuJoCo's qfrc_actuator in a state under controls [nu, B], [nv, B].
func (s *System) ActuatorForces(state algebra.State, control *Node) *Node {
	k := s.view(state).kinematics
	q, v := split(state.Parts[0], s.places), s.toWorld(k, split(state.Parts[1], s.dofs))
	lift := s.noForce()
	force, _ := s.actuation(k, q, v, s.inputs(control, s.actOf(state)), lift)
	return join(state.Graph(), s.model.Sizes.NV, state.Batch(), s.toBody(k, force), s.dofs)
}

// ExternalForces returns MuJoCo's cfrc_ext after a step, without forces of equalities: torque about the robot's
// centre of mass (N m) and force (N) of the contacts of each body that moves, [6 * bodies, B], in the late
// state. It panics without [Options].Late.
func (s *System) ExternalForces(state algebra.State) *Node {
	late := s.Late(state)
	v := s.view(late)
	if v.external != nil {
		return v.external
	}
	f, k := s.inertialFrames(v), v.kinematics
	n := len(f.bodies)
	of := func(part *Node) []algebra.Num { return s.toWorld(k, split(part, s.dofs)) }
	speed, a := of(late.Parts[1]), of(s.State(late).QAcc)
	c := s.constrain(k, s.collisions(k), nil, split(late.Parts[0], s.places), speed, v.velocity)
	rate, cones := s.violationRates(c, a, s.forward(k, a))
	if rate.Rows > 0 {
		rate = rate.Minus(c.Reference)
	}
	for i := range cones {
		if cones[i].Rows > 0 {
			cones[i] = cones[i].Minus(c.ConeReference[i])
		}
	}
	visits := s.visitRates(c.Visits, a)
	for i := range visits {
		visits[i] = Sub(visits[i], c.Visits[i].All.Reference)
	}
	var sums [6]algebra.Num
	for i := range sums {
		sums[i] = algebra.Constant(n, 0)
	}
	for _, t := range s.touching(c, rate, cones, visits) {
		set := t.set
		force, turn := t.force().Materialize(), zeroVector(set.rows)
		for axis, direction := range t.at.Frame {
			if 3+axis < set.dim {
				turn = turn.Plus(direction.By(t.along[3+axis]))
			}
		}
		point := t.at.Point
		if set.acts == nil {
			point = point.Plus(s.referenceOf(k, set.mover(), set.points))
		}
		arm := point.Minus(f.center.Each(func(x algebra.Num) algebra.Num { return spread(x, set.rows) }))
		torque := arm.Cross(force).Plus(turn)
		for j, x := range []algebra.Num{torque.X, torque.Y, torque.Z, force.X, force.Y, force.Z} {
			for side := range 2 {
				signed := x
				if side == 0 {
					signed = x.Neg()
				}
				sums[j] = sums[j].Plus(s.perBody(f.bodies, set, t.at, side, false, signed.Materialize()))
			}
		}
	}
	v.external = flat(state, sums[:]...)
	return v.external
}

// perBody sums a number of each contact of a set, or of each with what cannot move, over those with one side's geom on
// each of some bodies.
func (s *System) perBody(bodies []int, set *contactSet, c contact, side int, fixed bool, x algebra.Num) algebra.Num {
	parts := set.parts
	if parts == nil {
		parts = []*contactSet{set}
	}
	var rows []int // of each contact: its row among the bodies, or -1
	for _, part := range parts {
		for range part.points {
			for _, geoms := range part.geoms {
				row, other := slices.Index(bodies, s.model.GeomBodyID[geoms[side]]), s.model.GeomBodyID[geoms[1-side]]
				if fixed && s.model.link(other) != 0 {
					row = -1
				}
				rows = append(rows, row)
			}
		}
	}
	if c.Rows == nil {
		to := make([][]int, len(rows))
		for i, row := range rows {
			if row >= 0 {
				to[i] = []int{row}
			}
		}
		return algebra.SegmentSum(len(bodies), algebra.Term{Value: x, To: to})
	}
	contacts, batch := c.Rows.Shape().Dimensions[0], c.Rows.Shape().Dimensions[1]
	wide := func(x algebra.Num) *Node { // of each body and contact
		all := Reshape(x.Spread(c.Rows.Graph(), batch), 1, contacts, batch)
		return BroadcastToDims(all, len(bodies), contacts, batch)
	}
	of := wide(pick(algebra.ColumnOf(rows, func(row int) float64 { return float64(row) }), c.Rows))
	of = ConvertDType(of, dtypes.Int32)
	hit := Equal(of, Iota(of.Graph(), of.Shape(), 0))
	numbers := wide(x)
	sum := ReduceSum(Where(hit, numbers, ZerosLike(numbers)), 1)
	return algebra.Num{Rows: len(bodies), Node: Reshape(sum, len(bodies)*batch)}
}
