package mujoco

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/names"
)

// System is a robot: a model prepared for building graphs.
type System struct {
	model Model

	poses  []pose // of each body in the frame of its link
	groups []*group
	dofs   []element // dofs of groups, in the order of groups, joints and axes
	places []element // positions, likewise
	drives []drive

	pairs    []Pair
	rows     []jointRow
	equal    []equality
	contacts []*contactSet
	acting   []*contactSet // contacts without those between links
	landing  []*contactSet // of each pair of a geom and a terrain: those with the plane that it replaces
	selected []*contactSet // the deepest contacts between links, which are visited: see [visits]
	options  Options
	crowded  bool // see [System.crowds]
	parted   bool // its programs are compiled in parts, see [outlined]
	finely   bool // if parted: an iteration is several parts, which compile fastest, rather than all of them one
	notes    []string

	angles               []int // the joints that are hinges or slides
	start, startVelocity []float64
	startAct             []float64
	steps                int // physics steps of a control step

	lock  sync.Mutex
	views [4]*view // see [System.view]
}

// Options are choices that MuJoCo's model does not make.
type Options struct {
	// IgnorePairs leaves out contacts between shapes that the engine does not model, such as those of height fields with
	// a margin, and notes it. Otherwise they are an error. It also leaves out those between convex shapes that it has to
	// search, such as of two meshes (collide_convex_graph.go), which takes long.
	IgnorePairs bool
	// Contacts are pairs of geoms, by their names or those of their bodies, to which contacts are limited; nil
	// allows all that MuJoCo tests. What rarely touches costs as much as what does.
	Contacts [][2]string
	// LinkContacts is the largest number of contacts between links that act at a time in a copy, of those without
	// friction (condim 1) and of those with it; 0 means a quarter more than MuJoCo had in random rollouts when it compiled
	// the model, from 12 to 48. Of more, the deepest act, and links sink into each other at the others until these are
	// among the deepest. Results are exact as long as no more touch, and the faces of no more than 24 pairs of boxes
	// overlap. If they make more than four times as many rows as there are dofs, as in hands, or if a link has more than 24
	// possible contacts with what cannot move, those are among them, and 24 more act.
	LinkContacts int
	// Terrain replaces the planes of the model; nil: they stay.
	Terrain *Terrain
	// ControlStep is the duration of a control step, s: the nearest multiple of the time step; 0 means 0.02 s.
	ControlStep float64
	// Keyframe names the default pose; "" means the first keyframe, or MuJoCo's qpos0 if there is none.
	Keyframe string
	// Late keeps in states where their last acceleration was computed, for [System.Late] and
	// [System.ExternalForces].
	Late bool

	worldContacts int  // see [System.worldContacts]; 0: the default
	crowded       bool // as if [System.crowds]
}

// NewSystem prepares a model. Its errors are those of [Model.Check].
func NewSystem(m Model, options Options) (*System, error) {
	supported, err := m.Check(options)
	if err != nil {
		return nil, err
	}
	s := &System{model: m, options: options, notes: supported.Notes}
	if err := s.prepareStart(); err != nil {
		return nil, err
	}
	if options.Terrain != nil {
		if err := options.Terrain.check(m, supported.Pairs); err != nil {
			return nil, err
		}
	}
	s.layOut()
	s.prepareDrives()
	s.prepareRows()
	s.prepareEqualities()
	s.pairs = supported.Pairs
	s.prepareContacts(s.pairs)
	return s, nil
}

// Notes says what moves otherwise than in MuJoCo, and has the compiler's notes.
func (s *System) Notes() []string { return s.notes }

// Pairs lists the pairs of geoms whose contacts are modelled.
func (s *System) Pairs() []Pair { return s.pairs }

// Terrain returns the terrain that replaces the planes, or nil.
func (s *System) Terrain() *Terrain { return s.options.Terrain }

// Model returns the model of the system. Do not change its arrays.
func (s *System) Model() Model { return s.model }

// prepareStart sets the default pose and the control step.
func (s *System) prepareStart() error {
	m, o := s.model, s.options
	s.start, s.startVelocity, s.startAct = m.QPos0, make([]float64, m.Sizes.NV), make([]float64, m.Sizes.NA)
	key := 0
	if o.Keyframe != "" {
		if key = slices.Index(m.Names.Key, o.Keyframe); key < 0 {
			return names.Unknown("keyframe", o.Keyframe, m.Names.Key)
		}
	}
	if key < m.Sizes.NKey {
		s.start, s.startVelocity, s.startAct = m.KeyQPos[key], m.KeyQVel[key], m.KeyAct[key]
	}
	if o.Late && m.Sizes.NA > 0 {
		return errors.New("Late does not keep the activations of actuators: leave it off for this model")
	}
	for id, kind := range m.JntType {
		if kind == Hinge || kind == Slide {
			s.angles = append(s.angles, id)
		}
	}
	if o.LinkContacts < 0 {
		return fmt.Errorf("LinkContacts is %d: want a number above 0, or 0 for the default", o.LinkContacts)
	}
	wanted := o.ControlStep
	if wanted == 0 {
		wanted = 0.02
	}
	steps := math.Round(wanted / m.Opt.TimeStep)
	if !(wanted > 0) || !(steps < 1e4) {
		return fmt.Errorf("a control step of %g s cannot be made of time steps of %g s", wanted, m.Opt.TimeStep)
	}
	s.steps = max(1, int(steps))
	return nil
}

// ControlStep is the duration of a control step, s.
func (s *System) ControlStep() float64 { return float64(s.steps) * s.model.Opt.TimeStep }

// Substeps is the number of physics steps of a control step.
func (s *System) Substeps() int { return s.steps }

// Actions is the number of actions: one for each actuator.
func (s *System) Actions() int { return s.model.Sizes.NU }

// ActionsOf returns the indices of the actions whose actuators drive joints.
func (s *System) ActionsOf(joints ...string) (indices []int) {
	for i, name := range s.Actuated() {
		if slices.Contains(joints, name) {
			indices = append(indices, i)
		}
	}
	return indices
}

// Actuated returns the names of the joints or sites that the actuators drive, in their order, or the numbers of tendons.
func (s *System) Actuated() (joints []string) {
	for i, id := range s.model.ActuatorTrnID {
		switch s.model.ActuatorTrnType[i] {
		case overJoint:
			joints = append(joints, s.jointName(id[0]))
		case overSite:
			joints = append(joints, s.SiteNames()[id[0]])
		default:
			joints = append(joints, nameOr("", "tendon", id[0]))
		}
	}
	return joints
}

// BodyNames returns the names of the bodies, the world first. Those without a name are called by number.
func (s *System) BodyNames() (all []string) {
	for i, name := range s.model.Names.Body {
		all = append(all, nameOr(name, "body", i))
	}
	return all
}

// JointAxes returns the names of the joints that are hinges or slides.
func (s *System) JointAxes() (all []string) {
	for _, id := range s.angles {
		all = append(all, s.jointName(id))
	}
	return all
}

func (s *System) jointName(id int) string { return nameOr(s.model.Names.Joint[id], "joint", id) }

func nameOr(name, kind string, i int) string {
	if name == "" {
		return fmt.Sprintf("%s %d", kind, i)
	}
	return name
}

// DefaultAngles returns the positions of hinges and slides in the default pose, rad or m.
func (s *System) DefaultAngles() (all []float64) {
	for _, id := range s.angles {
		all = append(all, s.start[s.model.JntQPosAdr[id]])
	}
	return all
}

// JointLimits returns the ranges of hinges and slides, rad or m; without limits they are infinite.
func (s *System) JointLimits() (limits [][2]float64) {
	for _, id := range s.angles {
		limit := [2]float64{math.Inf(-1), math.Inf(1)}
		if s.model.JntLimited[id] {
			limit = s.model.JntRange[id]
		}
		limits = append(limits, limit)
	}
	return limits
}

// Shape is a geom in the frame of the link that it moves with: a body with joints, or the world (0).
type Shape struct {
	Geom, Link int
	algebra.Place
}

// Shapes returns the geoms in the frames of their links.
func (s *System) Shapes() (shapes []Shape) {
	m := s.model
	for i, body := range m.GeomBodyID {
		at := s.poses[body].then(pose{algebra.Vectors(m.GeomPos[i]), algebra.KnownQuaternion(m.GeomQuat[i])})
		q := at.rotation
		shapes = append(shapes, Shape{i, m.link(body), algebra.Place{Position: host(at.position),
			Rotation: [4]float64{q.W.Known[0], q.X.Known[0], q.Y.Known[0], q.Z.Known[0]}}})
	}
	return shapes
}
