// Package scene describes what an episode looks like: bodies made of simple shapes, and their poses
// in each frame.
//
// A [Film] is plain data that package watch makes from an environment's model and a rollout.
// [Render] draws a frame of it as a picture, and package viewer makes an interactive page of it.
// Neither needs a backend. Lengths are in metres, z is up, quaternions are w, x, y, z.
package scene

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Vec is a point or a direction.
type Vec [3]float64

// Quat is a rotation, (w, x, y, z) of length 1.
type Quat [4]float64

// Kind is the type of a shape.
type Kind int

// The kinds of shapes.
const (
	Capsule Kind = iota // all points within Radius of the segment from A to B; a sphere where A is B
	Box                 // axis-aligned in its body's frame, from corner A to corner B
)

// Shape is a part of a body, in the frame of the body.
type Shape struct {
	Kind   Kind
	A, B   Vec
	Radius float64 // of a capsule
	Color  color.NRGBA
}

// Body is a rigid body. A fixed body has one Pose; the others have one in each frame.
type Body struct {
	Name   string
	Shapes []Shape
	Fixed  bool
	Pose   Pose // of a fixed body; of a moving body, its rest pose before any episode
	// Joint attaches a moving body to another; nil for none. Pages of films with joints are smaller.
	Joint *Joint `json:",omitempty"`
}

// Joint holds a point of a body at a point of another, except for some play.
type Joint struct {
	Parent   int // the other body: an earlier one, counted among the moving bodies
	InParent Vec // the point in the frame of the other body
	InBody   Vec // the point in the frame of the body
}

// Pose is the position and rotation of a body.
type Pose struct {
	Position Vec
	Rotation Quat
}

// Film is an episode to display.
type Film struct {
	Title    string // such as "MAP-Elites on ant-omni, cell 17"
	Subtitle string // such as "fitness 249, descriptor (3.1, -2.0)"
	Bodies   []Body
	// Frames holds the poses of the bodies that are not fixed, in the order of Bodies: [frames][moving
	// bodies].
	Frames [][]Pose
	Step   float64 // seconds between frames
	// Follow is the index, among the moving bodies, of the body that a camera follows and whose
	// trajectory is drawn.
	Follow int
	Ground bool // a plane at z = 0
	// Rewards holds the reward of the step that led to each frame, or 0 if no step led to it; nil if
	// unknown.
	Rewards []float64
	Outcome *Outcome // of the episode; nil if unknown
}

// Outcome is the result of the episode of a film. A repertoire stores the result of another
// episode.
type Outcome struct {
	Fitness    float64
	Descriptor []float64 // nil if there is none
	Archived   bool      // the episode starts in the initial state of the repertoire
}

// Joints returns the joints of the moving bodies, nil for those without.
func (f *Film) Joints() (joints []*Joint) {
	if f == nil {
		return nil
	}
	for _, b := range f.Bodies {
		if !b.Fixed {
			joints = append(joints, b.Joint)
		}
	}
	return joints
}

// Check reports what makes a film unusable.
func (f *Film) Check() error {
	if f == nil {
		return errors.New("scene: the film is nil: want one, for example of qdnb.Play")
	}
	moving := 0
	for _, b := range f.Bodies {
		if !b.Fixed {
			moving++
		}
		for _, s := range b.Shapes {
			if s.Kind == Capsule && !(s.Radius > 0 && finite(s.Radius)) {
				return fmt.Errorf("scene: a capsule of %s has radius %g", b.Name, s.Radius)
			}
			if s.Kind == Box && !(s.A[0] < s.B[0] && s.A[1] < s.B[1] && s.A[2] < s.B[2]) {
				return fmt.Errorf("scene: a box of %s has corners %v and %v: want the first below the "+
					"second on each axis", b.Name, s.A, s.B)
			}
			if !finite(s.A[:]...) || !finite(s.B[:]...) {
				return fmt.Errorf("scene: a shape of %s at %v and %v is not finite", b.Name, s.A, s.B)
			}
		}
		if b.Fixed && (!finite(b.Pose.Position[:]...) || !b.Pose.Rotation.isRotation()) {
			return fmt.Errorf("scene: the pose of %s is %v: want finite numbers and a nonzero quaternion", b.Name, b.Pose)
		}
	}
	switch {
	case len(f.Frames) == 0:
		return errors.New("scene: a film without frames")
	case !(f.Step > 0 && finite(f.Step)):
		return fmt.Errorf("scene: %g seconds between frames: want a positive number", f.Step)
	case moving == 0:
		return errors.New("scene: a film without moving bodies")
	case f.Follow < 0 || f.Follow >= moving:
		return fmt.Errorf("scene: Follow is %d: want an index of the %d moving bodies", f.Follow, moving)
	case f.Rewards != nil && len(f.Rewards) != len(f.Frames):
		return fmt.Errorf("scene: %d rewards for %d frames", len(f.Rewards), len(f.Frames))
	}
	for i, j := range f.Joints() {
		if j != nil && (j.Parent < 0 || j.Parent >= i || !finite(j.InParent[:]...) || !finite(j.InBody[:]...)) {
			return fmt.Errorf("scene: the joint of moving body %d is %+v: want an earlier one as its "+
				"parent and finite points", i, *j)
		}
	}
	for t, frame := range f.Frames {
		if len(frame) != moving {
			return fmt.Errorf("scene: frame %d has %d poses for %d moving bodies", t, len(frame), moving)
		}
		for _, pose := range frame {
			if !finite(pose.Position[:]...) || !pose.Rotation.isRotation() {
				return fmt.Errorf("scene: frame %d has the pose %v: want finite numbers and a nonzero quaternion", t, pose)
			}
		}
	}
	return nil
}

// Poses returns the poses of all bodies in a frame, in the order of Bodies; nil if there is no such frame.
func (f *Film) Poses(frame int) []Pose {
	if f == nil || frame < 0 || frame >= len(f.Frames) {
		return nil
	}
	moving := f.Frames[frame]
	var poses []Pose
	for _, b := range f.Bodies {
		if b.Fixed {
			poses = append(poses, b.Pose)
		} else {
			poses, moving = append(poses, moving[0]), moving[1:]
		}
	}
	return poses
}

func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// isRotation reports whether a quaternion is a rotation up to its length.
func (q Quat) isRotation() bool { return finite(q[:]...) && q != (Quat{}) }

func (v Vec) r3() r3.Vec    { return r3.Vec{X: v[0], Y: v[1], Z: v[2]} }
func vecOf(v r3.Vec) Vec    { return Vec{v.X, v.Y, v.Z} }
func same(x float64) r3.Vec { return r3.Vec{X: x, Y: x, Z: x} }

func along(v, d r3.Vec, t float64) r3.Vec { return r3.Add(v, r3.Scale(t, d)) }

// length is faster than r3.Norm, which cannot overflow.
func length(v r3.Vec) float64 { return math.Sqrt(r3.Norm2(v)) }

func unit(v r3.Vec) r3.Vec { return r3.Scale(1/length(v), v) }

// rotation returns the rotation of a quaternion of any nonzero length.
func (q Quat) rotation() r3.Rotation {
	n := quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]}
	return r3.Rotation(quat.Scale(1/quat.Abs(n), n))
}

// At returns the world position of a point in the body's frame.
func (p Pose) At(point Vec) Vec { return vecOf(p.at(point)) }

func (p Pose) at(point Vec) r3.Vec {
	return r3.Add(p.Position.r3(), p.Rotation.rotation().Rotate(point.r3()))
}

// emptyBox returns a box that [include] can only enlarge.
func emptyBox() r3.Box {
	return r3.Box{Min: same(math.Inf(1)), Max: same(math.Inf(-1))}
}

func include(b r3.Box, center r3.Vec, radius float64) r3.Box {
	low, high := r3.Sub(center, same(radius)), r3.Add(center, same(radius))
	return r3.Box{
		Min: r3.Vec{X: min(b.Min.X, low.X), Y: min(b.Min.Y, low.Y), Z: min(b.Min.Z, low.Z)},
		Max: r3.Vec{X: max(b.Max.X, high.X), Y: max(b.Max.Y, high.Y), Z: max(b.Max.Z, high.Z)},
	}
}

// illustrations.json holds a film of one frame for each environment of the paper. A test of package
// watch generates it from the models of the robots, and detects when it is out of date.
//
//go:embed illustrations.json
var illustrationsFile []byte

var illustrations = sync.OnceValues(func() (map[string]json.RawMessage, error) {
	var films map[string]json.RawMessage
	return films, json.Unmarshal(illustrationsFile, &films)
})

// Illustration returns a film of one frame that shows a paper environment, with its robot in a
// typical pose. The caller may modify the film. A name with the suffix " leg", as in "ant-uni leg",
// shows the robot in grey except for the leg whose actuators the paper perturbs. "ant-maze targets"
// includes the ten targets of the paper, named Target 0 to 9.
func Illustration(name string) (*Film, error) {
	films, err := illustrations()
	if err != nil {
		return nil, fmt.Errorf("scene: illustrations.json: %w", err)
	}
	data, ok := films[name]
	if !ok {
		return nil, fmt.Errorf("scene: no illustration of %q: use one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(films)), ", "))
	}
	film := new(Film)
	return film, json.Unmarshal(data, film)
}
