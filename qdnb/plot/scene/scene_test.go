package scene

import (
	"encoding/json"
	"image"
	"image/color"
	"math"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/imagetest"
	"example.com/qdnb/internal/must"
)

var (
	red  = color.NRGBA{R: 0xd5, G: 0x5e, A: 0xff}
	gray = color.NRGBA{R: 0xbd, G: 0xb8, B: 0xae, A: 0xff}
)

// oneBall returns a film of a ball in one frame.
func oneBall(at Vec, radius float64) *Film {
	return &Film{
		Bodies: []Body{{Name: "ball", Shapes: []Shape{{Radius: radius, Color: red}}}},
		Frames: [][]Pose{{{at, Quat{1}}}}, Step: 0.05,
	}
}

// yard returns a film of a dumbbell with a leg that moves through a yard with a wall and a box.
func yard() *Film {
	upright := Quat{1}
	f := &Film{
		Bodies: []Body{
			{Name: "dumbbell", Shapes: []Shape{
				{A: Vec{-0.3}, B: Vec{0.3}, Radius: 0.1, Color: red},
				{A: Vec{0.3}, B: Vec{0.3}, Radius: 0.2, Color: gray}}},
			{Name: "wall", Fixed: true, Pose: Pose{Vec{0, 1, 0.2}, upright},
				Shapes: []Shape{{A: Vec{-1}, B: Vec{1}, Radius: 0.2, Color: gray}}},
			{Name: "box", Fixed: true, Pose: Pose{Vec{1, -0.3, 0}, Quat{math.Cos(0.3), 0, 0, math.Sin(0.3)}},
				Shapes: []Shape{{Kind: Box, B: Vec{0.3, 0.3, 0.3}, Color: gray}}},
			{Name: "leg", Shapes: []Shape{{B: Vec{0, 0, -0.4}, Radius: 0.06, Color: color.NRGBA{B: 0xb2, G: 0x72, A: 0xff}}}},
		},
		Step: 0.05, Ground: true,
	}
	for t := range 30 {
		x := -1 + 0.04*float64(t)
		at := Vec{x, 0.2 * math.Sin(5*x), 0.5}
		f.Frames = append(f.Frames, []Pose{{at, Quat{math.Cos(0.2), 0, 0, math.Sin(0.2)}},
			{at, Quat{math.Cos(0.1), math.Sin(0.1), 0, 0}}})
	}
	return f
}

// A ball is drawn as a disc of the size that perspective predicts, in the middle of the picture.
func TestBall(t *testing.T) {
	const size, radius, distance = 201, 0.5, 4.0
	f := oneBall(Vec{1, 2, 3}, radius)
	c := Camera{Eye: Vec{1, 2 - distance, 3}, Target: Vec{1, 2, 3}, Angle: 30}
	img := must.Get(Render(f, 0, c, size, size))
	first, last, covered := size, 0, 0.0
	for y := range size {
		for x := range size {
			p := img.At(x, y).(color.NRGBA)
			share := 1 - float64(p.B)/255 // the ball has no blue except in its highlight
			if y == size/2 && share > 0.5 {
				first, last = min(first, x), max(last, x)
			}
			if share > 0.1 {
				covered++
			}
		}
	}
	seen := radius / math.Sqrt(distance*distance-radius*radius) / math.Tan(15*math.Pi/180) * size / 2
	if d := float64(last-first+1) / 2; math.Abs(d-seen) > 1 || first+last != size-1 {
		t.Errorf("the ball goes from pixel %d to %d of %d, want a radius of %.1f", first, last, size, seen)
	}
	if want := math.Pi * seen * seen; math.Abs(covered-want) > 0.03*want {
		t.Errorf("the ball covers %.0f pixels, want %.0f", covered, want)
	}
}

// Rays hit shapes at the analytical distances.
func TestHits(t *testing.T) {
	// rotates x to -z; a quaternion of another length counts as its unit quaternion
	turned := Pose{Vec{0, 0, 0}, Quat{math.Sqrt2, 0, math.Sqrt2, 0}}
	for _, c := range []struct {
		what  string
		shape Shape
		pose  Pose
		o, d  Vec
		want  float64
	}{
		{"a ball", Shape{Radius: 1}, Pose{Vec{0, 5, 0}, Quat{1}}, Vec{}, Vec{0, 1, 0}, 4},
		{"past a ball", Shape{Radius: 1}, Pose{Vec{0, 5, 1.01}, Quat{1}}, Vec{}, Vec{0, 1, 0}, math.Inf(1)},
		{"away from a ball", Shape{Radius: 1}, Pose{Vec{0, -5, 0}, Quat{1}}, Vec{}, Vec{0, 1, 0}, math.Inf(1)},
		{"the side of a capsule", Shape{A: Vec{-3}, B: Vec{3}, Radius: 0.5}, Pose{Vec{1, 5, 0}, Quat{1}},
			Vec{}, Vec{0, 1, 0}, 4.5},
		{"the cap of a capsule", Shape{A: Vec{-3}, B: Vec{3}, Radius: 0.5}, Pose{Vec{5, 0, 0}, Quat{1}},
			Vec{}, Vec{1, 0, 0}, 1.5},
		{"the other cap", Shape{A: Vec{-3}, B: Vec{3}, Radius: 0.5}, Pose{Vec{-5, 0, 0}, Quat{1}}, Vec{}, Vec{-1, 0, 0}, 1.5},
		{"a turned capsule", Shape{A: Vec{-3}, B: Vec{3}, Radius: 0.5}, turned, Vec{-4, 0, 2}, Vec{1, 0, 0}, 3.5},
		{"a box", Shape{Kind: Box, A: Vec{-1, -1, -1}, B: Vec{1, 1, 1}}, Pose{Vec{5, 0, 0}, Quat{1}}, Vec{}, Vec{1, 0, 0}, 4},
		{"past a box", Shape{Kind: Box, A: Vec{-1, -1, -1}, B: Vec{1, 1, 1}},
			Pose{Vec{5, 1.5, 0}, Quat{1}}, Vec{}, Vec{1, 0, 0}, math.Inf(1)},
		{"the edge of a turned box", Shape{Kind: Box, A: Vec{-1, -1, -1}, B: Vec{1, 1, 1}},
			Pose{Vec{5, 0, 0}, Quat{math.Cos(math.Pi / 8), 0, 0, math.Sin(math.Pi / 8)}}, Vec{},
			Vec{1, 0, 0}, 5 - math.Sqrt2},
	} {
		s := newSolid(c.shape, c.pose)
		if got := s.hit(c.o.r3(), c.d.r3()); !(math.Abs(got-c.want) < 1e-9 || got == c.want) {
			t.Errorf("%s: distance %g, want %g", c.what, got, c.want)
			continue
		}
		if math.IsInf(c.want, 1) {
			continue
		}
		if n := s.normal(along(c.o.r3(), c.d.r3(), c.want), c.o.r3(),
			c.d.r3()); math.Abs(length(n)-1) > 1e-9 || r3.Dot(n, c.d.r3()) > 0 {
			t.Errorf("%s: normal %v", c.what, n)
		}
	}
}

// An object above a point blocks its light; one next to it or below does not.
func TestShadows(t *testing.T) {
	for _, shape := range []Shape{{Radius: 1}, {Kind: Box, A: Vec{-1, -1, -1}, B: Vec{1, 1, 1}}} {
		solids := []solid{newSolid(shape, Pose{Vec{0, 0, 5}, Quat{1}})}
		w := &world{solids: solids, tree: newHierarchy(solids, []int{0})}
		for at, want := range map[Vec]int{{}: 0, {3}: -1, {0, 0, 9}: -1} {
			if _, occluder := w.first(at.r3(), r3.Vec{Z: 1}, -1); occluder != want {
				t.Errorf("%v: occluder %d above %v, want %d", shape, occluder, at, want)
			}
		}
		if _, self := w.first(r3.Vec{}, r3.Vec{Z: 1}, 0); self != -1 {
			t.Error("a solid shades itself")
		}
	}
}

// sRGB colours survive the conversion to linear light and back.
func TestColors(t *testing.T) {
	for i := range 256 {
		c := color.NRGBA{R: uint8(i), G: uint8(255 - i), B: 7, A: 255}
		errtest.Equal(t, c, linear(c).srgb(), c)
	}
	errtest.Equal(t, "light out of range", (rgb{-1, 2, 0.5}).srgb(), (color.NRGBA{G: 255, B: 188, A: 255}))
}

// TestImages compares pictures with those in testdata.
func TestImages(t *testing.T) {
	f := yard()
	for name, img := range map[string]image.Image{"strip": must.Get(Strip(f, 3, 100, 75)),
		"near": must.Get(Render(f, -1, Camera{}, 160, 120)), "whole": must.Get(Render(f, 20, Whole(f, 4./3), 160, 120))} {
		imagetest.Equal(t, name, img)
	}
}

// Cameras keep what they promise in the picture, whatever its aspect, and fill the picture.
func TestCameras(t *testing.T) {
	f := yard()
	for _, aspect := range []float64{0.5, 1, 3} {
		height := 200
		width := int(aspect * float64(height))
		for name, c := range map[string]Camera{"whole": Whole(f, aspect), "near": Near(f, 7, aspect)} {
			box := emptyBox()
			if name == "whole" {
				for t := range f.Frames {
					box = f.extent(t, true, box)
				}
			} else {
				box = f.extent(7, false, box)
			}
			var widest float64
			for _, corner := range box.Vertices() {
				p := vecOf(corner)
				x, y, ok := c.Project(p, width, height)
				if !ok || x < 0 || x > float64(width) || y < 0 || y > float64(height) {
					t.Errorf("%s, aspect %g: corner %v is at %.0f, %.0f", name, aspect, p, x, y)
				}
				widest = max(widest, math.Abs(2*x/float64(width)-1), math.Abs(2*y/float64(height)-1))
			}
			if widest < 0.7 {
				t.Errorf("%s, aspect %g: only %g of the picture is used", name, aspect, widest)
			}
			if x, y, _ := c.Project(c.Target, width, height); math.Abs(x-float64(width)/2) > 1e-6 || math.Abs(y-100) > 1e-6 {
				t.Errorf("%s: the target is at %g, %g", name, x, y)
			}
		}
	}
	c := Near(f, 0, 1)
	far := c.Closer(2)
	away := func(c Camera) r3.Vec { return r3.Sub(c.Eye.r3(), c.Target.r3()) }
	if d := length(away(far)) / length(away(c)); math.Abs(d-2) > 1e-9 {
		t.Errorf("twice as far is %g times, at %v from %v", d, far.Eye, far.Target)
	}
	if _, _, ok := c.Project(vecOf(r3.Add(c.Eye.r3(), away(c))), 9, 9); ok {
		t.Error("what is behind the eye is in the picture")
	}
}

func TestMistakes(t *testing.T) {
	nan := math.NaN()
	spoiled := func(change func(f *Film)) *Film {
		f := yard()
		change(f)
		return f
	}
	for want, f := range map[string]*Film{
		"is nil":                     nil,
		"without frames":             spoiled(func(f *Film) { f.Frames = nil }),
		"seconds between":            spoiled(func(f *Film) { f.Step = 0 }),
		"Follow is 2":                spoiled(func(f *Film) { f.Follow = 2 }),
		"without moving bodies":      spoiled(func(f *Film) { f.Bodies = f.Bodies[1:3] }),
		"rewards for":                spoiled(func(f *Film) { f.Rewards = []float64{1} }),
		"has 1 poses":                spoiled(func(f *Film) { f.Frames[3] = f.Frames[3][:1] }),
		"frame 4":                    spoiled(func(f *Film) { f.Frames[4][1].Position[2] = nan }),
		"quaternion":                 spoiled(func(f *Film) { f.Frames[4][1].Rotation = Quat{} }),
		"has radius":                 spoiled(func(f *Film) { f.Bodies[0].Shapes[0].Radius = -1 }),
		"corners":                    spoiled(func(f *Film) { f.Bodies[2].Shapes[0].B = Vec{} }),
		"not finite":                 spoiled(func(f *Film) { f.Bodies[0].Shapes[0].A[0] = math.Inf(1) }),
		"the joint of moving body 1": spoiled(func(f *Film) { f.Bodies[3].Joint = &Joint{Parent: 1} }),
		"pose of wall":               spoiled(func(f *Film) { f.Bodies[1].Pose.Rotation = Quat{} }),
	} {
		for _, err := range []error{f.Check(), errtest.Of(Render(f, 0, Camera{}, 9, 9)), errtest.Of(Strip(f, 2, 9, 9))} {
			errtest.Want(t, err, want)
		}
		if Near(f, 0, 1) != (Camera{}) || Whole(f, 1) != (Camera{}) || f.Poses(30) != nil || len(f.Joints()) > 2 {
			t.Errorf("a film with %q has a camera, or frame 30", want)
		}
	}
	f := yard()
	for want, err := range map[string]error{
		"no frame 30":         errtest.Of(Render(f, 30, Camera{}, 9, 9)),
		"no frame -1":         errtest.Of(Render(f, -31, Camera{}, 9, 9)),
		"picture of 0 x 9":    errtest.Of(Render(f, 0, Camera{}, 0, 9)),
		"picture of 99999999": errtest.Of(Render(f, 0, Camera{}, 99999999, 9999)),
		"two different":       errtest.Of(Render(f, 0, Camera{Angle: 30}, 9, 9)),
		"angle between":       errtest.Of(Render(f, 0, Camera{Eye: Vec{1}, Angle: 180}, 9, 9)),
		"strip of 0":          errtest.Of(Strip(f, 0, 9, 9)),
		"no frame 31":         errtest.Of(Render(f, 31, Near(f, 31, 1), 9, 9)),
	} {
		errtest.Want(t, err, want)
	}
	errtest.Equal(t, "width of a strip with more frames than the film", must.Get(Strip(f, 99, 8, 8)).Bounds().Dx(), 30*9-1)
}

func BenchmarkRender(b *testing.B) {
	f := yard()
	for b.Loop() {
		must.Get(Render(f, 0, Camera{}, 400, 300))
	}
}

// FuzzRender draws arbitrary films from arbitrary cameras: it gets either an error or a picture.
func FuzzRender(f *testing.F) {
	text := must.Get(json.Marshal(oneBall(Vec{0, 0, 1}, 0.5)))
	f.Add(string(text), 0., 0., 0., 40.)
	f.Add(string(text), 3., -2., 1e300, 169.)
	f.Add(`{"Bodies":[{"Shapes":[{"Radius":1e300},{"Kind":1,"B":[1e-300,1e308,1]}]}],`+
		`"Frames":[[{"Position":[1e308,0,-1e308],"Rotation":[5e-324,0,0,0]}]],`+`"Step":1,"Ground":true}`, 0., 0., 0., 0.)
	f.Add(`{"Bodies":[{"Shapes":[{"Radius":1e-300,"A":[1e-300,0,0]},{"Kind":7}]}],`+
		`"Frames":[[{"Rotation":[1e308,1e308,1e308,1e308]}],`+
		`[{"Position":[1,1,1],"Rotation":[1,0,0,0]}]],"Step":1}`, 1., 1., 1., 60.)
	f.Fuzz(func(t *testing.T, text string, x, y, z, angle float64) {
		var film Film
		if json.Unmarshal([]byte(text), &film) != nil || len(film.Bodies) > 20 || len(film.Frames) > 50 {
			return
		}
		camera := Camera{Eye: Vec{x, y, z}, Angle: angle}
		hostile.Bounded(t, len(text), func() {
			_, err := Render(&film, -1, camera, 12, 8)
			hostile.Error(t, err)
			_, err = Strip(&film, 2, 6, 4)
			hostile.Error(t, err)
		})
	})
}

// Package watch tests that each one is a film of its environment.
func TestIllustration(t *testing.T) {
	changed := must.Get(Illustration("ant-uni"))
	changed.Bodies[0].Shapes[0].Radius, changed.Frames[0][0].Position[2] = 9, 9
	if again, _ := Illustration("ant-uni"); again.Bodies[0].Shapes[0].Radius == 9 || again.Frames[0][0].Position[2] == 9 {
		t.Error("a change of one illustration changes the next")
	}
	errtest.Want(t, errtest.Of(Illustration("ant")), "ant-uni")
}
