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
)

// Set changes fields of a settings struct by assignments such as "batch=1000". settings is a
// pointer to the struct. Fields are named by their JSON names; "network.layers=3" sets a field of a
// nested struct. Lists are written as "hidden=256,256" or "hidden=[256,256]".
//
// For an unknown field, the error suggests the most similar name. For a value of the wrong type, it
// names the expected type. After an error the settings are unchanged.
func Set(settings any, assignments ...string) error {
	return edit(settings, func(changed reflect.Value) error {
		for _, assignment := range assignments {
			name, text, ok := strings.Cut(assignment, "=")
			if !ok {
				return fmt.Errorf("%s is not an assignment; write name=value", names.Quote(assignment))
			}
			name = strings.TrimSpace(name)
			field, err := find(changed, name)
			if err == nil {
				err = assign(name, jsonOf(text, field.Type()), field)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Decode reads a JSON object into a pointer to a struct. Fields missing from the object keep their
// values, which are the defaults. Fields unknown to the struct are refused with the most similar
// name, even if only the case differs. After an error the struct is unchanged.
func Decode(data []byte, settings any) error {
	if _, err := parseJSON(data); err != nil {
		return err
	}
	return edit(settings, func(changed reflect.Value) error { return assign("", data, changed) })
}

// edit changes the struct that settings points to, unless the change fails.
func edit(settings any, change func(reflect.Value) error) error {
	pointer := reflect.ValueOf(settings)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() || pointer.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("settings must be a pointer to a struct, not %T", settings)
	}
	changed := reflect.New(pointer.Type().Elem()).Elem()
	changed.Set(pointer.Elem())
	if err := change(changed); err != nil {
		return err
	}
	pointer.Elem().Set(changed)
	return nil
}

// fieldsOf maps JSON names to fields, also of embedded structs that JSON does not leave out.
func fieldsOf(v reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	omitted := func(index []int) bool {
		return v.Type().FieldByIndex(index).Tag.Get("json") == "-"
	}
	for _, field := range reflect.VisibleFields(v.Type()) {
		if omitted(field.Index) || len(field.Index) > 1 && omitted(field.Index[:len(field.Index)-1]) {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		embedded := field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct
		if field.IsExported() && !embedded {
			fields[cmp.Or(name, field.Name)] = v.FieldByIndex(field.Index)
		}
	}
	return fields
}

func find(v reflect.Value, name string) (reflect.Value, error) {
	path := ""
	for part := range strings.SplitSeq(name, ".") {
		if !nested(v.Type()) {
			return v, fmt.Errorf("unknown field %s: %s has no fields", names.Quote(name), path)
		}
		fields := fieldsOf(v)
		field, ok := fields[part]
		if !ok {
			return v, unknownField(path, part, fields)
		}
		path, v = join(path, part), field
	}
	if nested(v.Type()) {
		names := slices.Sorted(maps.Keys(fieldsOf(v)))
		return v, fmt.Errorf("%s is a group of fields; set one of %s.{%s}", path, path,
			strings.Join(names, ", "))
	}
	return v, nil
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func unknownField(path, name string, fields map[string]reflect.Value) error {
	err := names.Unknown("field", name, slices.Collect(maps.Keys(fields)))
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

func assign(path string, data json.RawMessage, v reflect.Value) error {
	if nested(v.Type()) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(data, &object); err != nil || object == nil {
			return wrong(path, data, v.Type())
		}
		fields := fieldsOf(v)
		for _, name := range slices.Sorted(maps.Keys(object)) {
			field, ok := fields[name]
			if !ok {
				return unknownField(path, name, fields)
			}
			if err := assign(join(path, name), object[name], field); err != nil {
				return err
			}
		}
		return nil
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
