package physics

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Pose makes a state from the angles of the joints, rad, and the angular velocities about their axes, rad/s, [Angles, B] each:
// bodies without a parent are where the model says, or lifted with all that hangs on them until the lowest collider touches
// z = 0 (brax/physics/system.py, default_qp). The bodies' velocities are 0: the source leaves them out.
func (s *System) Pose(angles, velocities *Node) State {
	batch := angles.Shape().Dimensions[1]
	flat := func(x *Node) num { return num{rows: s.dofs, node: Reshape(x, s.dofs*batch)} }
	return s.state(s.changing(angles.Graph(), batch, s.pose(flat(angles), flat(velocities))), batch)
}

// DefaultAngles are the angles of the model's pose, rad: as the model says, else midway between the limits.
func (s *System) DefaultAngles() []float64 { return s.defaultAngles()[:s.dofs] }

// pose builds the bodies joint after joint. Each is settled, for a chain of joints would otherwise be computed again for every
// component of all that hangs on it: most of what there would be to compile.
func (s *System) pose(angles, velocities num) limbs {
	settle(&angles, &velocities)
	at := map[int]bodies{} // by index in the model
	root := map[int]int{}
	for _, level := range s.levels {
		for _, i := range level.body {
			position := s.model.Pose[s.model.Bodies[i].Name].rounded()
			at[i], root[i] = pose{position, quat{1}}.bodies(), i
		}
	}
	for k := range s.hinges { // those of upper levels come first
		h := &s.hinges[k]
		for unit := range h.angle {
			p, c := s.levels[h.level].body[h.parentRow[unit]], s.levels[h.level+1].body[h.childRow[unit]]
			at[c], root[c] = h.attach(unit, at[p], angles, velocities), root[p]
		}
	}
	lowest := map[int]num{} // of each tree
	for i := range s.model.Bodies {
		b, moves := at[i]
		if !moves {
			continue
		}
		for _, z := range s.model.Bodies[i].lows(b) {
			if low, ok := lowest[root[i]]; ok {
				z = low.min(z)
			}
			lowest[root[i]] = z
		}
	}
	var all limbs
	for _, level := range s.levels {
		rows := make([]bodies, len(level.body))
		for row, i := range level.body {
			rows[row] = at[i]
			low, ok := lowest[root[i]]
			if _, posed := s.model.Pose[s.model.Bodies[root[i]].Name]; ok && !posed {
				rows[row].pos.z = rows[row].pos.z.minus(low)
			}
		}
		all = append(all, stack(rows))
	}
	return all
}

// attach is where the child of a joint is, from where its parent is.
func (h *hinges) attach(unit int, parent bodies, angles, velocities num) bodies {
	q := h.reference[unit]
	turn := quaternion{known(snap(q[0])), known(snap(q[1])), known(snap(q[2])), known(snap(q[3]))}
	var spin vector
	for axis := range h.axes {
		fixed := h.childAxis[axis].take(unit)
		at := h.angle[unit] + axis
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
	arm := h.parentOffset.take(unit).minus(turn.rotation().of(h.childOffset.take(unit)))
	child := pose{}.bodies()
	child.pos = parent.pos.plus(parentTurn.of(arm))
	child.rot = parent.rot.times(turn)
	child.ang = parentTurn.of(spin)
	parts := child.components()
	settle(parts[:]...)
	return child
}

// lows are the heights of the lowest points of the colliders of a body that moves.
func (b Body) lows(at bodies) []num {
	var z []num
	for _, c := range b.Colliders {
		for _, end := range []float64{-1, 1} {
			point := vectors(c.Position.rounded().plus(c.half().scaled(end)))
			z = append(z, at.pos.z.plus(at.rot.rotation().of(point).z).add(-f32(c.Radius)))
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
			parts[row] = addend{*rows[row].components()[i], [][]int{{row}}}
		}
		*c = sum(len(rows), parts...)
	}
	return all
}
