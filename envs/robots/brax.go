package robots

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/must"
)

// maxConfig is the size of the largest configuration, in bytes.
const maxConfig = 256 << 10

// ReadBrax reads a system from a configuration of Brax v1 in protobuf's text format, as in the
// environments of Brax v0.0.12. Steps agree with Brax's to rounding. It returns notes. What is not
// supported (meshes, height maps, boxes that touch capsules, twisters, a cutoff of collisions, other
// solver scales), and what Brax refuses, is an error that names it.
//
// Actions are those of the actuators, then those of the forces. The actions of angle actuators are
// angles in degrees. [physics.System.Angles] orders joints as in the configuration. A joint with two axes
// has a third, locked one in position based dynamics, with an action.
func ReadBrax(file io.Reader) (physics.Model, []string, error) {
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("the file is longer than %d kB", maxConfig>>10)
	}
	config, b := dynamicpb.NewMessage(braxConfig()), &brax{}
	if err == nil {
		err = prototext.Unmarshal(text, config)
	}
	if err == nil {
		err = b.system(message{config})
	}
	if err == nil {
		_, err = physics.NewSystem(b.model)
	}
	if err != nil {
		return physics.Model{}, nil, fmt.Errorf("read Brax's configuration: %w", err)
	}
	return b.model, b.notes, nil
}

//go:embed brax_config.textproto
var braxDescriptor []byte

// braxConfig returns the descriptor of Brax's message Config.
var braxConfig = sync.OnceValue(func() protoreflect.MessageDescriptor {
	var proto descriptorpb.FileDescriptorProto
	must.Do(prototext.Unmarshal(braxDescriptor, &proto))
	return must.Get(protodesc.NewFile(&proto, nil)).Messages().ByName("Config")
})

// message is a protobuf message, whose fields have names.
type message struct{ protoreflect.Message }

func (m message) field(name string) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(protoreflect.Name(name))
}

func (m message) get(name string) protoreflect.Value { return m.Get(m.field(name)) }
func (m message) has(name string) bool               { return m.Has(m.field(name)) }
func (m message) number(name string) float64         { return m.get(name).Float() }
func (m message) text(name string) string            { return m.get(name).String() }
func (m message) one(name string) message            { return message{m.get(name).Message()} }

func (m message) all(name string) (all []message) {
	list := m.get(name).List()
	for i := range list.Len() {
		all = append(all, message{list.Get(i).Message()})
	}
	return all
}

func (m message) vector(name string) physics.Vec {
	v := m.one(name)
	return physics.Vec{v.number("x"), v.number("y"), v.number("z")}
}

func (m message) frozen() (f physics.Frozen) {
	frozen := m.one("frozen")
	all, position, rotation := frozen.get("all").Bool(), frozen.vector("position"), frozen.vector("rotation")
	for i := range 3 {
		f.Position[i], f.Rotation[i] = all || position[i] != 0, all || rotation[i] != 0
	}
	return f
}

type brax struct {
	model physics.Model
	notes []string
}

// system makes the model of a configuration.
func (b *brax) system(config message) error {
	m := &b.model
	*m = physics.Model{Dynamics: physics.PositionBased, TimeStep: config.number("dt"),
		Substeps: max(1, int(config.get("substeps").Int())), Gravity: config.vector("gravity"),
		VelocityDamping: config.number("velocity_damping"), AngularDamping: config.number("angular_damping"),
		Baumgarte: config.number("baumgarte_erp"), Frozen: config.frozen(), Pose: map[string]physics.Vec{},
		Turn: map[string]physics.Vec{}, Angles: map[string]physics.Vec{}}
	switch mode := config.text("dynamics_mode"); mode {
	case "legacy_spring":
		m.Dynamics = physics.Spring
	case "pbd":
	default:
		b.notes = append(b.notes, fmt.Sprintf("the dynamics_mode %q is unknown: position based dynamics, as in Brax", mode))
	}
	if m.Dynamics == physics.PositionBased && m.Baumgarte != 0 {
		return errors.New("baumgarte_erp is not compatible with the dynamics_mode pbd, which Brax takes")
	}
	for _, body := range config.all("bodies") {
		if err := b.body(body, config); err != nil {
			return err
		}
	}
	for _, joint := range config.all("joints") {
		if err := b.joint(joint); err != nil {
			return err
		}
	}
	for _, a := range config.all("actuators") {
		out := physics.Actuator{Joint: a.text("joint"), Strength: a.number("strength")}
		switch {
		case a.has("angle"):
			out.Angle = true
		case !a.has("torque"):
			return fmt.Errorf("the actuator %q has no torque or angle", a.text("name"))
		}
		m.Actuators = append(m.Actuators, out)
	}
	for _, f := range config.all("forces") {
		if !f.has("thruster") {
			return fmt.Errorf("the force %q is no thruster", f.text("name"))
		}
		m.Thrusters = append(m.Thrusters, physics.Thruster{Body: f.text("body"), Strength: f.number("strength")})
	}
	if states := config.all("defaults"); len(states) > 0 { // the others are alternatives
		if err := b.defaults(states[0]); err != nil {
			return err
		}
	}
	return b.pairs(config.all("collide_include"))
}

func (b *brax) body(body, config message) error {
	out := physics.Body{Name: body.text("name"), Mass: body.number("mass"), Inertia: body.vector("inertia"),
		Frozen: body.frozen(), Fixed: true}
	for i := range 3 {
		out.Fixed = out.Fixed && (out.Frozen.Position[i] || b.model.Frozen.Position[i]) &&
			(out.Frozen.Rotation[i] || b.model.Frozen.Rotation[i])
	}
	for _, shape := range body.all("colliders") {
		material := config
		if shape.has("material") {
			material = shape.one("material")
		}
		c := physics.Collider{Position: shape.vector("position"), Rotation: shape.vector("rotation"),
			Friction: material.number("friction"), Elastic: material.number("elasticity")}
		capsule, sphere := shape.one("capsule"), shape.one("sphere")
		switch {
		case shape.has("capsule"):
			c.Radius, c.Length, c.End = capsule.number("radius"), capsule.number("length"), int(capsule.get("end").Int())
		case shape.has("sphere"):
			c.Radius, c.Length, c.End = sphere.number("radius"), 2*sphere.number("radius"), 1
		case shape.has("box"):
			c.Shape, c.HalfSize = physics.Box, shape.one("box").vector("halfsize")
		case shape.has("plane"):
			c.Shape = physics.Plane
		default:
			return fmt.Errorf("a collider of body %q is no capsule, sphere, box or plane", out.Name)
		}
		if shape.get("no_contact").Bool() {
			return fmt.Errorf("no_contact of body %q is not supported: leave the body out of collide_include", out.Name)
		}
		out.Colliders = append(out.Colliders, c)
	}
	b.model.Bodies = append(b.model.Bodies, out)
	return nil
}

func (b *brax) joint(j message) error {
	given := func(name string) float64 {
		if j.has(name) {
			return cmp.Or(j.number(name), 1e-18) // in a model 0 stands for the default; this has no effect
		}
		return 0
	}
	out := physics.Joint{Name: j.text("name"), Parent: j.text("parent"), Child: j.text("child"),
		ParentOffset: j.vector("parent_offset"), ChildOffset: j.vector("child_offset"),
		Rotation: j.vector("rotation"), Reference: j.vector("reference_rotation"),
		Damping: j.number("angular_damping"), Stiffness: j.number("stiffness"),
		SpringDamping: given("spring_damping"), LimitStrength: given("limit_strength")}
	if b.model.Dynamics == physics.PositionBased && out.Stiffness != 0 {
		return fmt.Errorf("the joint %q has a stiffness, with which Brax's position based dynamics fall apart", out.Name)
	}
	for i, limits := range j.all("angle_limit") {
		low, high := limits.number("min"), limits.number("max")
		wide := low < -180 || high > 180 // they limit nothing, but their middle is the default
		if angles, ok := b.model.Angles[out.Name]; (wide || ok) && i < 3 {
			angles[i] = (low + high) / 2
			b.model.Angles[out.Name] = angles
			if wide {
				low, high = max(low, -180), min(high, 180)
			}
		}
		out.Limits = append(out.Limits, [2]float64{low, high})
	}
	b.model.Joints = append(b.model.Joints, out)
	return nil
}

// defaults reads the default angles and poses.
func (b *brax) defaults(state message) error {
	m := &b.model
	for _, a := range state.all("angles") {
		m.Angles[a.text("name")] = a.vector("angle")
	}
	for _, q := range state.all("qps") {
		name, turn := q.text("name"), q.vector("rot")
		if q.vector("vel") != (physics.Vec{}) || q.vector("ang") != (physics.Vec{}) {
			return fmt.Errorf("the default velocity of body %q is not supported", name)
		}
		child := slices.ContainsFunc(m.Joints, func(j physics.Joint) bool { return j.Child == name })
		if !child { // joints place the others
			m.Pose[name] = q.vector("pos")
			if turn != (physics.Vec{}) {
				m.Turn[name] = turn
			}
		}
	}
	return nil
}

// pairs lists the pairs of bodies that collide.
func (b *brax) pairs(include []message) error {
	m := &b.model
	type pair = [2]string
	included := map[pair]bool{}
	for _, p := range include {
		one, two := p.text("first"), p.text("second")
		included[pair{one, two}], included[pair{two, one}] = true, true
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
						return fmt.Errorf("%q and %q collide, a box and a capsule, which is not supported", one.Name, two.Name)
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
			body.Fixed, body.Frozen = false, physics.Frozen{Position: [3]bool{true, true, true}, Rotation: [3]bool{true, true, true}}
		} else {
			m.Pose[j.Parent] = physics.Vec{}
		}
	}
	return nil
}
