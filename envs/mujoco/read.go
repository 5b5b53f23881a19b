package mujoco

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
)

// maxModel is the size of the largest file of a compiled model, in bytes. A humanoid has 24 kB.
const maxModel = 16 << 20

// ReadModel reads a compiled model: a JSON object with "mujoco" (the version), "sizes", "opt", "names"
// and "arrays", each with MuJoCo's names, and optionally "notes" and "own_contacts". It ignores arrays that
// [Model] does not have. The error is one line if the file is cut off, of another version of MuJoCo,
// or not consistent. Whether the engine models everything in it is what [Model.Check] says.
func ReadModel(file io.Reader) (Model, error) {
	m, err := readModel(file)
	if err == nil {
		err = m.validate()
	}
	if err != nil {
		return Model{}, fmt.Errorf("read a compiled MuJoCo model: %w", err)
	}
	return m, nil
}

func readModel(file io.Reader) (m Model, err error) {
	text, err := io.ReadAll(io.LimitReader(file, maxModel+1))
	if err != nil {
		return m, err
	}
	if len(text) > maxModel {
		return m, fmt.Errorf("the file is longer than %d MB", maxModel>>20)
	}
	var content struct {
		Version                   string `json:"mujoco"`
		Notes                     []string
		OwnContacts               [][2]int `json:"own_contacts"`
		Tendons                   []Tendon
		Sizes, Opt, Names, Arrays map[string]any
	}
	if err := json.Unmarshal(text, &content); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) && syntax.Offset >= int64(len(text)) {
			return m, fmt.Errorf("the file is cut off after %d bytes", len(text))
		}
		return m, err
	}
	if m.Version = content.Version; m.Version != Version {
		return m, fmt.Errorf("it was compiled by MuJoCo %.20q: compile the XML again with version %s", m.Version,
			Version)
	}
	m.Notes, m.OwnContacts, m.Tendons = content.Notes, content.OwnContacts, content.Tendons
	for _, part := range []struct {
		name string
		from map[string]any
		into any
	}{
		{"sizes", content.Sizes, &m.Sizes},
		{"opt", content.Opt, &m.Opt},
		{"names", content.Names, &m.Names},
		{"arrays", content.Arrays, &m.Arrays},
	} {
		into := reflect.ValueOf(part.into).Elem()
		for i := range into.NumField() {
			tag := strings.Split(into.Type().Field(i).Tag.Get("mj"), ",")
			value, ok := part.from[tag[0]]
			var dims []int
			for _, size := range tag[1:] {
				dims = append(dims, m.Sizes.named(size))
			}
			if !ok && len(dims) > 0 && dims[0] == 0 { // such as an array that older compilers do not write
				value = []any{}
			} else if !ok {
				return m, fmt.Errorf("%q is missing in its %s", tag[0], part.name)
			}
			if err := fill(into.Field(i), value, dims); err != nil {
				return m, fmt.Errorf("%s.%s: %w", part.name, tag[0], err)
			}
		}
	}
	return m, nil
}

// named returns the size that has MuJoCo's name.
func (s Sizes) named(name string) int {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("mj") == name {
			return int(v.Field(i).Int())
		}
	}
	panic("mjModel has no size " + name)
}

// fill sets a Go value from a value of JSON. The lengths of slices are dims, the outermost first.
func fill(into reflect.Value, value any, dims []int) error {
	number, isNumber := value.(float64)
	switch into.Kind() {
	case reflect.String:
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("%.50q is no text", fmt.Sprint(value))
		}
		into.SetString(text)
		return nil
	case reflect.Slice, reflect.Array:
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%.50q is no list", fmt.Sprint(value))
		}
		n := into.Len()
		if into.Kind() == reflect.Slice {
			n, dims = dims[0], dims[1:]
		}
		if len(list) != n {
			return fmt.Errorf("a list has %d elements, want %d", len(list), n)
		}
		if into.Kind() == reflect.Slice {
			into.Set(reflect.MakeSlice(into.Type(), n, n))
		}
		for i := range list {
			if err := fill(into.Index(i), list[i], dims); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		return nil
	}
	if !isNumber {
		return fmt.Errorf("%.50q is no number", fmt.Sprint(value))
	}
	switch into.Kind() {
	case reflect.Float64:
		into.SetFloat(number)
	case reflect.Int:
		if number != math.Trunc(number) || math.Abs(number) > math.MaxInt32 {
			return fmt.Errorf("%v is no 32-bit integer", number)
		}
		into.SetInt(int64(number))
	case reflect.Bool:
		if number != 0 && number != 1 {
			return fmt.Errorf("%v is neither 0 nor 1", number)
		}
		into.SetBool(number == 1)
	}
	return nil
}

// validate checks what the engine's code relies on: indices, addresses, types and signs.
func (m *Model) validate() error {
	s := m.Sizes
	switch {
	case s.NBody < 1 || s.NQ < 0 || s.NV < 0:
		return fmt.Errorf("sizes: %d bodies, nq %d, nv %d", s.NBody, s.NQ, s.NV)
	case s.NU != s.NActuator:
		return fmt.Errorf("sizes: %d actuators have %d controls: only one each is supported", s.NActuator, s.NU)
	case !(m.Opt.TimeStep > 0):
		return fmt.Errorf("opt.timestep: %v s, want more than 0", m.Opt.TimeStep)
	case !(m.Opt.ImpRatio > 0):
		return fmt.Errorf("opt.impratio: %v, want more than 0", m.Opt.ImpRatio)
	}
	for _, index := range []struct {
		name  string
		list  []int
		limit int
	}{
		{"body_rootid", m.BodyRootID, s.NBody},
		{"body_weldid", m.BodyWeldID, s.NBody},
		{"dof_bodyid", m.DofBodyID, s.NBody},
		{"dof_jntid", m.DofJntID, s.NJnt},
		{"geom_bodyid", m.GeomBodyID, s.NBody},
		{"site_bodyid", m.SiteBodyID, s.NBody},
		{"pair_geom1", m.PairGeom1, s.NGeom},
		{"pair_geom2", m.PairGeom2, s.NGeom},
		{"jnt_type", ints(m.JntType), int(Hinge) + 1},
		{"geom_type", ints(m.GeomType), int(SDF) + 1},
		{"opt.integrator", []int{int(m.Opt.Integrator)}, 5},
		{"opt.cone", []int{int(m.Opt.Cone)}, int(Elliptic) + 1},
	} {
		for i, k := range index.list {
			if k < 0 || k >= index.limit {
				return fmt.Errorf("%s: element %d is %d, want 0 to %d", index.name, i, k, index.limit-1)
			}
		}
	}
	for i, id := range m.ActuatorTrnID {
		if m.ActuatorTrnType[i] == 0 && (id[0] < 0 || id[0] >= s.NJnt) {
			return fmt.Errorf("actuator_trnid: actuator %d moves joint %d of %d", i, id[0], s.NJnt)
		}
	}
	if n := len(m.Tendons); n > 0 && n != s.NTendon {
		return fmt.Errorf("there are %d tendons, want %d", n, s.NTendon)
	}
	for i, t := range m.Tendons {
		if len(t.Coefs) != len(t.Joints) || slices.ContainsFunc(t.Joints, func(id int) bool { return !m.scalar(id) }) {
			return fmt.Errorf("tendon %d has %d coefficients of joints %v", i, len(t.Coefs), t.Joints)
		}
	}
	for i, kind := range m.EqType {
		one, other := m.EqObj1ID[i], m.EqObj2ID[i]
		if kind == EqualJoints && (!m.scalar(one) || other >= 0 && !m.scalar(other)) {
			return fmt.Errorf("equality %d is of joints %d and %d", i, one, other)
		}
	}
	q, v, joint := 0, 0, 0
	for b := range s.NBody {
		first := v
		if parent := m.BodyParentID[b]; parent < 0 || parent >= max(b, 1) {
			return fmt.Errorf("body_parentid: the parent of body %d is %d, want a body before it", b, parent)
		}
		if !(m.BodyMass[b] >= 0) {
			return fmt.Errorf("body_mass: body %d has %v kg", b, m.BodyMass[b])
		}
		if n := m.BodyJntNum[b]; n < 0 || n > s.NJnt-joint || n > 0 && m.BodyJntAdr[b] != joint {
			return fmt.Errorf("body_jntnum: body %d has %d joints from %d on, but the joints before it end at %d of %d",
				b, n, m.BodyJntAdr[b], joint, s.NJnt)
		}
		for range m.BodyJntNum[b] {
			t := m.JntType[joint]
			switch {
			case m.JntBodyID[joint] != b || m.JntQPosAdr[joint] != q || m.JntDofAdr[joint] != v:
				return fmt.Errorf("joint %d has body %d, qpos %d and dof %d, want %d, %d and %d", joint,
					m.JntBodyID[joint], m.JntQPosAdr[joint], m.JntDofAdr[joint], b, q, v)
			case t == Free && (m.BodyJntNum[b] > 1 || m.BodyParentID[b] != 0 || b == 0):
				return fmt.Errorf("joint %d is free, but body %d has other joints or a parent", joint, b)
			}
			q, v, joint = q+t.Positions(), v+t.Dofs(), joint+1
		}
		if m.BodyDofNum[b] != v-first || v > first && m.BodyDofAdr[b] != first {
			return fmt.Errorf("body_dofnum: body %d has %d dofs from %d on, its joints have %d from %d on", b,
				m.BodyDofNum[b], m.BodyDofAdr[b], v-first, first)
		}
	}
	if q != s.NQ || v != s.NV || joint != s.NJnt {
		return fmt.Errorf("the joints of the bodies have %d joints, %d positions and %d dofs, want %d, %d and %d",
			joint, q, v, s.NJnt, s.NQ, s.NV)
	}
	return nil
}

// scalar reports whether a joint exists and is a slide or a hinge.
func (m *Model) scalar(id int) bool {
	return id >= 0 && id < len(m.JntType) && m.JntType[id] >= Slide
}

func ints[T ~int](list []T) []int {
	out := make([]int, len(list))
	for i, k := range list {
		out[i] = int(k)
	}
	return out
}
