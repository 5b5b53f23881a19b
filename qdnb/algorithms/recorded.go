package algorithms

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"example.com/qdnb/internal/walk"
)

// Part is a part of an algorithm that its user may replace.
type Part struct{ Own, By any } // the algorithm's own, and what replaces it, nil if nothing does

// Recorded returns the settings of an algorithm, a pointer to a struct, as a run records them: without
// those that nothing depends on but own parts that are replaced. If what replaces such a part has a field
// of the same name, its value is recorded. describe returns the parts of an algorithm with given
// settings, and everything else that depends on them.
func Recorded[A Algorithm](a A, describe func(A) (parts []Part, others any)) (map[string]json.RawMessage, error) {
	var settings map[string]json.RawMessage
	data, err := json.Marshal(a)
	if err == nil {
		err = json.Unmarshal(data, &settings)
	}
	if err != nil {
		return nil, err
	}
	parts, others := describe(a)
	original := reflect.ValueOf(a).Elem()
	for _, field := range reflect.VisibleFields(original.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if _, ok := settings[name]; !ok {
			continue
		}
		var replaced []any // the parts in whose stead others depend on this setting
		used := false
		for _, value := range alternatives(original.FieldByIndex(field.Index)) {
			altered := reflect.New(original.Type())
			altered.Elem().Set(original)
			altered.Elem().FieldByIndex(field.Index).Set(value)
			after, rest := describe(altered.Interface().(A))
			used = used || !reflect.DeepEqual(rest, others)
			for i, part := range parts {
				if differs := !reflect.DeepEqual(after[i].Own, part.Own); differs && part.By != nil {
					replaced = append(replaced, part.By)
				} else if differs {
					used = true
				}
			}
		}
		if used || replaced == nil {
			continue
		}
		delete(settings, name)
		if held := fields(replaced, field); len(held) == 1 {
			if settings[name], err = json.Marshal(held[0]); err != nil {
				return nil, err
			}
		}
	}
	return settings, nil
}

// fields lists the different values of exported fields with the name and type of a field.
func fields(parts []any, like reflect.StructField) (values []any) {
	walk.Each(parts, func(v reflect.Value) {
		if v.Kind() != reflect.Struct {
			return
		}
		field, ok := v.Type().FieldByName(like.Name)
		if !ok || len(field.Index) > 1 || field.Type != like.Type || !v.FieldByIndex(field.Index).CanInterface() {
			return
		}
		value := v.FieldByIndex(field.Index).Interface()
		if !slices.ContainsFunc(values, func(other any) bool { return reflect.DeepEqual(other, value) }) {
			values = append(values, value)
		}
	})
	return values
}

// alternatives returns other values of a setting.
func alternatives(v reflect.Value) (list []reflect.Value) {
	add := func(change func(reflect.Value)) {
		other := reflect.New(v.Type()).Elem()
		change(other)
		list = append(list, other)
	}
	switch v.Kind() {
	case reflect.Bool:
		add(func(other reflect.Value) { other.SetBool(!v.Bool()) })
	case reflect.Int, reflect.Int64:
		add(func(other reflect.Value) { other.SetInt(v.Int() + 1) })
	case reflect.Float64: // of which one may mean the value that it has
		add(func(other reflect.Value) { other.SetFloat(0) })
		add(func(other reflect.Value) { other.SetFloat(1) })
	case reflect.String:
		add(func(other reflect.Value) { other.SetString(v.String() + "?") })
	case reflect.Slice:
		add(func(other reflect.Value) { other.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) })
	}
	return list
}
