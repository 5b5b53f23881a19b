package watch

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/plot/scene"
)

func newStage(env envs.Env) (*stage, error) {
	s := &stage{Film: scene.Film{Title: env.Spec().Name, Ground: true, Step: 0.05}}
	var err error
	switch inner := envs.Inner(env).(type) {
	case Visible:
		s.Bodies, s.poses = inner.Bodies(), inner.Poses
	case *envs.Rigid:
		if err = s.rigid(inner.System); s.terrain != nil && len(inner.Vary) > 0 {
			s.under = terrainUnder(inner)
		}
	case envs.Pointmaze:
		s.Bodies, s.poses = pointmazeBodies(inner), pointPoses
	case *envs.BlackBox:
		return nil, fmt.Errorf("%s has no bodies to film: its genotypes are solutions, not policies", env.Spec().Name)
	default:
		return nil, fmt.Errorf("%s has no visible bodies: a custom environment must be an "+
			"envs.Rigid or a watch.Visible to be filmed", env.Spec().Name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", env.Spec().Name, err)
	}
	var rest []scene.Pose
	for _, body := range s.Bodies {
		if !body.Fixed {
			rest = append(rest, body.Pose)
		}
	}
	s.Frames = [][]scene.Pose{rest}
	return s, s.Check()
}

// film returns the film of an episode. first holds what [stage.first] recorded, or is nil; steps
// holds what [stage.look] recorded after each step. The film stops at the end of the first episode,
// or before the first step with a NaN or an infinity.
func (s *stage) film(first, steps []float32) *scene.Film {
	film := s.Film
	film.Frames, film.Rewards = nil, nil
	under := [3]float64{1}
	if first != nil {
		n := 7 * len(s.Frames[0])
		film.Frames, film.Rewards = [][]scene.Pose{posesOf(first[:n])}, []float64{0}
		for i, x := range first[n:] {
			under[i] = float64(x)
		}
	}
	width := s.width()
	for ; len(steps) >= width; steps = steps[width:] {
		row := steps[:width]
		if slices.ContainsFunc(row, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }) {
			break
		}
		film.Frames, film.Rewards = append(film.Frames, posesOf(row[:width-2])),
			append(film.Rewards, float64(row[width-2]))
		if row[width-1] > 0 {
			break
		}
	}
	if s.terrain != nil {
		addTerrain(&film, s.terrain, under)
	}
	return &film
}

// posesOf reads poses of seven numbers: a position and a quaternion.
func posesOf(flat []float32) (poses []scene.Pose) {
	for ; len(flat) >= 7; flat = flat[7:] {
		var p scene.Pose
		for i := range p.Position {
			p.Position[i] = float64(flat[i])
		}
		for i := range p.Rotation {
			p.Rotation[i] = float64(flat[3+i])
		}
		poses = append(poses, p)
	}
	return poses
}

// The colours of the bodies. Those of limbs are from Okabe and Ito (2008), which colour-blind
// readers can tell apart. If there are four limbs or more, the first two, which are the left ones
// in the paper's robots, have cold colours and the next two have warm ones.
var (
	torsoColor = color.NRGBA{R: 0x5b, G: 0x64, B: 0x70, A: 0xff}
	wallColor  = color.NRGBA{R: 0xbd, G: 0xb8, B: 0xae, A: 0xff}
	goalColor  = color.NRGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	blue       = color.NRGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	skyBlue    = color.NRGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}
	orange     = color.NRGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}
	vermillion = color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	purple     = color.NRGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}

	fewLimbs  = []color.NRGBA{orange, blue, goalColor}
	manyLimbs = []color.NRGBA{blue, skyBlue, vermillion, orange, purple, goalColor}
)

// rigid adds the bodies of a robot.
func (s *stage) rigid(system envs.System) error {
	poses, err := system.Places()
	if err != nil {
		return err
	}
	var moving []int
	switch system := system.(type) {
	case *physics.System:
		moving = s.brax(system.Model(), poses)
	case *mujoco.System:
		if moving = s.mujoco(system, poses); system.Terrain() != nil {
			s.terrain = system
		}
	default:
		return fmt.Errorf("a %T cannot be filmed: make the environment a watch.Visible", system)
	}
	s.Step, s.poses, s.moving = system.ControlStep(), rigidPoses(system, moving), moving
	return nil
}

// brax adds the bodies of a model of Brax's engine. It returns the indices of those that move.
func (s *stage) brax(model physics.Model, poses []algebra.Place) (moving []int) {
	names := lists.Map(model.Bodies, func(b physics.Body) string { return b.Name })
	tree := map[string]attachment{}
	for _, j := range model.Joints {
		tree[j.Child] = attachment{j.Parent, j.ParentOffset}
	}
	limbs := limbsOf(names, tree)
	radius := 0.0
	for _, b := range model.Bodies {
		if _, ok := limbs.of[b.Name]; ok && model.Frozen.Position[1] {
			for _, c := range b.Colliders {
				radius = max(radius, c.Radius)
			}
		}
	}
	shifts := limbs.lateralShifts(radius)
	number := map[string]int{} // of the moving bodies
	followed := math.MaxInt    // joints between the followed body and the root; a robot's base may be fixed
	for i, b := range model.Bodies {
		body := scene.Body{Name: b.Name, Fixed: b.Fixed, Pose: poseOf(poses[i])}
		col := limbs.color(b.Name)
		if b.Fixed {
			col = wallColor
			if len(b.Colliders) == 1 && b.Colliders[0].Length == 2*b.Colliders[0].Radius {
				col = goalColor // a fixed ball marks a target
			}
		} else {
			if depth := limbs.depth[b.Name]; depth < followed {
				s.Follow, followed = len(moving), depth
			}
			for _, j := range model.Joints {
				if parent, earlier := number[j.Parent]; earlier && j.Child == b.Name {
					body.Joint = &scene.Joint{Parent: parent, InParent: scene.Vec(j.ParentOffset), InBody: scene.Vec(j.ChildOffset)}
				}
			}
			number[b.Name] = len(moving)
			moving = append(moving, i)
		}
		for _, c := range b.Colliders {
			if c.Shape == physics.Plane {
				continue // the ground
			}
			from, to := c.Segment()
			shape := scene.Shape{Kind: scene.Capsule, A: scene.Vec(from), B: scene.Vec(to), Radius: c.Radius, Color: col}
			if c.Shape == physics.Box {
				shape.Kind, shape.Radius = scene.Box, 0
				shape.A, shape.B = boxOf(c)
			}
			shape.A[1] += shifts[b.Name]
			shape.B[1] += shifts[b.Name]
			body.Shapes = append(body.Shapes, shape)
		}
		if len(body.Shapes) > 0 || !b.Fixed {
			s.Bodies = append(s.Bodies, body)
		}
	}
	return moving
}

// attachment is where a body is attached to its parent, in the frame of the parent.
type attachment struct {
	parent string
	at     physics.Vec
}

// limbs groups the bodies of a model into limbs, such as legs: the subtrees below its root bodies.
type limbs struct {
	tree  map[string]attachment
	of    map[string]int // number of the limb of a body
	depth map[string]int // joints between a body and the root
	n     int
}

// limbsOf numbers the limbs of a robot. A limb begins at a child of a body without parent.
func limbsOf(bodies []string, tree map[string]attachment) limbs {
	l := limbs{tree: tree, of: map[string]int{}, depth: map[string]int{}}
	for _, body := range bodies {
		depth, at, first := 0, body, ""
		for {
			up, ok := tree[at]
			if !ok {
				break
			}
			depth, first, at = depth+1, at, up.parent
		}
		l.depth[body] = depth
		if depth == 0 {
			continue
		}
		if _, known := l.of[first]; !known {
			l.of[first] = l.n
			l.n++
		}
		l.of[body] = l.of[first]
	}
	return l
}

// color returns the colour of a moving body, which gets darker away from the torso.
func (l limbs) color(body string) color.NRGBA {
	limb, ok := l.of[body]
	if !ok {
		return torsoColor
	}
	palette := manyLimbs
	if l.n <= len(fewLimbs) {
		palette = fewLimbs
	}
	c := palette[limb%len(palette)]
	shade := math.Pow(0.86, float64(l.depth[body]-1))
	dim := func(x uint8) uint8 { return uint8(math.Round(shade * float64(x))) }
	return color.NRGBA{R: dim(c.R), G: dim(c.G), B: dim(c.B), A: c.A}
}

// lateralShifts returns how far to shift each body along y, by name. It separates limbs of a radius that a
// planar robot has at the same position, such as the legs of walker2d, which would otherwise overlap.
func (l limbs) lateralShifts(radius float64) map[string]float64 {
	shift := map[string]float64{}
	hips := map[physics.Vec][]int{} // limbs by the point where they are attached
	for _, body := range slices.Sorted(maps.Keys(l.tree)) {
		if up := l.tree[body]; l.depth[body] == 1 {
			hips[up.at] = append(hips[up.at], l.of[body])
		}
	}
	for _, same := range hips {
		for k, limb := range same {
			for name, of := range l.of {
				if of == limb {
					shift[name] = 2.2 * radius * (float64(k) - float64(len(same)-1)/2)
				}
			}
		}
	}
	return shift
}

// The dimensions of pointmaze's bodies, in units of its half side. The point is a ball, walls are
// boxes.
const (
	pointRadius   = 0.035
	mazeHeight    = 0.06
	borderWidth   = 0.02
	goalThickness = 0.004
)

func pointmazeBodies(maze envs.Pointmaze) []scene.Body {
	box := func(w envs.Wall, height float64, c color.NRGBA) scene.Shape {
		return scene.Shape{Kind: scene.Box, A: scene.Vec{w.X0, w.Y0, 0}, B: scene.Vec{w.X1, w.Y1, height}, Color: c}
	}
	upright := scene.Quat{1}
	walls := scene.Body{Name: "walls", Fixed: true, Pose: scene.Pose{Rotation: upright}}
	const out = 1 + borderWidth
	border := []envs.Wall{{X0: -out, Y0: -out, X1: out, Y1: -1}, {X0: -out, Y0: 1, X1: out, Y1: out},
		{X0: -out, Y0: -1, X1: -1, Y1: 1}, {X0: 1, Y0: -1, X1: out, Y1: 1}}
	for _, w := range append(border, maze.Walls()...) {
		walls.Shapes = append(walls.Shapes, box(w, mazeHeight, wallColor))
	}
	goal := scene.Body{Name: "goal", Fixed: true, Pose: scene.Pose{Rotation: upright},
		Shapes: []scene.Shape{box(maze.Goal(), goalThickness, goalColor)}}
	// Episodes start within x of ±0.1 and y from -1 to -0.7.
	point := scene.Body{Name: "point", Pose: scene.Pose{Position: scene.Vec{0, -0.85, pointRadius}, Rotation: upright}}
	point.Shapes = []scene.Shape{{Kind: scene.Capsule, Radius: pointRadius, Color: vermillion}}
	return []scene.Body{point, walls, goal}
}

// Robot returns a film of a robot: its default pose, then one joint after the other turns through its
// range, by forward kinematics.
func Robot(title string, system envs.System) (*scene.Film, error) {
	s := &stage{Film: scene.Film{Title: title, Ground: true}}
	if err := s.rigid(system); err != nil {
		return nil, err
	}
	film := s.Film
	film.Step = 0.05
	rest := system.DefaultAngles()
	add := func(angles []float64) error {
		poses, err := system.Places(angles...)
		if err != nil {
			return err
		}
		var frame []scene.Pose
		for i, p := range poses {
			if slices.Contains(s.moving, i) {
				frame = append(frame, poseOf(p))
			}
		}
		film.Frames = append(film.Frames, frame)
		return nil
	}
	if err := add(rest); err != nil {
		return nil, err
	}
	for i, limits := range system.JointLimits() {
		for k := range 24 {
			if limits[0] == limits[1] {
				break
			}
			angles, swing := slices.Clone(rest), math.Sin(2*math.Pi*float64(k)/24)
			to := limits[0]
			if swing > 0 {
				to = limits[1]
			}
			if math.IsInf(to, 0) {
				to = rest[i] + math.Copysign(0.5, swing) // rad or m
			}
			angles[i] += math.Abs(swing) * (to - rest[i])
			if err := add(angles); err != nil {
				return nil, err
			}
		}
	}
	return &film, film.Check()
}

// boxOf is the box along a body's axes around a collider's box.
func boxOf(c physics.Collider) (low, high scene.Vec) {
	low, high = scene.Vec(c.Position), scene.Vec(c.Position)
	for _, corner := range c.Corners() {
		for axis := range corner {
			low[axis], high[axis] = min(low[axis], corner[axis]), max(high[axis], corner[axis])
		}
	}
	return low, high
}
