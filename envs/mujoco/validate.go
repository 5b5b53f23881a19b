package mujoco

import (
	"fmt"
	"math"
	"slices"
)

// validate checks what the engine's code relies on, such as in a file that was edited: sizes, indices, addresses,
// types, signs, ranges and rotations. The error names the array, the element and what it should be.
func (m *Model) validate() error {
	s := m.Sizes
	if s.NBody < 1 || s.NQ < 0 || s.NV < 0 || s.NA < 0 {
		return fmt.Errorf("sizes: %d bodies, nq %d, nv %d, na %d", s.NBody, s.NQ, s.NV, s.NA)
	}
	positive := func(_ int, x float64) bool { return x > 0 }
	notNegative := func(_ int, x float64) bool { return x >= 0 }
	dimension := func(_, x int) bool { return slices.Contains([]int{1, 3, 4, 6}, x) }
	friction3 := func(_ int, x [3]float64) bool { return slices.Min(x[:]) >= 0 }
	const dimensions, frictions = "1, 3, 4 or 6", "no negative number"
	for _, err := range []error{
		each("opt.timestep", []float64{m.Opt.TimeStep}, "more than 0 s", positive),
		each("opt.impratio", []float64{m.Opt.ImpRatio}, "more than 0", positive),
		each("opt.density", []float64{m.Opt.Density}, "0 or more", notNegative),
		each("opt.viscosity", []float64{m.Opt.Viscosity}, "0 or more", notNegative),
		indices("opt.integrator", []Integrator{m.Opt.Integrator}, 5),
		indices("opt.cone", []Cone{m.Opt.Cone}, int(Elliptic)+1),
		indices("body_rootid", m.BodyRootID, s.NBody),
		indices("body_weldid", m.BodyWeldID, s.NBody),
		indices("dof_bodyid", m.DofBodyID, s.NBody),
		indices("dof_jntid", m.DofJntID, s.NJnt),
		indices("geom_bodyid", m.GeomBodyID, s.NBody),
		indices("site_bodyid", m.SiteBodyID, s.NBody),
		indices("pair_geom1", m.PairGeom1, s.NGeom),
		indices("pair_geom2", m.PairGeom2, s.NGeom),
		indices("jnt_type", m.JntType, int(Hinge)+1),
		indices("geom_type", m.GeomType, int(SDF)+1),
		indices("eq_type", m.EqType, 8),
		indices("actuator_trntype", m.ActuatorTrnType, 7),
		indices("actuator_gaintype", m.ActuatorGainType, 7),
		indices("actuator_biastype", m.ActuatorBiasType, 6),
		indices("actuator_dyntype", m.ActuatorDynType, 8),
		rotations("body_quat", m.BodyQuat),
		rotations("body_iquat", m.BodyIQuat),
		rotations("geom_quat", m.GeomQuat),
		rotations("site_quat", m.SiteQuat),
		each("jnt_axis", m.JntAxis, "a vector of length 1", func(_ int, x [3]float64) bool { return unitLength(x[:]) }),
		ranges("jnt_range", m.JntRange, m.JntLimited),
		ranges("jnt_actfrcrange", m.JntActFrcRange, m.JntActFrcLimited),
		ranges("actuator_ctrlrange", m.ActuatorCtrlRange, m.ActuatorCtrlLimited),
		ranges("actuator_forcerange", m.ActuatorForceRange, m.ActuatorForceLimited),
		each("body_mass", m.BodyMass, "0 kg or more, and above 0 where a body moves", func(b int, x float64) bool {
			total := 0.0
			for i, link := range m.BodyWeldID {
				if link == m.BodyWeldID[b] {
					total += m.BodyMass[i]
				}
			}
			return x >= 0 && (total > 0 || m.BodyDofNum[b] == 0)
		}),
		each("body_inertia", m.BodyInertia, "none negative, and none larger than the sum of the others",
			func(_ int, x [3]float64) bool {
				return slices.Min(x[:]) >= 0 && slices.Max(x[:]) <= (x[0]+x[1]+x[2])*(0.5+1e-6)
			}),
		each("body_invweight0", m.BodyInvweight0, "no negative number", func(_ int, x [2]float64) bool {
			return min(x[0], x[1]) >= 0
		}),
		each("dof_invweight0", m.DofInvweight0, "0 or more", notNegative),
		each("dof_armature", m.DofArmature, "0 or more", notNegative),
		each("dof_frictionloss", m.DofFrictionLoss, "0 or more", notNegative),
		each("geom_condim", m.GeomConDim, dimensions, dimension),
		each("pair_dim", m.PairDim, dimensions, dimension),
		each("geom_friction", m.GeomFriction, frictions, friction3),
		each("pair_friction", m.PairFriction, frictions, func(_ int, x [5]float64) bool { return slices.Min(x[:]) >= 0 }),
		each("geom_size", m.GeomSize, "positive numbers", func(i int, x [3]float64) bool {
			n := map[GeomType]int{Sphere: 1, Capsule: 2, Cylinder: 2, Ellipsoid: 3, Box: 3}[m.GeomType[i]]
			return n == 0 || slices.Min(x[:n]) > 0
		}),
		references("jnt_solref", m.JntSolRef),
		references("dof_solref", m.DofSolRef),
		references("geom_solref", m.GeomSolRef),
		references("pair_solref", m.PairSolRef),
		references("eq_solref", m.EqSolRef),
		references("pair_solreffriction", m.PairSolRefFriction),
	} {
		if err != nil {
			return err
		}
	}
	for i, id := range m.ActuatorTrnID {
		if m.ActuatorTrnType[i] == 0 && (id[0] < 0 || id[0] >= s.NJnt) {
			return fmt.Errorf("actuator_trnid: actuator %d moves joint %d of %d", i, id[0], s.NJnt)
		}
		if m.ActuatorTrnType[i] == overSite && (id[0] < 0 || id[0] >= s.NSite) {
			return fmt.Errorf("actuator_trnid: actuator %d pushes at site %d of %d", i, id[0], s.NSite)
		}
	}
	acts := 0 // of actuators with one each
	for _, n := range m.ActuatorActNum {
		if n == 1 {
			acts++
		}
	}
	if len(m.Activations) != acts {
		return fmt.Errorf("there are %d activations, want %d", len(m.Activations), acts)
	}
	for i, a := range m.Activations {
		if a.Actuator < 0 || a.Actuator >= s.NActuator || m.ActuatorActNum[a.Actuator] != 1 || !(a.Range[0] <= a.Range[1]) {
			return fmt.Errorf("activation %d is %+v, want one of an actuator with dynamics, the lower number of its range "+
				"first", i, a)
		}
	}
	for i := range m.ActuatorGainType {
		known := slices.ContainsFunc(m.Muscles, func(own Muscle) bool { return own.Actuator == i })
		if (m.ActuatorGainType[i] == isMuscle || m.ActuatorBiasType[i] == isMuscle) && !known {
			return fmt.Errorf("the length range of actuator %d, a muscle, is missing", i)
		}
	}
	if n := len(m.Tendons); n > 0 && n != s.NTendon {
		return fmt.Errorf("there are %d tendons, want %d", n, s.NTendon)
	}
	for i, h := range m.Hulls {
		wrong := func(v int) bool { return v < 0 || v >= len(h.Vertices) }
		if len(h.Normals) != len(h.Faces) || slices.ContainsFunc(h.Faces, func(face []int) bool {
			return len(face) < 3 || slices.ContainsFunc(face, wrong)
		}) {
			return fmt.Errorf("the faces of hull %d do not match its %d vertices and %d normals", i, len(h.Vertices), len(h.Normals))
		}
	}
	for i, f := range m.Fields {
		wrong := func(x float64) bool { return !(math.Abs(x) <= 1e30) }
		if f.Rows < 2 || f.Cols < 2 || len(f.Data) != f.Rows*f.Cols || !(slices.Min(f.Size[:]) > 0) ||
			slices.ContainsFunc(append(f.Size[:], f.Data...), wrong) {
			return fmt.Errorf("height field %d has %d heights for %d times %d points and the size %v, want positive lengths",
				i, len(f.Data), f.Rows, f.Cols, f.Size)
		}
	}
	for i, t := range m.Tendons {
		if len(t.Coefs) != len(t.Joints) || slices.ContainsFunc(t.Joints, func(id int) bool { return !m.scalar(id) }) {
			return fmt.Errorf("tendon %d has %d coefficients of joints %v", i, len(t.Coefs), t.Joints)
		}
		for _, part := range t.Segments {
			if slices.Min(part.Sites[:]) < 0 || slices.Max(part.Sites[:]) >= s.NSite || !(part.Divisor > 0) {
				return fmt.Errorf("tendon %d runs between sites %v of %d, by a pulley of %g", i, part.Sites, s.NSite, part.Divisor)
			}
			if w := part.Wrap; w != nil && (w.Geom < 0 || w.Geom >= s.NGeom || m.GeomType[w.Geom] != Sphere &&
				m.GeomType[w.Geom] != Cylinder || !(m.GeomSize[w.Geom][0] > 0) || w.SideSite < -1 || w.SideSite >= s.NSite) {
				return fmt.Errorf("tendon %d wraps around geom %d of %d on the side of site %d of %d, want a sphere or a cylinder",
					i, w.Geom, s.NGeom, w.SideSite, s.NSite)
			}
		}
		if m.TendonLimited[i] && len(t.Joints)+len(t.Segments) > 0 && !(t.Range[0] < t.Range[1]) {
			return fmt.Errorf("tendon %d is limited to %v, want the lower number first", i, t.Range)
		}
		if err := references(fmt.Sprintf("solref of tendon %d", i), t.SolRef[:]); err != nil {
			return err
		}
	}
	for i, kind := range m.EqType {
		one, other := m.EqObj1ID[i], m.EqObj2ID[i]
		switch {
		case kind == EqualJoints && (!m.scalar(one) || other >= 0 && !m.scalar(other)):
			return fmt.Errorf("equality %d is of joints %d and %d", i, one, other)
		case kind <= EqualFrames && (min(one, other) < 0 || max(one, other) >= s.NBody):
			return fmt.Errorf("equality %d is of bodies %d and %d", i, one, other)
		}
	}
	q, v, joint := 0, 0, 0
	for b := range s.NBody {
		first := v
		if parent := m.BodyParentID[b]; parent < 0 || parent >= max(b, 1) {
			return fmt.Errorf("body_parentid: the parent of body %d is %d, want a body before it", b, parent)
		} else if m.BodyJntNum[b] == 0 && m.BodyMocapID[b] < 0 && m.BodyWeldID[b] != m.BodyWeldID[parent] ||
			m.BodyJntNum[b] > 0 && m.BodyWeldID[b] != b {
			return fmt.Errorf("body_weldid: body %d is welded to body %d, which contradicts its joints", b, m.BodyWeldID[b])
		} else if root := m.BodyRootID[b]; b > 0 && (parent == 0 && root != b || parent > 0 && root != m.BodyRootID[parent]) {
			return fmt.Errorf("body_rootid: the root of body %d is %d, which is not that of its parents", b, root)
		}
		if n := m.BodyJntNum[b]; n < 0 || n > s.NJnt-joint || n > 0 && m.BodyJntAdr[b] != joint {
			return fmt.Errorf("body_jntnum: body %d has %d joints from %d on, but the joints before it end at %d of %d",
				b, n, m.BodyJntAdr[b], joint, s.NJnt)
		}
		for range m.BodyJntNum[b] {
			t := m.JntType[joint]
			switch {
			case m.JntBodyID[joint] != b || m.JntQPosAdr[joint] != q || m.JntDofAdr[joint] != v:
				return fmt.Errorf("joint %d has body %d, qpos %d and dof %d, want %d, %d and %d", joint,
					m.JntBodyID[joint], m.JntQPosAdr[joint], m.JntDofAdr[joint], b, q, v)
			case t == Free && (m.BodyJntNum[b] > 1 || m.BodyParentID[b] != 0 || b == 0):
				return fmt.Errorf("joint %d is free, but body %d has other joints or a parent", joint, b)
			}
			q, v, joint = q+t.Positions(), v+t.Dofs(), joint+1
		}
		if m.BodyDofNum[b] != v-first || v > first && m.BodyDofAdr[b] != first {
			return fmt.Errorf("body_dofnum: body %d has %d dofs from %d on, its joints have %d from %d on", b,
				m.BodyDofNum[b], m.BodyDofAdr[b], v-first, first)
		}
	}
	if q != s.NQ || v != s.NV || joint != s.NJnt {
		return fmt.Errorf("the joints of the bodies have %d joints, %d positions and %d dofs, want %d, %d and %d",
			joint, q, v, s.NJnt, s.NQ, s.NV)
	}
	for id, kind := range m.JntType {
		if kind > Ball {
			continue
		}
		for _, pose := range append([][]float64{m.QPos0}, m.KeyQPos...) {
			turn := m.JntQPosAdr[id] + kind.Positions() - 4
			if [4]float64(pose[turn:]) == [4]float64{} {
				return fmt.Errorf("qpos0 or key_qpos: joint %d has the quaternion 0", id)
			}
		}
	}
	return nil
}

// scalar reports whether a joint exists and is a slide or a hinge.
func (m *Model) scalar(id int) bool {
	return id >= 0 && id < len(m.JntType) && m.JntType[id] >= Slide
}

// each reports the first element of an array that is not as it should be.
func each[T any](field string, list []T, want string, ok func(i int, x T) bool) error {
	for i, x := range list {
		if !ok(i, x) {
			return fmt.Errorf("%s: element %d is %v, want %s", field, i, x, want)
		}
	}
	return nil
}

// indices reports the first number that is not below a limit.
func indices[T ~int](field string, list []T, limit int) error {
	return each(field, list, fmt.Sprintf("0 to %d", limit-1), func(_ int, k T) bool { return k >= 0 && int(k) < limit })
}

func rotations(field string, list [][4]float64) error {
	return each(field, list, "a quaternion of length 1", func(_ int, q [4]float64) bool { return unitLength(q[:]) })
}

func unitLength(v []float64) bool {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Abs(sum-1) < 1e-6
}

func ranges(field string, list [][2]float64, limited []bool) error {
	return each(field, list, "the lower number first", func(i int, x [2]float64) bool {
		return !limited[i] || x[0] <= x[1]
	})
}

func references(field string, list [][2]float64) error {
	return each(field, list, "a time constant with a damping ratio above 0",
		func(_ int, x [2]float64) bool { return x[0] <= 0 || x[1] > 0 })
}
