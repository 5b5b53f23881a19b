package mujoco

import (
	"math"
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

func (s *System) tendon(i int) (p path) {
	t := s.model.Tendons[i]
	p.shares = s.shares(t.Joints, t.Coefs)
	for _, part := range t.Segments {
		of := segment{by: 1 / part.Divisor}
		for end, site := range part.Sites {
			of.sides[end] = s.sideOf(s.site(site))
		}
		one, other := of.sides[0], of.sides[1]
		if part.Wrap != nil {
			of.around = s.obstacle(*part.Wrap)
			p.segments = append(p.segments, of)
			continue
		}
		if one.group == other.group && slices.Equal(one.link, other.link) { // a constant length
			gap := host(one.pose.position.Minus(other.pose.position))
			p.rigid += of.by * math.Hypot(math.Hypot(gap[0], gap[1]), gap[2])
			continue
		}
		p.segments = append(p.segments, of)
	}
	return p
}

// sideOf returns a pose of a body as the side of a constraint.
func (s *System) sideOf(body int, own pose) side {
	if group, row := s.link(body); group != static {
		return side{group: group, link: []int{row}, pose: own}
	}
	return side{group: static, pose: own}
}

// path is a length that is a sum of positions of joints times factors, or of distances of points of links.
type path struct {
	shares   []share
	segments []segment
	rigid    float64 // of segments within a link
}

// segment is a distance of points of two links, times a factor.
type segment struct {
	sides  [2]side
	by     float64
	around *obstacle // nil: it is straight
}

// ofJoints returns the shares of the joints; none of no path.
func (p *path) ofJoints() []share {
	if p == nil {
		return nil
	}
	return p.shares
}

// spatial reports whether a length depends on the joints otherwise than as a sum.
func (p path) spatial() bool { return len(p.segments) > 0 || p.rigid > 0 }

// lengthOf returns a length of positions q, one row.
func (s *System) lengthOf(p path, k kinematics, q []algebra.Num) algebra.Num {
	sum := algebra.Constant(1, 0)
	if p.spatial() {
		sum, _ = s.stretch(p, k)
	}
	for _, s := range p.shares {
		sum = sum.Plus(q[s.place].Take(s.row).Scale(s.by))
	}
	return sum
}

// rateOf returns the rate of change of a length by motions of the dofs, one row.
func (s *System) rateOf(p path, k kinematics, motion []algebra.Num) algebra.Num {
	sum := algebra.Constant(1, 0)
	if p.spatial() {
		_, along := s.stretch(p, k)
		sum = s.dots(along, motion)
	}
	for _, s := range p.shares {
		sum = sum.Plus(motion[s.column].Take(s.row).Scale(s.by))
	}
	return sum
}

// pull adds the forces on the dofs by one along a length.
func (s *System) pull(p path, k kinematics, force algebra.Num, dofs []algebra.Num) {
	for _, share := range p.shares {
		share.push(dofs, force)
	}
	if p.spatial() {
		_, along := s.stretch(p, k)
		for c, by := range along {
			dofs[c] = dofs[c].Plus(by.Times(spread(force, by.Rows)))
		}
	}
}

// stretch returns the length of a spatial path, and its changes by the dofs.
func (s *System) stretch(p path, k kinematics) (length algebra.Num, along []algebra.Num) {
	length = algebra.Constant(1, p.rigid)
	pushes := make([]spatial, len(s.groups)) // by a unit force along the path
	for i, g := range s.groups {
		pushes[i] = noMotion(g.rows())
	}
	push := func(side side, force, from algebra.Vector) { // at a point from the origin of its link
		if side.group == static {
			return
		}
		start := s.placed(k, side, 3).Minus(s.referenceOf(k, side, 1))
		s.toLinks(side, forceAt(force, start.Plus(from).Materialize()).materialize(), 1, pushes)
	}
	for _, part := range p.segments {
		if part.around != nil {
			length = length.Plus(s.stretchAround(k, part, push).Scale(part.by))
			continue
		}
		at, _ := s.relativePlaces(k, part.sides)
		way := at[1].position.Minus(at[0].position).Materialize()
		distance := way.Dot(way).Sqrt().Materialize()
		length = length.Plus(distance.Scale(part.by))
		direction := way.By(algebra.Constant(1, part.by).Over(distance.Max(algebra.Constant(1, 1e-15)))).Materialize()
		for end, side := range part.sides {
			if side.group != static {
				push(side, direction.Scale(float64(2*end-1)), s.turnOf(k, side).Of(side.pose.position))
			}
		}
	}
	return length, s.project(k, pushes)
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
	first, second path
	rest          [2]float64 // the lengths in the reference pose
	polynomial    [5]float64

	limits *[2]float64 // of the first length, which a limit keeps there
	margin float64     // of a limit
	far    bool        // the farther limit of both
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
			var along path
			switch {
			case m.EqType[i] == EqualPoints || m.EqType[i] == EqualFrames:
				e.sides[k] = s.anchor(i, k, id)
				for axis, w := range m.BodyInvweight0[id] {
					weight[axis] += w
				}
			case id < 0:
				e.polynomial = [5]float64{e.polynomial[0]}
			case m.EqType[i] == EqualTendons:
				along, e.rest[k] = s.tendon(id), m.Tendons[id].Length0
				weight[0] += m.Tendons[id].Invweight0
			default:
				along.shares, e.rest[k] = s.shares([]int{id}, []float64{1}), m.QPos0[m.JntQPosAdr[id]]
				weight[0] += m.DofInvweight0[m.JntDofAdr[id]]
			}
			*[]*path{&e.first, &e.second}[k] = along
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
			if bothAct(t.Range, t.Margin) {
				add(0, equality{limits: &t.Range, margin: t.Margin, far: true})
			}
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
	return side{group: group, link: []int{row}, pose: own}
}

// measure returns what an equality keeps at 0, its changes by the dofs, [count, nv, B], and of ties the accelerations
// of what it keeps at 0 if the dofs do not accelerate: MuJoCo compensates them. The links move without such
// accelerations.
func (s *System) measure(k kinematics, of motions, e equality, q []algebra.Num) (violation []algebra.Num,
	jacobian *Node, drift []algebra.Num) {
	g, batch := sizeOf(q)
	if e.count == 1 {
		violation, along, ratio := s.violation(e, k, q)
		dofs := s.noForce()
		s.pull(e.first, k, along, dofs)
		s.pull(e.second, k, ratio.Neg(), dofs)
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
	axes := []algebra.Vector{unit(1, 0), unit(1, 1), unit(1, 2)}
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
		for axis := range 3 {
			along := unit(1, axis)
			along = at[1].turn.Of(along.By(relative.W).Plus(twist.Cross(along))).Materialize()
			axes = append(axes, along.Scale(e.torque/2))
			violation = append(violation, component(twist, axis).Scale(e.torque))
		}
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
	if s.trees() == 1 {
		origin = algebra.Vector{}
	}
	dofs := s.motionsOfDofs(k)
	by := func(i int) *Node {
		var own []algebra.Num
		for _, mask := range masks {
			own = append(own, mask.Take(i))
		}
		return s.movedBy(dofs, own, at[i].position, origin, axes)
	}
	return violation, xla.Store(Add(by(0), by(1))), drift
}

// tied reports whether an equality ties bodies.
func (e equality) tied() bool { return e.count > 1 }

// violation returns by how much an equality of lengths does not hold, and its slopes by the first length and by minus
// the second.
func (s *System) violation(e equality, k kinematics, q []algebra.Num) (violation, first, second algebra.Num) {
	one := algebra.Constant(1, 1)
	switch {
	case e.loss > 0:
		return one.Zero(), one, one.Zero()
	case e.limits != nil:
		length := s.lengthOf(e.first, k, q)
		below, above := length.Add(-e.limits[0]), length.Neg().Add(e.limits[1])
		first = below.Less(above).Choose(one, one.Neg()).Materialize()
		if e.far {
			return below.Max(above).Add(-e.margin).Materialize(), first.Neg(), one.Zero()
		}
		return below.Min(above).Add(-e.margin).Materialize(), first, one.Zero()
	}
	x := s.lengthOf(e.second, k, q).Add(-e.rest[1]).Materialize()
	value := x.Zero()
	ratio := value
	for n := len(e.polynomial) - 1; n >= 0; n-- { // Horner's scheme
		ratio = ratio.Times(x).Plus(value)
		value = value.Times(x).Add(e.polynomial[n])
	}
	return s.lengthOf(e.first, k, q).Add(-e.rest[0]).Minus(value).Materialize(), one, ratio.Materialize()
}
