package physics

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// Pose makes a state from the angles of the joints, rad, and the angular velocities about their axes, rad/s, [Angles, B] each:
// bodies without a parent are where the model says, or lifted with all that hangs on them until the lowest collider touches
// z = 0 (brax/physics/system.py, default_qp). The bodies' velocities are 0: the source leaves them out.
func (s *System) Pose(angles, velocities *Node) State {
	batch := angles.Shape().Dimensions[1]
	flat := func(x *Node) num { return num{rows: s.dofs, node: Reshape(x, s.dofs*batch)} }
	return s.state(angles.Graph(), batch, s.pose(flat(angles), flat(velocities)))
}

// DefaultAngles are the angles of the model's pose, rad: as the model says, else midway between the limits.
func (s *System) DefaultAngles() []float64 { return s.defaultAngles()[:s.dofs] }

func (s *System) pose(angles, velocities num) bodies {
	rows := make([]bodies, len(s.moving))
	root := make([]int, len(s.moving))
	for row, i := range s.moving {
		at := s.model.Pose[s.model.Bodies[i].Name].rounded()
		rows[row] = pose{at, quat{1}}.bodies()
		root[row] = row
	}
	type link struct {
		h    *hinges
		unit int // row of the joint
	}
	links := make([]*link, len(s.moving)) // by child
	for i := range s.hinges {
		for unit, child := range s.hinges[i].child {
			links[child] = &link{&s.hinges[i], unit}
		}
	}
	for row := range rows { // parents come first
		l := links[row]
		if l == nil {
			continue
		}
		parent := rows[l.h.parent[l.unit]]
		root[row] = root[l.h.parent[l.unit]]
		turn := s.reference(l.h, l.unit)
		var spin vector
		for axis := range l.h.axes {
			fixed := l.h.childAxis[axis].take(l.unit)
			at := l.h.angle[l.unit] + axis
			part := fixed.by(velocities.take(at))
			if axis == 0 {
				spin = part
			} else {
				spin = spin.plus(part)
			}
			// Intrinsic rotations: later axes turn with the earlier ones.
			turn = about(turn.rotation().of(fixed), angles.take(at)).times(turn)
		}
		parentTurn := parent.rot.rotation()
		arm := l.h.parentOffset.take(l.unit).minus(turn.rotation().of(l.h.childOffset.take(l.unit)))
		rows[row].pos = parent.pos.plus(parentTurn.of(arm))
		rows[row].rot = parent.rot.times(turn)
		rows[row].ang = parentTurn.of(spin)
	}
	for _, r := range slices.Compact(slices.Sorted(slices.Values(root))) {
		if _, ok := s.model.Pose[s.model.Bodies[s.moving[r]].Name]; ok {
			continue
		}
		var low *num
		for row := range rows {
			if root[row] != r {
				continue
			}
			for _, z := range s.lows(row, rows[row]) {
				if low != nil {
					z = low.min(z)
				}
				low = &z
			}
		}
		for row := range rows {
			if root[row] == r && low != nil {
				rows[row].pos.z = rows[row].pos.z.minus(*low)
			}
		}
	}
	return stack(rows)
}

// reference is the rotation of a joint at angle 0.
func (s *System) reference(h *hinges, unit int) quaternion {
	for _, j := range s.model.Joints {
		if s.row[j.Child] == h.child[unit] {
			q := euler(j.Reference)
			return quaternion{known(snap(q[0])), known(snap(q[1])), known(snap(q[2])), known(snap(q[3]))}
		}
	}
	return quaternion{known(1), known(0), known(0), known(0)}
}

// lows are the lowest points of the colliders of a body.
func (s *System) lows(row int, b bodies) []num {
	var z []num
	for _, c := range s.model.Bodies[s.moving[row]].Colliders {
		for _, end := range []float64{-1, 1} {
			point := vectors(c.Position.rounded().plus(c.half().scaled(end)))
			z = append(z, b.pos.z.plus(b.rot.rotation().of(point).z).add(-f32(c.Radius)))
		}
	}
	return z
}

// stack makes one table of bodies of a row each.
func stack(rows []bodies) bodies {
	var all bodies
	for i, c := range all.components() {
		parts := make([]addend, len(rows))
		for row := range rows {
			parts[row] = addend{*rows[row].components()[i], []int{row}}
		}
		*c = sum(len(rows), parts...)
	}
	return all
}

