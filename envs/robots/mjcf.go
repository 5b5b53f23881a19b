package robots

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/spatial/r3"

	"example.com/qdnb/envs/physics"
)

// ReadMJCF reads a robot from MuJoCo's XML. It returns notes about what the engine does differently.
// What would change the motion and is not supported is an error that names it and its line.
//
// A body's frame becomes its inertial frame, with the principal axes closest to the body's own axes.
// Bodies without joints are fused with their parents. A body of the world with slides becomes a body
// that is frozen along the other axes; if all joints turn about the same axis, so is the whole model.
// Hinges of one body become one joint with several axes, named "a+b"; angles and limits are MuJoCo's,
// except that the third axis of a left-handed triple is negated. An action of -1 to 1 spans an
// actuator's control range.
//
// Constants that MJCF does not have are those of Brax's converter: control steps of 0.02 s and an
// angular damping of -0.05. [physics.Model.Tuned] derives the others; call it again for spring
// dynamics or after changing masses, actuators or the time step.
func ReadMJCF(file io.Reader) (physics.Model, []string, error) {
	root, err := readXML(file)
	if err != nil {
		return physics.Model{}, nil, fmt.Errorf("read MJCF: %w", err)
	}
	r := &mjcf{degrees: true, autolimits: true, eulerseq: "xyz", inertia: "auto", groups: [2]float64{0, 5},
		gravity: r3.Vec{Z: -9.81}, classes: classes{"main": nil}, geoms: map[string]*geom{},
		bodies: map[string]*link{}, noted: map[string]int{}}
	model := r.read(root)
	if r.err == nil {
		model, r.err = model.Tuned(physics.PositionBased)
	}
	if r.err != nil {
		return physics.Model{}, nil, fmt.Errorf("read MJCF: %w", r.err)
	}
	return model, r.notes, nil
}

// mjcf is the state of a reader. Its methods record the first error in err and continue.
type mjcf struct {
	err   error
	notes []string
	noted map[string]int // index of each note

	degrees, autolimits    bool
	eulerseq, inertia      string
	groups                 [2]float64 // of geoms that have mass
	totalMass              float64
	boundMass, boundMoment float64
	gravity                r3.Vec
	classes                classes

	links  []*link
	static []*geom
	geoms  map[string]*geom
	all    []*geom
	bodies map[string]*link // nil: fixed to the world
	count  int              // of bodies
	owner  *element         // the body whose children are read
}

// link is a moving body, with the bodies that are fixed to it.
type link struct {
	*element
	title  string
	parent *link
	frame           // in the parent's frame, or the world's
	hinges []*hinge // or slides
	free   bool
	parts  []inertial
	geoms  []*geom

	own    inertial // of all parts
	frozen physics.Frozen
	slides bool // the hinges and slides are the body's own freedom, not a joint
}

// hinge is a hinge or a slide.
type hinge struct {
	*element
	title    string
	slide    bool
	at, axis r3.Vec
	limits   [2]float64 // rad or m
	limited  bool
	ref      float64
	passive  physics.Passive
	joint    string // of the model
	number   int    // its axis, from 1
	sign     float64
	link     *link
}

// geom is a shape in the frame of its link.
type geom struct {
	*element
	owner *element // the body
	title string
	link  *link
	kind  string
	frame
	size                 [3]float64
	contype, conaffinity int
	friction             float64
	condim               float64
	touches              bool
}

// note records a note once, with the line where it first applies.
func (r *mjcf) note(e *element, text string) {
	if _, known := r.noted[text]; !known {
		r.noted[text] = len(r.notes)
		if e != nil {
			text = fmt.Sprintf("line %d: %s", e.line, text)
		}
		r.notes = append(r.notes, text)
	}
}

// skipped lists what has no influence on the motion.
var skipped = strings.Fields("asset visual statistic size custom sensor keyframe site camera light")

func (r *mjcf) read(root *element) (m physics.Model) {
	if root.name != "mujoco" {
		r.failf(root, "the root element is %q, not mujoco", root.name)
		return m
	}
	root.each("compiler", r.compiler)
	root.each("default", func(e *element) { r.classes.read(r, e, nil) })
	root.each("option", r.options)
	root.each("worldbody", func(e *element) { r.children(e, nil, upright, "main") })
	for _, e := range root.children {
		switch e.name {
		case "compiler", "default", "option", "worldbody", "actuator", "contact":
		case "tendon":
			r.note(e, "tendons are ignored")
		case "equality", "deformable", "extension", "include":
			if len(e.children) > 0 || e.name == "include" {
				r.failf(e, "%s is not supported", e.name)
			}
		default:
			if !slices.Contains(skipped, e.name) {
				r.failf(e, "the element %s is not known", e.name)
			}
		}
	}
	if len(r.links) == 0 {
		r.failf(root, "no body has a joint: nothing moves")
	}
	if r.err == nil {
		m = r.build(root)
	}
	return m
}

func (r *mjcf) compiler(e *element) {
	r.degrees = r.option(e, "angle", "degree", "radian") == "degree"
	r.autolimits = r.option(e, "autolimits", "true", "false") == "true"
	r.inertia = r.option(e, "inertiafromgeom", "auto", "true", "false")
	if r.option(e, "coordinate", "local", "global") == "global" {
		r.failf(e, "global coordinates are not supported")
	}
	if seq, ok := e.attrs["eulerseq"]; ok {
		if len(seq) != 3 || strings.Trim(seq, "xyzXYZ") != "" {
			r.failf(e, "the eulerseq %q is not three of xyzXYZ", seq)
			return
		}
		r.eulerseq = seq
	}
	r.totalMass = r.number(e, "settotalmass", -1)
	r.boundMass, r.boundMoment = r.number(e, "boundmass", 0), r.number(e, "boundinertia", 0)
	r.groups = [2]float64(r.numbers(e, "inertiagrouprange", 2, 0, 5))
}

func (r *mjcf) options(e *element) {
	r.gravity = r.vector(e, "gravity", 0, 0, -9.81)
	if r.number(e, "density", 0) != 0 || r.number(e, "viscosity", 0) != 0 ||
		r3.Norm(r.vector(e, "wind", 0, 0, 0)) != 0 {
		r.note(e, "the density, viscosity and wind of the medium are ignored: nothing swims or flies")
	}
	r.note(e, "the options of MuJoCo's solver, timestep included, are ignored")
}

// children reads what is inside a body, the world or a frame. place is its frame in the link, or in the
// world if link is nil.
func (r *mjcf) children(e *element, l *link, place frame, class string) {
	for _, c := range e.children {
		switch c.name {
		case "body":
			r.body(c, l, place, class)
		case "frame":
			inner := class
			if name, ok := c.attrs["childclass"]; ok {
				inner = name
			}
			r.children(c, l, place.times(r.place(c)), inner)
		case "geom":
			r.geom(r.with(c, class), l, place)
		case "joint", "freejoint", "inertial":
			if e.name != "body" {
				r.failf(c, "a %s must be in a body, not in %s", c.name, e.name)
			}
		default:
			if !slices.Contains(skipped, c.name) {
				r.failf(c, "%s is not supported", c.name)
			}
		}
	}
}

// body reads a body. place is the frame of its parent in link l.
func (r *mjcf) body(e *element, l *link, place frame, class string) {
	r.count++
	title, named := e.attrs["name"]
	if !named {
		title = fmt.Sprintf("body %d", r.count)
	}
	if _, twice := r.bodies[title]; twice {
		r.failf(e, "two bodies are called %q", title)
	}
	if e.attrs["mocap"] == "true" {
		r.failf(e, "the body %q is a mocap body, which is not supported", title)
	}
	if name, ok := e.attrs["childclass"]; ok {
		class = name
	}
	place = place.times(r.place(e))
	own := &link{element: e, title: title, parent: l, frame: place}
	for _, c := range e.children {
		switch c.name {
		case "freejoint":
			own.free = true
		case "joint":
			r.joint(r.with(c, class), own)
		}
	}
	switch {
	case !own.free && len(own.hinges) == 0:
		if l != nil {
			r.note(e, "bodies without joints are fused with their parents")
		}
		own = l
	case own.free && (l != nil || len(own.hinges) > 0):
		r.failf(e, "the body %q has a free joint, but is inside another moving body or has more joints", title)
	default:
		r.links, place = append(r.links, own), upright
	}
	r.bodies[title] = own
	geoms, outer := len(r.all), r.owner
	r.owner = e
	r.children(e, own, place, class)
	r.owner = outer
	if own != nil {
		own.parts = append(own.parts, r.inertials(e, place, r.all[geoms:])...)
	}
}

// inertials returns the inertials of a body: those of an element inertial, or of its geoms.
func (r *mjcf) inertials(e *element, place frame, geoms []*geom) (parts []inertial) {
	given := slices.IndexFunc(e.children, func(c *element) bool { return c.name == "inertial" })
	if given >= 0 && r.inertia != "true" {
		c := e.children[given]
		part := inertial{frame: r.place(c), mass: r.number(c, "mass", 0)}
		if full, ok := c.attrs["fullinertia"]; ok && full != "" {
			f := r.numbers(c, "fullinertia", 6) // xx, yy, zz, xy, xz, yz
			part.turn, part.inertia = principal(mat.NewSymDense(3, []float64{f[0], f[3], f[4], f[3], f[1], f[5], f[4],
				f[5], f[2]}))
		} else {
			part.inertia = r.vector(c, "diaginertia", 0, 0, 0)
		}
		if part.mass < 0 || min(part.inertia.X, part.inertia.Y, part.inertia.Z) < 0 {
			r.failf(c, "the mass or inertia is negative")
		}
		part.frame = place.times(part.frame)
		parts = append(parts, part)
	} else if r.inertia == "false" {
		r.failf(e, "the compiler takes no inertia from geoms, but the body has no inertial")
	} else {
		for _, g := range geoms {
			if g.owner != e {
				continue // of a body inside this one
			}
			group := r.number(g.element, "group", 0)
			mass, massGiven := r.number(g.element, "mass", 0), g.attrs["mass"] != ""
			density := r.number(g.element, "density", 1000)
			none := group < r.groups[0] || group > r.groups[1] || massGiven && mass == 0 || !massGiven && density == 0
			switch {
			case none || g.kind == "plane":
			case g.kind == "mesh" || g.kind == "hfield" || g.kind == "sdf":
				r.failf(g.element, "the mass of a %s is not known: give the body an inertial, or the geom mass 0", g.kind)
			case mass < 0 || density < 0:
				r.failf(g.element, "the mass or density is negative")
			case massGiven:
				parts = append(parts, g.solid(mass))
			default:
				part := g.solid(0)
				part.mass *= density
				part.inertia = r3.Scale(density, part.inertia)
				parts = append(parts, part)
			}
		}
	}
	if r.boundMass > 0 || r.boundMoment > 0 {
		total := combine(parts)
		b := r.boundMoment
		total.mass = max(total.mass, r.boundMass)
		total.inertia = r3.Vec{X: max(total.inertia.X, b), Y: max(total.inertia.Y, b), Z: max(total.inertia.Z, b)}
		parts = []inertial{total}
	}
	return parts
}

func (r *mjcf) joint(e *element, l *link) {
	h := &hinge{element: e, title: e.attrs["name"], sign: 1, link: l}
	switch r.option(e, "type", "hinge", "slide", "free", "ball") {
	case "ball":
		r.failf(e, "ball joints are not supported")
	case "free":
		l.free = true
		return
	case "slide":
		h.slide = true
		if l.parent != nil {
			r.failf(e, "the slide joint %q is inside a moving body: only bodies of the world can slide", h.title)
		}
	}
	if h.title == "" {
		h.title = fmt.Sprintf("%s joint %d", l.title, len(l.hinges)+1)
	}
	if r.hinge(h.title) != nil {
		r.failf(e, "two joints are called %q", h.title)
	}
	angle := func(x float64) float64 {
		if h.slide {
			return x
		}
		return r.radians(x)
	}
	h.at, h.axis = r.vector(e, "pos", 0, 0, 0), r.unit(e, r.vector(e, "axis", 0, 0, 1))
	limits := r.numbers(e, "range", 2, 0, 0)
	h.limits, h.limited = [2]float64{angle(limits[0]), angle(limits[1])}, r.limited(e, "limited", "range")
	if h.limited && h.limits[0] >= h.limits[1] {
		r.failf(e, "the range of joint %q is empty", h.title)
	}
	h.ref = angle(r.number(e, "ref", 0))
	h.passive = physics.Passive{Stiffness: r.number(e, "stiffness", 0), Damping: r.number(e, "damping", 0),
		Rest: angle(r.number(e, "springref", 0)) * 180 / math.Pi, Armature: r.number(e, "armature", 0)}
	if p := h.passive; min(p.Stiffness, p.Damping, p.Armature) < 0 {
		r.failf(e, "the stiffness, damping or armature of joint %q is negative", h.title)
	}
	if h.passive.Armature != 0 && !h.slide {
		r.note(e, "armatures are added to the inertias of both bodies: a whole robot turns more slowly")
	}
	if r.number(e, "frictionloss", 0) != 0 {
		r.note(e, "frictionloss is ignored")
	}
	l.hinges = append(l.hinges, h)
}

// hinge returns the hinge or slide with a name, or nil.
func (r *mjcf) hinge(title string) *hinge {
	for _, l := range r.links {
		if i := slices.IndexFunc(l.hinges, func(h *hinge) bool { return h.title == title }); i >= 0 {
			return l.hinges[i]
		}
	}
	return nil
}

func (r *mjcf) geom(e *element, l *link, place frame) {
	g := &geom{element: e, owner: r.owner, title: e.attrs["name"], link: l,
		friction: r.numbers(e, "friction", 1, 1)[0]}
	g.kind = r.option(e, "type", "sphere", "capsule", "box", "plane", "cylinder", "ellipsoid", "mesh",
		"hfield", "sdf")
	g.contype, g.conaffinity = int(r.number(e, "contype", 1)), int(r.number(e, "conaffinity", 1))
	g.condim, g.frame = r.number(e, "condim", 3), r.place(e)
	sizes := map[string]int{"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}[g.kind]
	if line, ok := e.attrs["fromto"]; ok && line != "" && sizes > 1 {
		v := r.numbers(e, "fromto", 6)
		from, to := vector(v), vector(v[3:])
		along := r3.Sub(from, to)
		g.frame = frame{r3.Scale(0.5, r3.Add(from, to)), turnTo(r3.Vec{Z: 1}, r.unit(e, along))}
		size := r.numbers(e, "size", 1)
		g.size = [3]float64{size[0], r3.Norm(along) / 2}
		if sizes == 3 {
			g.size = [3]float64{size[0], size[0], r3.Norm(along) / 2}
			if len(size) > 1 {
				g.size[1] = size[1]
			}
		}
	} else if sizes > 0 {
		copy(g.size[:], r.numbers(e, "size", sizes))
	}
	for _, size := range g.size[:sizes] {
		if size <= 0 {
			r.failf(e, "the sizes of the %s are not all above 0", g.kind)
		}
	}
	if g.friction < 0 {
		r.failf(e, "the friction is negative")
	}
	g.frame = place.times(g.frame)
	if g.title != "" {
		if r.geoms[g.title] != nil {
			r.failf(e, "two geoms are called %q", g.title)
		}
		r.geoms[g.title] = g
	}
	r.all = append(r.all, g)
	if l == nil {
		r.static = append(r.static, g)
	} else {
		l.geoms = append(l.geoms, g)
	}
}
