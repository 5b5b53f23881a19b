package mujoco

import (
	"encoding/json"
	"reflect"
	"strings"
)

// MarshalJSON writes a compiled model as [ReadModel] reads it.
func (m Model) MarshalJSON() ([]byte, error) {
	content := map[string]any{"mujoco": m.Version}
	if m.Notes != nil {
		content["notes"] = m.Notes
	}
	if m.OwnContacts != nil {
		content["own_contacts"] = m.OwnContacts
	}
	if m.LinkContacts > 0 {
		content["link_contacts"] = m.LinkContacts
	}
	if len(m.Activations) > 0 {
		content["activations"] = m.Activations
	}
	if len(m.Tendons) > 0 {
		content["tendons"] = m.Tendons
	}
	if len(m.Muscles) > 0 {
		content["muscles"] = m.Muscles
	}
	if len(m.Hulls) > 0 {
		content["hulls"] = m.Hulls
	}
	if len(m.Fields) > 0 {
		content["hfields"] = m.Fields
	}
	for _, part := range []struct {
		name string
		of   any
	}{{"sizes", m.Sizes}, {"opt", m.Opt}, {"names", m.Names}, {"arrays", m.Arrays}} {
		fields, of := map[string]any{}, reflect.ValueOf(part.of)
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Type().Field(i).Tag.Get("mj"), ",")
			fields[name] = plain(of.Field(i))
		}
		content[part.name] = fields
	}
	return json.Marshal(content)
}

// plain returns a value with flags as 0 and 1, and empty lists in place of nil.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	}
	return v.Interface()
}
