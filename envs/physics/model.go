package physics

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
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
	Thrusters []Thruster // their actions follow those of the actuators
	// Collide lists the pairs of bodies that may touch. Unlike in Brax, an empty list means none.
	Collide [][2]string
	// Pose holds the initial positions of bodies without a parent. A body that is not listed stands
	// with its lowest collider on the ground.
	Pose map[string]Vec
	// Turn holds the initial rotations of bodies without a parent, Euler angles in degrees.
	Turn map[string]Vec
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
	Frozen    Frozen  // in addition to the model's
	Visual    bool    // touches nothing: no pair has it, its colliders are only drawn
	Colliders []Collider
}

// Collider is the collision shape of a body: a plane, a capsule, or a box, which touches planes only.
// A sphere is a capsule whose length is twice its radius.
type Collider struct {
	Shape    Shape
	Radius   float64
	Length   float64 // of a capsule, including both caps
	HalfSize Vec     // of a box
	Position Vec     // of the centre, in the frame of the body
	Rotation Vec     // Euler angles x-y'-z'' in degrees; a capsule lies along the z axis of this frame
	// End selects the end of a capsule that collides with planes: 1 upper, -1 lower, 0 both. A sphere
	// meets a plane once.
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
	Box
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
	// Limits are those of each angle, in degrees, one per axis. Angles are between -180 and 180, so
	// [-180, 180] limits nothing. The angle of a single axis whose limits exceed these is within 180
	// of their mean instead. In position based dynamics two axes become three, the last with limits
	// [0, 0] but an angle and an action, too.
	Limits  [][2]float64
	Damping float64 // of the angular motion

	// For spring dynamics.
	Stiffness     float64
	SpringDamping float64 // 0: a default multiple of the square root of the stiffness
	LimitStrength float64 // 0: the stiffness
}

// Actuator drives a joint. An action of 1 applies a torque of Strength about its axis, unless the joint is beyond a
// limit.
type Actuator struct {
	Joint    string
	Axis     int // 1 to 3; 0: all axes, with an action each
	Strength float64
	// Angle makes actions angles in degrees, clipped to the joint's limits, to which a torque of Strength per radian
	// turns the joint, also beyond limits (Brax's angle actuator).
	Angle bool
}

// Thruster pushes a body at its centre of mass: an action of 1 is a force of Strength along a world axis.
type Thruster struct {
	Body     string
	Axis     int // 1 to 3; 0: all axes, with an action each
	Strength float64
}

// Validate returns an error that names the part of the model that is invalid. Numbers must be at
// most 1e18 in size, so that their squares are finite in float32; those that must be positive are
// at least 1e-18.
func (m Model) Validate() error {
	substep := m.TimeStep / float64(m.Substeps)
	if m.Substeps < 1 || !positive(substep) || !positive(m.TimeStep) {
		return fmt.Errorf("a model needs at least one substep and a time step in [1e-18, 1e18], not %d and %g",
			m.Substeps, m.TimeStep)
	}
	if m.Dynamics == PositionBased && m.Substeps%2 != 0 {
		return fmt.Errorf("position based dynamics need an even number of substeps, not %d", m.Substeps)
	}
	if m.Dynamics == PositionBased && m.Baumgarte != 0 {
		return errors.New("position based dynamics have no Baumgarte stabilisation")
	}
	if !m.Gravity.bounded() || !bounded(m.Baumgarte) {
		return fmt.Errorf("the gravity of the model is %v and its Baumgarte %g: both must be finite, at most "+
			"1e18", m.Gravity, m.Baumgarte)
	}
	for _, rate := range []float64{m.VelocityDamping, m.AngularDamping} {
		if !bounded(rate) || !bounded(math.Exp(rate*substep)) {
			return fmt.Errorf("the damping %g of the model multiplies velocities by %g in each substep: it must "+
				"be at most 1e18", rate, math.Exp(rate*substep))
		}
	}
	bodies, err := m.validateBodies()
	if err != nil {
		return err
	}
	joints, err := m.validateJoints(bodies)
	if err != nil {
		return err
	}
	for name, at := range m.Pose {
		if !slices.Contains(bodies, name) {
			return fmt.Errorf("the pose: %w", names.Unknown("body", name, bodies))
		}
		if !at.bounded() {
			return fmt.Errorf("the pose puts %q at %v: it must be finite, at most 1e18", name, at)
		}
	}
	for name, turn := range m.Turn {
		if !slices.Contains(bodies, name) {
			return fmt.Errorf("the initial rotations: %w", names.Unknown("body", name, bodies))
		}
		plane := func(c Collider) bool { return c.Shape == Plane }
		if !turn.bounded() || slices.ContainsFunc(m.Bodies[m.Body(name)].Colliders, plane) {
			return fmt.Errorf("the initial rotation of %q is %v: it must be finite, and planes are horizontal", name, turn)
		}
	}
	for _, j := range m.Joints {
		parent := m.Bodies[m.Body(j.Parent)]
		if _, posed := m.Pose[j.Parent]; parent.Fixed && len(parent.Colliders) > 0 && !posed {
			return fmt.Errorf("body %q is fixed and has colliders and a joint: set its Pose", parent.Name)
		}
	}
	for name, angle := range m.Angles {
		if !slices.Contains(joints, name) {
			return fmt.Errorf("the default angles: %w", names.Unknown("joint", name, joints))
		}
		if !angle.bounded() {
			return fmt.Errorf("the default angles of %q are %v: they must be finite, at most 1e18", name, angle)
		}
	}
	return m.validatePairs(bodies)
}

// validateBodies returns the names of the bodies.
func (m Model) validateBodies() (known []string, err error) {
	for _, b := range m.Bodies {
		if slices.Contains(known, b.Name) {
			return nil, fmt.Errorf("two bodies are called %q", b.Name)
		}
		known = append(known, b.Name)
		if !b.Fixed && !positive(b.Mass) {
			return nil, fmt.Errorf("body %q moves and needs a mass in [1e-18, 1e18], not %g", b.Name, b.Mass)
		}
		if b.Mass != 0 && !positive(b.Mass) {
			return nil, fmt.Errorf("body %q has mass %g: that of a fixed body must be in [1e-18, 1e18], or 0 for an "+
				"infinite one", b.Name, b.Mass)
		}
		for _, axis := range b.Inertia {
			if b.Inertia != (Vec{}) && !positive(axis) {
				return nil, fmt.Errorf("body %q needs an inertia in [1e-18, 1e18] about each axis, not %v", b.Name, b.Inertia)
			}
		}
		for _, c := range b.Colliders {
			if err := c.validate(b.Fixed); err != nil {
				return nil, fmt.Errorf("a collider of body %q %w", b.Name, err)
			}
		}
	}
	return known, nil
}

// validate returns an error that continues the name of a collider of a body.
func (c Collider) validate(fixed bool) error {
	switch size := (Vec{c.Radius, c.Length}); {
	case c.Shape == Box && !(positive(c.HalfSize[0]) && positive(c.HalfSize[1]) && positive(c.HalfSize[2])):
		return fmt.Errorf("is a box with half sizes %v: they must be in [1e-18, 1e18]", c.HalfSize)
	case !size.bounded():
		return fmt.Errorf("has radius %g and length %g: both must be finite, at most 1e18", c.Radius, c.Length)
	case c.Shape == Capsule && (!positive(c.Radius) || f32(c.Length) < f32(2*c.Radius)):
		return fmt.Errorf("has radius %g and length %g: the radius of a capsule must be at least 1e-18, the "+
			"length at least twice the radius", c.Radius, c.Length)
	case !c.Position.bounded() || !c.Rotation.bounded():
		return fmt.Errorf("has position %v and rotation %v: both must be finite, at most 1e18", c.Position, c.Rotation)
	case !bounded(c.Friction) || !bounded(c.Elastic):
		return fmt.Errorf("has friction %g and elasticity %g: both must be finite, at most 1e18", c.Friction, c.Elastic)
	case c.Friction < 0:
		return fmt.Errorf("has the negative friction %g", c.Friction)
	case c.End < -1 || c.End > 1:
		return fmt.Errorf("has end %d: use 1, -1, or 0 for both", c.End)
	case c.Shape == Plane && !fixed:
		return errors.New("is a plane, but the body moves: only fixed bodies can have planes")
	case c.Shape == Plane && (c.Position != Vec{} || c.Rotation != Vec{}):
		return errors.New("is a plane with a position or rotation: set the Pose of the body; planes are horizontal")
	}
	return nil
}

// validateJoints checks joints and actuators, and returns the names of the joints.
func (m Model) validateJoints(bodies []string) (known []string, err error) {
	children := map[string]bool{}
	for _, j := range m.Joints {
		for _, body := range []string{j.Parent, j.Child} {
			if !slices.Contains(bodies, body) {
				return nil, fmt.Errorf("joint %q: %w", j.Name, names.Unknown("body", body, bodies))
			}
		}
		switch {
		case slices.Contains(known, j.Name):
			return nil, fmt.Errorf("two joints are called %q", j.Name)
		case children[j.Child]:
			return nil, fmt.Errorf("body %q is the child of two joints", j.Child)
		case len(j.Limits) < 1 || len(j.Limits) > 3:
			return nil, fmt.Errorf("joint %q has %d axes, not 1 to 3", j.Name, len(j.Limits))
		case m.Dynamics == Spring && !positive(j.Stiffness):
			return nil, fmt.Errorf("joint %q needs a stiffness in [1e-18, 1e18] for spring dynamics, not %g", j.Name, j.Stiffness)
		case !j.ParentOffset.bounded() || !j.ChildOffset.bounded() || !j.Rotation.bounded() || !j.Reference.bounded():
			return nil, fmt.Errorf("joint %q has an offset or rotation that is not finite, or above 1e18", j.Name)
		case !(Vec{j.Damping, j.Stiffness}).bounded() || !(Vec{j.SpringDamping, j.LimitStrength}).bounded():
			return nil, fmt.Errorf("joint %q has a damping, stiffness or limit strength that is not finite, or above 1e18", j.Name)
		case min(j.Damping, j.SpringDamping, j.LimitStrength) < 0:
			return nil, fmt.Errorf("joint %q has a negative damping, spring damping or limit strength", j.Name)
		}
		for _, limits := range j.Limits {
			if !(limits[0] <= limits[1]) || !bounded(limits[0]) || !bounded(limits[1]) {
				return nil, fmt.Errorf("joint %q has limits from %g to %g degrees: both must be finite, and the "+
					"lower must not exceed the upper", j.Name, limits[0], limits[1])
			}
			if (limits[0] < -180 || limits[1] > 180) && (len(j.Limits) > 1 || limits[1]-limits[0] > 360) {
				return nil, fmt.Errorf("joint %q has limits from %g to %g degrees: angles are between -180 and 180; "+
					"write -180 or 180, which limit nothing, and the default angle (%g) into Angles", j.Name, limits[0],
					limits[1], (limits[0]+limits[1])/2)
			}
		}
		known, children[j.Child] = append(known, j.Name), true
	}
	type axis struct {
		joint string
		axis  int
	}
	driven := map[axis]bool{}
	for _, a := range m.Actuators {
		i := slices.Index(known, a.Joint)
		if i < 0 {
			return nil, fmt.Errorf("an actuator: %w", names.Unknown("joint", a.Joint, known))
		}
		if a.Axis < 0 || a.Axis > len(m.Joints[i].Limits) {
			return nil, fmt.Errorf("an actuator drives axis %d of joint %q, which has %d", a.Axis, a.Joint, len(m.Joints[i].Limits))
		}
		if !bounded(a.Strength) {
			return nil, fmt.Errorf("the actuator of joint %q has strength %g: it must be finite, at most 1e18", a.Joint, a.Strength)
		}
		for _, n := range a.axes(m.Joints[i]) {
			if driven[axis{a.Joint, n}] {
				return nil, fmt.Errorf("joint %q has two actuators", a.Joint)
			}
			driven[axis{a.Joint, n}] = true
		}
	}
	for _, t := range m.Thrusters {
		switch {
		case !slices.Contains(bodies, t.Body):
			return nil, fmt.Errorf("a thruster: %w", names.Unknown("body", t.Body, bodies))
		case t.Axis < 0 || t.Axis > 3 || !bounded(t.Strength):
			return nil, fmt.Errorf("the thruster of %q has axis %d and strength %g: the axis must be 0 to 3, the "+
				"strength finite, at most 1e18", t.Body, t.Axis, t.Strength)
		}
	}
	return known, nil
}

// axes returns the axes of a joint that the actuator drives, from 0.
func (a Actuator) axes(j Joint) []int { return axesOf(a.Axis, len(j.Limits)) }

func axesOf(axis, count int) []int {
	if axis > 0 {
		return []int{axis - 1}
	}
	return lists.Indices(count)
}

// validatePairs checks that every body with colliders can touch another one, unless it is Visual.
func (m Model) validatePairs(bodies []string) error {
	paired := map[string]bool{}
	for _, pair := range m.Collide {
		for _, name := range pair {
			if !slices.Contains(bodies, name) {
				return fmt.Errorf("a pair of Collide: %w", names.Unknown("body", name, bodies))
			}
		}
		a, b := m.Bodies[m.Body(pair[0])], m.Bodies[m.Body(pair[1])]
		if len(a.Colliders) == 0 || len(b.Colliders) == 0 || a.Visual || b.Visual {
			return fmt.Errorf("the pair %q of Collide touches nothing: both need colliders, and must not be Visual", pair)
		}
		meets := func(c Collider) bool { return slices.ContainsFunc(b.Colliders, c.meets) }
		if !slices.ContainsFunc(a.Colliders, meets) {
			return fmt.Errorf("the pair %q of Collide touches nothing: boxes touch planes only", pair)
		}
		if a.Name != b.Name && !(a.Fixed && b.Fixed) {
			paired[a.Name], paired[b.Name] = true, true
		}
	}
	for _, b := range m.Bodies {
		if len(b.Colliders) > 0 && !b.Visual && !paired[b.Name] {
			return fmt.Errorf("body %q has colliders but touches nothing: pair it in Collide with another body, "+
				"one of them moving, or set Visual", b.Name)
		}
	}
	return nil
}

// meets reports whether the engine finds contacts between two shapes.
func (c Collider) meets(d Collider) bool {
	return c.Shape != Box && d.Shape != Box || c.Shape == Plane || d.Shape == Plane
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
	m.Thrusters, m.Turn = slices.Clone(m.Thrusters), maps.Clone(m.Turn)
	m.Collide, m.Pose, m.Angles = slices.Clone(m.Collide), maps.Clone(m.Pose), maps.Clone(m.Angles)
	return m
}

// largest bounds the numbers of a model: their squares, and those of their inverses, are finite in
// float32.
const largest = 1e18

func bounded(x float64) bool { return math.Abs(x) <= largest }

func positive(x float64) bool { return x >= 1/largest && x <= largest }

func (v Vec) bounded() bool { return bounded(v[0]) && bounded(v[1]) && bounded(v[2]) }

// f32 rounds to float32, the precision of the graphs and of the source's configurations.
func f32(x float64) float64 { return float64(float32(x)) }

// BodyNames returns the names of the bodies.
func (m Model) BodyNames() []string {
	return lists.Map(m.Bodies, func(b Body) string { return b.Name })
}

// Actuated returns the names of the joints that have an actuator.
func (m Model) Actuated() []string {
	return lists.Map(m.Actuators, func(a Actuator) string { return a.Joint })
}

// Body is the index of the body with a name, or -1.
func (m Model) Body(name string) int {
	return slices.IndexFunc(m.Bodies, func(b Body) bool { return b.Name == name })
}
