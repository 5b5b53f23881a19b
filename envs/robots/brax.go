package robots

import (
	"fmt"
	"io"
	"slices"

	"example.com/qdnb/envs/physics"
)

// ReadBrax reads a system from a configuration of Brax v1 in protobuf's text format, as in the
// environments of Brax v0.0.12. Steps agree with Brax's to rounding. It returns notes. What is not
// supported (meshes, height maps, boxes that touch capsules, twisters, a cutoff of collisions, other
// solver scales), and what Brax refuses, is an error that names it.
//
// Actions are those of the actuators, then those of the forces. The actions of angle actuators are
// angles in degrees. [physics.System.Angles] orders joints as in the configuration. A joint with two axes
// has a third, locked one in position based dynamics, with an action.
func ReadBrax(file io.Reader) (physics.Model, []string, error) {
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err == nil && len(text) > maxBytes {
		err = fmt.Errorf("the file is longer than %d MB", maxBytes>>20)
	}
	if err != nil {
		return physics.Model{}, nil, fmt.Errorf("read Brax's configuration: %w", err)
	}
	b := brax{textReader: textReader{text: string(text), line: 1}}
	root := b.read("", 0)
	if b.err == nil {
		b.system(root)
	}
	if b.err == nil {
		_, b.err = physics.NewSystem(b.model)
	}
	if b.err != nil {
		return physics.Model{}, nil, fmt.Errorf("read Brax's configuration: %w", b.err)
	}
	return b.model, b.notes, nil
}

type brax struct {
	textReader
	model physics.Model
	notes []string
}

func (b *brax) frozen(m *message) (f physics.Frozen) {
	if m == nil {
		return f
	}
	r := &b.textReader
	position, rotation, all := m.vector(r, "position"), m.vector(r, "rotation"), m.bool(r, "all")
	for i := range 3 {
		f.Position[i], f.Rotation[i] = all || position[i] != 0, all || rotation[i] != 0
	}
	m.check(r, "frozen")
	return f
}

// system reads the whole configuration.
func (b *brax) system(root *message) {
	r, m := &b.textReader, &b.model
	*m = physics.Model{TimeStep: root.number(r, "dt"), Substeps: max(1, int(root.number(r, "substeps"))),
		Gravity: root.vector(r, "gravity"), VelocityDamping: root.number(r, "velocity_damping"),
		AngularDamping: root.number(r, "angular_damping"), Baumgarte: root.number(r, "baumgarte_erp"),
		Frozen: b.frozen(root.one(r, "frozen")), Pose: map[string]physics.Vec{}, Turn: map[string]physics.Vec{},
		Angles: map[string]physics.Vec{}}
	switch mode := root.string(r, "dynamics_mode"); mode {
	case "legacy_spring":
		m.Dynamics = physics.Spring
	case "pbd":
		m.Dynamics = physics.PositionBased
	default:
		m.Dynamics = physics.PositionBased
		b.notes = append(b.notes, fmt.Sprintf("the dynamics_mode %q is unknown: position based dynamics, as "+
			"in Brax", mode))
	}
	if m.Dynamics == physics.PositionBased && m.Baumgarte != 0 {
		b.failf(root.line, "baumgarte_erp is not compatible with the dynamics_mode pbd, which Brax takes")
		return
	}
	friction, elasticity := root.number(r, "friction"), root.number(r, "elasticity")
	for _, body := range root.all(r, "bodies") {
		b.body(body, friction, elasticity)
	}
	for _, joint := range root.all(r, "joints") {
		b.joint(joint)
	}
	for _, a := range root.all(r, "actuators") {
		b.actuator(a)
	}
	for _, f := range root.all(r, "forces") {
		if f.one(r, "thruster") == nil {
			b.failf(f.line, "the force %q is no thruster", f.string(r, "name"))
		}
		f.string(r, "name")
		m.Thrusters = append(m.Thrusters, physics.Thruster{Body: f.string(r, "body"),
			Strength: f.number(r, "strength")})
		f.check(r, "forces")
	}
	for i, d := range root.all(r, "defaults") {
		if i == 0 { // the others are alternatives
			b.defaults(d)
		}
	}
	b.pairs(root)
	root.check(r, "the configuration")
}

func (b *brax) body(body *message, friction, elasticity float64) {
	r := &b.textReader
	out := physics.Body{Name: body.string(r, "name"), Mass: body.number(r, "mass"),
		Inertia: body.vector(r, "inertia"), Frozen: b.frozen(body.one(r, "frozen"))}
	out.Fixed = true
	for i := range 3 {
		out.Fixed = out.Fixed && (out.Frozen.Position[i] || b.model.Frozen.Position[i]) &&
			(out.Frozen.Rotation[i] || b.model.Frozen.Rotation[i])
	}
	for _, shape := range body.all(r, "colliders") {
		c := physics.Collider{Position: shape.vector(r, "position"), Rotation: shape.vector(r, "rotation"),
			Friction: friction, Elastic: elasticity}
		if material := shape.one(r, "material"); material != nil {
			c.Friction, c.Elastic = material.number(r, "friction"), material.number(r, "elasticity")
			material.check(r, "material")
		}
		capsule, sphere, box := shape.one(r, "capsule"), shape.one(r, "sphere"), shape.one(r, "box")
		switch {
		case capsule != nil:
			c.Radius, c.Length = capsule.number(r, "radius"), capsule.number(r, "length")
			c.End = int(capsule.number(r, "end"))
			capsule.check(r, "capsule")
		case sphere != nil:
			c.Radius, c.End = sphere.number(r, "radius"), 1
			c.Length = 2 * c.Radius
			sphere.check(r, "sphere")
		case box != nil:
			c.Shape, c.HalfSize = physics.Box, box.vector(r, "halfsize")
			box.check(r, "box")
		case shape.one(r, "plane") != nil:
			c.Shape = physics.Plane
		default:
			b.failf(shape.line, "a collider of body %q is no capsule, sphere, box or plane", out.Name)
		}
		shape.scalar(r, "color")
		shape.scalar(r, "hidden")
		if shape.bool(r, "no_contact") {
			b.failf(shape.line, "no_contact of body %q is not supported: leave the body out of "+
				"collide_include", out.Name)
		}
		shape.check(r, "colliders")
		out.Colliders = append(out.Colliders, c)
	}
	body.check(r, "bodies")
	b.model.Bodies = append(b.model.Bodies, out)
}

func (b *brax) joint(j *message) {
	r := &b.textReader
	out := physics.Joint{Name: j.string(r, "name"), Parent: j.string(r, "parent"), Child: j.string(r, "child"),
		ParentOffset: j.vector(r, "parent_offset"), ChildOffset: j.vector(r, "child_offset"),
		Rotation: j.vector(r, "rotation"), Reference: j.vector(r, "reference_rotation"),
		Damping: j.number(r, "angular_damping"), Stiffness: j.number(r, "stiffness"),
		SpringDamping: j.number(r, "spring_damping"), LimitStrength: j.number(r, "limit_strength")}
	// In a model 0 stands for the default. What is as small as this has no effect.
	for name, field := range map[string]*float64{"spring_damping": &out.SpringDamping,
		"limit_strength": &out.LimitStrength} {
		if j.scalar(r, name) != "" && *field == 0 {
			*field = 1e-18
		}
	}
	if b.model.Dynamics == physics.PositionBased && out.Stiffness != 0 {
		b.failf(j.line, "the joint %q has a stiffness, with which Brax's position based dynamics fall "+
			"apart", out.Name)
	}
	for i, limits := range j.all(r, "angle_limit") {
		low, high := limits.number(r, "min"), limits.number(r, "max")
		if (low < -180 || high > 180) && i < 3 { // they limit nothing, but their middle is the default
			angles := b.model.Angles[out.Name]
			angles[i] = (low + high) / 2
			b.model.Angles[out.Name] = angles
			low, high = max(low, -180), min(high, 180)
		} else if angles, ok := b.model.Angles[out.Name]; ok && i < 3 {
			angles[i] = (low + high) / 2
			b.model.Angles[out.Name] = angles
		}
		limits.check(r, "angle_limit")
		out.Limits = append(out.Limits, [2]float64{low, high})
	}
	j.check(r, "joints")
	b.model.Joints = append(b.model.Joints, out)
}

func (b *brax) actuator(a *message) {
	r := &b.textReader
	out := physics.Actuator{Joint: a.string(r, "joint"), Strength: a.number(r, "strength")}
	switch {
	case a.one(r, "angle") != nil:
		out.Servo = &physics.Servo{Stiffness: out.Strength, Target: true}
	case a.one(r, "torque") == nil:
		b.failf(a.line, "the actuator %q has no torque or angle", a.string(r, "name"))
	}
	a.scalar(r, "name")
	a.check(r, "actuators")
	b.model.Actuators = append(b.model.Actuators, out)
}

// defaults reads the default angles and poses.
func (b *brax) defaults(d *message) {
	r, m := &b.textReader, &b.model
	for _, a := range d.all(r, "angles") {
		m.Angles[a.string(r, "name")] = a.vector(r, "angle")
		a.check(r, "angles")
	}
	for _, q := range d.all(r, "qps") {
		name := q.string(r, "name")
		if q.vector(r, "vel") != [3]float64{} || q.vector(r, "ang") != [3]float64{} {
			b.failf(q.line, "the default velocity of body %q is not supported", name)
		}
		pos, turn := physics.Vec(q.vector(r, "pos")), physics.Vec(q.vector(r, "rot"))
		child := slices.ContainsFunc(m.Joints, func(j physics.Joint) bool { return j.Child == name })
		if !child { // joints place the others
			m.Pose[name] = pos
			if turn != (physics.Vec{}) {
				m.Turn[name] = turn
			}
		}
		q.check(r, "qps")
	}
	d.check(r, "defaults")
}

// pairs lists the pairs of bodies that collide.
func (b *brax) pairs(root *message) {
	r, m := &b.textReader, &b.model
	type pair = [2]string
	included := map[pair]bool{}
	for _, p := range root.all(r, "collide_include") {
		one, two := p.string(r, "first"), p.string(r, "second")
		included[pair{one, two}], included[pair{two, one}] = true, true
		p.check(r, "collide_include")
	}
	joined := map[pair]bool{}
	for _, j := range m.Joints {
		joined[pair{j.Parent, j.Child}], joined[pair{j.Child, j.Parent}] = true, true
	}
	touched := map[string]bool{}
	for i, one := range m.Bodies {
		for _, two := range m.Bodies[i+1:] {
			names := pair{one.Name, two.Name}
			if len(included) > 0 && !included[names] || len(included) == 0 && joined[names] || one.Fixed && two.Fixed {
				continue
			}
			meets := false
			for _, c := range one.Colliders {
				for _, d := range two.Colliders {
					switch boxes := c.Shape == physics.Box || d.Shape == physics.Box; {
					case c.Shape == physics.Plane && d.Shape == physics.Plane:
					case boxes && c.Shape != d.Shape && c.Shape != physics.Plane && d.Shape != physics.Plane:
						b.failf(root.line, "%q and %q collide, a box and a capsule, which is not supported", one.Name, two.Name)
					case boxes && c.Shape == d.Shape: // not in Brax either
					default:
						meets = true
					}
				}
			}
			if meets {
				m.Collide = append(m.Collide, names)
				touched[one.Name], touched[two.Name] = true, true
			}
		}
	}
	for i, body := range m.Bodies {
		m.Bodies[i].Visual = len(body.Colliders) > 0 && !touched[body.Name]
	}
	for _, j := range m.Joints {
		parent := m.Body(j.Parent)
		if _, posed := m.Pose[j.Parent]; posed || parent < 0 || !m.Bodies[parent].Fixed {
			continue
		}
		// Brax lifts the body until its descendants stand on the ground, so it is not at the same place
		// in all copies.
		body := &m.Bodies[parent]
		if body.Mass > 0 && len(body.Colliders) > 0 && body.Colliders[0].Shape != physics.Plane {
			body.Fixed, body.Frozen = false, physics.Frozen{Position: [3]bool{true, true, true},
				Rotation: [3]bool{true, true, true}}
		} else {
			m.Pose[j.Parent] = physics.Vec{}
		}
	}
}
