// Package parts reads and writes the settings of an algorithm that is made of parts. A part is a struct
// in a field of interface type, or in such a field of the elements of a slice, of which the algorithm's
// field has the tag parts with the start of its path:
//
//	type Algorithm struct {
//		Batch   int     `json:"batch"`
//		Mix     []Share `json:"-" parts:"mix"` // the emitter of share 1 is the part mix.1
//		Archive Archive `json:"-" parts:"archive"`
//	}
//
// The settings of a part are its fields with JSON names. They are settings of the algorithm: parts that
// have a setting of the same name share it. Only where their values differ, all but the first are named
// by their paths, such as mix.1.learning_rate.
package parts

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Part is an algorithm, whose Path is "", or one of its parts.
type Part struct {
	Path  string
	Value reflect.Value // the struct, which can be set
}

// Namer is a struct next to a part, such as an element of a slice, with settings of its own.
type Namer interface {
	// Names returns the names of the settings by the names of the fields.
	Names() map[string]string
}

// Of returns a copy of an algorithm and its parts in order. settings is a struct or a pointer to one;
// anything else has none.
func Of(settings any) []Part {
	v := reflect.Indirect(reflect.ValueOf(settings))
	if v.Kind() != reflect.Struct {
		return nil
	}
	copied := reflect.New(v.Type())
	copied.Elem().Set(v)
	list, _ := Open(copied)
	return list
}

// Open returns an algorithm, which settings points to, and its parts in order. Changes of the parts
// take effect when done is called.
func Open(settings reflect.Value) (list []Part, done func()) {
	root := settings.Elem()
	list = []Part{{"", root}}
	var closed []func()
	part := func(path string, held reflect.Value) {
		value := reflect.Indirect(held.Elem())
		if value.Kind() != reflect.Struct {
			return
		}
		copied := reflect.New(value.Type())
		copied.Elem().Set(value)
		list = append(list, Part{path, copied.Elem()})
		if held.Elem().Kind() != reflect.Pointer {
			copied = copied.Elem()
		}
		closed = append(closed, func() { held.Set(copied) })
	}
	for _, field := range reflect.VisibleFields(root.Type()) {
		path, ok := field.Tag.Lookup("parts")
		if !ok {
			continue
		}
		held := root.FieldByIndex(field.Index)
		if held.Kind() == reflect.Interface {
			part(path, held)
			continue
		}
		own := reflect.MakeSlice(held.Type(), held.Len(), held.Len()) // the original may be shared
		reflect.Copy(own, held)
		if held.Len() > 0 {
			held.Set(own)
		}
		for i := range own.Len() {
			at := path + "." + strconv.Itoa(i)
			if _, ok := own.Index(i).Interface().(Namer); ok {
				list = append(list, Part{at, own.Index(i)})
			}
			for k := range own.Index(i).NumField() {
				if f := own.Index(i).Field(k); f.Kind() == reflect.Interface {
					part(at, f)
				}
			}
		}
	}
	return list, func() {
		for _, set := range closed {
			set()
		}
	}
}

// Field is a setting of a part.
type Field struct {
	Name  string // in JSON
	Value reflect.Value
	omit  bool // where it is zero
}

// Fields returns the settings of a part.
func (p Part) Fields() (fields []Field) {
	if namer, ok := p.Value.Interface().(Namer); ok {
		for field, name := range namer.Names() {
			fields = append(fields, Field{Name: name, Value: p.Value.FieldByName(field)})
		}
		return fields
	}
	t := p.Value.Type()
	omitted := func(index []int) bool { return t.FieldByIndex(index).Tag.Get("json") == "-" }
	for _, field := range reflect.VisibleFields(t) {
		if omitted(field.Index) || len(field.Index) > 1 && omitted(field.Index[:len(field.Index)-1]) {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		embedded := field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct
		if name == "" && p.Path == "" {
			name = field.Name
		}
		if field.IsExported() && !embedded && name != "" {
			fields = append(fields, Field{name, p.Value.FieldByIndex(field.Index), strings.Contains(options, "omit")})
		}
	}
	return fields
}

// Marshal encodes an algorithm, or a pointer to one, with the settings of its parts as JSON.
func Marshal(settings any) ([]byte, error) {
	data, err := json.Marshal(settings)
	list := Of(settings)
	if err != nil || len(list) < 2 {
		return data, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	shared := map[string][]byte{} // also the values that are not written
	for _, part := range list {
		for _, field := range part.Fields() {
			value, err := json.Marshal(field.Value.Interface())
			if err != nil {
				return nil, err
			}
			if first, ok := shared[field.Name]; ok && !bytes.Equal(first, value) {
				all[part.Path+"."+field.Name] = value
				continue
			}
			shared[field.Name] = value
			if part.Path != "" && (!field.omit || !field.Value.IsZero()) {
				all[field.Name] = value
			}
		}
	}
	return json.Marshal(all)
}

// Change calls change with the algorithm that settings points to, if it has type T, or else with the first
// struct of type T that is embedded in it, a part, or embedded in a part. It reports whether there is one.
func Change[T any](settings any, change func(*T)) bool {
	list, done := Open(reflect.ValueOf(settings))
	for _, part := range list {
		if found := embedded[T](part.Value); found != nil {
			change(found)
			if part.Path != "" { // a change of the algorithm may have replaced its parts
				done()
			}
			return true
		}
	}
	return false
}

// embedded returns the part of a struct that has type T: the struct itself, or an embedded struct.
func embedded[T any](v reflect.Value) *T {
	if part, ok := v.Addr().Interface().(*T); ok {
		return part
	}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Anonymous && f.IsExported() && f.Type.Kind() == reflect.Struct {
			if part := embedded[T](v.Field(i)); part != nil {
				return part
			}
		}
	}
	return nil
}

// Replaced names the fields of an algorithm whose parts differ from those of the original in more than
// their settings, such as the type of a part.
func Replaced(original, tuned any) (fields []string) {
	before, after := byField(original), byField(tuned)
	v := reflect.Indirect(reflect.ValueOf(tuned))
	if v.Kind() != reflect.Struct {
		return nil
	}
	for _, field := range reflect.VisibleFields(v.Type()) {
		path, ok := field.Tag.Lookup("parts")
		if ok && !slices.EqualFunc(before[path], after[path], sameCode) {
			fields = append(fields, field.Name)
		}
	}
	return fields
}

// byField returns the parts of the fields of an algorithm by the name in their tag.
func byField(settings any) map[string][]Part {
	all := map[string][]Part{}
	for _, part := range Of(settings) {
		path, _, _ := strings.Cut(part.Path, ".")
		all[path] = append(all[path], part)
	}
	return all
}

// sameCode reports whether two parts differ only in their settings.
func sameCode(a, b Part) bool {
	if a.Path != b.Path || a.Value.Type() != b.Value.Type() {
		return false
	}
	from, to := b.Fields(), a.Fields()
	if len(from) != len(to) {
		return false
	}
	for i, field := range from {
		to[i].Value.Set(field.Value)
	}
	for _, part := range []Part{a, b} { // a part next to a setting has a path of its own
		for i := range part.Value.NumField() {
			if f := part.Value.Field(i); f.Kind() == reflect.Interface && f.CanSet() {
				f.SetZero()
			}
		}
	}
	return reflect.DeepEqual(a.Value.Interface(), b.Value.Interface())
}
