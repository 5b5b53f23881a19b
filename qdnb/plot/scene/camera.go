package scene

import (
	"fmt"
	"math"
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
// picture over its height.
func Near(f *Film, frame int, aspect float64) Camera {
	if len(f.Frames[frame]) == 1 {
		return Whole(f, aspect)
	}
	low, high := emptyBox()
	for t, poses := range f.Frames {
		at := poses[f.Follow].Position
		at[2] = 0
		l, h := emptyBox()
		f.extent(t, false, &l, &h)
		low, high = lower(low, l.minus(at)), upper(high, h.minus(at))
	}
	at := f.Frames[frame][f.Follow].Position
	at[2] = 0
	elevation := float64(viewElevation)
	if size := high.minus(low); size[1] < 0.4*size[0] {
		elevation = planarElevation
	}
	return fit(low.plus(at), high.plus(at), viewAzimuth, elevation, aspect)
}

// Whole returns a camera that shows everything in all frames, oriented as a map.
func Whole(f *Film, aspect float64) Camera { return WholeFrom(f, -90, mapElevation, aspect) }

// WholeFrom is [Whole] from another direction: azimuth of the eye in degrees from x to y, elevation
// in degrees above the ground.
func WholeFrom(f *Film, azimuth, elevation, aspect float64) Camera {
	low, high := emptyBox()
	for t := range f.Frames {
		f.extent(t, t == 0, &low, &high)
	}
	return fit(low, high, azimuth, elevation, aspect)
}

// Around returns the camera moved around its target at the same distance: azimuth in degrees from x
// to y, elevation in degrees above the ground, below 90.
func (c Camera) Around(azimuth, elevation float64) Camera {
	c.Eye = c.Target.along(direction(azimuth, elevation), c.Eye.minus(c.Target).length())
	return c
}

// Closer returns the camera with the distance to its target multiplied by a factor.
func (c Camera) Closer(factor float64) Camera {
	c.Eye = c.Target.along(c.Eye.minus(c.Target), factor)
	return c
}

func direction(azimuth, elevation float64) Vec {
	a, e := azimuth*math.Pi/180, elevation*math.Pi/180
	return Vec{math.Cos(e) * math.Cos(a), math.Cos(e) * math.Sin(a), math.Sin(e)}
}

// fit returns a camera that sees a box from a direction, from as near as possible.
func fit(low, high Vec, azimuth, elevation, aspect float64) Camera {
	c := Camera{Target: low.plus(high).scale(0.5), Angle: viewAngle}
	c = Camera{Eye: c.Target.plus(direction(azimuth, elevation)), Target: c.Target, Angle: c.Angle}
	right, up, ahead := c.axes()
	tall := math.Tan(viewAngle * math.Pi / 360)
	wide := tall * aspect
	var corners []Vec
	for i := range 8 {
		corner := low
		for axis := range 3 {
			if i>>axis&1 == 1 {
				corner[axis] = high[axis]
			}
		}
		corners = append(corners, corner.minus(c.Target))
	}
	// A corner at p, seen from -d times ahead, is inside if |p.right| <= wide (d + p.ahead). Moving
	// the target by s to the right moves the bounds of both sides alike, so the best s makes them
	// equal; likewise for up.
	var d, side, height float64
	for range 4 {
		var most [4]float64
		for i := range most {
			most[i] = math.Inf(-1)
		}
		for _, p := range corners {
			z := p.dot(ahead)
			for i, reach := range []float64{(p.dot(right) - side) / wide, -(p.dot(right) - side) / wide,
				(p.dot(up) - height) / tall, -(p.dot(up) - height) / tall} {
				most[i] = max(most[i], reach-z)
			}
		}
		d = max(most[0], most[1], most[2], most[3])
		side += (most[0] - most[1]) / 2 * wide
		height += (most[2] - most[3]) / 2 * tall
	}
	c.Target = c.Target.along(right, side).along(up, height)
	c.Eye = c.Target.along(ahead, -viewMargin*max(d, 1e-3))
	return c
}

// axes returns the directions of the picture: right, up, and into it.
func (c Camera) axes() (right, up, ahead Vec) {
	ahead = c.Target.minus(c.Eye).unit()
	right = ahead.cross(Vec{0, 0, 1})
	if right.length() < 1e-9 { // looks straight down or up
		right = Vec{1}
	}
	right = right.unit()
	return right, right.cross(ahead), ahead
}

// Project returns the position of a point in a picture of width x height pixels, from its upper
// left corner. ok is false behind the eye.
func (c Camera) Project(p Vec, width, height int) (x, y float64, ok bool) {
	right, up, ahead := c.axes()
	p = p.minus(c.Eye)
	depth := p.dot(ahead)
	if !(depth > 0) {
		return 0, 0, false
	}
	scale := float64(height) / 2 / math.Tan(c.Angle*math.Pi/360) / depth
	return float64(width)/2 + p.dot(right)*scale, float64(height)/2 - p.dot(up)*scale, true
}

func (c Camera) check() error {
	if !finite(c.Eye[:]...) || !finite(c.Target[:]...) || c.Eye == c.Target || !(c.Angle >
		0 && c.Angle < 170) {
		return fmt.Errorf("scene: a camera at %v that looks at %v with a field of view of %g degrees: "+
			"want two different finite points and an angle between 0 and 170",
			c.Eye, c.Target, c.Angle)
	}
	return nil
}

func emptyBox() (low, high Vec) {
	far := math.Inf(1)
	return Vec{far, far, far}, Vec{-far, -far, -far}
}

func lower(v, w Vec) Vec { return Vec{min(v[0], w[0]), min(v[1], w[1]), min(v[2], w[2])} }
func upper(v, w Vec) Vec { return Vec{max(v[0], w[0]), max(v[1], w[1]), max(v[2], w[2])} }

// extent extends a box by the moving bodies in a frame and, if still is set, by the fixed ones.
func (f *Film) extent(frame int, still bool, low, high *Vec) {
	for i, pose := range f.Poses(frame) {
		if f.Bodies[i].Fixed && !still {
			continue
		}
		*low, *high = lower(*low, pose.Position), upper(*high, pose.Position)
		for _, s := range f.Bodies[i].Shapes {
			var points []Vec
			reach := Vec{}
			if s.Kind == Box {
				for k := range 8 {
					p := s.A
					for axis := range 3 {
						if k>>axis&1 == 1 {
							p[axis] = s.B[axis]
						}
					}
					points = append(points, p)
				}
			} else {
				points, reach = []Vec{s.A, s.B}, Vec{s.Radius, s.Radius, s.Radius}
			}
			for _, p := range points {
				at := pose.At(p)
				*low, *high = lower(*low, at.minus(reach)), upper(*high, at.plus(reach))
			}
		}
	}
}
