package robots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"example.com/qdnb/envs/physics"
)

// maxSelfContacts is the largest number of contacts between the bodies of a robot that are kept.
const maxSelfContacts = 24

// world is the name of the fixed body.
const world = "world"

// build makes the model of the links.
func (r *mjcf) build(root *element) physics.Model {
	m := physics.Model{TimeStep: 0.02, Substeps: 2, Gravity: vec(r.gravity), AngularDamping: -0.05,
		PrincipalAxes: true, Pose: map[string]physics.Vec{}, Turn: map[string]physics.Vec{},
		Angles: map[string]physics.Vec{}}
	r.masses()
	for _, l := range r.links {
		r.freedom(l)
	}
	if m.Frozen = r.plane(); m.Frozen != (physics.Frozen{}) {
		r.note(nil, "all joints turn about one axis: the whole model is frozen along and about the others")
	}
	for _, l := range r.links {
		i := l.own.inertia
		m.Bodies = append(m.Bodies, physics.Body{Name: l.title, Mass: l.own.mass,
			Inertia: physics.Vec{i.X, i.Y, i.Z}, Frozen: l.frozen})
		if l.parent == nil && (l.free || l.slides) {
			at := l.frame.times(l.own.frame)
			m.Pose[l.title], m.Turn[l.title] = vec(at.at), degrees(at.turn)
		} else {
			r.addJoint(&m, l)
		}
	}
	r.contacts(&m, root)
	root.each("actuator", func(e *element) {
		for _, c := range e.children {
			if !slices.Contains(actuatorNames, c.name) {
				r.failf(c, "the actuator %s is not supported", c.name)
				continue
			}
			r.actuator(&m, r.with(c, "main"))
		}
	})
	return m
}

// masses combines the parts of each link.
func (r *mjcf) masses() {
	total := 0.0
	for _, l := range r.links {
		l.own = combine(l.parts)
		total += l.own.mass
	}
	for _, l := range r.links {
		if r.totalMass > 0 && total > 0 {
			l.own.mass *= r.totalMass / total
			l.own.inertia = r3.Scale(r.totalMass/total, l.own.inertia)
		}
		if i := l.own.inertia; l.own.mass < 1e-18 || min(i.X, i.Y, i.Z) < 1e-18 {
			r.failf(l.element, "the body %q moves, but has no mass or no inertia", l.title)
		}
	}
}

// axes returns which of the world's axes vectors are parallel to; ok is false if one is to none.
func axes(vectors ...r3.Vec) (parallel [3]bool, ok bool) {
	ok = true
	for _, v := range vectors {
		at := slices.IndexFunc([]float64{v.X, v.Y, v.Z}, func(c float64) bool { return math.Abs(c) > 1-1e-9 })
		if at < 0 {
			ok = false
			continue
		}
		parallel[at] = true
	}
	return parallel, ok
}

// freedom finds what a body of the world with slides can do.
func (r *mjcf) freedom(l *link) {
	var slides, turns []r3.Vec
	var turning *hinge
	for _, h := range l.hinges {
		axis := l.turned(h.axis)
		if !h.slide {
			turns, turning = append(turns, axis), h
			continue
		}
		slides = append(slides, axis)
		if h.limited {
			r.note(h.element, "the ranges of slides are ignored")
		}
		if h.passive.Stiffness != 0 || h.passive.Damping != 0 || h.passive.Armature != 0 {
			r.note(h.element, "the stiffness, damping and armature of slides are ignored")
		}
	}
	if len(slides) == 0 {
		return
	}
	free, ok := axes(slides...)
	turn, turnOK := axes(turns...)
	if !ok || !turnOK || len(turns) > 1 {
		r.failf(l.element, "the body %q slides: its axes must be the world's, and at most one may be a "+
			"hinge's", l.title)
		return
	}
	if turning != nil {
		arm := r3.Sub(turning.at, l.own.at)
		across := r3.Sub(arm, r3.Scale(r3.Dot(arm, turning.axis), turning.axis))
		both := (free[0] || turn[0]) && (free[1] || turn[1]) && (free[2] || turn[2])
		if !both && r3.Norm(across) > 1e-6 {
			r.failf(l.element, "the body %q slides along one axis and turns off its centre of mass: move the hinge "+
				"to a body inside it", l.title)
		}
		if p := turning.passive; p.Stiffness != 0 || p.Damping != 0 || turning.limited {
			r.note(turning.element, "the range, stiffness and damping of hinges of a body that slides are ignored")
		}
	}
	l.slides = true
	for i := range 3 {
		l.frozen.Position[i], l.frozen.Rotation[i] = !free[i], !turn[i]
	}
}

// plane returns the axes along and about which nothing can move.
func (r *mjcf) plane() (f physics.Frozen) {
	var turns, slides []r3.Vec
	for _, l := range r.links {
		if l.free {
			return f
		}
		turn := l.frame.turn
		for p := l.parent; p != nil; p = p.parent {
			turn = quat.Mul(p.frame.turn, turn)
		}
		for _, h := range l.hinges {
			if axis := r3.Rotation(turn).Rotate(h.axis); h.slide {
				slides = append(slides, axis)
			} else {
				turns = append(turns, axis)
			}
		}
	}
	turn, ok := axes(turns...)
	if slide, _ := axes(slides...); ok && len(turns) > 0 {
		for i := range 3 {
			f.Rotation[i] = !turn[i]
			f.Position[i] = turn[i] && !slide[i] && !turn[(i+1)%3] && !turn[(i+2)%3]
		}
		if turn[0] && turn[1] || turn[1] && turn[2] || turn[2] && turn[0] {
			return physics.Frozen{}
		}
	}
	return f
}

// addJoint adds the joint of a link to its parent or the world.
func (r *mjcf) addJoint(m *physics.Model, l *link) {
	parent, outer := world, upright
	if l.parent != nil {
		parent, outer = l.parent.title, l.parent.own.frame
	}
	first := l.hinges[0]
	if len(l.hinges) > 3 {
		r.failf(l.hinges[3].element, "the body %q has more than three hinges", l.title)
		return
	}
	names, axes := []string{}, []r3.Vec{}
	for i, h := range l.hinges {
		names = append(names, h.title)
		if r3.Norm(r3.Sub(h.at, first.at)) > 1e-6 {
			r.failf(h.element, "the hinges of body %q are not at the same point", l.title)
		}
		for _, other := range axes {
			if math.Abs(r3.Dot(other, h.axis)) > 1e-6 {
				r.failf(h.element, "the hinges of body %q are not perpendicular", l.title)
			}
		}
		axes = append(axes, h.axis)
		if i == 2 && r3.Dot(r3.Cross(axes[0], axes[1]), h.axis) < 0 {
			h.sign = -1
		}
		if i == 1 && h.limited && max(-h.limits[0], h.limits[1]) > math.Pi/2 {
			r.note(h.element, "the angle of a second hinge of a body stays between -90 and 90 degrees")
		}
	}
	if r.err != nil {
		return
	}
	joint := turnTo(r3.Vec{X: 1}, first.axis)
	if len(axes) > 1 {
		joint = turnOf(axes[0], axes[1])
	}
	zero := l.frame.turn // of the body at angles 0
	for _, h := range l.hinges {
		zero = quat.Mul(zero, rotation(-h.ref, h.axis))
	}
	inside := l.own.frame.inverse()
	j := physics.Joint{Name: strings.Join(names, "+"), Parent: parent, Child: l.title,
		ParentOffset: vec(outer.inverse().of(l.frame.of(first.at))), ChildOffset: vec(inside.of(first.at)),
		Rotation:  degrees(quat.Mul(inside.turn, joint)),
		Reference: degrees(quat.Mul(quat.Mul(quat.Conj(outer.turn), zero), l.own.turn))}
	angles := physics.Vec{}
	for i, h := range l.hinges {
		h.joint, h.number = j.Name, i+1
		limits, angle := [2]float64{-180, 180}, h.ref
		if h.limited {
			limits = [2]float64{h.limits[0] * 180 / math.Pi, h.limits[1] * 180 / math.Pi}
			angle = max(h.limits[0], min(h.limits[1], h.ref))
			if wide := limits[1] - limits[0]; wide > 360 || len(l.hinges) > 1 && max(-limits[0], limits[1]) > 180 {
				r.note(h.element, "ranges beyond -180 to 180 degrees, of 360 for a single hinge, do not limit")
				limits = [2]float64{max(limits[0], -180), min(limits[1], 180)}
			}
		}
		angles[i] = angle * 180 / math.Pi * h.sign
		if h.sign < 0 {
			limits = [2]float64{-limits[1], -limits[0]}
			h.passive.Rest *= -1
		}
		j.Limits, j.Passive = append(j.Limits, limits), append(j.Passive, h.passive)
	}
	m.Joints, m.Angles[j.Name] = append(m.Joints, j), angles
	if parent == world && m.Body(world) < 0 {
		m.Bodies = append(m.Bodies, physics.Body{Name: world, Fixed: true})
		m.Pose[world] = physics.Vec{}
	}
}

// contacts adds the shapes that collide, or that show a body which collides with nothing, and the pairs.
func (r *mjcf) contacts(m *physics.Model, root *element) {
	type pair [2]*link
	excluded, wanted, self := map[pair]bool{}, map[[2]*geom]bool{}, 0
	root.each("contact", func(e *element) {
		for _, c := range e.children {
			switch c.name {
			case "exclude":
				one, ok := r.bodies[c.attrs["body1"]]
				two, ok2 := r.bodies[c.attrs["body2"]]
				if !ok && c.attrs["body1"] != world || !ok2 && c.attrs["body2"] != world {
					r.failf(c, "exclude names bodies that do not exist: %q, %q", c.attrs["body1"], c.attrs["body2"])
				}
				excluded[pair{one, two}], excluded[pair{two, one}] = true, true
			case "pair":
				one, two := r.geoms[c.attrs["geom1"]], r.geoms[c.attrs["geom2"]]
				if one == nil || two == nil {
					r.failf(c, "pair names geoms that do not exist: %q, %q", c.attrs["geom1"], c.attrs["geom2"])
					return
				}
				wanted[[2]*geom{one, two}] = true
				r.note(c, "the friction of pairs is that of their geoms")
			default:
				r.failf(c, "the contact %s is not supported", c.name)
			}
		}
	})
	if r.err != nil {
		return
	}
	floor := slices.ContainsFunc(r.static, func(g *geom) bool {
		return g.kind == "plane" && g.contype|g.conaffinity != 0
	})
	free := slices.ContainsFunc(r.links, func(l *link) bool { return l.free })
	if free && !floor && r3.Norm(r.gravity) > 0 {
		r.note(nil, "the file has no floor: one at z = 0 was added")
		g := &geom{element: &element{attrs: map[string]string{}}, title: "floor", kind: "plane", frame: upright,
			contype: 1, conaffinity: 1, friction: 1, condim: 3}
		r.all, r.static = append(r.all, g), append(r.static, g)
	}
	may := func(a, b *geom) bool {
		l, o := a.link, b.link
		switch {
		case l == o || a.kind == "plane" && b.kind == "plane":
			return false
		case wanted[[2]*geom{a, b}] || wanted[[2]*geom{b, a}]:
			return true
		}
		joined := l != nil && o != nil && (l.parent == o || o.parent == l)
		return !joined && !excluded[pair{l, o}] && (a.contype&b.conaffinity != 0 || b.contype&a.conaffinity != 0)
	}
	// Geoms in the world first: what a robot touches there decides about its friction.
	shapes, friction := slices.Concat(r.static, r.all), 0.0
	shapes = shapes[:len(r.static)]
	for _, l := range r.links {
		shapes = append(shapes, l.geoms...)
	}
	type bodies [2]string
	order, counts := []bodies{}, map[bodies]int{}
	for i, a := range shapes {
		for _, b := range shapes[i+1:] {
			if !may(a, b) {
				continue
			}
			for _, g := range []*geom{a, b} {
				if g.shapeless() {
					r.failf(g.element, "the %s %q collides, which is not supported", g.kind, g.title)
				}
			}
			if a.kind == "box" && b.kind != "plane" || b.kind == "box" && a.kind != "plane" {
				if a.link == nil {
					r.failf(a.element, "the %s %q of the world touches %q: boxes touch planes only", a.kind,
						a.title, b.title)
				}
				r.note(b.element, "boxes touch planes only")
				continue
			}
			if a.link == nil {
				friction = max(friction, a.friction)
				a.touches, b.touches = true, true
			} else {
				self++
			}
			key := bodies{r.bodyOf(a), r.bodyOf(b)}
			if counts[key]++; counts[key] == 1 {
				order = append(order, key)
			}
		}
	}
	if self > maxSelfContacts {
		r.note(nil, fmt.Sprintf("%d contacts between the robot's own bodies were left out: more than %d are slow; "+
			"add pairs to Collide for some", self, maxSelfContacts))
	}
	for _, key := range order {
		if own := m.Body(key[0]) >= 0 && !m.Bodies[m.Body(key[0])].Fixed; !own || self <= maxSelfContacts {
			m.Collide = append(m.Collide, [2]string(key))
		}
	}
	inPair := func(name string) bool {
		return slices.ContainsFunc(m.Collide, func(p [2]string) bool { return slices.Contains(p[:], name) })
	}
	for _, g := range shapes {
		name := r.bodyOf(g)
		drawn := g.link != nil && !inPair(name)
		touches := inPair(name) && (g.touches || self <= maxSelfContacts && g.contype|g.conaffinity != 0)
		if !drawn && !touches || g.shapeless() {
			r.note(g.element, "geoms that collide with nothing are left out")
			continue
		}
		r.collider(m, g, name, drawn, friction)
	}
}

// shapeless reports whether the engine lacks the shape of a geom.
func (g *geom) shapeless() bool {
	return slices.Contains([]string{"mesh", "hfield", "ellipsoid", "sdf"}, g.kind)
}

// bodyOf is the name of the model's body of a geom: planes are bodies of their own.
func (r *mjcf) bodyOf(g *geom) string {
	switch {
	case g.link != nil:
		return g.link.title
	case g.kind != "plane":
		return world
	case g.title == "":
		return fmt.Sprintf("plane %d", slices.Index(r.static, g)+1)
	case r.bodies[g.title] != nil:
		return "plane " + g.title
	}
	return g.title
}

// collider adds the shape of a geom to its body.
func (r *mjcf) collider(m *physics.Model, g *geom, name string, drawn bool, friction float64) {
	at := m.Body(name)
	if at < 0 {
		at = len(m.Bodies)
		m.Bodies = append(m.Bodies, physics.Body{Name: name, Fixed: true})
		m.Pose[name] = physics.Vec{}
	}
	place := g.frame
	if g.link != nil {
		place = g.link.own.frame.inverse().times(g.frame)
	}
	// MuJoCo takes the larger friction of two geoms, the engine the product: a robot's geom has the
	// larger one of its own and the world's, which then has friction 1.
	c := physics.Collider{Friction: 1, Position: vec(place.at), Rotation: degrees(place.turn)}
	if g.link != nil {
		c.Friction = max(g.friction, friction)
	}
	switch c.Radius = g.size[0]; g.kind {
	case "plane":
		if r3.Norm(r3.Sub(place.turned(units[2]), units[2])) > 1e-6 {
			r.failf(g.element, "the plane %q is not horizontal", g.title)
		}
		m.Pose[name] = c.Position
		c = physics.Collider{Shape: physics.Plane, Friction: 1}
	case "sphere":
		c.Length, c.End = 2*c.Radius, 1
	case "box":
		c.Shape, c.Radius, c.HalfSize = physics.Box, 0, physics.Vec(g.size)
	case "cylinder":
		r.note(g.element, "cylinders collide as capsules of the same length")
		c.Length = max(2*g.size[1], 2*c.Radius)
	case "capsule":
		c.Length = 2 * (g.size[1] + c.Radius)
	}
	m.Bodies[at].Colliders = append(m.Bodies[at].Colliders, c)
	m.Bodies[at].Visual = drawn
}

// actuator adds an actuator or thruster.
func (r *mjcf) actuator(m *physics.Model, e *element) {
	for _, target := range []string{"tendon", "site", "body", "cranksite", "slidersite", "refsite"} {
		if e.attrs[target] != "" {
			r.failf(e, "actuators of a %s are not supported", target)
			return
		}
	}
	title := e.attrs["joint"] + e.attrs["jointinparent"]
	h := r.hinge(title)
	if h == nil {
		r.failf(e, "the actuator %q drives the joint %q, which is no hinge or slide", e.attrs["name"], title)
		return
	}
	// MuJoCo's torque is gear * (gain * control + bias[0] + bias[1] * length + bias[2] * velocity).
	gear, gain, bias := r.numbers(e, "gear", 1, 1)[0], 1.0, [3]float64{}
	switch e.name {
	case "motor":
	case "position":
		gain = r.number(e, "kp", 1)
		bias[1], bias[2] = -gain, -r.number(e, "kv", 0)
		if r.number(e, "dampratio", 0) != 0 {
			r.note(e, "dampratio is ignored")
		}
	case "velocity":
		gain = r.number(e, "kv", 1)
		bias[2] = -gain
	case "general":
		gain = r.numbers(e, "gainprm", 1, 1)[0]
		if r.option(e, "biastype", "none", "affine", "muscle", "user") == "affine" {
			bias = [3]float64(r.numbers(e, "biasprm", 0, 0, 0, 0)[:3])
		}
		for _, name := range []string{"gaintype", "dyntype", "biastype"} {
			if v := e.attrs[name]; v != "" && !slices.Contains([]string{"fixed", "none", "affine"}, v) ||
				name == "gaintype" && v == "affine" {
				r.failf(e, "the %s %s is not supported", name, v)
			}
		}
	default:
		r.failf(e, "the actuator %s is not supported", e.name)
	}
	low, high := -1.0, 1.0
	inherit := r.number(e, "inheritrange", 0)
	switch control := r.numbers(e, "ctrlrange", 2, 0, 0); {
	case r.limited(e, "ctrllimited", "ctrlrange"):
		low, high = control[0], control[1]
	case h.limited && (inherit > 0 || e.name == "position"):
		if inherit == 0 {
			r.note(e, "position actuators without a control range have that of their joint")
			inherit = 1
		}
		middle, half := (h.limits[0]+h.limits[1])/2, inherit*(h.limits[1]-h.limits[0])/2
		low, high = middle-half, middle+half
	default:
		r.note(e, "the actions of actuators without a control range are from -1 to 1")
	}
	if low >= high {
		r.failf(e, "the control range of the actuator is empty")
	}
	strength, middle := h.sign*gear*gain*(high-low)/2, h.sign*gear*(gain*(high+low)/2+bias[0])
	servo := physics.Servo{Bias: middle, Stiffness: -gear * gear * bias[1], Damping: -gear * gear * bias[2]}
	if r.limited(e, "forcelimited", "forcerange") {
		force := r.numbers(e, "forcerange", 2, 0, 0)
		if force[0] >= force[1] {
			r.failf(e, "the force range of the actuator is empty")
		}
		a, b := h.sign*gear*force[0], h.sign*gear*force[1]
		servo.MinTorque, servo.MaxTorque = min(a, b), max(a, b)
	}
	if servo.Stiffness < 0 || servo.Damping < 0 {
		r.failf(e, "the feedback of the actuator is positive, which is not stable")
	}
	if h.link.slides {
		if servo != (physics.Servo{}) {
			r.failf(e, "the body of joint %q slides: its actuator must be a motor with a symmetric control "+
				"range", title)
		}
		turned := h.link.turned(h.axis)
		axis, _ := axes(turned)
		number := slices.Index(axis[:], true)
		if turned.X+turned.Y+turned.Z < 0 {
			strength *= -1
		}
		m.Thrusters = append(m.Thrusters, physics.Thruster{Body: h.link.title, Axis: number + 1, Strength: strength,
			Torque: !h.slide})
		r.note(e, "the actions of motors that move a body of the world follow those of the others")
		return
	}
	a := physics.Actuator{Joint: h.joint, Axis: h.number, Strength: strength}
	if servo != (physics.Servo{}) {
		a.Servo = &servo
	}
	same := func(o physics.Actuator) bool { return o.Joint == a.Joint && o.Axis == a.Axis }
	if slices.ContainsFunc(m.Actuators, same) {
		r.failf(e, "the joint %q has two actuators", title)
	}
	m.Actuators = append(m.Actuators, a)
}
