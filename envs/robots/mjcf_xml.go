package robots

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Limits of what a reader accepts.
const (
	maxElements = 20_000
	maxDepth    = 200
	maxBytes    = 16 << 20
)

// element is an XML element.
type element struct {
	name     string
	line     int
	attrs    map[string]string
	children []*element
}

// each calls f for the children with a name.
func (e *element) each(name string, f func(child *element)) {
	for _, c := range e.children {
		if c.name == name {
			f(c)
		}
	}
}

// readXML reads the root element.
func readXML(r io.Reader) (*element, error) {
	limited := &io.LimitedReader{R: r, N: maxBytes}
	decoder := xml.NewDecoder(limited)
	root := &element{}
	open, count := []*element{root}, 0
	for {
		token, err := decoder.Token()
		line, _ := decoder.InputPos()
		switch {
		case limited.N == 0:
			return nil, fmt.Errorf("line %d: the file is longer than %d MB", line, maxBytes>>20)
		case errors.Is(err, io.EOF) && len(root.children) == 1:
			return root.children[0], nil
		case err != nil:
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) {
				return nil, fmt.Errorf("line %d: %s", syntax.Line, syntax.Msg)
			}
			return nil, fmt.Errorf("line %d: this is no XML document: %w", line, err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			e := &element{name: t.Name.Local, line: line, attrs: map[string]string{}}
			for _, a := range t.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			parent := open[len(open)-1]
			parent.children = append(parent.children, e)
			if open, count = append(open, e), count+1; len(open) > maxDepth || count > maxElements {
				return nil, fmt.Errorf("line %d: more than %d elements, or %d inside each other", line, maxElements,
					maxDepth)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// classes holds the attributes that classes give to elements of a kind.
type classes map[string]map[string]map[string]string

// read adds a default element and those inside it.
func (c classes) read(r *mjcf, e *element, parent map[string]map[string]string) {
	name, given := e.attrs["class"]
	if !given {
		name = "main"
		if parent != nil {
			r.failf(e, "a default inside another one needs a class")
		}
	}
	if _, twice := c[name]; twice && parent != nil {
		r.failf(e, "the class %q is defined twice", name)
	}
	own := map[string]map[string]string{}
	for kind, attrs := range parent {
		own[kind] = maps.Clone(attrs)
	}
	if parent == nil {
		c["main"] = own
	}
	c[name] = own
	for _, child := range e.children {
		if child.name != "default" {
			kind := kindOf(child.name)
			if own[kind] == nil {
				own[kind] = map[string]string{}
			}
			maps.Copy(own[kind], child.attrs)
		}
	}
	e.each("default", func(child *element) { c.read(r, child, own) })
}

// kindOf is the kind of elements that share defaults.
func kindOf(name string) string {
	if slices.Contains(actuatorNames, name) {
		return "actuator"
	}
	return name
}

var actuatorNames = []string{"general", "motor", "position", "velocity", "intvelocity", "damper",
	"cylinder", "muscle", "adhesion"}

// with returns an element whose attributes include those of its class, or else of childclass.
func (r *mjcf) with(e *element, childclass string) *element {
	class, given := e.attrs["class"]
	if !given {
		class = childclass
	}
	known, ok := r.classes[class]
	if !ok {
		r.failf(e, "the class %q is not defined", class)
	}
	attrs := maps.Clone(known[kindOf(e.name)])
	if attrs == nil {
		attrs = map[string]string{}
	}
	maps.Copy(attrs, e.attrs)
	return &element{name: e.name, line: e.line, attrs: attrs, children: e.children}
}

// failf records the first error.
func (r *mjcf) failf(e *element, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("line %d: "+format, append([]any{e.line}, args...)...)
	}
}

// numbers returns the numbers of an attribute, or the default if it is not given.
func (r *mjcf) numbers(e *element, name string, least int, standard ...float64) []float64 {
	text, ok := e.attrs[name]
	if !ok {
		return append(standard, make([]float64, max(0, least-len(standard)))...)
	}
	var out []float64
	for _, field := range strings.Fields(text) {
		x, err := strconv.ParseFloat(field, 64)
		if err != nil || math.IsNaN(x) || math.Abs(x) > 1e15 {
			r.failf(e, "%s of %s is %q: numbers must be finite, at most 1e15", name, e.name, text)
			return make([]float64, max(least, len(standard)))
		}
		out = append(out, x)
	}
	if len(out) < least {
		r.failf(e, "%s of %s is %q: it needs %d numbers", name, e.name, text, least)
		return make([]float64, max(least, len(standard)))
	}
	return append(out, standard[min(len(out), len(standard)):]...)
}

func (r *mjcf) number(e *element, name string, standard float64) float64 {
	return r.numbers(e, name, 1, standard)[0]
}

func (r *mjcf) vector(e *element, name string, standard ...float64) r3.Vec {
	return vector(r.numbers(e, name, 3, standard...))
}

func vector(v []float64) r3.Vec { return r3.Vec{X: v[0], Y: v[1], Z: v[2]} }

// option returns one of the values that an attribute can have, the first one if it is not given.
func (r *mjcf) option(e *element, name string, values ...string) string {
	text, ok := e.attrs[name]
	if !ok {
		return values[0]
	}
	if !slices.Contains(values, text) {
		r.failf(e, "%s of %s is %q, not one of %s", name, e.name, text, strings.Join(values, ", "))
		return values[0]
	}
	return text
}

// limited reports whether the range of an element counts.
func (r *mjcf) limited(e *element, flag, limits string) bool {
	_, given := e.attrs[limits]
	switch r.option(e, flag, "auto", "true", "false") {
	case "true":
		if !given && limits == "range" {
			r.failf(e, "%s of %s is true, but it has no %s", flag, e.name, limits)
		}
		return given
	case "false":
		return false
	}
	return given && r.autolimits
}

// radians converts an angle of the file.
func (r *mjcf) radians(x float64) float64 {
	if r.degrees {
		return x * math.Pi / 180
	}
	return x
}

// frame is a position and a rotation.
type frame struct {
	at   r3.Vec
	turn quat.Number
}

var upright = frame{turn: quat.Number{Real: 1}}

// units are the axes of a frame.
var units = []r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}

func (f frame) turned(v r3.Vec) r3.Vec { return r3.Rotation(f.turn).Rotate(v) }

func (f frame) of(v r3.Vec) r3.Vec { return r3.Add(f.at, f.turned(v)) }

func (f frame) times(g frame) frame { return frame{f.of(g.at), quat.Mul(f.turn, g.turn)} }

func (f frame) inverse() frame {
	turn := quat.Conj(f.turn)
	return frame{r3.Scale(-1, r3.Rotation(turn).Rotate(f.at)), turn}
}

// unit normalises a vector; a vector without a direction is an error.
func (r *mjcf) unit(e *element, v r3.Vec) r3.Vec {
	if r3.Norm(v) < 1e-12 {
		r.failf(e, "an axis of %s has length 0", e.name)
		return r3.Vec{Z: 1}
	}
	return r3.Unit(v)
}

// rotation is the rotation by an angle about an axis.
func rotation(angle float64, axis r3.Vec) quat.Number {
	if angle == 0 {
		return quat.Number{Real: 1}
	}
	return quat.Number(r3.NewRotation(angle, axis))
}

// turnTo is the smallest rotation from one unit vector to another.
func turnTo(from, to r3.Vec) quat.Number {
	axis := r3.Cross(from, to)
	if r3.Norm(axis) < 1e-12 {
		if r3.Dot(from, to) > 0 {
			return quat.Number{Real: 1}
		}
		axis = r3.Cross(from, r3.Vec{X: 1})
		if r3.Norm(axis) < 0.5 {
			axis = r3.Cross(from, r3.Vec{Y: 1})
		}
	}
	return rotation(math.Atan2(r3.Norm(r3.Cross(from, to)), r3.Dot(from, to)), axis)
}

// turnOf is the rotation with the given first and second axes.
func turnOf(x, y r3.Vec) quat.Number {
	first := turnTo(r3.Vec{X: 1}, x)
	middle := r3.Rotation(first).Rotate(r3.Vec{Y: 1})
	angle := math.Atan2(r3.Dot(r3.Cross(middle, y), x), r3.Dot(middle, y))
	return quat.Mul(rotation(angle, x), first)
}

// place reads position and orientation of an element.
func (r *mjcf) place(e *element) frame {
	f := frame{at: r.vector(e, "pos", 0, 0, 0), turn: upright.turn}
	has := func(name string) bool { _, ok := e.attrs[name]; return ok }
	switch {
	case has("axisangle"):
		v := r.numbers(e, "axisangle", 4)
		f.turn = rotation(r.radians(v[3]), r.unit(e, vector(v)))
	case has("xyaxes"):
		v := r.numbers(e, "xyaxes", 6)
		x, y := r.unit(e, vector(v)), vector(v[3:])
		y = r.unit(e, r3.Sub(y, r3.Scale(r3.Dot(x, y), x)))
		f.turn = turnOf(x, y)
	case has("zaxis"):
		f.turn = turnTo(r3.Vec{Z: 1}, r.unit(e, r.vector(e, "zaxis")))
	case has("euler"):
		for i, x := range r.numbers(e, "euler", 3)[:3] {
			axis := map[byte]r3.Vec{'x': {X: 1}, 'y': {Y: 1}, 'z': {Z: 1}}[r.eulerseq[i]|0x20]
			turn := rotation(r.radians(x), axis)
			if r.eulerseq[i] >= 'a' { // lower case: about the rotated axes
				f.turn = quat.Mul(f.turn, turn)
			} else {
				f.turn = quat.Mul(turn, f.turn)
			}
		}
	case has("quat"):
		v := r.numbers(e, "quat", 4)
		q := quat.Number{Real: v[0], Imag: v[1], Jmag: v[2], Kmag: v[3]}
		if quat.Abs(q) < 1e-12 {
			r.failf(e, "the quaternion of %s is 0", e.name)
			return f
		}
		f.turn = quat.Scale(1/quat.Abs(q), q)
	}
	return f
}
