package scene

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/spatial/r3"

	"example.com/qdnb/internal/lists"
)

const maxPixels = 64 << 20

// Render draws a frame of a film at width x height pixels by ray casting: glossy shapes on a
// checkered ground that fades to white, with shadows, antialiased edges, and the trajectory so
// far of the followed body on the ground. Negative frames count from the end, starting at -1. A
// picture of 400 x 300 pixels takes about a tenth of a second.
func Render(f *Film, frame int, camera Camera, width, height int) (image.Image, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if frame < 0 {
		frame += len(f.Frames)
	}
	if frame < 0 || frame >= len(f.Frames) {
		return nil, fmt.Errorf("scene: no frame %d in a film of %d frames", frame, len(f.Frames))
	}
	if width < 1 || height < 1 || width > maxPixels/height {
		return nil, fmt.Errorf("scene: a picture of %d x %d pixels: want at least 1 x 1 and at most %d "+
			"million", width, height, maxPixels>>20)
	}
	if camera == (Camera{}) {
		camera = Near(f, frame, float64(width)/float64(height))
	}
	if err := camera.check(); err != nil {
		return nil, err
	}
	w := newWorld(f, frame, camera, width, height)
	return w.picture(), nil
}

// Strip draws n frames of a film side by side, each width x height pixels and seen from [Near],
// evenly spaced in time from the first to the last: a poster for places where a film cannot play. A
// film with fewer frames shows all of them.
func Strip(f *Film, n, width, height int) (image.Image, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	n = min(n, len(f.Frames))
	gap := max(width/100, 1)
	if n < 1 || width < 1 || height < 1 || width > maxPixels/height/n {
		return nil, fmt.Errorf("scene: a strip of %d frames of %d x %d pixels: want at least one of 1 "+
			"x 1, and at most %d million pixels", n, width, height, maxPixels>>20)
	}
	strip := image.NewNRGBA(image.Rect(0, 0, n*(width+gap)-gap, height))
	draw.Draw(strip, strip.Bounds(), image.White, image.Point{}, draw.Src)
	for i := range n {
		frame := len(f.Frames) - 1
		if n > 1 {
			frame = int(math.Round(float64(i*frame) / float64(n-1)))
		}
		picture, err := Render(f, frame, Camera{}, width, height)
		if err != nil {
			return nil, err
		}
		draw.Draw(strip, image.Rect(i*(width+gap), 0, i*(width+gap)+width, height), picture, image.Point{}, draw.Src)
	}
	return strip, nil
}

// The appearance of pictures.
var (
	lightDirection = unit(r3.Vec{X: -0.42, Y: -0.5, Z: 1}) // towards the lamp
	background     = rgb{1, 1, 1}
	groundColors   = [2]rgb{linear(color.NRGBA{R: 0xf6, G: 0xf6, B: 0xf5}), linear(color.NRGBA{R: 0xe4, G: 0xe5, B: 0xe7})}
	pathColor      = linear(color.NRGBA{R: 0xb0, G: 0x3a, B: 0x7a})
)

const (
	ambient   = 0.45 // fraction of the light on the ground that comes from the sky
	shaded    = 0.4  // fraction of the lamp's light in a shadow
	shine     = 0.16 // strength of highlights
	pathWidth = 0.006
)

type world struct {
	solids        []solid
	tree          *hierarchy
	round         []int // solids that are no boxes
	ground        bool
	eye           r3.Vec
	right, up     r3.Vec // vectors to the edges of the picture, at distance 1
	ahead         r3.Vec
	width, height int
	pixel         float64 // angle of a pixel, rad
	center        r3.Vec  // of the visible ground
	half          float64 // half the larger of the width and height visible there
	square        float64 // side length of the ground's squares
	path          path
}

func newWorld(f *Film, frame int, c Camera, width, height int) *world {
	w := &world{ground: f.Ground, eye: c.Eye.r3(), width: width, height: height}
	for i, pose := range f.Poses(frame) {
		for _, s := range f.Bodies[i].Shapes {
			w.solids = append(w.solids, newSolid(s, pose))
		}
	}
	w.tree = newHierarchy(w.solids, lists.Indices(len(w.solids)))
	for i, s := range w.solids {
		if s.kind != Box {
			w.round = append(w.round, i)
		}
	}
	right, up, ahead := c.axes()
	tall := math.Tan(c.Angle * math.Pi / 360)
	w.ahead, w.up, w.right = ahead, r3.Scale(tall, up),
		r3.Scale(tall*float64(width)/float64(height), right)
	w.pixel = 2 * tall / float64(height)
	w.center = r3.Vec{X: c.Target[0], Y: c.Target[1]}
	distance := length(r3.Sub(c.Target.r3(), w.eye))
	w.half = distance * max(length(w.up), length(w.right))
	seen := 2 * tall * distance // visible height at the target
	w.square = math.Pow(10, math.Floor(math.Log10(seen/3)))
	for _, k := range []float64{5, 2} {
		if k*w.square <= seen/3 {
			w.square *= k
			break
		}
	}
	for t := range frame + 1 {
		p := f.Frames[t][f.Follow].Position
		w.path.add(p[0], p[1])
	}
	return w
}

// sample is the result of a ray: a colour, and the index of the solid or -1.
type sample struct {
	color rgb
	solid int
}

// edgeDifference is the sRGB difference between neighbouring pixels above which there is an edge.
const edgeDifference = 5

// fine is the number of rays across a pixel at an edge.
const fine = 4

// picture casts a ray through each pixel, and more rays through pixels at edges.
func (w *world) picture() *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w.width, w.height))
	ids := make([]int16, w.width*w.height)
	w.rows(func(y int) {
		for x := range w.width {
			s := w.cast(float64(x)+0.5, float64(y)+0.5)
			img.SetNRGBA(x, y, s.color.srgb())
			ids[y*w.width+x] = int16(s.solid)
		}
	})
	edge := make([]bool, len(ids))
	mark := func(i, k int) {
		differ := ids[i] != ids[k]
		for c := range 3 {
			d := int(img.Pix[4*i+c]) - int(img.Pix[4*k+c])
			differ = differ || d > edgeDifference || d < -edgeDifference
		}
		if differ {
			edge[i], edge[k] = true, true
		}
	}
	for y := range w.height {
		for x := range w.width {
			i := y*w.width + x
			if x > 0 {
				mark(i, i-1)
			}
			if y > 0 {
				mark(i, i-w.width)
			}
		}
	}
	w.rows(func(y int) {
		for x := range w.width {
			if !edge[y*w.width+x] {
				continue
			}
			var sum rgb
			for i := range fine {
				// The grid of rays is rotated slightly, so that edges along the axes get as many levels as
				// there are rays.
				for k := range fine {
					s := w.cast(float64(x)+(float64(i)+(float64(k)+0.5)/fine)/fine,
						float64(y)+(float64(k)+(float64(fine-1-i)+0.5)/fine)/fine)
					for c := range sum {
						sum[c] += min(s.color[c], 1) / (fine * fine)
					}
				}
			}
			img.SetNRGBA(x, y, sum.srgb())
		}
	})
	return img
}

func (w *world) rows(do func(y int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for y := int(next.Add(1)) - 1; y < w.height; y = int(next.Add(1)) - 1 {
				do(y)
			}
		})
	}
	group.Wait()
}

// first returns the distance to the first solid along a ray, except one; or infinity and -1.
func (w *world) first(o, d r3.Vec, except int) (distance float64, index int) {
	distance, index = math.Inf(1), -1
	w.tree.visit(o, d, func(i int) {
		if i != except {
			if t := w.solids[i].hit(o, d); t < distance || t == distance && i < index {
				distance, index = t, i
			}
		}
	})
	return distance, index
}

// cast follows a ray through a point of the picture, in pixels from its upper left corner.
func (w *world) cast(x, y float64) sample {
	d := unit(along(along(w.ahead, w.right, 2*x/float64(w.width)-1), w.up, 1-2*y/float64(w.height)))
	near, found := w.first(w.eye, d, -1)
	if w.ground && d.Z < 0 && w.eye.Z > 0 {
		if t := -w.eye.Z / d.Z; t < near {
			return sample{w.groundColor(along(w.eye, d, t), d, t), -1}
		}
	}
	if found < 0 {
		return sample{background, -1}
	}
	s := &w.solids[found]
	p := along(w.eye, d, near)
	n := s.normal(p, w.eye, d)
	return sample{w.shade(p, n, d, s.albedo, shine, found), found}
}

// shade returns the colour of a surface. A horizontal surface under the open sky gets its albedo.
func (w *world) shade(p, n, d r3.Vec, albedo rgb, shine float64, self int) rgb {
	sky, light := 1.0, 1.0
	if _, occluder := w.first(p, lightDirection, self); occluder >= 0 {
		light = shaded
	}
	for _, i := range w.round {
		if i != self {
			sky *= 1 - 0.8*w.solids[i].hidden(p, n)
		}
	}
	if self >= 0 && w.ground { // the ground reflects light, and takes some away near it
		sky *= 1 - 0.35*max(-n.Z, 0)
	}
	facing := r3.Dot(n, lightDirection)
	direct := max(facing, 0) / lightDirection.Z * (1 - ambient) * light
	diffuse := direct + ambient*sky*(0.8+0.2*n.Z)
	gloss := 0.0
	if shine > 0 && facing > 0 {
		half := unit(r3.Sub(lightDirection, d))
		gloss = shine * light * math.Pow(max(r3.Dot(n, half), 0), 40)
	}
	var c rgb
	for i := range c {
		c[i] = albedo[i]*diffuse + gloss
	}
	return c
}

// groundColor returns the colour of the ground at p, t metres from the eye.
func (w *world) groundColor(p, d r3.Vec, t float64) rgb {
	fade := smooth(1.2, 3.3, length(r3.Sub(p, w.center))/w.half)
	if fade == 1 {
		return background
	}
	// Squares smaller than a few pixels blend into one colour.
	footprint := t * w.pixel / max(-d.Z, 0.05)
	blend := 0.5 * smooth(0.1, 0.5, footprint/w.square)
	tile := 0
	if int(math.Floor(p.X/w.square)+math.Floor(p.Y/w.square))&1 != 0 {
		tile = 1
	}
	albedo := groundColors[tile].mix(groundColors[1-tile], blend)
	if wide := pathWidth * t / 2 * length(w.up) / 0.2; w.path.near(p.X, p.Y, wide) {
		albedo = pathColor
	}
	return w.shade(p, r3.Vec{Z: 1}, d, albedo, 0, -1).mix(background, fade)
}

// smooth increases from 0 at low to 1 at high.
func smooth(low, high, x float64) float64 {
	x = min(max((x-low)/(high-low), 0), 1)
	return x * x * (3 - 2*x)
}

// path is a line on the ground. Bounding boxes around pieces of it speed up the distance test.
type path struct {
	x, y  []float64
	boxes [][4]float64 // lower x and y, upper x and y of each piece
}

const pieceLength = 12

func (p *path) add(x, y float64) {
	n := len(p.x)
	if n > 0 && p.x[n-1] == x && p.y[n-1] == y {
		return
	}
	p.x, p.y = append(p.x, x), append(p.y, y)
	if n == 0 {
		return
	}
	if piece := (n - 1) / pieceLength; piece == len(p.boxes) {
		p.boxes = append(p.boxes, [4]float64{p.x[n-1], p.y[n-1], p.x[n-1], p.y[n-1]})
	}
	box := &p.boxes[(n-1)/pieceLength]
	*box = [4]float64{min(box[0], x), min(box[1], y), max(box[2], x), max(box[3], y)}
}

func (p *path) near(x, y, distance float64) bool {
	for i, b := range p.boxes {
		if x < b[0]-distance || y < b[1]-distance || x > b[2]+distance || y > b[3]+distance {
			continue
		}
		for k := i * pieceLength; k < min((i+1)*pieceLength, len(p.x)-1); k++ {
			ax, ay, bx, by := p.x[k], p.y[k], p.x[k+1]-p.x[k], p.y[k+1]-p.y[k]
			u := min(max(((x-ax)*bx+(y-ay)*by)/(bx*bx+by*by), 0), 1)
			if dx, dy := x-ax-u*bx, y-ay-u*by; dx*dx+dy*dy <= distance*distance {
				return true
			}
		}
	}
	return false
}
