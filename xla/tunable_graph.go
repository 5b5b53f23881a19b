package xla

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Tunable is a part of an algorithm, of type T, whose numbers can be inputs of a program. Runs that differ in them alone then share
// the program, where numbers that are constants make another one of it. A part need not be tunable.
type Tunable[T any] interface {
	// Numbers are those of the part.
	Numbers() []float64
	// Tuned is the part with numbers of the graph in place of its own, float32 scalars in the order of Numbers. It is called where
	// the part is used: in a loop, with numbers that the loop's state carries. What else it implements it does then, too.
	Tuned(numbers []*Node) T
}

// Numbers are those of the parts of an algorithm: of a program one input, a vector. None are no input.
type Numbers []float64

// NumbersOf lists the numbers of a part; none if it is not [Tunable].
func NumbersOf[T any](part T) Numbers {
	if tunable, ok := any(part).(Tunable[T]); ok {
		return tunable.Numbers()
	}
	return nil
}

// TunedTo is a part with the numbers of [NumbersOf] taken from the graph; the part itself if there are none.
func TunedTo[T any](part T, numbers []*Node) T {
	if tunable, ok := any(part).(Tunable[T]); ok && len(numbers) > 0 {
		return tunable.Tuned(numbers)
	}
	return part
}

// Inputs declares the numbers as the input of a program.
func (n Numbers) Inputs() []Input {
	if len(n) == 0 {
		return nil
	}
	return []Input{{Shape: shapes.Make(dtypes.Float32, len(n))}}
}

// Values are what that input takes, on so many devices.
func (n Numbers) Values(devices int) []Value {
	if len(n) == 0 {
		return nil
	}
	flat := make([]float32, len(n))
	for i, x := range n {
		flat[i] = float32(x)
	}
	value := make(Value, devices)
	for i := range value {
		value[i] = tensors.FromFlatDataAndDimensions(flat, len(flat))
	}
	return []Value{value}
}

// Cut takes the numbers, scalars, from the first of a program's inputs. rest are the others.
func (n Numbers) Cut(in []*Node) (numbers, rest []*Node) {
	if len(n) == 0 {
		return nil, in
	}
	for i := range n {
		numbers = append(numbers, Reshape(Slice(in[0], AxisElem(i))))
	}
	return numbers, in[1:]
}

// Constants are the numbers as scalars of the graph and the type of a node: for parts that are used as they are.
func (n Numbers) Constants(like *Node) []*Node {
	nodes := make([]*Node, len(n))
	for i, x := range n {
		nodes[i] = Scalar(like.Graph(), like.DType(), x)
	}
	return nodes
}
