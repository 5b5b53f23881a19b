package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// share is the part that a slide or hinge has in a length: a fixed tendon's, or that of a joint itself.
type share struct {
	place, column, row int // of the joint: its position, its dof, and the link in its group
	by                 float64
}

// shares lists the parts of a length that is a sum of positions of joints times factors.
func (s *System) shares(joints []int, by []float64) (list []share) {
	for i, id := range joints {
		for _, g := range s.groups {
			for _, j := range g.joints {
				if row := slices.Index(j.id, id); row >= 0 {
					list = append(list, share{j.place, j.column, row, by[i]})
				}
			}
		}
	}
	return list
}

func (s *System) tendon(i int) []share {
	t := s.model.Tendons[i]
	return s.shares(t.Joints, t.Coefs)
}

// lengthOf returns a length of positions q, one row.
func lengthOf(list []share, q []algebra.Num) algebra.Num {
	sum := algebra.Constant(1, 0)
	for _, s := range list {
		sum = sum.Plus(q[s.place].Take(s.row).Scale(s.by))
	}
	return sum
}

// rateOf returns the rate of change of a length by motions of the dofs, one row.
func rateOf(list []share, motion []algebra.Num) algebra.Num {
	sum := algebra.Constant(1, 0)
	for _, s := range list {
		sum = sum.Plus(motion[s.column].Take(s.row).Scale(s.by))
	}
	return sum
}

// push adds the force on a dof by one along the length.
func (s share) push(dofs []algebra.Num, along algebra.Num) {
	dof := &dofs[s.column]
	*dof = dof.Plus(sumRows(dof.Rows, along.Scale(s.by), []int{s.row}))
}

// equality keeps at 0 the change of a length from the reference pose less a polynomial of that of a second one,
// or ties two bodies: at a point, and in a weld also their rotations. Limits and friction losses of tendons are solved
// like equalities whose forces are bounded.
type equality struct {
	first, second []share
	rest          [2]float64 // the lengths in the reference pose
	polynomial    [5]float64

	limits *[2]float64 // of the first length, which a limit keeps there
	margin float64     // of a limit
	loss   float64     // the largest force of a friction loss

	sides  [2]side // frames that are tied
	torque float64 // what a rotation counts in a weld, m; 0: a connect

	count  int // what it measures
	law    law
	weight [2]algebra.Num // of lengths and positions, and of rotations
}

// prepareEqualities lists the equalities.
func (s *System) prepareEqualities() {
	m := s.model
	for _, i := range m.active() {
		e := equality{polynomial: [5]float64(m.EqData[i][:5]), count: 1,
			law: lawOf(s, []int{i}, func(i int) [2]float64 { return m.EqSolRef[i] },
				func(i int) [5]float64 { return m.EqSolImp[i] })}
		var weight [2]float64
		for k, id := range []int{m.EqObj1ID[i], m.EqObj2ID[i]} {
			var list []share
			switch {
			case m.EqType[i] == EqualPoints || m.EqType[i] == EqualFrames:
				e.sides[k] = s.anchor(i, k, id)
				for axis, w := range m.BodyInvweight0[id] {
					weight[axis] += w
				}
			case id < 0:
				e.polynomial = [5]float64{e.polynomial[0]}
			case m.EqType[i] == EqualTendons:
				list, e.rest[k] = s.tendon(id), m.Tendons[id].Length0
				weight[0] += m.Tendons[id].Invweight0
			default:
				list, e.rest[k] = s.shares([]int{id}, []float64{1}), m.QPos0[m.JntQPosAdr[id]]
				weight[0] += m.DofInvweight0[m.JntDofAdr[id]]
			}
			*[]*[]share{&e.first, &e.second}[k] = list
		}
		switch m.EqType[i] {
		case EqualPoints:
			e.count = 3
		case EqualFrames:
			e.count, e.torque = 6, m.EqData[i][10]
		}
		if m.EqType[i] <= EqualFrames && e.sides[0].group == static && e.sides[1].group == static {
			continue // of bodies that cannot move
		}
		e.weight = [2]algebra.Num{algebra.Known(weight[0]), algebra.Known(weight[1])}
		s.equal = append(s.equal, e)
	}
	if m.Opt.DisableFlags&DisableConstraint != 0 {
		return
	}
	for i, t := range m.Tendons {
		add := func(kind int, e equality) {
			e.first, e.count, e.weight[0] = s.tendon(i), 1, algebra.Known(t.Invweight0)
			e.law = lawOf(s, []int{kind}, func(k int) [2]float64 { return t.SolRef[k] },
				func(k int) [5]float64 { return t.SolImp[k] })
			s.equal = append(s.equal, e)
		}
		if m.TendonFrictionLoss[i] > 0 && m.Opt.DisableFlags&DisableFrictionLoss == 0 {
			add(1, equality{loss: m.TendonFrictionLoss[i]})
		}
		if m.TendonLimited[i] && m.Opt.DisableFlags&DisableLimit == 0 {
			add(0, equality{limits: &t.Range, margin: t.Margin})
		}
	}
}

// bounds are the least and the largest force of an equality.
func (e equality) bounds() [2]float64 {
	switch {
	case e.limits != nil:
		return [2]float64{0, huge}
	case e.loss > 0:
		return [2]float64{-e.loss, e.loss}
	}
	return [2]float64{-huge, huge}
}

// anchor returns the frame of the k-th body that an equality ties (mj_equalityAnchors).
func (s *System) anchor(i, k, body int) side {
	data := s.model.EqData[i]
	at, turn := [3]float64(data[3*k:]), [4]float64{1}
	if s.model.EqType[i] == EqualFrames {
		at = [3]float64(data[3-3*k:])
		if k == 0 {
			turn = [4]float64(data[6:])
		}
	}
	own := s.poses[body].then(pose{algebra.Vectors(at), algebra.KnownQuaternion(turn)})
	group, row := s.link(body)
	return side{group, []int{row}, own}
}

// measure returns what an equality keeps at 0, its changes by the dofs, [count, nv, B], and of ties the accelerations
// of what it keeps at 0 if the dofs do not accelerate: MuJoCo compensates them. The links move without such
// accelerations.
func (s *System) measure(k kinematics, of motions, e equality, q []algebra.Num) (violation []algebra.Num,
	jacobian *Node, drift []algebra.Num) {
	g, batch := sizeOf(q)
	if e.count == 1 {
		violation, along, ratio := e.violation(q)
		dofs := s.noForce()
		for _, share := range e.first {
			share.push(dofs, along)
		}
		for _, share := range e.second {
			share.push(dofs, ratio.Neg())
		}
		return []algebra.Num{violation}, InsertAxes(s.stack(g, batch, dofs), 0), nil
	}
	at, origin := s.relativePlaces(k, e.sides)
	const none = -1
	links := [2]int{none, none}
	for i, side := range e.sides {
		if side.group != static {
			links[i] = slices.Index(s.allLinks(), s.groups[side.group].body[side.link[0]])
		}
	}
	// The first row is the motion of the first body, the second is minus that of the second one.
	masks := s.masks([]int{links[0], none}, []int{none, links[1]})
	twice := func(v algebra.Vector) algebra.Vector { return v.Take(0, 0) }
	point := stackVectors([]algebra.Vector{at[0].position, at[1].position}).Each(func(x algebra.Num) algebra.Num {
		return computed(g, batch, x)
	})
	var from algebra.Vector
	if s.trees() > 1 {
		from = twice(origin)
	}
	var rows []*Node
	add := func(turns bool, frame [3]algebra.Vector) {
		for _, both := range s.jacobian(k, point, frame, turns, masks, from) {
			rows = append(rows, Add(Slice(both, AxisRange(0, 1)), Slice(both, AxisRange(1, 2))))
		}
	}
	add(false, [3]algebra.Vector{unit(2, 0), unit(2, 1), unit(2, 2)})
	gap := at[0].position.Minus(at[1].position).Materialize()
	violation = []algebra.Num{gap.X, gap.Y, gap.Z}
	var turning, turningFaster [2]algebra.Vector // angular velocities and accelerations
	var lifting [2]algebra.Vector                // accelerations of the points less gravity
	for i, side := range e.sides {
		turning[i], turningFaster[i], lifting[i] = zeroVector(1), zeroVector(1), zeroVector(1)
		if s.model.Opt.DisableFlags&DisableGravity == 0 {
			lifting[i] = s.gravity(k, []float64{-1})
		}
		if side.group != static {
			link := []int{side.link[0]}
			turning[i] = of.Velocity[side.group].Ang.Take(link...)
			turningFaster[i] = of.Acceleration[side.group].Ang.Take(link...)
			lifting[i] = s.pointAcceleration(k, of, side.group, side.link[0], side.pose.position)
		}
	}
	apart := lifting[0].Minus(lifting[1]).Materialize()
	drift = []algebra.Num{apart.X, apart.Y, apart.Z}
	if e.count > 3 {
		var turn [2]algebra.Quaternion
		for i, side := range e.sides {
			if turn[i] = side.pose.rotation; side.group != static {
				turn[i] = s.quaternion(q, side.group, side.link[0]).Times(turn[i])
			}
		}
		relative := turn[1].Inverse().Times(turn[0]).Materialize()
		twist := relative.Vector()
		var frame [3]algebra.Vector
		for axis := range frame {
			e := unit(1, axis)
			frame[axis] = twice(at[1].turn.Of(e.By(relative.W).Plus(twist.Cross(e))).Materialize())
		}
		for axis := range frame {
			frame[axis] = frame[axis].Scale(e.torque / 2)
			violation = append(violation, component(twist, axis).Scale(e.torque))
		}
		add(true, frame)
		// In the frame of the second body, the relative quaternion (w, u) changes by half of the product of the relative
		// angular velocity r with it.
		between := turning[0].Minus(turning[1]).Materialize()
		r := inverse(at[1].turn, between).Materialize()
		faster := inverse(at[1].turn, turningFaster[0].Minus(turningFaster[1]).Minus(turning[1].Cross(between))).Materialize()
		half := r.By(relative.W).Plus(r.Cross(twist)).Scale(0.5).Materialize()
		second := r.By(r.Dot(twist).Scale(-0.5)).Plus(faster.By(relative.W)).Plus(faster.Cross(twist)).Plus(r.Cross(half)).
			Scale(e.torque / 2).Materialize()
		drift = append(drift, second.X, second.Y, second.Z)
	}
	return violation, xla.Store(Concatenate(rows, 0)), drift
}

// tied reports whether an equality ties bodies.
func (e equality) tied() bool { return e.count > 1 }

// violation returns by how much an equality of lengths does not hold, and its slopes by the first length and by minus
// the second.
func (e equality) violation(q []algebra.Num) (violation, first, second algebra.Num) {
	one := algebra.Constant(1, 1)
	switch {
	case e.loss > 0:
		return one.Zero(), one, one.Zero()
	case e.limits != nil:
		length := lengthOf(e.first, q)
		below, above := length.Add(-e.limits[0]), length.Neg().Add(e.limits[1])
		first = below.Less(above).Choose(one, one.Neg()).Materialize()
		return below.Min(above).Add(-e.margin).Materialize(), first, one.Zero()
	}
	x := lengthOf(e.second, q).Add(-e.rest[1]).Materialize()
	value := x.Zero()
	ratio := value
	for n := len(e.polynomial) - 1; n >= 0; n-- { // Horner's scheme
		ratio = ratio.Times(x).Plus(value)
		value = value.Times(x).Add(e.polynomial[n])
	}
	return lengthOf(e.first, q).Add(-e.rest[0]).Minus(value).Materialize(), one, ratio.Materialize()
}
