package mujoco

import (
	"fmt"
	"slices"

	"example.com/qdnb/internal/names"
)

// active lists the equality constraints that act.
func (m *Model) active() (list []int) {
	for i, active := range m.EqActive0 {
		if active && m.Opt.DisableFlags&(DisableConstraint|DisableEquality) == 0 {
			list = append(list, i)
		}
	}
	return list
}

func (c *checker) sizes() {
	for _, i := range c.active() {
		kind, other := c.EqType[i], c.EqObj2ID[i]
		ofTendons := kind == EqualTendons && c.measured(c.EqObj1ID[i]) && (other < 0 || c.measured(other))
		if kind > EqualJoints && !ofTendons {
			c.refuse("neq", "equality %s", name(int(kind), "connect", "weld", "joint", "tendon", "flex", "flexvert",
				"flexstrain", "distance"))
		}
	}
	if c.Sizes.NV == 0 {
		c.refuse("nv", "a file without a joint")
	}
	if c.Sizes.NFlex > 0 {
		c.refuse("nflex", "flex")
	}
	for _, plugin := range c.Names.Plugin {
		c.refuse("nplugin", "plugin %q", plugin)
	}
}

func (c *checker) options() {
	for i, flag := range []string{"override", "energy", "fwdinv", "invdiscrete", "sleep", "diagexact", "ipc", "speculative"} {
		changes := !slices.Contains([]string{"energy", "fwdinv", "invdiscrete"}, flag)
		if c.Opt.EnableFlags>>i&1 != 0 && changes {
			c.refuse("opt.enableflags", "flag %s", flag)
		}
	}
	if c.Opt.NoslipIterations > 0 {
		c.refuse("opt.noslip_iterations", "noslip_iterations %d", c.Opt.NoslipIterations)
		c.hint = "; without noslip_iterations in the file, contacts that stick slip a little"
	}
	fluid := c.Opt.Density > 0 || c.Opt.Viscosity > 0
	switch i := c.Opt.Integrator; {
	case i == ImplicitFast && fluid:
		c.refuse("opt.integrator", "integrator implicitfast in a fluid")
	case i != Euler && i != RK4 && i != ImplicitFast:
		c.refuse("opt.integrator", "integrator %s", name(int(i), "Euler", "RK4", "implicit", "implicitfast", "discrete"))
	}
	if !fluid {
		return
	}
	if c.Opt.Wind != [3]float64{} {
		c.refuse("opt.wind", "wind %v", c.Opt.Wind)
	}
	for i, numbers := range c.GeomFluid {
		if numbers[0] != 0 {
			c.refuse("geom_fluid", "fluidshape ellipsoid of %s", c.geom(i))
		}
	}
}

func (c *checker) joints() {
	refuseNonzero(c, "jnt_stiffnesspoly", c.JntStiffnessPoly, c.joint)
	refuseNonzero(c, "jnt_springyield", c.JntSpringYield, c.joint)
	refuseNonzero(c, "dof_dampingpoly", c.DofDampingPoly, c.dof)
}

func (c *checker) actuators() {
	for i, kind := range c.ActuatorTrnType {
		tendon := c.ActuatorTrnID[i][0]
		damps := c.ActuatorGainType[i] > 0 && c.ActuatorGainPrm[i][2] != 0 ||
			c.ActuatorBiasType[i] > 0 && c.ActuatorBiasPrm[i][2] != 0
		switch {
		case kind == overTendon && c.measured(tendon):
			if damps && c.Opt.Integrator == ImplicitFast && !c.ofSiblings(tendon) {
				c.refuse("opt.integrator", "integrator implicitfast with %s, which damps a spatial tendon or one along a chain of "+
					"joints", c.actuator(i))
			}
		case kind == overSite && c.ActuatorTrnID[i][1] >= 0:
			c.refuse("actuator_trnid", "%s of a site with a refsite", c.actuator(i))
		case kind == overSite && c.ActuatorGainType[i]+c.ActuatorBiasType[i] > 0:
			c.refuse("actuator_trntype", "%s of a site, whose force is not its control times a fixed gain", c.actuator(i))
		case kind != overJoint && kind != overSite:
			c.refuse("actuator_trntype", "%s of a %s", c.actuator(i), name(kind, "joint", "jointinparent", "slidercrank",
				"tendon of a file of an older compiler", "site", "body", "so3"))
		}
	}
	for _, part := range []struct {
		field string
		types []int
		most  int
		names []string
	}{
		{"actuator_dyntype", c.ActuatorDynType, DynMuscle, []string{"none", "integrator", "filter", "filterexact",
			"muscle", "dcmotor", "pid", "user"}},
		{"actuator_gaintype", c.ActuatorGainType, isMuscle, []string{"fixed", "affine", "muscle", "dcmotor", "so3", "pid",
			"user"}},
		{"actuator_biastype", c.ActuatorBiasType, isMuscle, []string{"none", "affine", "muscle", "dcmotor", "so3", "user"}},
	} {
		for i, kind := range part.types {
			if kind > part.most {
				c.refuse(part.field, "%s with %s", c.actuator(i), name(kind, part.names...))
			}
		}
	}
	for i, kind := range c.ActuatorDynType { // whose setpoints are wrapped, see [System.wrapped]
		ball := c.ActuatorTrnType[i] == overJoint && c.JntType[c.ActuatorTrnID[i][0]] == Ball
		if ball && kind > 0 && c.ActuatorBiasType[i] > 0 {
			c.refuse("actuator_dyntype", "%s, a servo of a ball joint with an activation", c.actuator(i))
		}
	}
	refuseNonzero(c, "actuator_delay", c.ActuatorDelay, c.actuator)
	refuseNonzero(c, "actuator_damping", c.ActuatorDamping, c.actuator)
	refuseNonzero(c, "actuator_dampingpoly", c.ActuatorDampingPoly, c.actuator)
	refuseNonzero(c, "actuator_armature", c.ActuatorArmature, c.actuator)
}

// disabled reports whether an actuator is of a group that exerts no forces and keeps its activations.
func (m *Model) disabled(actuator int) bool {
	group := m.ActuatorGroup[actuator]
	return group >= 0 && group < 31 && m.Opt.DisableActuator>>group&1 != 0
}

// How an actuator acts (mjtTrn).
const (
	overJoint  = 0
	overTendon = 3
	overSite   = 4
)

// measured reports whether what a tendon's length is made of is known.
func (c *checker) measured(tendon int) bool {
	return tendon >= 0 && tendon < len(c.Tendons) && len(c.Tendons[tendon].Joints)+len(c.Tendons[tendon].Segments) > 0
}

// ofSiblings reports whether a tendon is of the only joints of children of one body, of which none moves another.
func (c *checker) ofSiblings(tendon int) bool {
	joints := c.Tendons[tendon].Joints
	return len(joints) > 0 && !slices.ContainsFunc(joints, func(id int) bool {
		body := c.JntBodyID[id]
		return c.BodyJntNum[body] > 1 || c.BodyParentID[body] != c.BodyParentID[c.JntBodyID[joints[0]]]
	})
}

func (c *checker) tendons() {
	for i := range c.TendonStiffness {
		for _, part := range []struct {
			field string
			acts  bool
		}{
			{"tendon_stiffness", c.TendonStiffness[i] != 0},
			{"tendon_damping", c.TendonDamping[i] != 0},
			{"tendon_frictionloss", c.TendonFrictionLoss[i] != 0},
			{"tendon_limited", c.TendonLimited[i]},
		} {
			if part.acts && !c.measured(i) {
				c.refuse(part.field, "%s of a file of an older compiler", c.tendon(i))
			}
		}
		if i < len(c.Tendons) && slices.ContainsFunc(c.Tendons[i].Segments, func(part Segment) bool {
			w := part.Wrap
			return w != nil && w.SideSite >= 0 && c.link(c.SiteBodyID[w.SideSite]) != c.link(c.GeomBodyID[w.Geom])
		}) {
			c.refuse("tendon", "%s, whose sidesite moves against the geom that it wraps around", c.tendon(i))
		}
		if c.TendonDamping[i] != 0 && c.measured(i) && c.Opt.Integrator == ImplicitFast && !c.ofSiblings(i) {
			c.refuse("opt.integrator", "integrator implicitfast with %s, which is spatial or along a chain of joints, and damped",
				c.tendon(i))
		}
	}
	refuseNonzero(c, "tendon_stiffnesspoly", c.TendonStiffnessPoly, c.tendon)
	refuseNonzero(c, "tendon_springyield", c.TendonSpringYield, c.tendon)
	refuseNonzero(c, "tendon_dampingpoly", c.TendonDampingPoly, c.tendon)
	refuseNonzero(c, "tendon_armature", c.TendonArmature, c.tendon)
	refuseNonzero(c, "tendon_actfrclimited", c.TendonActFrcLimited, c.tendon)
}

// maxPairs is the largest number of pairs of geoms: all of them are computed in each step, and none of them coarsely.
const maxPairs = 20_000

// contacts returns the pairs whose contacts are modelled. It refuses or notes the others.
func (c *checker) contacts(o Options, note func(string, ...any)) (pairs []Pair) {
	touching := map[int]bool{}
	unknown, kinds, apart := map[[2]GeomType][]Pair{}, [][2]GeomType{}, 0
	all := c.Pairs()
	if o.Contacts != nil {
		all = c.limit(all, o.Contacts)
	}
	if len(all) > maxPairs {
		c.refuse("ngeom", "%d pairs of geoms that may touch, more than %d", len(all), maxPairs)
		c.hint += "; Options.Contacts limits them to those that matter"
		return nil
	}
	for _, p := range all {
		touching[p.Geom1], touching[p.Geom2] = true, true
		kind := [2]GeomType{c.GeomType[p.Geom1], c.GeomType[p.Geom2]}
		if o.Contacts == nil && c.stayApart(p) {
			apart++
			continue
		}
		if !c.collides(p) || o.IgnorePairs && searched(kind) && kind[0] != HField {
			if unknown[kind] == nil {
				kinds = append(kinds, kind)
			}
			unknown[kind] = append(unknown[kind], p)
			continue
		}
		pairs = append(pairs, p)
	}
	if apart > 0 {
		note("%d pairs of the robot's own geoms did not touch in random poses and are left out", apart)
	}
	ignore := ""
	for _, kind := range kinds {
		list := unknown[kind]
		contact := fmt.Sprintf("contact of %s and %s", shape(kind[0]), shape(kind[1]))
		if c.byMPR(kind) {
			contact += " without nativeccd"
		}
		example := fmt.Sprintf("%s and %s", c.geom(list[0].Geom1), c.geom(list[0].Geom2))
		if len(list) > 1 {
			example = fmt.Sprintf("%d pairs such as %s", len(list), example)
		}
		if o.IgnorePairs {
			note("%s is left out: %s", contact, example)
			continue
		}
		c.refuse("geom_type", "%s: %s", contact, example)
		ignore = "; IgnorePairs leaves such contacts out"
	}
	c.hint += ignore
	for i := range c.GeomType {
		if !touching[i] {
			continue
		}
		if c.GeomAdhesion[i] != 0 {
			c.refuse("geom_adhesion", "%s", c.geom(i))
		}
		if c.GeomSurfaceVel[i] != [6]float64{} {
			c.refuse("geom_surfacevel", "%s", c.geom(i))
		}
	}
	refuseNonzero(c, "pair_adhesion", c.PairAdhesion, func(i int) string { return label("pair", i, nil) })
	return pairs
}

// limit returns the pairs of geoms that have, or whose bodies have, two names that are allowed to touch.
func (c *checker) limit(pairs []Pair, allowed [][2]string) (some []Pair) {
	is := func(geom int, name string) bool {
		return name != "" && (c.Names.Geom[geom] == name || c.Names.Body[c.GeomBodyID[geom]] == name)
	}
	known := slices.DeleteFunc(slices.Concat(c.Names.Geom, c.Names.Body), func(name string) bool { return name == "" })
	for _, both := range allowed {
		for _, name := range both {
			if !slices.Contains(known, name) && c.wrong == nil {
				c.wrong = fmt.Errorf("Contacts: %w", names.Unknown("geom or body", name, known))
			}
		}
		found := false
		for _, p := range pairs {
			if is(p.Geom1, both[0]) && is(p.Geom2, both[1]) || is(p.Geom1, both[1]) && is(p.Geom2, both[0]) {
				found = true
				if !slices.Contains(some, p) {
					some = append(some, p)
				}
			}
		}
		if !found && c.wrong == nil {
			c.wrong = names.Wrongf("Contacts: %q and %q may not touch in the file", both[0], both[1])
		}
	}
	return some
}

// stayApart reports whether a pair of geoms of one tree is known not to touch, see [Model].
func (m *Model) stayApart(p Pair) bool {
	a, b := m.GeomBodyID[p.Geom1], m.GeomBodyID[p.Geom2]
	own := m.BodyRootID[a] == m.BodyRootID[b] && m.BodyRootID[a] != 0
	return own && m.OwnContacts != nil && !slices.Contains(m.OwnContacts, [2]int{min(p.Geom1, p.Geom2), max(p.Geom1, p.Geom2)})
}

func shape(t GeomType) string {
	return name(int(t), "plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
}
