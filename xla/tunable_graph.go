package xla

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Parametric is implemented by a part of an algorithm, of type T, whose parameters can be inputs of
// a program. Runs that differ only in them share the program; parameters that are constants make a
// program of their own. A part need not implement it.
type Parametric[T any] interface {
	// Params returns the parameters of the part.
	Params() []float64
	// Bind returns the part with its parameters replaced by nodes of the graph: float32 scalars in the
	// order of Params. It is called where the part is used; in a loop, with nodes of the loop's state.
	// The result must implement the same optional interfaces.
	Bind(numbers []*Node) T
}

// Params are the parameters of the parts of an algorithm. Together they are one input of a program,
// a vector; see [Scalars]. If there are none there is no input.
type Params []float64

// ParamsOf returns the parameters of a part, or none if it is not [Parametric].
func ParamsOf[T any](part T) Params {
	if tunable, ok := any(part).(Parametric[T]); ok {
		return tunable.Params()
	}
	return nil
}

// Bind returns a part with the parameters of [ParamsOf] taken from the graph, or the part itself if
// there are none.
func Bind[T any](part T, numbers []*Node) T {
	if tunable, ok := any(part).(Parametric[T]); ok && len(numbers) > 0 {
		return tunable.Bind(numbers)
	}
	return part
}

// Array returns the parameters as an array [n] on the given number of devices. Without parameters
// it has no leaves.
func (n Params) Array(devices int) Array {
	if len(n) == 0 {
		return Array{}
	}
	flat := make([]float32, len(n))
	for i, x := range n {
		flat[i] = float32(x)
	}
	var value Sharded
	for range devices {
		value = append(value, tensors.FromValue(flat))
	}
	return Value(value)
}

// Scalars returns the elements of a vector; none of nil.
func Scalars(vector *Node) []*Node {
	if vector == nil {
		return nil
	}
	scalars := make([]*Node, vector.Shape().Size())
	for i := range scalars {
		scalars[i] = Reshape(Slice(vector, AxisElem(i)))
	}
	return scalars
}

// Constants returns the parameters as scalar constants of the graph and type of a node, for parts
// that are used without [Bind].
func (n Params) Constants(like *Node) []*Node {
	nodes := make([]*Node, len(n))
	for i, x := range n {
		nodes[i] = Scalar(like.Graph(), like.DType(), x)
	}
	return nodes
}
