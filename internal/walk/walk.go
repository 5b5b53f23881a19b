// Package walk visits the values that a value is made of.
package walk

import "reflect"

// Each calls visit with a value and everything that it holds: what pointers and interfaces refer to,
// fields, also those that are not exported, and elements, but no single numbers of lists, and no maps,
// which another goroutine may change. What several pointers refer to is visited once.
func Each(value any, visit func(reflect.Value)) {
	type pointer struct {
		to uintptr
		of reflect.Type
	}
	seen := map[pointer]bool{}
	var each func(reflect.Value)
	each = func(v reflect.Value) {
		if !v.IsValid() {
			return
		}
		visit(v)
		switch v.Kind() {
		case reflect.Interface:
			each(v.Elem())
		case reflect.Pointer:
			if p := (pointer{v.Pointer(), v.Type()}); !seen[p] {
				seen[p] = true
				each(v.Elem())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				each(v.Field(i))
			}
		case reflect.Slice, reflect.Array:
			if k := v.Type().Elem().Kind(); k <= reflect.Complex128 || k == reflect.String {
				return
			}
			for i := range v.Len() {
				each(v.Index(i))
			}
		}
	}
	each(reflect.ValueOf(value))
}
