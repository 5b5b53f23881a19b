package mujoco

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Supported is what the engine makes of a model.
type Supported struct {
	Pairs []Pair   // that are tested for contact
	Notes []string // what moves otherwise than in MuJoCo, and the compiler's notes
}

// Check reports what the engine does with a model. What it does not model is an error of one line:
// the elements by MuJoCo's names, with the field of mjModel that tells.
func (m *Model) Check(o Options) (Supported, error) {
	c := &checker{Model: m, elements: map[string][]string{}}
	c.sizes()
	c.options()
	c.joints()
	c.actuators()
	c.tendons()
	supported := Supported{Notes: slices.Clone(m.Notes)}
	note := func(format string, args ...any) {
		supported.Notes = append(supported.Notes, fmt.Sprintf(format, args...))
	}
	supported.Pairs = c.contacts(o, note)
	if m.Sizes.NMocap > 0 {
		note("mocap bodies stay where the file puts them")
	}
	if inactive := len(m.EqType) - len(c.active()); inactive > 0 {
		note("%d equality constraints that are not active were left out", inactive)
	}
	if lone := m.loneFreeBodies(); m.Opt.Integrator == ImplicitFast && len(lone) > 0 {
		note("implicitfast of %s, a body without children that moves freely and is damped or driven, lacks the derivative "+
			"of its gyroscopic forces", some(lone))
	}
	friction := slices.ContainsFunc(m.DofFrictionLoss, func(loss float64) bool { return loss > 0 })
	if friction || len(supported.Pairs) > 0 || slices.Contains(m.JntLimited, true) {
		note("solver %s with iterations %d and tolerance %g is ignored: constraints are solved to convergence",
			name(m.Opt.Solver, "PGS", "CG", "Newton"), m.Opt.Iterations, m.Opt.Tolerance)
	}
	return supported, c.err()
}

// loneFreeBodies lists the standalone bodies that are damped or driven.
func (m *Model) loneFreeBodies() (list []string) {
	for body := range m.BodyJntNum {
		if m.standalone(body) && !m.unhindered(body) {
			list = append(list, label("body", body, m.Names.Body))
		}
	}
	return list
}

// checker collects what is not modelled.
type checker struct {
	*Model
	fields   []string            // in the order in which they were found
	elements map[string][]string // by field
	hint     string
	wrong    error // what the options ask for and cannot be
}

// refuse records an element and the field that tells.
func (c *checker) refuse(field, format string, args ...any) {
	if c.elements[field] == nil {
		c.fields = append(c.fields, field)
	}
	c.elements[field] = append(c.elements[field], fmt.Sprintf(format, args...))
}

// refuseNonzero refuses each element whose value in a field is not zero.
func refuseNonzero[T comparable](c *checker, field string, values []T, element func(int) string) {
	var zero T
	for i, value := range values {
		if value != zero {
			c.refuse(field, "%s", element(i))
		}
	}
}

func (c *checker) err() error {
	if c.wrong != nil || len(c.fields) == 0 {
		return c.wrong
	}
	var parts []string
	for _, field := range c.fields {
		parts = append(parts, fmt.Sprintf("%s (%s)", some(c.elements[field]), field))
	}
	return errors.New("the engine does not model " + strings.Join(parts, "; ") + c.hint)
}

// some lists the first of many.
func some(list []string) string {
	const most = 4
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most-1], ", "), len(list)-most+1)
	}
	return strings.Join(list, ", ")
}

// name returns the k-th name, or the number.
func name(k int, names ...string) string {
	if k >= 0 && k < len(names) {
		return names[k]
	}
	return fmt.Sprintf("type %d", k)
}

// label names an element of a kind by its name or its index.
func label(kind string, i int, names []string) string {
	if i < len(names) && names[i] != "" {
		return fmt.Sprintf("%s %q", kind, names[i])
	}
	return fmt.Sprintf("%s %d", kind, i)
}

func (c *checker) joint(i int) string    { return label("joint", i, c.Names.Joint) }
func (c *checker) dof(i int) string      { return c.joint(c.DofJntID[i]) }
func (c *checker) actuator(i int) string { return label("actuator", i, c.Names.Actuator) }
func (c *checker) tendon(i int) string   { return label("tendon", i, nil) }

func (m *Model) geom(i int) string {
	if m.Names.Geom[i] != "" {
		return fmt.Sprintf("%q", m.Names.Geom[i])
	}
	return fmt.Sprintf("geom %d of %s", i, label("body", m.GeomBodyID[i], m.Names.Body))
}
