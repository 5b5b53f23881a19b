package physics

import "math"

// jointCorrections returns the shifts by which the joints close their gaps, align their axes and
// enforce their limits.
func (s *System) jointCorrections(all limbs) twists {
	joints := make([]jointState, len(s.jointGroups))
	var made []*num
	for i := range joints {
		joints[i] = s.jointGroups[i].bodies(all)
		made = append(made, joints[i].components()...)
	}
	materialize(made...)
	pulls, turns := make([]vector, len(joints)), make([]vector, len(joints))
	made = nil
	for i := range joints {
		j := joints[i]
		apart := j.parents.pos.plus(j.parentArm).minus(j.children.pos.plus(j.childArm))
		materializeVectors(&apart)
		distance := apart.norm()
		direction := apart.over(distance.add(1e-6))
		inverseMass := j.parentWeights.inverseMassAt(j.parentArm,
			direction).plus(j.childWeights.inverseMassAt(j.childArm, direction))
		pull := direction.by(distance.over(inverseMass.add(1e-6))).scale(-jointShare)

		errors := j.angularErrors()
		for i := range errors {
			materialize(errors[i].components()...)
		}
		turn := errors[0].scale(0)
		for _, error := range errors {
			turn = turn.plus(j.correction(error))
		}
		pulls[i], turns[i] = pull, turn.scale(angleShare)
		made = append(made, append(pulls[i].components(), turns[i].components()...)...)
	}
	materialize(made...)
	total := s.newLoads()
	for i := range joints {
		j, pull, turn := joints[i], pulls[i], turns[i]
		total.add(j.jointGroup, twist{pull, j.parentArm.cross(pull).plus(turn)},
			twist{pull.neg(), j.childArm.cross(pull).plus(turn).neg()})
	}
	return total.accelerations(all)
}

// inverseMassAt is the generalised inverse mass of a body for an impulse along a direction at arm
// from its centre.
func (w weights) inverseMassAt(arm, direction vector) num {
	lever := arm.cross(direction)
	return w.mass.plus(lever.dot(w.turnedBy(lever)))
}

// correction is the angular impulse on the parent that corrects an angular error of the child.
func (j jointState) correction(error vector) vector {
	size := error.norm()
	axis := error.over(size.add(1e-6))
	inverseMass := axis.dot(j.parentWeights.turnedBy(axis)).plus(axis.dot(j.childWeights.turnedBy(axis)))
	return axis.by(size.over(inverseMass.add(1e-6)))
}

// angularErrors returns the angular errors of the joints: misalignment of the axes, and angles
// beyond the limits.
func (j jointState) angularErrors() []vector {
	first := j.parentAxis(0)
	if j.jointGroup.axes == 1 {
		from, to := j.parentAxis(2), j.childAxis(2)
		materializeVectors(&first, &from, &to)
		return []vector{first.cross(j.childAxis(0)), j.limitError(0, first, from, to, false)}
	}
	two, three := j.childAxis(1), j.childAxis(2)
	line, bend := j.lineOfNodes(1e-6)
	level := bend.cross(first)
	level = level.over(level.norm().add(1e-6)).by(first.dot(three).sign()).neg()
	return []vector{
		j.limitError(0, first, j.parentAxis(1), line, true),
		j.limitError(1, level, first, bend, true),
		j.limitError(2, three, line, two, true),
	}
}

// limitError is the angular error of the angle from one vector to another about an axis
// perpendicular to the first: how far the second vector is from where the limits of angle i allow
// it. With strict it is 0 within the limits; without, it includes how far the second vector is out
// of the plane.
func (j jointState) limitError(i int, axis, from, to vector, strict bool) vector {
	sin, cos := from.cross(to).dot(axis), from.dot(to)
	materialize(&sin, &cos)
	angle := j.unwrap(i, atan2(sin, cos))
	materialize(&angle)
	length := sin.square().plus(cos.square()).sqrt().max(constant(sin.rows, 1e-30))
	low, high := angle.less(j.lower[i]), j.upper[i].less(angle)
	pick := func(inside num, f func(float64) float64) num {
		return low.choose(j.lower[i].apply(f, nil), high.choose(j.upper[i].apply(f, nil), inside))
	}
	along, across := pick(cos.over(length), math.Cos), pick(sin.over(length), math.Sin)
	materialize(&along, &across)
	allowed := from.by(along).plus(axis.cross(from).by(across))
	materializeVectors(&allowed)
	error := allowed.cross(to)
	if strict {
		return low.or(high).chooseVector(error, error.scale(0))
	}
	return error
}
