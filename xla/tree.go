package xla

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"
)

// A pytree is a Go value that holds graph nodes: a *graph.Node, or a struct, array, slice or
// pointer of pytrees. An exported struct field may also be an interface that holds one. Loops carry
// pytrees, so that the state of an environment is a struct with names rather than a list with
// indices. Fields without nodes (sizes, options) are constants of the loop and pass through
// unchanged; nil nodes are skipped.
//
// These functions build no graphs, but they panic like graph functions, which call them.

var nodeType = reflect.TypeFor[*graph.Node]()

// Flatten lists the nodes of a pytree in declaration order.
func Flatten[T any](tree T) []*graph.Node {
	var leaves []*graph.Node
	walk(reflect.ValueOf(&tree).Elem(), "", func(_ string, leaf reflect.Value) {
		leaves = append(leaves, leaf.Interface().(*graph.Node))
	})
	return leaves
}

// Names returns a name for every node of a pytree, in the order of [Flatten]: the path of fields
// and indices that leads to it, such as "Learner.Actor" or "Rows.1.Left". Files use these names. A
// field tag such as `checkpoint:"World"` keeps the name in files when the field is renamed.
func Names[T any](tree T) []string {
	var names []string
	walk(reflect.ValueOf(&tree).Elem(), "", func(path string, _ reflect.Value) {
		names = append(names, strings.TrimPrefix(path, "."))
	})
	return names
}

// Unflatten returns a copy of a pytree with its nodes replaced, in the order of [Flatten]. The
// original is not changed, even where it holds slices. Unflatten panics if the number of leaves
// differs.
func Unflatten[T any](tree T, leaves []*graph.Node) T {
	v := reflect.New(reflect.TypeFor[T]()).Elem()
	v.Set(deepCopy(reflect.ValueOf(&tree).Elem()))
	next := 0
	walk(v, "", func(_ string, leaf reflect.Value) {
		if next < len(leaves) {
			leaf.Set(reflect.ValueOf(leaves[next]))
		}
		next++
	})
	if next != len(leaves) {
		panic(errors.Errorf("a pytree of %d tensors cannot take %d", next, len(leaves)))
	}
	return v.Interface().(T)
}

// Map applies f to every node of a pytree.
func Map[T any](tree T, f func(*graph.Node) *graph.Node) T {
	leaves := Flatten(tree)
	for i, leaf := range leaves {
		leaves[i] = f(leaf)
	}
	return Unflatten(tree, leaves)
}

// Map2 applies f to the nodes of two pytrees of the same structure, pair by pair.
func Map2[T any](a, b T, f func(a, b *graph.Node) *graph.Node) T {
	left, right := Flatten(a), Flatten(b)
	if len(left) != len(right) {
		panic(errors.Errorf("pytrees of %d and %d tensors do not match", len(left), len(right)))
	}
	for i := range left {
		left[i] = f(left[i], right[i])
	}
	return Unflatten(a, left)
}

// walk visits the nodes of a pytree that is at a path, each with its own path.
func walk(v reflect.Value, path string, visit func(path string, leaf reflect.Value)) {
	if v.Type() == nodeType {
		if !v.IsNil() {
			visit(path, v)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() {
				walk(v.Field(i), path+"."+cmp.Or(field.Tag.Get("checkpoint"), field.Name), visit)
			} else if holdsNodes(field.Type, map[reflect.Type]bool{}) {
				panic(fmt.Errorf("field %s.%s holds tensors but is not exported: loops cannot carry it",
					v.Type(), field.Name))
			}
		}
	case reflect.Array, reflect.Slice:
		if holdsNodes(v.Type().Elem(), map[reflect.Type]bool{}) {
			for i := range v.Len() {
				walk(v.Index(i), path+"."+strconv.Itoa(i), visit)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && holdsNodes(v.Type(), map[reflect.Type]bool{}) {
			walk(v.Elem(), path, visit)
		}
	case reflect.Interface:
		if !v.IsNil() && holdsNodes(v.Elem().Type(), map[reflect.Type]bool{}) {
			// The value in an interface cannot be changed, only replaced.
			inside := reflect.New(v.Elem().Type()).Elem()
			inside.Set(deepCopy(v.Elem()))
			walk(inside, path, visit)
			v.Set(inside)
		}
	}
}

// holdsNodes reports whether a type can hold nodes; seen breaks cycles of types.
func holdsNodes(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == nodeType {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsNodes(t.Field(i).Type, seen) {
				return true
			}
		}
	case reflect.Array, reflect.Slice, reflect.Pointer:
		return holdsNodes(t.Elem(), seen)
	}
	return false
}

// deepCopy copies what walk may change and shares the rest.
func deepCopy(v reflect.Value) reflect.Value {
	if v.Type() == nodeType || !holdsNodes(v.Type(), map[reflect.Type]bool{}) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(deepCopy(v.Index(i)))
		}
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(deepCopy(v.Index(i)))
		}
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(deepCopy(v.Elem()))
	}
	return out
}
