package physics

import (
	"math"
	"slices"

	"github.com/pkg/errors"
)

// Vec is a vector, or the Euler angles of a rotation, when a model is written down.
type Vec [3]float64

// Dynamics is a way to advance a system in time.
type Dynamics int

const (
	// Spring holds bodies together with damped springs on accelerations and resolves contacts by
	// impulses with Baumgarte stabilisation (Brax's legacy_spring).
	Spring Dynamics = iota
	// PositionBased corrects positions and derives velocities from them (Brax's pbd, after XPBD).
	PositionBased
)

// Model describes a system of rigid bodies: what does not change while it moves. Units are SI
// unless said otherwise; z is up. The numbers are rounded to float32, as in the source.
type Model struct {
	Dynamics Dynamics
	TimeStep float64 // of a control step, during which the torques are constant
	Substeps int     // of a control step
	Gravity  Vec
	// VelocityDamping and AngularDamping are added to the logarithm of the velocities, per second:
	// negative values brake.
	VelocityDamping, AngularDamping float64
	// Baumgarte is the share of a penetration that a contact of spring dynamics pushes back in a
	// substep.
	Baumgarte float64
	// Frozen says for all bodies along which axes of the world they cannot move, and about which
	// they cannot turn.
	Frozen Frozen

	Bodies    []Body
	Joints    []Joint
	Actuators []Actuator
	// Collide lists the pairs of bodies that may touch.
	Collide [][2]string
	// Pose says where bodies start that have no parent; those not named stand on the ground by
	// their lowest collider.
	Pose map[string]Vec
	// Angles are the default angles of joints, in degrees; those not named stand midway between
	// their limits.
	Angles map[string]Vec
}

// Frozen marks axes of the world with true.
type Frozen struct{ Position, Rotation [3]bool }

// Body is a rigid body with a spherical inertia: a scalar per axis of the world.
type Body struct {
	Name      string
	Mass      float64
	Inertia   Vec  // zero: 1 about each axis
	Fixed     bool // cannot move at all: ground, walls
	Colliders []Collider
}

// Collider is a shape by which a body touches others: a plane, or a capsule. A sphere is a capsule
// whose length is twice its radius.
type Collider struct {
	Shape    Shape
	Radius   float64
	Length   float64 // of a capsule, both caps included
	Position Vec     // of the centre, in the frame of the body
	Rotation Vec     // Euler angles x-y'-z'' in degrees; a capsule lies along the z axis of this frame
	// End says which end of a capsule touches planes: 1 the upper, -1 the lower, 0 both.
	End      int
	Friction float64 // of a contact: the product of both
	Elastic  float64 // elasticity, as well
}

// Shape is the form of a collider.
type Shape int

// The shapes.
const (
	Capsule Shape = iota
	Plane         // through the body's origin, facing up
)

// Joint connects a child body to a parent. It turns about as many axes as it has limits: x first,
// then y and z as they have turned by then.
type Joint struct {
	Name          string
	Parent, Child string
	ParentOffset  Vec // of the joint, in the frame of the parent
	ChildOffset   Vec
	Rotation      Vec // of the joint's frame in the bodies' frames, Euler angles in degrees
	// of the child's frame in the parent's at angle 0, Euler angles in degrees
	Reference Vec
	Limits    [][2]float64 // of each angle, in degrees
	Damping   float64      // of the angular motion

	// For spring dynamics.
	Stiffness     float64
	SpringDamping float64 // 0: a default multiple of the root of the stiffness
	LimitStrength float64 // 0: the stiffness
}

// Actuator turns a joint: an action of 1 is a torque of Strength about each of its axes.
type Actuator struct {
	Joint    string
	Strength float64
}

// Validate finds what makes a model unusable, and says which part of it.
func (m Model) Validate() error {
	if !(m.TimeStep > 0) || m.Substeps < 1 {
		return errors.Errorf("a model needs a time step above 0 and at least one substep, not %g and %d",
			m.TimeStep, m.Substeps)
	}
	if m.Dynamics == PositionBased && m.Substeps%2 != 0 {
		return errors.Errorf("position based dynamics take substeps in pairs, %d is odd", m.Substeps)
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
		if !b.Fixed && !(b.Mass > 0 && b.Mass <= math.MaxFloat32) {
			return errors.Errorf("body %q moves and has mass %g", b.Name, b.Mass)
		}
		for _, axis := range b.Inertia {
			if axis < 0 || axis == 0 && b.Inertia != (Vec{}) {
				return errors.Errorf("body %q has inertia %v", b.Name, b.Inertia)
			}
		}
		for _, c := range b.Colliders {
			if c.Shape == Capsule && (!(c.Radius > 0) || f32(c.Length) < f32(2*c.Radius)) {
				return errors.Errorf("a capsule of body %q has radius %g and length %g", b.Name, c.Radius,
					c.Length)
			}
			if !c.Position.finite() || !c.Rotation.finite() {
				return errors.Errorf("a collider of body %q is at %v, turned by %v", b.Name, c.Position,
					c.Rotation)
			}
			if c.Shape == Plane && !b.Fixed {
				return errors.Errorf("body %q moves and has a plane as a collider", b.Name)
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
		case !j.ParentOffset.finite() || !j.ChildOffset.finite() || !j.Rotation.finite() || !j.Reference.finite():
			return errors.Errorf("the place of joint %q is not finite", j.Name)
		}
		for _, limits := range j.Limits {
			if !(limits[0] <= limits[1]) {
				return errors.Errorf("joint %q has limits from %g to %g degrees", j.Name, limits[0], limits[1])
			}
		}
		joints[j.Name], children[j.Child] = true, true
	}
	driven := map[string]bool{}
	for _, a := range m.Actuators {
		switch {
		case !joints[a.Joint]:
			return errors.Errorf("there is no joint %q for an actuator", a.Joint)
		case driven[a.Joint]:
			return errors.Errorf("joint %q has two actuators", a.Joint)
		case math.IsNaN(a.Strength) || math.IsInf(a.Strength, 0):
			return errors.Errorf("the strength of the actuator of %q is %g", a.Joint, a.Strength)
		}
		driven[a.Joint] = true
	}
	for name, at := range m.Pose {
		if !bodies[name] || !at.finite() {
			return errors.Errorf("the pose puts %q at %v: it must be a body, at a finite place", name, at)
		}
	}
	for name, angle := range m.Angles {
		if !joints[name] || !angle.finite() {
			return errors.Errorf("the pose turns %q by %v: it must be a joint, by finite angles", name,
				angle)
		}
	}
	for _, pair := range m.Collide {
		if !bodies[pair[0]] || !bodies[pair[1]] {
			return errors.Errorf("%q and %q are to collide, which are not both bodies", pair[0], pair[1])
		}
	}
	return nil
}

func (v Vec) finite() bool {
	for _, c := range v {
		if math.IsNaN(c) || math.Abs(c) > math.MaxFloat32 {
			return false
		}
	}
	return true
}

// f32 rounds to the precision of the graphs, and of the source's configurations.
func f32(x float64) float64 { return float64(float32(x)) }

// Body is the index of the body of a name, or -1.
func (m Model) Body(name string) int {
	return slices.IndexFunc(m.Bodies, func(b Body) bool { return b.Name == name })
}
