package xla

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
)

// A pytree is a Go value that holds graph nodes: a *graph.Node, or a struct, array, slice, pointer or
// interface of pytrees. Loops carry pytrees, so that the state of an environment is a struct with
// names rather than a list with indices. Fields without nodes (sizes, options) are constants of the
// loop and pass through unchanged; nil nodes are skipped. Nodes in unexported fields and maps panic.
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
	if n := len(Flatten(tree)); n != len(leaves) {
		panic(fmt.Errorf("a pytree of %d tensors cannot take %d", n, len(leaves)))
	}
	v := reflect.ValueOf(&tree).Elem()
	v.Set(replace(v, &leaves))
	return tree
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
		panic(fmt.Errorf("pytrees of %d and %d tensors do not match", len(left), len(right)))
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
			} else if hides(v.Field(i), map[uintptr]bool{}) {
				panic(fmt.Errorf("field %s.%s holds tensors but is not exported: loops cannot carry it",
					v.Type(), field.Name))
			}
		}
	case reflect.Array, reflect.Slice:
		if holds(v, map[uintptr]bool{}) {
			for i := range v.Len() {
				walk(v.Index(i), path+"."+strconv.Itoa(i), visit)
			}
		}
	case reflect.Pointer, reflect.Interface:
		if holds(v, map[uintptr]bool{}) {
			walk(v.Elem(), path, visit)
		}
	case reflect.Map:
		if holds(v, map[uintptr]bool{}) {
			panic(fmt.Errorf("a map holds tensors in%s, without an order: use a struct or a slice",
				strings.ReplaceAll(" "+path, " .", " ")))
		}
	}
}

// replace copies what holds nodes, shares the rest, and takes the nodes of the copy from leaves.
func replace(v reflect.Value, leaves *[]*graph.Node) reflect.Value {
	if !holds(v, map[uintptr]bool{}) {
		return v
	}
	if v.Type() == nodeType {
		leaf := (*leaves)[0]
		*leaves = (*leaves)[1:]
		return reflect.ValueOf(leaf)
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(replace(v.Field(i), leaves))
			}
		}
	case reflect.Array, reflect.Slice:
		if v.Kind() == reflect.Slice {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(replace(v.Index(i), leaves))
		}
	case reflect.Pointer:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(replace(v.Elem(), leaves))
	case reflect.Interface:
		out.Set(replace(v.Elem(), leaves))
	}
	return out
}

// holds reports whether a value holds nodes, or a field that is not exported can. seen breaks cycles
// of pointers.
func holds(v reflect.Value, seen map[uintptr]bool) bool {
	if v.Type() == nodeType {
		return !v.IsNil()
	}
	if !canHold(v.Type(), true, map[reflect.Type]bool{}) {
		return false
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && holds(v.Field(i), seen) ||
				!f.IsExported() && hides(v.Field(i), seen) {
				return true
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			if holds(v.Index(i), seen) {
				return true
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if holds(key, seen) || holds(v.MapIndex(key), seen) {
				return true
			}
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return false
		}
		if v.Kind() == reflect.Pointer {
			if seen[v.Pointer()] {
				return false
			}
			seen[v.Pointer()] = true
		}
		return holds(v.Elem(), seen)
	}
	return false
}

// hides reports whether a field that is not exported can hold nodes by its type, or holds some in
// interfaces.
func hides(v reflect.Value, seen map[uintptr]bool) bool {
	return canHold(v.Type(), false, map[reflect.Type]bool{}) || holds(v, seen)
}

// canHold reports whether a type can hold nodes, in interfaces if they count; seen breaks cycles of
// types.
func canHold(t reflect.Type, interfaces bool, seen map[reflect.Type]bool) bool {
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
			if canHold(t.Field(i).Type, interfaces, seen) {
				return true
			}
		}
	case reflect.Map:
		return canHold(t.Key(), interfaces, seen) || canHold(t.Elem(), interfaces, seen)
	case reflect.Array, reflect.Slice, reflect.Pointer:
		return canHold(t.Elem(), interfaces, seen)
	case reflect.Interface:
		return interfaces
	}
	return false
}
