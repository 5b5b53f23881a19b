package xla

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/xla/random"
)

// State is a pytree T on the devices: an input or an output of a [Program], and what is kept
// between runs. A program's function reads the nodes of its inputs in Tree, and returns its outputs
// with [Out]. A program's Run takes and returns the same types with values.
//
// The zero State has no leaves. It stands for an input that a program does not have.
type State[T any] struct {
	// Tree is the pytree. Outside of a program's function its nodes stand for the values and cannot be
	// used in a graph; see [Part].
	Tree   T
	leaves []leaf // in the order of Flatten
}

// leaf is the value of a node. It has only a shape if it is an input that has no value yet.
type leaf struct {
	shape shapes.Shape
	value Sharded
}

// Array is a single tensor on the devices.
type Array = State[*graph.Node]

// Out returns the nodes of a pytree as an output of a program.
func Out[T any](tree T) State[T] {
	nodes := Flatten(tree)
	s := State[T]{Tree: tree, leaves: make([]leaf, len(nodes))}
	for i, node := range nodes {
		s.leaves[i].shape = node.Shape()
	}
	return s
}

// Value returns a value of the host as an array.
func Value(v Sharded) Array {
	return Array{new(graph.Node), []leaf{{v[0].Shape(), v}}}
}

// Single returns a tensor on the first device.
func Single(tensor *tensors.Tensor) Array { return Value(Sharded{tensor}) }

// FromFloats returns numbers of the host, flat, as an array on the first device.
func FromFloats(flat []float32, dims ...int) Array {
	return Single(tensors.FromFlatDataAndDimensions(flat, dims...))
}

// Pack combines arrays to a pytree. tree makes it from their nodes, in the order of [Flatten].
func Pack[T any](tree func(nodes []*graph.Node) T, arrays ...Array) State[T] {
	nodes, leaves := make([]*graph.Node, len(arrays)), make([]leaf, len(arrays))
	for i, a := range arrays {
		nodes[i], leaves[i] = new(graph.Node), a.leaves[0]
	}
	return State[T]{tree(nodes), leaves}
}

// Declare returns an array without a value, to compile programs with.
func Declare(dtype dtypes.DType, dims ...int) Array {
	return Array{new(graph.Node), []leaf{{shape: shapes.Make(dtype, dims...)}}}
}

// Number returns an int32 scalar on all workers.
func (p *Platform) Number(x int64) Array {
	return Value(p.Replicated(func() *tensors.Tensor { return tensors.FromScalar(int32(x)) }))
}

// Seed returns the words of a seed, see [random.KeyOf], on all workers.
func (p *Platform) Seed(seed int64) Array {
	return Value(p.Replicated(func() *tensors.Tensor { return tensors.FromValue(random.SeedWords(seed)) }))
}

// Free releases the memory of values that were not donated.
func (s State[T]) Free() {
	for _, l := range s.leaves {
		l.value.Free()
	}
}

// First returns the values on the first device. They share the memory.
func (s State[T]) First() State[T] { return s.On(1) }

// On returns the values on the first devices. They share the memory.
func (s State[T]) On(devices int) State[T] {
	s.leaves = slices.Clone(s.leaves)
	for i, l := range s.leaves {
		if l.value != nil {
			s.leaves[i].value = l.value[:devices]
		}
	}
	return s
}

// Value returns the value of a state with one leaf.
func (s State[T]) Value() Sharded { return s.single().value }

// Dims returns the axis sizes of a state with one leaf.
func (s State[T]) Dims() []int { return s.single().shape.Dimensions }

func (s State[T]) single() leaf {
	if len(s.leaves) != 1 {
		panic(fmt.Errorf("a pytree of %d tensors is not a single array", len(s.leaves)))
	}
	return s.leaves[0]
}

// Floats copies a state with one leaf to the host, as flat float32. Without leaves it returns nil.
func (s State[T]) Floats() ([]float32, error) {
	if len(s.leaves) == 0 {
		return nil, nil
	}
	return Floats(s.Value())
}

// Lists copies every leaf to the host, as flat float32.
func (s State[T]) Lists() ([][]float32, error) {
	var lists [][]float32
	for _, l := range s.leaves {
		flat, err := Floats(l.value)
		if err != nil {
			return nil, err
		}
		lists = append(lists, flat)
	}
	return lists, nil
}

// Scalars copies float32 or int32 scalars to the host and releases their memory.
func (s State[T]) Scalars() []float64 {
	defer s.Free()
	numbers := make([]float64, len(s.leaves))
	for i, l := range s.leaves {
		if l.shape.DType == dtypes.Int32 {
			numbers[i] = float64(tensors.ToScalar[int32](l.value[0]))
		} else {
			numbers[i] = float64(tensors.ToScalar[float32](l.value[0]))
		}
	}
	return numbers
}

// Spread moves the values from the first device to each that keeps a copy, see [Platform.Copies].
func (s State[T]) Spread(p *Platform) (State[T], error) {
	if p.Copies() == 1 {
		return s, nil
	}
	copies, err := s.Copy(p)
	s.Free()
	return copies, err
}

// Copy copies the values of the first device to each that keeps a copy.
func (s State[T]) Copy(p *Platform) (State[T], error) {
	s.leaves = slices.Clone(s.leaves)
	for i := range s.leaves {
		array, err := Download(s.leaves[i].value)
		if err == nil {
			s.leaves[i].value, err = Uploads(array, p.Copies())
		}
		if err != nil {
			s.leaves = s.leaves[:i]
			s.Free()
			return State[T]{}, err
		}
	}
	return s, nil
}

// Part selects a part of a state, for example one field of its pytree. They share the memory.
func Part[T, U any](s State[T], part func(T) U) State[U] {
	at := map[*graph.Node]leaf{}
	for i, node := range Flatten(s.Tree) {
		at[node] = s.leaves[i]
	}
	selected := State[U]{Tree: part(s.Tree)}
	for _, node := range Flatten(selected.Tree) {
		selected.leaves = append(selected.leaves, at[node])
	}
	return selected
}

// Leaves returns the leaves of a state as arrays. They share the memory.
func (s State[T]) Leaves() []Array {
	arrays := make([]Array, len(s.leaves))
	for i := range arrays {
		arrays[i] = Array{new(graph.Node), s.leaves[i : i+1]}
	}
	return arrays
}

// Free releases the memory of states, or of structs of states, given by pointers.
func Free(states ...any) {
	for _, s := range states {
		for _, f := range fieldsOf(reflect.ValueOf(s), "", false) {
			f.Free()
		}
	}
}

// Set replaces the values of a part of a state and frees the old ones. Shapes stay the same.
func Set[T, U any](s *State[T], part func(T) U, to State[U]) {
	replaced := Flatten(part(s.Tree))
	if len(replaced) != len(to.leaves) {
		panic(fmt.Errorf("a part of %d tensors cannot take %d", len(replaced), len(to.leaves)))
	}
	s.leaves = slices.Clone(s.leaves)
	for i, node := range Flatten(s.Tree) {
		if k := slices.Index(replaced, node); k >= 0 {
			s.leaves[i].value.Free()
			s.leaves[i].value = to.leaves[k].value
		}
	}
}

// Holder is a pointer to a [State] of any type, as programs and checkpoints handle it.
type Holder interface {
	Free()
	held() *[]leaf
	visit(see visitor)
	replace(by func(*graph.Node) *graph.Node)
}

func (s *State[T]) held() *[]leaf { return &s.leaves }

// visit calls see for each node, in the order of the leaves.
func (s *State[T]) visit(see visitor) { rebuild(s.Tree, see) }

// replace replaces the nodes of the tree, in the order of the leaves.
func (s *State[T]) replace(by func(*graph.Node) *graph.Node) { s.Tree = Map(s.Tree, by) }

// field is a state in a struct.
type field struct {
	Holder
	name   string
	donate bool
}

// mustHold panics unless a state has a value for each of the nodes of its tree: else the states after it would get
// each other's values.
func (f field) mustHold(nodes int) {
	if values := len(*f.held()); values != nodes {
		panic(fmt.Errorf("the tree of state %q has %d tensors, the state %d: make states by Out, Pack and Part, not by "+
			"setting Tree", f.name, nodes, values))
	}
}

// fieldsOf lists the states in a struct, given by a pointer, in declaration order. A struct's tag holds
// for all states in it.
func fieldsOf(v reflect.Value, name string, donate bool) []field {
	if v.CanInterface() { // not an embedded struct of an unexported type
		if held, ok := v.Interface().(Holder); ok {
			return []field{{held, name, donate}}
		}
	}
	v = v.Elem()
	if v.Kind() != reflect.Struct {
		panic(fmt.Errorf("inputs and outputs of programs are states or structs of states, not %s", v.Type()))
	}
	var all []field
	for i := range v.NumField() {
		f := v.Type().Field(i)
		inner := f.Name
		if f.Anonymous {
			inner = name
		} else if name != "" {
			inner = name + "." + inner
		}
		all = append(all, fieldsOf(v.Field(i).Addr(), inner, donate || f.Tag.Get("xla") == "donate")...)
	}
	return all
}
