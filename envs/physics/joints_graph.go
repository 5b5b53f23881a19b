package physics

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// jointState is a group of joints with the state of their bodies.
type jointState struct {
	*jointGroup
	parents, children   bodies
	parentTurn          rotation
	childTurn           rotation
	parentArm, childArm vector // from the bodies' centres to the joint, in the world frame
	axes                []vector
	angles              []num // about the axes, rad

	parentWeights, childWeights weights
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
	j := jointState{jointGroup: h, parents: all[h.parents].take(h.parentRow...),
		children: all[h.children].take(h.childRow...)}
	j.parentTurn, j.childTurn = j.parents.rot.rotation(), j.children.rot.rotation()
	j.parentArm, j.childArm = j.parentTurn.of(h.parentOffset), j.childTurn.of(h.childOffset)
	j.parentWeights, j.childWeights = h.parentWeights.in(j.parentTurn), h.childWeights.in(j.childTurn)
	return j
}

// materialize materializes the quantities that are used several times.
func (j jointState) materialize() jointState {
	j.parentArm, j.childArm = j.parentArm.materialize(), j.childArm.materialize()
	for i := range j.axes {
		j.axes[i] = j.axes[i].materialize()
	}
	return j
}

func (j jointState) parentAxis(i int) vector { return j.parentTurn.of(j.jointGroup.parentAxis[i]) }
func (j jointState) childAxis(i int) vector  { return j.childTurn.of(j.jointGroup.childAxis[i]) }

// lineOfNodes returns two unit vectors (up to epsilon) for joints with two or three axes: the line
// of nodes, and the parent's first axis projected on the plane of the child's first two.
func (j jointState) lineOfNodes(epsilon float64) (line, bend vector) {
	first, one, two, three := j.parentAxis(0), j.childAxis(0), j.childAxis(1), j.childAxis(2)
	line = three.cross(first)
	line = line.over(line.norm().add(epsilon))
	bend = one.by(first.dot(one)).plus(two.by(first.dot(two)))
	return line, bend.over(bend.norm().add(epsilon))
}

// axisAngle returns the joint axes in the world frame and the angles about them, rad: intrinsic
// Euler angles x-y-z by the line of nodes (brax/physics/joints.py). Joints with one axis need no
// line of nodes, since the dynamics keep the axes of parent and child aligned.
func (j jointState) axisAngle(epsilon float64) ([]vector, []num) {
	first := j.parentAxis(0)
	if j.jointGroup.axes == 1 {
		first, from, to := first.materialize(), j.parentAxis(2).materialize(), j.childAxis(2).materialize()
		return []vector{first}, []num{j.unwrap(0, signedAngle(first, from, to))}
	}
	two, three := j.childAxis(1), j.childAxis(2)
	line, bend := j.lineOfNodes(epsilon)
	psi := signedAngle(first, j.parentAxis(1), line)
	theta := acos(bend.dot(first)).times(first.dot(three).sign())
	if j.jointGroup.axes == 2 {
		return []vector{first, two}, []num{psi, theta}
	}
	phi := signedAngle(three.neg(), two, line)
	return []vector{first, two, three}, []num{psi, theta, phi}
}

// unwrap adds turns to angles about axis i, between -180 and 180 degrees, of joints whose limits are
// beyond these: their angles are within half a turn of the middle.
func (j jointState) unwrap(i int, angle num) num {
	const half = math.Pi * (1 + 1e-6) // limits are rounded
	if !j.lower[i].below(-half).or(j.upper[i].above(half)).num.any() {
		return angle
	}
	middle := j.lower[i].plus(j.upper[i]).scale(0.5)
	turns := angle.minus(middle).scale(1 / (2 * math.Pi)).add(0.5).floor()
	return angle.minus(turns.scale(2 * math.Pi))
}

// jointAngles returns the angles of the joints and the velocities of the parents relative to the
// children, in the order of the model.
func (s *System) jointAngles(all limbs) (angles, velocities num) {
	var a, v []term
	for i := range s.jointGroups {
		h := &s.jointGroups[i]
		j := h.state(all)
		relative := j.parents.ang.minus(j.children.ang)
		for axis := range h.axes {
			to := make([][]int, len(h.angle))
			for row, first := range h.angle {
				if h.first[row] {
					to[row] = []int{first + axis}
				}
			}
			a = append(a, term{j.angles[axis], to})
			v = append(v, term{relative.dot(j.axes[axis]), to})
		}
	}
	return segmentSum(s.dofs, a...), segmentSum(s.dofs, v...)
}

// drive holds the external inputs of a control step, as a pytree that loops can carry.
type drive struct {
	// Torques are those of the actions on the parents, [rows * B] for each axis of each group of joints.
	Torques [][]*Node
	Thrusts []*Node // force or torque of each of the system's thrusters, [B]
	// Strengths multiply the torques of actuators, as Torques; nil: 1.
	Strengths [][]*Node
	Gravity   *Node // multiplier of gravity in each copy, [B]; nil: 1
	// EveryWall is an int32 scalar: 0 skips the walls that are far; nil is 1.
	EveryWall *Node
}

// drive returns the inputs for actions [Actions, B], gravity and strengths, see [System.StepUnder]. The
// actions may be nil if there are none.
func (s *System) drive(g *Graph, batch int, actions, gravity, strengths *Node) drive {
	action := num{rows: s.actions}
	if s.actions > 0 {
		action.node = Reshape(actions, actions.Shape().Size())
	}
	d := drive{Torques: make([][]*Node, len(s.jointGroups)), Gravity: gravity}
	if strengths != nil {
		strength := num{rows: s.actions, node: Reshape(strengths, strengths.Shape().Size())}
		for _, h := range s.jointGroups {
			var axes []*Node
			for _, action := range h.action {
				axes = append(axes, strength.take(action...).spread(g, batch))
			}
			d.Strengths = append(d.Strengths, axes)
		}
	}
	for i, h := range s.jointGroups {
		for axis, torque := range h.strength {
			if !torque.is(0) {
				act := action.take(h.action[axis]...)
				if target := h.servo[axis].target; !target.is(0) {
					clipped := act.max(h.lower[axis].scale(1 / degree)).min(h.upper[axis].scale(1 / degree))
					act = mask{target}.choose(clipped, act)
				}
				torque = act.times(torque).neg()
			}
			d.Torques[i] = append(d.Torques[i], torque.minus(h.servo[axis].bias).spread(g, batch))
		}
	}
	for _, t := range s.thrusters {
		d.Thrusts = append(d.Thrusts, MulScalar(action.take(t.action).node, t.strength))
	}
	return d
}

// driveTorque is the torque about axis i of a group of joints on the parents by actuators, given that of
// the actions, and by the joint's own springs and dampers.
func (j jointState) driveTorque(d drive, group, i int) num {
	s, angle, torque := &j.servo[i], j.angles[i], num{rows: j.angles[i].rows, node: d.Torques[group][i]}
	rate := angle.zero()
	if !s.damping.is(0) || !s.damper.is(0) {
		rate = j.children.ang.minus(j.parents.ang).dot(j.axes[i])
	}
	torque = torque.plus(angle.times(s.stiffness)).plus(rate.times(s.damping))
	if !s.low.is(-largest) || !s.high.is(largest) {
		torque = torque.min(s.low.neg()).max(s.high.neg())
	}
	if d.Strengths != nil {
		torque = torque.times(num{rows: torque.rows, node: d.Strengths[group][i]})
	}
	outside := angle.less(j.lower[i]).or(j.upper[i].less(angle)).and(s.motor)
	torque = outside.choose(torque.zero(), torque)
	return torque.plus(angle.minus(s.rest).times(s.spring)).plus(rate.times(s.damper))
}

// limitTorque is the torque on the parents that turns joints back within the limits of axis i.
func (j jointState) limitTorque(i int) num {
	angle := j.angles[i]
	below := angle.less(j.lower[i]).choose(j.lower[i].minus(angle), angle.zero())
	return j.upper[i].less(angle).choose(j.upper[i].minus(angle), below).times(j.limitStrength).neg()
}

// sumOverAxes sums the torques about the joint axes to one torque vector.
func (j jointState) sumOverAxes(torques []num) vector {
	total := j.axes[0].by(torques[0])
	for i, axis := range j.axes[1:] {
		total = total.plus(axis.by(torques[i+1]))
	}
	return total
}

// dampingTorque is the damping torque of the joints on the parents.
func (j jointState) dampingTorque() vector {
	return j.parents.ang.minus(j.children.ang).by(j.damping).neg()
}

// loads accumulates the joint forces and torques on each body, level by level.
type loads struct {
	system *System
	parts  [][6][]term
}

func (s *System) newLoads() *loads { return &loads{s, make([][6][]term, len(s.levels))} }

// add accumulates the forces and torques of a group of joints on its parents and on its children.
func (l *loads) add(h *jointGroup, onParents, onChildren twist) {
	put := func(level int, to [][]int, x twist) {
		for i, c := range x.components() {
			l.parts[level][i] = append(l.parts[level][i], term{*c, to})
		}
	}
	put(h.parents, h.toParents, onParents)
	put(h.children, each(h.childRow), onChildren)
}

// pull accumulates a force on the children and a torque on the parents, with the opposite force and
// torque on the other body.
func (l *loads) pull(j jointState, force, torque vector) {
	l.add(j.jointGroup, twist{force.neg(), torque.minus(j.parentArm.cross(force))},
		twist{force, j.childArm.cross(force).minus(torque)})
}

// thrust accumulates the forces and torques of the thrusters.
func (l *loads) thrust(thrusts []*Node) {
	for i, t := range l.system.thrusters {
		part := &l.parts[t.level][t.component]
		*part = append(*part, term{num{rows: 1, node: thrusts[i]}, [][]int{t.rows}})
	}
}

// accelerations converts the loads to accelerations of the bodies.
func (l *loads) accelerations(all limbs) (out twists) {
	for i, level := range l.system.levels {
		var t twist
		for k, c := range t.components() {
			*c = materializedSum(len(level.body), l.parts[i][k]...)
		}
		w := level.weights
		if w.principal {
			w = w.in(all[i].rot.rotation())
		}
		out = append(out, twist{t.vel.by(w.mass), w.turnedBy(t.ang)})
	}
	return out
}
