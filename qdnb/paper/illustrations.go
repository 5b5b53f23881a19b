package paper

import (
	"fmt"
	"image/color"
	"math"

	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
)

const (
	pictureWidth  = 400
	pictureHeight = 300
)

var noteColor = color.NRGBA{R: 0xb0, G: 0x3a, B: 0x7a, A: 0xff}

// Environments draws figure 1 from the robot models: the paper's seven training environments, its
// hurdles, and the three perturbations of its adaptation experiments: gravity, actuator strength of
// one leg, and the target position of ant-maze. The ten targets are numbered as in table 3. Arrows
// show what a task rewards: ant-uni runs along x, ant-omni moves in any direction.
func Environments() (figures.Grid, error) {
	var pictures []figures.Picture
	for i, draw := range illustrations {
		film, err := scene.Illustration(draw.film)
		if err != nil {
			return figures.Grid{}, err
		}
		camera := draw.view(film)
		var labels []figures.Label
		if draw.notes != nil {
			labels = draw.notes(film, camera)
		}
		img, err := scene.Render(film, 0, camera, pictureWidth, pictureHeight)
		if err != nil {
			return figures.Grid{}, err
		}
		title := fmt.Sprintf("(%c) %s", 'a'+i, draw.title)
		pictures = append(pictures, figures.Picture{Title: title, Image: img, Labels: labels})
	}
	return figures.Images(4, pictures...)
}

type illustration struct {
	film, title string
	view        func(*scene.Film) scene.Camera
	// notes adds bodies to the film and returns labels
	notes func(*scene.Film, scene.Camera) []figures.Label
}

var illustrations = []illustration{
	{film: "ant-trap", title: "ant-trap",
		view: func(f *scene.Film) scene.Camera { return scene.WholeFrom(f, -76, 27, pictureAspect) }},
	{film: "ant-maze", title: "ant-maze", view: from(scene.Vec{-11, -15.5, 13}, scene.Vec{13, 11, 0}, 59)},
	{film: "pointmaze", title: "pointmaze", view: whole},
	{film: "ant-uni", title: "ant-uni", view: near(1.3, 0.12), notes: forward},
	{film: "ant-omni", title: "ant-omni", view: near(1.5, 0), notes: anywhere},
	{film: "walker-uni", title: "walker-uni", view: near(1.1, 0)},
	{film: "halfcheetah-uni", title: "halfcheetah-uni", view: near(1.1, 0)},
	{film: "halfcheetah-hurdles", title: "halfcheetah-hurdles",
		view: from(scene.Vec{-4.6, -3.6, 2.2}, scene.Vec{3, 0.1, 0.3}, 34)},
	{film: "ant-uni", title: "gravity", view: near(1.55, 0.6), notes: gravity},
	{film: "ant-uni leg", title: "leg dysfunction, ant", view: near(1.2, 0)},
	{film: "walker-uni leg", title: "leg dysfunction, walker", view: near(1.1, 0)},
	{film: "ant-maze targets", title: "target position", view: whole, notes: targets},
}

const pictureAspect = float64(pictureWidth) / pictureHeight

func whole(f *scene.Film) scene.Camera { return scene.Whole(f, pictureAspect) }

// near looks at the robot from factor times the distance needed to see it, shifted to the right by
// metres.
func near(factor, right float64) func(*scene.Film) scene.Camera {
	return func(f *scene.Film) scene.Camera {
		c := scene.Near(f, 0, pictureAspect).Closer(factor)
		side := rightOf(c)
		for i := range side {
			c.Eye[i] += right * side[i]
			c.Target[i] += right * side[i]
		}
		return c
	}
}

// rightOf returns the picture's rightward direction.
func rightOf(c scene.Camera) scene.Vec {
	x, y := c.Target[0]-c.Eye[0], c.Target[1]-c.Eye[1]
	length := math.Hypot(x, y)
	return scene.Vec{y / length, -x / length, 0}
}

func from(eye, target scene.Vec, angle float64) func(*scene.Film) scene.Camera {
	return func(*scene.Film) scene.Camera {
		return scene.Camera{Eye: eye, Target: target, Angle: angle}
	}
}

// arrow adds an arrow to a film: a shaft, and balls that shrink towards its tip.
func arrow(f *scene.Film, start, end scene.Vec, radius float64) {
	var along scene.Vec
	length := 0.0
	for i := range along {
		along[i] = end[i] - start[i]
		length += along[i] * along[i]
	}
	length = math.Sqrt(length)
	at := func(share float64) scene.Vec {
		return scene.Vec{start[0] + share*along[0], start[1] + share*along[1], start[2] + share*along[2]}
	}
	const wide, balls = 2.6, 16 // of the head, in radii of the shaft
	neck := max(1-3*wide*radius/length, 0.2)
	shapes := []scene.Shape{{A: start, B: at(neck), Radius: radius, Color: noteColor}}
	for i := range balls {
		share := float64(i) / (balls - 1)
		p := at(neck + share*(1-neck))
		shapes = append(shapes, scene.Shape{A: p, B: p, Radius: radius * (wide - (wide-0.3)*share), Color: noteColor})
	}
	f.Bodies = append(f.Bodies, scene.Body{Name: "arrow", Fixed: true,
		Pose: scene.Pose{Rotation: scene.Quat{1}}, Shapes: shapes})
}

// forward draws the direction in which uni tasks reward speed.
func forward(f *scene.Film, _ scene.Camera) []figures.Label {
	arrow(f, scene.Vec{0.5, 0, 0.04}, scene.Vec{1.2, 0, 0.04}, 0.03)
	return nil
}

func anywhere(f *scene.Film, _ scene.Camera) []figures.Label {
	for i := range 8 {
		sin, cos := math.Sincos(math.Pi * (float64(i)/4 + 0.125))
		arrow(f, scene.Vec{0.75 * cos, 0.75 * sin, 0.04}, scene.Vec{1.25 * cos, 1.25 * sin, 0.04}, 0.025)
	}
	return nil
}

// gravity draws arrows of different lengths with their multipliers. The lengths are not to scale.
func gravity(f *scene.Film, c scene.Camera) (labels []figures.Label) {
	side := rightOf(c)
	for i, g := range []struct {
		times  string
		length float64
	}{{"¼ g", 0.28}, {"g", 0.55}, {"5 g", 1.1}} {
		const top = 1.2
		along := 1.0 + 0.38*float64(i)
		x, y := along*side[0], along*side[1]
		arrow(f, scene.Vec{x, y, top}, scene.Vec{x, y, top - g.length}, 0.025)
		px, py, _ := c.Project(scene.Vec{x, y, top + 0.12}, pictureWidth, pictureHeight)
		labels = append(labels, figures.Label{Text: g.times, X: px, Y: py})
	}
	return labels
}

// highest is how far up a label fits below the upper wall of the maze, m.
const highest = 37

// targets enlarges the targets and writes their numbers of table 3 above them.
func targets(f *scene.Film, c scene.Camera) (labels []figures.Label) {
	for i := range f.Bodies {
		b := &f.Bodies[i]
		var number int
		if _, err := fmt.Sscanf(b.Name, "Target %d", &number); err != nil {
			continue
		}
		b.Shapes[0].Radius = 0.9
		b.Pose.Position[2] = 0.9
		above := b.Pose.Position
		if above[1] += 2.6; above[1] > highest { // it would lie on the wall
			above[0], above[1] = above[0]+2, highest
		}
		x, y, _ := c.Project(above, pictureWidth, pictureHeight)
		labels = append(labels, figures.Label{Text: fmt.Sprint(number), X: x, Y: y})
	}
	return labels
}
