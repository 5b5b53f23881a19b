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
	walker{visit, map[uintptr]bool{}}.walk(v, path, nil)
}

type walker struct {
	visit func(path string, leaf reflect.Value)
	above map[uintptr]bool // pointers on the way, which host objects may form cycles of
}

// walk is [walk]. A node where loops cannot carry it panics with unfit.
func (w walker) walk(v reflect.Value, path string, unfit error) {
	switch {
	case !v.IsValid() || !canHold(v.Type(), map[reflect.Type]bool{}):
		return
	case v.Type() == nodeType:
		if !v.IsNil() && unfit != nil {
			panic(unfit)
		} else if !v.IsNil() {
			w.visit(path, v)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field, unfit := v.Type().Field(i), unfit
			if !field.IsExported() && unfit == nil {
				unfit = fmt.Errorf("field %s.%s holds tensors but is not exported: loops cannot carry it",
					v.Type(), field.Name)
			}
			w.walk(v.Field(i), path+"."+cmp.Or(field.Tag.Get("checkpoint"), field.Name), unfit)
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i), path+"."+strconv.Itoa(i), unfit)
		}
	case reflect.Pointer:
		if !w.above[v.Pointer()] {
			w.above[v.Pointer()] = true
			w.walk(v.Elem(), path, unfit)
			if unfit == nil { // others are visited once: they hold no nodes
				delete(w.above, v.Pointer())
			}
		}
	case reflect.Interface:
		w.walk(v.Elem(), path, unfit)
	case reflect.Map:
		unfit := cmp.Or(unfit, fmt.Errorf("a map holds tensors in%s, without an order: use a struct or a "+
			"slice", strings.ReplaceAll(" "+path, " .", " ")))
		for _, key := range v.MapKeys() {
			w.walk(key, path, unfit)
			w.walk(v.MapIndex(key), path, unfit)
		}
	}
}

// replace copies what holds nodes, shares the rest, and takes the nodes of the copy from leaves.
func replace(v reflect.Value, leaves *[]*graph.Node) reflect.Value {
	n := 0
	if walk(v, "", func(string, reflect.Value) { n++ }); n == 0 {
		return v
	}
	if v.Type() == nodeType {
		leaf := (*leaves)[0]
		*leaves = (*leaves)[1:]
		return reflect.ValueOf(leaf)
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Struct:
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

// canHold reports whether a type can hold nodes; seen breaks cycles of types.
func canHold(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == nodeType || t.Kind() == reflect.Interface {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if canHold(t.Field(i).Type, seen) {
				return true
			}
		}
	case reflect.Map:
		return canHold(t.Key(), seen) || canHold(t.Elem(), seen)
	case reflect.Array, reflect.Slice, reflect.Pointer:
		return canHold(t.Elem(), seen)
	}
	return false
}
