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
func Flatten[T any](tree T) (leaves []*graph.Node) {
	rebuild(tree, func(_ string, _ reflect.Type, leaf *graph.Node) *graph.Node {
		leaves = append(leaves, leaf)
		return leaf
	})
	return leaves
}

// Names returns a name for every node of a pytree, in the order of [Flatten]: the path of fields
// and indices that leads to it, such as "Learner.Actor" or "Rows.1.Left". Files use these names. A
// field tag such as `checkpoint:"World"` keeps the name in files when the field is renamed.
func Names[T any](tree T) (names []string) {
	rebuild(tree, func(path string, _ reflect.Type, leaf *graph.Node) *graph.Node {
		names = append(names, strings.TrimPrefix(path, "."))
		return leaf
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
	return rebuild(tree, func(string, reflect.Type, *graph.Node) *graph.Node {
		leaf := leaves[0]
		leaves = leaves[1:]
		return leaf
	})
}

// Map applies f to every node of a pytree.
func Map[T any](tree T, f func(*graph.Node) *graph.Node) T {
	return rebuild(tree, func(_ string, _ reflect.Type, leaf *graph.Node) *graph.Node { return f(leaf) })
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

// A visitor gets a node of a pytree with the path of fields and indices to it, and its owner: the type of the
// part that holds it, which is that of the innermost interface, nil outside of all. It returns what replaces the
// node in a copy.
type visitor func(path string, owner reflect.Type, node *graph.Node) *graph.Node

// rebuild returns a copy of a pytree with what see returns for each of its nodes.
func rebuild[T any](tree T, see visitor) T {
	v := reflect.ValueOf(&tree).Elem()
	if out, ok := (visit{see, map[uintptr]bool{}, nil}).rebuild(v, "", nil); ok {
		v.Set(out)
	}
	return tree
}

type visit struct {
	see   visitor
	above map[uintptr]bool // pointers on the way, which host objects may form cycles of
	owner reflect.Type
}

// rebuild copies what holds nodes and shares the rest; ok is false if v holds none. A node where loops
// cannot carry it panics with unfit.
func (w visit) rebuild(v reflect.Value, path string, unfit error) (out reflect.Value, ok bool) {
	switch {
	case !v.IsValid() || !canHold(v.Type(), map[reflect.Type]bool{}):
		return v, false
	case v.Type() == nodeType:
		if !v.IsNil() && unfit != nil {
			panic(unfit)
		} else if v.IsNil() {
			return v, false
		}
		return reflect.ValueOf(w.see(path, w.owner, v.Interface().(*graph.Node))), true
	}
	part := func(of func(v reflect.Value) reflect.Value, path string, unfit error) {
		inner, holds := w.rebuild(of(v), path, unfit)
		if !holds {
			return
		}
		if !ok {
			out, ok = reflect.New(v.Type()).Elem(), true
			switch v.Kind() {
			case reflect.Pointer:
				out.Set(reflect.New(v.Type().Elem()))
			case reflect.Slice:
				out.Set(reflect.AppendSlice(out, v))
			default:
				out.Set(v)
			}
		}
		of(out).Set(inner)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field, unfit := v.Type().Field(i), unfit
			if !field.IsExported() && unfit == nil {
				unfit = fmt.Errorf("field %s.%s holds tensors but is not exported: loops cannot carry it", v.Type(), field.Name)
			}
			part(func(v reflect.Value) reflect.Value { return v.Field(i) },
				path+"."+cmp.Or(field.Tag.Get("checkpoint"), field.Name), unfit)
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			part(func(v reflect.Value) reflect.Value { return v.Index(i) }, path+"."+strconv.Itoa(i), unfit)
		}
	case reflect.Pointer:
		if !w.above[v.Pointer()] {
			w.above[v.Pointer()] = true
			part(reflect.Value.Elem, path, unfit)
			if unfit == nil { // others are visited once: they hold no nodes
				delete(w.above, v.Pointer())
			}
		}
	case reflect.Interface:
		if !v.IsNil() {
			w.owner = v.Elem().Type()
		}
		return w.rebuild(v.Elem(), path, unfit)
	case reflect.Map:
		unfit := cmp.Or(unfit, fmt.Errorf("a map holds tensors in%s, without an order: use a struct or a "+
			"slice", strings.ReplaceAll(" "+path, " .", " ")))
		for _, key := range v.MapKeys() {
			w.rebuild(key, path, unfit)
			w.rebuild(v.MapIndex(key), path, unfit)
		}
	}
	return out, ok
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
