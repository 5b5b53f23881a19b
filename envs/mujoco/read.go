package mujoco

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"

	"example.com/qdnb/internal/names"
)

// maxModel is the size of the largest file of a compiled model, in bytes. A humanoid has 24 kB, hulls of meshes
// take up to some 100 kB each.
const maxModel = 64 << 20

// ReadModel reads a compiled model: a JSON object with "mujoco" (the version), "sizes", "opt", "names"
// and "arrays", each with MuJoCo's names, and optionally "notes", "own_contacts", "link_contacts",
// "activations", "tendons", "muscles", "hulls" and "hfields". It ignores arrays that [Model] does not have. The error is
// one line if the file is cut off, of another version of MuJoCo, or not consistent. Whether the engine models everything
// in it is what [Model.Check] says.
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
		LinkContacts              int      `json:"link_contacts"`
		Activations               []Activation
		Tendons                   []Tendon
		Muscles                   []Muscle
		Hulls                     []Hull
		Fields                    []HeightField `json:"hfields"`
		Sizes, Opt, Names, Arrays map[string]any
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return m, fmt.Errorf("%w: restore the file, or compile its XML again", names.JSON(err))
	}
	if m.Version = content.Version; m.Version != Version {
		return m, fmt.Errorf("it was compiled by MuJoCo %.20q: compile the XML again with version %s", m.Version,
			Version)
	}
	m.Notes, m.OwnContacts, m.LinkContacts = content.Notes, content.OwnContacts, content.LinkContacts
	m.Activations, m.Tendons, m.Muscles, m.Hulls = content.Activations, content.Tendons, content.Muscles, content.Hulls
	m.Fields = content.Fields
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
		if s := m.Sizes; s.NU != s.NActuator { // so do other arrays
			return m, fmt.Errorf("sizes: %d actuators have %d controls: only one each is supported", s.NActuator, s.NU)
		}
	}
	for i, kind := range m.GeomType { // MuJoCo keeps sizes of a file that mean nothing, such as three of a sphere
		switch size := &m.GeomSize[i]; kind {
		case Sphere:
			size[1], size[2] = 0, 0
		case Capsule, Cylinder:
			size[2] = 0
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
		if math.Abs(number) > 1e30 {
			return fmt.Errorf("%v is too large", number)
		}
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
