package physics

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// jointState is a group of joints with the state of their bodies.
type jointState struct {
	*jointGroup
	parents, children   bodies
	parentTurn          algebra.Rotation
	childTurn           algebra.Rotation
	parentArm, childArm algebra.Vector // from the bodies' centres to the joint, in the world frame
	axes                []algebra.Vector
	angles              []algebra.Num // about the axes, rad
}

// state computes the axes and angles of a group's joints.
func (h *jointGroup) state(all limbs) jointState {
	j := h.bodies(all)
	j.axes, j.angles = j.axisAngle(1e-10)
	return j
}

// jointStates computes the axes and angles of all joints.
func (s *System) jointStates(all limbs) []jointState {
	joints := make([]jointState, len(s.jointGroups))
	for i := range joints {
		joints[i] = s.jointGroups[i].state(all)
	}
	return joints
}

func (h *jointGroup) bodies(all limbs) jointState {
	j := jointState{jointGroup: h, parents: all[h.parents].take(h.parentRow...), children: all[h.children].take(h.childRow...)}
	j.parentTurn, j.childTurn = j.parents.rot.Rotation(), j.children.rot.Rotation()
	j.parentArm, j.childArm = j.parentTurn.Of(h.parentOffset), j.childTurn.Of(h.childOffset)
	return j
}

// materialize materializes the quantities that are used several times.
func (j jointState) materialize() jointState {
	j.parentArm, j.childArm = j.parentArm.Materialize(), j.childArm.Materialize()
	for i := range j.axes {
		j.axes[i] = j.axes[i].Materialize()
	}
	return j
}

func (j jointState) parentAxis(i int) algebra.Vector {
	return j.parentTurn.Of(j.jointGroup.parentAxis[i])
}
func (j jointState) childAxis(i int) algebra.Vector { return j.childTurn.Of(j.jointGroup.childAxis[i]) }

// lineOfNodes returns two unit vectors (up to epsilon) for joints with two or three axes: the line
// of nodes, and the parent's first axis projected on the plane of the child's first two.
func (j jointState) lineOfNodes(epsilon float64) (line, bend algebra.Vector) {
	first, one, two, three := j.parentAxis(0), j.childAxis(0), j.childAxis(1), j.childAxis(2)
	line = three.Cross(first)
	line = line.Over(line.Norm().Add(epsilon))
	bend = one.By(first.Dot(one)).Plus(two.By(first.Dot(two)))
	return line, bend.Over(bend.Norm().Add(epsilon))
}

// axisAngle returns the joint axes in the world frame and the angles about them, rad: intrinsic
// Euler angles x-y-z by the line of nodes (brax/physics/joints.py). Joints with one axis need no
// line of nodes, since the dynamics keep the axes of parent and child aligned.
func (j jointState) axisAngle(epsilon float64) ([]algebra.Vector, []algebra.Num) {
	first := j.parentAxis(0)
	if j.jointGroup.axes == 1 {
		first, from, to := first.Materialize(), j.parentAxis(2).Materialize(), j.childAxis(2).Materialize()
		return []algebra.Vector{first}, []algebra.Num{j.unwrap(0, signedAngle(first, from, to))}
	}
	two, three := j.childAxis(1), j.childAxis(2)
	line, bend := j.lineOfNodes(epsilon)
	psi := signedAngle(first, j.parentAxis(1), line)
	theta := algebra.Acos(bend.Dot(first)).Times(first.Dot(three).Sign())
	if j.jointGroup.axes == 2 {
		return []algebra.Vector{first, two}, []algebra.Num{psi, theta}
	}
	phi := signedAngle(three.Neg(), two, line)
	return []algebra.Vector{first, two, three}, []algebra.Num{psi, theta, phi}
}

// unwrap adds turns to angles about axis i, between -180 and 180 degrees, of joints whose limits are
// beyond these: their angles are within half a turn of the middle.
func (j jointState) unwrap(i int, angle algebra.Num) algebra.Num {
	const half = math.Pi * (1 + 1e-6) // limits are rounded
	if !j.lower[i].Below(-half).Or(j.upper[i].Above(half)).Num.Any() {
		return angle
	}
	middle := j.lower[i].Plus(j.upper[i]).Scale(0.5)
	turns := angle.Minus(middle).Scale(1 / (2 * math.Pi)).Add(0.5).Floor()
	return angle.Minus(turns.Scale(2 * math.Pi))
}

// jointAngles returns the angles of the joints and the velocities of the parents relative to the
// children, in the order of the model.
func (s *System) jointAngles(all limbs) (angles, velocities algebra.Num) {
	var a, v []algebra.Term
	for i := range s.jointGroups {
		h := &s.jointGroups[i]
		j := h.state(all)
		relative := j.parents.ang.Minus(j.children.ang)
		for axis := range h.axes {
			to := make([][]int, len(h.angle))
			for row, first := range h.angle {
				if h.first[row] {
					to[row] = []int{first + axis}
				}
			}
			a = append(a, algebra.Term{Value: j.angles[axis], To: to})
			v = append(v, algebra.Term{Value: relative.Dot(j.axes[axis]), To: to})
		}
	}
	return algebra.SegmentSum(s.dofs, a...), algebra.SegmentSum(s.dofs, v...)
}

// drive holds the external inputs of a control step, as a pytree that loops can carry.
type drive struct {
	// Torques are those of the actions on the parents, [rows * B] for each axis of each group of joints.
	Torques [][]*Node
	Thrusts []*Node // force of each of the system's thrusters, [B]
	// Strengths multiply the torques of actuators, as Torques; nil: 1.
	Strengths [][]*Node
	// Gravity, Mass, Friction and Damping are multipliers in each copy, [B]; nil: 1.
	Gravity, Mass, Friction, Damping *Node
	// EveryWall is an int32 scalar: 0 skips the walls that are far; nil is 1.
	EveryWall *Node
}

// drive returns the inputs for actions [Actions, B] under conditions, see [System.StepUnder]. The actions may be nil
// if there are none.
func (s *System) drive(g *Graph, batch int, actions *Node, under algebra.Conditions) drive {
	action := algebra.Num{Rows: s.actions}
	if s.actions > 0 {
		action.Node = Reshape(actions, actions.Shape().Size())
	}
	d := drive{Torques: make([][]*Node, len(s.jointGroups)), Gravity: under.Gravity, Mass: product(under.Mass),
		Friction: product(under.Friction), Damping: product(under.Damping)}
	if strengths := under.Strength; strengths != nil {
		strength := algebra.Num{Rows: s.actions, Node: Reshape(strengths, strengths.Shape().Size())}
		for _, h := range s.jointGroups {
			var axes []*Node
			for _, action := range h.action {
				axes = append(axes, strength.Take(action...).Spread(g, batch))
			}
			d.Strengths = append(d.Strengths, axes)
		}
	}
	for i, h := range s.jointGroups {
		for axis, torque := range h.strength {
			if !torque.Is(0) {
				act := action.Take(h.action[axis]...)
				if target := h.servo[axis].target; !target.Is(0) {
					clipped := act.Max(h.lower[axis].Scale(1 / degree)).Min(h.upper[axis].Scale(1 / degree))
					act = algebra.Mask{Num: target}.Choose(clipped, act)
				}
				torque = act.Times(torque).Neg()
			}
			d.Torques[i] = append(d.Torques[i], torque.Spread(g, batch))
		}
	}
	for _, t := range s.thrusters {
		d.Thrusts = append(d.Thrusts, MulScalar(action.Take(t.action).Node, t.strength))
	}
	return d
}

// product multiplies changes of all elements; nil: 1.
func product(changes []algebra.Change) (all *Node) {
	for _, change := range changes {
		if all == nil {
			all = change.By
		} else {
			all = Mul(all, change.By)
		}
	}
	return all
}

// eachRow is a number of each copy, [B], in so many rows.
func eachRow(x *Node, rows int) algebra.Num {
	batch := x.Shape().Size()
	return algebra.Num{Rows: rows, Node: Reshape(BroadcastToDims(InsertAxes(x, 0), rows, batch), rows*batch)}
}

// driveTorque is the torque about axis i of a group of joints on the parents by actuators, given that of
// the actions.
func (j jointState) driveTorque(d drive, group, i int) algebra.Num {
	s, angle, torque := &j.servo[i], j.angles[i], algebra.Num{Rows: j.angles[i].Rows, Node: d.Torques[group][i]}
	torque = torque.Plus(angle.Times(s.stiffness))
	if d.Strengths != nil {
		torque = torque.Times(algebra.Num{Rows: torque.Rows, Node: d.Strengths[group][i]})
	}
	outside := angle.Less(j.lower[i]).Or(j.upper[i].Less(angle)).And(s.motor)
	return outside.Choose(torque.Zero(), torque)
}

// limitTorque is the torque on the parents that turns joints back within the limits of axis i.
func (j jointState) limitTorque(i int) algebra.Num {
	angle := j.angles[i]
	below := angle.Less(j.lower[i]).Choose(j.lower[i].Minus(angle), angle.Zero())
	return j.upper[i].Less(angle).Choose(j.upper[i].Minus(angle), below).Times(j.limitStrength).Neg()
}

// sumOverAxes sums the torques about the joint axes to one torque vector.
func (j jointState) sumOverAxes(torques []algebra.Num) algebra.Vector {
	total := j.axes[0].By(torques[0])
	for i, axis := range j.axes[1:] {
		total = total.Plus(axis.By(torques[i+1]))
	}
	return total
}

// dampingTorque is the damping torque of the joints on the parents.
func (j jointState) dampingTorque(d drive) algebra.Vector {
	damping := j.damping
	if d.Damping != nil {
		damping = damping.Times(eachRow(d.Damping, damping.Rows))
	}
	return j.parents.ang.Minus(j.children.ang).By(damping).Neg()
}

// loads accumulates the joint forces and torques on each body, level by level.
type loads struct {
	system *System
	parts  []twistSum
}

func (s *System) newLoads() *loads { return &loads{s, make([]twistSum, len(s.levels))} }

// add accumulates the forces and torques of a group of joints on its parents and on its children.
func (l *loads) add(h *jointGroup, onParents, onChildren twist) {
	l.parts[h.parents].add(onParents, h.toParents)
	l.parts[h.children].add(onChildren, algebra.Each(h.childRow))
}

// pull accumulates a force on the children and a torque on the parents, with the opposite force and
// torque on the other body.
func (l *loads) pull(j jointState, force, torque algebra.Vector) {
	l.add(j.jointGroup, twist{force.Neg(), torque.Minus(j.parentArm.Cross(force))},
		twist{force, j.childArm.Cross(force).Minus(torque)})
}

// thrust accumulates the forces of the thrusters.
func (l *loads) thrust(thrusts []*Node) {
	for i, t := range l.system.thrusters {
		part := &l.parts[t.level][t.axis]
		*part = append(*part, algebra.Term{Value: algebra.Num{Rows: 1, Node: thrusts[i]}, To: [][]int{t.rows}})
	}
}

// accelerations converts the loads to accelerations of the bodies.
func (l *loads) accelerations() (out twists) {
	for i, level := range l.system.levels {
		t := l.parts[i].of(func(terms []algebra.Term) algebra.Num {
			return algebra.MaterializedSum(len(level.body), terms...)
		})
		w := level.weights
		out = append(out, twist{t.vel.By(w.mass), w.turnedBy(t.ang)})
	}
	return out
}

// signedAngle is the angle from one vector to another about an axis, rad.
func signedAngle(axis, from, to algebra.Vector) algebra.Num {
	return algebra.Angle(from.Cross(to).Dot(axis).Materialize(), from.Dot(to).Materialize())
}
