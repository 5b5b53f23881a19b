package runs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/parts"
)

// Set changes fields of a settings struct, and of its parts, by assignments such as "batch=1000".
// settings is a pointer to the struct. Fields are named by their JSON names; "network.layers=3" sets a
// field of a nested struct, and "mix.1.iso_sigma=0.1" one of a part alone, see package parts. Lists are
// written as "hidden=256,256" or "hidden=[256,256]".
//
// For an unknown field, the error suggests the most similar name. For a value of the wrong type, it
// names the expected type. After an error the settings are unchanged.
func Set(settings any, assignments ...string) error {
	err := edit(settings, func(all fields) error {
		for _, assignment := range assignments {
			name, text, ok := strings.Cut(assignment, "=")
			if !ok {
				return fmt.Errorf("%s is not an assignment; write name=value", names.Quote(assignment))
			}
			name = strings.TrimSpace(name)
			found, err := all.find(name)
			if err != nil {
				return err
			}
			for _, field := range found {
				if field.Kind() == reflect.String && strings.TrimSpace(text) == "" {
					return fmt.Errorf("%s has no value: write one behind %s=, or leave it out for the default", name, name)
				}
				if err := assign(name, jsonOf(text, field.Type()), field); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return names.Wrongf("%w", err)
	}
	return nil
}

// Decode reads a JSON object into a pointer to a struct, and into its parts. Fields missing from the object keep their
// values, which are the defaults. Fields unknown to the struct are refused with the most similar
// name, even if only the case differs. After an error the struct is unchanged.
func Decode(data []byte, settings any) error {
	if _, err := parseJSON(data); err != nil {
		return err
	}
	return edit(settings, func(all fields) error { return all.assign("", data, reflect.TypeOf(settings).Elem()) })
}

// edit changes the fields of the struct that settings points to, unless the change fails.
func edit(settings any, change func(fields) error) error {
	pointer := reflect.ValueOf(settings)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() || pointer.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("settings must be a pointer to a struct, not %T", settings)
	}
	changed := reflect.New(pointer.Type().Elem())
	changed.Elem().Set(pointer.Elem())
	list, done := parts.Open(changed)
	all := fields{}
	for _, part := range list {
		for _, field := range part.Fields() {
			all[field.Name] = append(all[field.Name], field.Value)
			if part.Path != "" {
				all[join(part.Path, field.Name)] = []reflect.Value{field.Value}
			}
		}
	}
	if err := change(all); err != nil {
		return err
	}
	done()
	pointer.Elem().Set(changed.Elem())
	return nil
}

// fields are the fields that a name sets: those of several parts may have it.
type fields map[string][]reflect.Value

// fieldsOf returns the fields of a struct, also of embedded structs that JSON does not leave out.
func fieldsOf(v reflect.Value) fields {
	all := fields{}
	for _, field := range (parts.Part{Value: v}).Fields() {
		all[field.Name] = []reflect.Value{field.Value}
	}
	return all
}

// find returns the fields that a name sets. In a nested struct the name is a path.
func (all fields) find(name string) ([]reflect.Value, error) {
	if found, ok := all[name]; ok && strings.Contains(name, ".") {
		return found, nil
	}
	path, found := "", []reflect.Value(nil)
	for part := range strings.SplitSeq(name, ".") {
		if found != nil {
			if !nested(found[0].Type()) {
				return nil, fmt.Errorf("unknown field %s: %s has no fields", names.Quote(name), path)
			}
			all = fieldsOf(found[0])
		}
		var ok bool
		if found, ok = all[part]; !ok {
			return nil, all.unknown(path, part)
		}
		path = join(path, part)
	}
	if nested(found[0].Type()) {
		names := slices.Sorted(maps.Keys(fieldsOf(found[0])))
		return nil, fmt.Errorf("%s is a group of fields; set one of %s.{%s}", path, path, strings.Join(names, ", "))
	}
	return found, nil
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// unknown returns the error for a name that no field has.
func (all fields) unknown(path, name string) error {
	known := slices.DeleteFunc(slices.Collect(maps.Keys(all)), func(name string) bool {
		return strings.Contains(name, ".")
	})
	err := names.Unknown("field", name, known)
	if path != "" {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// jsonOf converts a value as typed by a user into JSON. Numbers and booleans already are JSON.
func jsonOf(text string, t reflect.Type) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	switch {
	case t.Kind() == reflect.String,
		reflect.PointerTo(t).Implements(unmarshaler) && !json.Valid([]byte(trimmed)):
		quoted, _ := json.Marshal(text)
		return quoted
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && !strings.HasPrefix(trimmed, "["):
		var items []string
		for item := range strings.SplitSeq(trimmed, ",") {
			if item != "" {
				items = append(items, string(jsonOf(item, t.Elem())))
			}
		}
		return json.RawMessage("[" + strings.Join(items, ",") + "]")
	}
	return json.RawMessage(trimmed)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// nested reports whether a type's fields are settings themselves.
func nested(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(unmarshaler)
}

// assign sets fields to the values of a JSON object. Fields of a part alone follow those that several
// parts share.
func (all fields) assign(path string, data json.RawMessage, t reflect.Type) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return wrong(path, data, t)
	}
	order := slices.SortedFunc(maps.Keys(object), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "."), strings.Count(b, ".")), cmp.Compare(a, b))
	})
	for _, name := range order {
		found, ok := all[name]
		if !ok {
			return all.unknown(path, name)
		}
		for _, field := range found {
			if err := assign(join(path, name), object[name], field); err != nil {
				return err
			}
		}
	}
	return nil
}

func assign(path string, data json.RawMessage, v reflect.Value) error {
	if nested(v.Type()) {
		return fieldsOf(v).assign(path, data, v.Type())
	}
	if kinds := []reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct}; string(
		bytes.TrimSpace(data)) == "null" && !slices.Contains(kinds, v.Kind()) {
		return wrong(path, data, v.Type())
	}
	if number, err := normaliseNumber(json.Number(data)); err == nil && (v.CanInt() || v.CanUint()) {
		data = json.RawMessage(number) // 1e3 counts as an integer
	}
	fresh := reflect.New(v.Type()) // do not write to a slice shared with the original
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(fresh.Interface())
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) || !json.Valid(data) {
		return wrong(path, data, v.Type())
	}
	if err != nil {
		return fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "json: "))
	}
	v.Set(fresh.Elem())
	return nil
}

// wrong returns an error that names the expected type.
func wrong(path string, data []byte, t reflect.Type) error {
	text := string(bytes.TrimSpace(data))
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "..."
	}
	if text = names.Plain(text); !json.Valid(data) && !strings.HasPrefix(text, `"`) {
		text = fmt.Sprintf("%q", text)
	}
	if path == "" {
		return fmt.Errorf("%s is not %s", text, describe(t))
	}
	return fmt.Errorf("%s: %s is not %s", path, text, describe(t))
}

func describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a non-negative integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list, each item " + describe(t.Elem())
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return describe(t.Elem())
	}
	return "a value of type " + t.String()
}

// Assign returns a function that makes the assignments to the settings it is given; see [Set].
func Assign(assignments ...string) func(settings any) error {
	return func(settings any) error { return Set(settings, assignments...) }
}
