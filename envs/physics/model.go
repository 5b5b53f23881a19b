package physics

import (
	"maps"
	"math"
	"slices"

	"github.com/pkg/errors"
)

// Vec is a vector or the Euler angles of a rotation in a [Model].
type Vec [3]float64

// Dynamics selects how a system is integrated in time.
type Dynamics int

const (
	// Spring holds joints together with damped springs and resolves contacts by impulses with
	// Baumgarte stabilisation (Brax's legacy_spring).
	Spring Dynamics = iota
	// PositionBased corrects positions and derives velocities from them (Brax's pbd, after XPBD).
	PositionBased
)

// Model describes a system of rigid bodies. Units are SI unless stated otherwise; z is up. The
// numbers are rounded to float32, as in the source.
type Model struct {
	Dynamics Dynamics
	TimeStep float64 // duration of a control step, during which torques are constant
	Substeps int     // substeps per control step
	Gravity  Vec
	// VelocityDamping and AngularDamping are rates per second: velocities scale by exp(rate * time).
	// Negative values damp the motion.
	VelocityDamping, AngularDamping float64
	// Baumgarte is the fraction of a penetration that a contact corrects per substep, for spring
	// dynamics.
	Baumgarte float64
	// Frozen marks the world axes along which no body can move and about which none can rotate.
	Frozen Frozen

	Bodies    []Body
	Joints    []Joint
	Actuators []Actuator
	// Collide lists the pairs of bodies that may touch.
	Collide [][2]string
	// Pose holds the initial positions of bodies without a parent. A body that is not listed stands
	// with its lowest collider on the ground.
	Pose map[string]Vec
	// Angles holds the default joint angles, in degrees. A joint that is not listed starts midway
	// between its limits.
	Angles map[string]Vec
}

// Frozen marks world axes along which (Position) or about which (Rotation) bodies cannot move.
type Frozen struct{ Position, Rotation [3]bool }

// Body is a rigid body. Its inertia is one scalar per world axis.
type Body struct {
	Name      string
	Mass      float64 // of a fixed body: 0 is infinite; otherwise contacts give way, as in Brax
	Inertia   Vec     // zero: 1 about each axis
	Fixed     bool    // cannot move: ground, walls
	Colliders []Collider
}

// Collider is the collision shape of a body: a plane or a capsule. A sphere is a capsule whose
// length is twice its radius.
type Collider struct {
	Shape    Shape
	Radius   float64
	Length   float64 // of a capsule, including both caps
	Position Vec     // of the centre, in the frame of the body
	Rotation Vec     // Euler angles x-y'-z'' in degrees; a capsule lies along the z axis of this frame
	// End selects the end of a capsule that collides with planes: 1 upper, -1 lower, 0 both.
	End      int
	Friction float64 // a contact uses the product of both colliders' values
	Elastic  float64 // restitution; a contact uses the product of both colliders' values
}

// Shape is the geometric shape of a collider.
type Shape int

// The shapes.
const (
	Capsule Shape = iota
	Plane         // through the body's origin, facing up
)

// Joint connects a child body to a parent. It has one axis per entry of Limits: x, then the rotated
// y, then the rotated z (intrinsic Euler angles).
type Joint struct {
	Name          string
	Parent, Child string
	ParentOffset  Vec // of the joint, in the frame of the parent
	ChildOffset   Vec
	Rotation      Vec // of the joint's frame in the bodies' frames, Euler angles in degrees
	// Reference is the rotation of the child's frame in the parent's at angle 0, Euler angles in
	// degrees.
	Reference Vec
	// Limits are those of each angle, in degrees, one per axis. In position based dynamics two axes
	// become three, the last with limits [0, 0] but an angle and an action, too.
	Limits  [][2]float64
	Damping float64 // of the angular motion

	// For spring dynamics.
	Stiffness     float64
	SpringDamping float64 // 0: a default multiple of the square root of the stiffness
	LimitStrength float64 // 0: the stiffness
}

// Actuator drives a joint: an action of 1 applies a torque of Strength about its axis.
type Actuator struct {
	Joint    string
	Strength float64
}

// Validate returns an error that names the part of the model that is invalid.
func (m Model) Validate() error {
	if !(m.TimeStep > 0 && m.TimeStep <= math.MaxFloat32) || m.Substeps < 1 {
		return errors.Errorf("a model needs a finite time step above 0 and at least one substep, not %g "+
			"and %d", m.TimeStep, m.Substeps)
	}
	if m.Dynamics == PositionBased && m.Substeps%2 != 0 {
		return errors.Errorf("position based dynamics need an even number of substeps, not %d",
			m.Substeps)
	}
	if m.Dynamics == PositionBased && m.Baumgarte != 0 {
		return errors.New("position based dynamics have no Baumgarte stabilisation")
	}
	for what, v := range map[string]Vec{"gravity": m.Gravity,
		"damping": {m.VelocityDamping, m.AngularDamping, m.Baumgarte}} {
		if !v.finite() {
			return errors.Errorf("the %s of the model is not finite: %v", what, v)
		}
	}
	bodies := map[string]bool{}
	for _, b := range m.Bodies {
		if bodies[b.Name] {
			return errors.Errorf("two bodies are called %q", b.Name)
		}
		bodies[b.Name] = true
		if !b.Fixed && !(b.Mass > 1/math.MaxFloat32 && b.Mass <= math.MaxFloat32) {
			return errors.Errorf("body %q moves and needs a positive finite mass, not %g", b.Name, b.Mass)
		}
		if b.Fixed && !(b.Mass >= 0) {
			return errors.Errorf("body %q has mass %g: that of a fixed body must be positive, or 0 for an "+
				"infinite one", b.Name, b.Mass)
		}
		for _, axis := range b.Inertia {
			if !(axis >= 0 && axis <= math.MaxFloat32) || axis == 0 && b.Inertia != (Vec{}) {
				return errors.Errorf("body %q needs a positive finite inertia about each axis, not %v", b.Name,
					b.Inertia)
			}
		}
		for _, c := range b.Colliders {
			if c.Shape == Capsule && (!(c.Radius > 0) || f32(c.Length) < f32(2*c.Radius)) {
				return errors.Errorf("a capsule of body %q has radius %g and length %g: the radius must be "+
					"positive, the length at least twice the radius", b.Name, c.Radius, c.Length)
			}
			if !c.Position.finite() || !c.Rotation.finite() {
				return errors.Errorf("a collider of body %q has position %v and rotation %v: both must be "+
					"finite", b.Name, c.Position, c.Rotation)
			}
			if size := (Vec{c.Radius, c.Length}); !size.finite() {
				return errors.Errorf("a collider of body %q has radius %g and length %g: both must be "+
					"finite", b.Name, c.Radius, c.Length)
			}
			if surface := (Vec{c.Friction, c.Elastic}); !surface.finite() {
				return errors.Errorf("a collider of body %q has friction %g and elasticity %g: both must be "+
					"finite", b.Name, c.Friction, c.Elastic)
			}
			if c.Friction < 0 {
				return errors.Errorf("a collider of body %q has the negative friction %g", b.Name, c.Friction)
			}
			if c.Shape == Plane && (c.Position != Vec{} || c.Rotation != Vec{}) {
				return errors.Errorf("a plane collider of body %q has a position or rotation: set the Pose of "+
					"the body; planes are horizontal", b.Name)
			}
			if c.End < -1 || c.End > 1 {
				return errors.Errorf("a collider of body %q has end %d: use 1, -1, or 0 for both", b.Name,
					c.End)
			}
			if c.Shape == Plane && !b.Fixed {
				return errors.Errorf("body %q moves and has a plane collider: only fixed bodies can", b.Name)
			}
		}
	}
	joints, children := map[string]bool{}, map[string]bool{}
	for _, j := range m.Joints {
		switch {
		case joints[j.Name]:
			return errors.Errorf("two joints are called %q", j.Name)
		case !bodies[j.Parent] || !bodies[j.Child]:
			return errors.Errorf("joint %q connects %q and %q, which are not both bodies", j.Name, j.Parent,
				j.Child)
		case children[j.Child]:
			return errors.Errorf("body %q is the child of two joints", j.Child)
		case len(j.Limits) < 1 || len(j.Limits) > 3:
			return errors.Errorf("joint %q has %d axes, not 1 to 3", j.Name, len(j.Limits))
		case m.Dynamics == Spring && !(j.Stiffness > 0):
			return errors.Errorf("joint %q needs a stiffness above 0 for spring dynamics", j.Name)
		case !j.ParentOffset.finite() || !j.ChildOffset.finite() || !j.Rotation.finite() ||
			!j.Reference.finite():
			return errors.Errorf("joint %q has an offset or rotation that is not finite", j.Name)
		case !(Vec{j.Damping, j.Stiffness}).finite() || !(Vec{j.SpringDamping, j.LimitStrength}).finite():
			return errors.Errorf("joint %q has a damping, stiffness or limit strength that is not finite",
				j.Name)
		case min(j.Damping, j.SpringDamping, j.LimitStrength) < 0:
			return errors.Errorf("joint %q has a negative damping, spring damping or limit strength", j.Name)
		}
		for _, limits := range j.Limits {
			if !(limits[0] <= limits[1]) || !(Vec{limits[0], limits[1]}).finite() {
				return errors.Errorf("joint %q has limits from %g to %g degrees: both must be finite, and the "+
					"lower must not exceed the upper", j.Name, limits[0], limits[1])
			}
			if limits[0] < -180 || limits[1] > 180 {
				return errors.Errorf("joint %q has limits from %g to %g degrees: angles are between -180 and "+
					"180; turn the joint with Reference", j.Name, limits[0], limits[1])
			}
		}
		joints[j.Name], children[j.Child] = true, true
	}
	driven := map[string]bool{}
	for _, a := range m.Actuators {
		switch {
		case !joints[a.Joint]:
			return errors.Errorf("an actuator drives joint %q, which does not exist", a.Joint)
		case driven[a.Joint]:
			return errors.Errorf("joint %q has two actuators", a.Joint)
		case math.IsNaN(a.Strength) || math.IsInf(a.Strength, 0):
			return errors.Errorf("the actuator of joint %q has strength %g, which is not finite", a.Joint,
				a.Strength)
		}
		driven[a.Joint] = true
	}
	for name, at := range m.Pose {
		if !bodies[name] || !at.finite() {
			return errors.Errorf("the pose puts %q at %v: it must name a body and a finite position", name,
				at)
		}
	}
	for _, j := range m.Joints {
		parent := m.Bodies[m.Body(j.Parent)]
		if _, posed := m.Pose[j.Parent]; parent.Fixed && len(parent.Colliders) > 0 && !posed {
			return errors.Errorf("body %q is fixed and has colliders and a joint: set its Pose", parent.Name)
		}
	}
	for name, angle := range m.Angles {
		if !joints[name] || !angle.finite() {
			return errors.Errorf("the default angles of %q are %v: they must name a joint and be finite",
				name, angle)
		}
	}
	for _, pair := range m.Collide {
		if !bodies[pair[0]] || !bodies[pair[1]] {
			return errors.Errorf("the pair %q and %q in Collide are not both bodies", pair[0], pair[1])
		}
	}
	return nil
}

// clone returns a copy that shares nothing with the model.
func (m Model) clone() Model {
	m.Bodies, m.Joints, m.Actuators = slices.Clone(m.Bodies), slices.Clone(m.Joints),
		slices.Clone(m.Actuators)
	for i := range m.Bodies {
		m.Bodies[i].Colliders = slices.Clone(m.Bodies[i].Colliders)
	}
	for i := range m.Joints {
		m.Joints[i].Limits = slices.Clone(m.Joints[i].Limits)
	}
	m.Collide, m.Pose, m.Angles = slices.Clone(m.Collide), maps.Clone(m.Pose), maps.Clone(m.Angles)
	return m
}

func (v Vec) finite() bool {
	for _, c := range v {
		if math.IsNaN(c) || math.Abs(c) > math.MaxFloat32 {
			return false
		}
	}
	return true
}

// f32 rounds to float32, the precision of the graphs and of the source's configurations.
func f32(x float64) float64 { return float64(float32(x)) }

// Body is the index of the body with a name, or -1.
func (m Model) Body(name string) int {
	return slices.IndexFunc(m.Bodies, func(b Body) bool { return b.Name == name })
}
