package scene

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Camera is the viewpoint of a picture. The zero value selects [Near].
type Camera struct {
	Eye, Target Vec     // viewpoint, and the point in the middle of the picture
	Angle       float64 // field of view from the lower to the upper edge, degrees
}

// The default views have a long lens. The robot is seen from the right of its running direction x,
// slightly from the front and from above. The view of everything has y pointing up in the picture,
// as in a map.
const (
	viewAngle       = 24
	viewAzimuth     = -68 // of the eye as seen from the target, degrees from x to y
	viewElevation   = 30  // degrees above the ground
	planarElevation = 14  // for robots in the plane of x and z
	mapElevation    = 52
	viewMargin      = 1.06
)

// Near returns a camera close to the moving bodies that keeps all of them in the picture in every
// frame. It moves over the ground with the followed body and does not turn. If only a single ball
// or box moves, which is uninformative by itself, it returns [Whole]. aspect is the width of the
// picture over its height. A film that [Film.Check] rejects and a frame that it lacks have the zero
// Camera.
func Near(f *Film, frame int, aspect float64) Camera {
	if f.Check() != nil || frame < 0 || frame >= len(f.Frames) {
		return Camera{}
	}
	if len(f.Frames[frame]) == 1 {
		return Whole(f, aspect)
	}
	onGround := func(t int) r3.Vec {
		at := f.Frames[t][f.Follow].Position
		return r3.Vec{X: at[0], Y: at[1]}
	}
	box := emptyBox()
	for t := range f.Frames {
		around := f.extent(t, false, emptyBox()).Add(r3.Scale(-1, onGround(t)))
		box = include(include(box, around.Min, 0), around.Max, 0)
	}
	elevation := float64(viewElevation)
	if size := box.Size(); size.Y < 0.4*size.X {
		elevation = planarElevation
	}
	return fit(box.Add(onGround(frame)), viewAzimuth, elevation, aspect)
}

// Whole returns a camera that shows everything in all frames, oriented as a map.
func Whole(f *Film, aspect float64) Camera { return WholeFrom(f, -90, mapElevation, aspect) }

// WholeFrom is [Whole] from another direction: azimuth of the eye in degrees from x to y, elevation
// in degrees above the ground.
func WholeFrom(f *Film, azimuth, elevation, aspect float64) Camera {
	if f.Check() != nil {
		return Camera{}
	}
	box := emptyBox()
	for t := range f.Frames {
		box = f.extent(t, t == 0, box)
	}
	return fit(box, azimuth, elevation, aspect)
}

// Closer returns the camera with the distance to its target multiplied by a factor.
func (c Camera) Closer(factor float64) Camera {
	c.Eye = vecOf(along(c.Target.r3(), r3.Sub(c.Eye.r3(), c.Target.r3()), factor))
	return c
}

// fit returns a camera that sees a box from a direction, from as near as possible.
func fit(box r3.Box, azimuth, elevation, aspect float64) Camera {
	a, e := azimuth*math.Pi/180, elevation*math.Pi/180
	direction := r3.Vec{X: math.Cos(e) * math.Cos(a), Y: math.Cos(e) * math.Sin(a), Z: math.Sin(e)}
	target := box.Center()
	right, up, ahead := Camera{Eye: vecOf(r3.Add(target, direction)), Target: vecOf(target)}.axes()
	tall := math.Tan(viewAngle * math.Pi / 360)
	wide := tall * aspect
	// A corner at p, seen from -d times ahead, is inside if |p.right| <= wide (d + p.ahead). Moving
	// the target by s to the right moves the bounds of both sides alike, so the best s makes them
	// equal; likewise for up.
	var d, side, height float64
	for range 4 {
		var most [4]float64
		for i := range most {
			most[i] = math.Inf(-1)
		}
		for _, corner := range box.Vertices() {
			p := r3.Sub(corner, target)
			x, y, z := r3.Dot(p, right)-side, r3.Dot(p, up)-height, r3.Dot(p, ahead)
			for i, reach := range []float64{x / wide, -x / wide, y / tall, -y / tall} {
				most[i] = max(most[i], reach-z)
			}
		}
		d = max(most[0], most[1], most[2], most[3])
		side += (most[0] - most[1]) / 2 * wide
		height += (most[2] - most[3]) / 2 * tall
	}
	target = along(along(target, right, side), up, height)
	return Camera{Eye: vecOf(along(target, ahead, -viewMargin*max(d, 1e-3))), Target: vecOf(target), Angle: viewAngle}
}

// axes returns the directions of the picture: right, up, and into it.
func (c Camera) axes() (right, up, ahead r3.Vec) {
	ahead = unit(r3.Sub(c.Target.r3(), c.Eye.r3()))
	right = r3.Cross(ahead, r3.Vec{Z: 1})
	if length(right) < 1e-9 { // looks straight down or up
		right = r3.Vec{X: 1}
	}
	right = unit(right)
	return right, r3.Cross(right, ahead), ahead
}

// Project returns the position of a point in a picture of width x height pixels, from its upper
// left corner. ok is false behind the eye.
func (c Camera) Project(p Vec, width, height int) (x, y float64, ok bool) {
	right, up, ahead := c.axes()
	seen := r3.Sub(p.r3(), c.Eye.r3())
	depth := r3.Dot(seen, ahead)
	if !(depth > 0) {
		return 0, 0, false
	}
	scale := float64(height) / 2 / math.Tan(c.Angle*math.Pi/360) / depth
	return float64(width)/2 + r3.Dot(seen, right)*scale, float64(height)/2 - r3.Dot(seen, up)*scale,
		true
}

func (c Camera) check() error {
	if !finite(c.Eye[:]...) || !finite(c.Target[:]...) || c.Eye == c.Target || !(c.Angle > 0 && c.Angle < 170) {
		return fmt.Errorf("scene: a camera at %v that looks at %v with a field of view of %g degrees: "+
			"want two different finite points and an angle between 0 and 170", c.Eye, c.Target, c.Angle)
	}
	return nil
}

// extent returns a box enlarged by the moving bodies in a frame and, if still is set, the others.
func (f *Film) extent(frame int, still bool, box r3.Box) r3.Box {
	for i, pose := range f.Poses(frame) {
		if f.Bodies[i].Fixed && !still {
			continue
		}
		box = include(box, pose.Position.r3(), 0)
		for _, s := range f.Bodies[i].Shapes {
			if s.Kind == Box {
				for _, corner := range (r3.Box{Min: s.A.r3(), Max: s.B.r3()}).Vertices() {
					box = include(box, pose.at(vecOf(corner)), 0)
				}
				continue
			}
			box = include(include(box, pose.at(s.A), s.Radius), pose.at(s.B), s.Radius)
		}
	}
	return box
}
