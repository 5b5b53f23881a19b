package xla

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Parametric is a part of an algorithm, of type T, whose numbers can be inputs of a program. Runs
// that differ in them alone then share the program, where numbers that are constants make another
// one of it. A part need not be tunable.
type Parametric[T any] interface {
	// Params are those of the part.
	Params() []float64
	// Bind is the part with numbers of the graph in place of its own, float32 scalars in the order
	// of Numbers. It is called where the part is used: in a loop, with numbers that the loop's
	// state carries. What else it implements it does then, too.
	Bind(numbers []*Node) T
}

// Params are those of the parts of an algorithm: of a program one input, a vector. None are no
// input.
type Params []float64

// ParamsOf lists the numbers of a part; none if it is not [Parametric].
func ParamsOf[T any](part T) Params {
	if tunable, ok := any(part).(Parametric[T]); ok {
		return tunable.Params()
	}
	return nil
}

// Bind is a part with the numbers of [ParamsOf] taken from the graph; the part itself if there are
// none.
func Bind[T any](part T, numbers []*Node) T {
	if tunable, ok := any(part).(Parametric[T]); ok && len(numbers) > 0 {
		return tunable.Bind(numbers)
	}
	return part
}

// Inputs declares the numbers as the input of a program.
func (n Params) Inputs() []Input {
	if len(n) == 0 {
		return nil
	}
	return []Input{{Shape: shapes.Make(dtypes.Float32, len(n))}}
}

// Values are what that input takes, on so many devices.
func (n Params) Values(devices int) []Sharded {
	if len(n) == 0 {
		return nil
	}
	flat := make([]float32, len(n))
	for i, x := range n {
		flat[i] = float32(x)
	}
	value := make(Sharded, devices)
	for i := range value {
		value[i] = tensors.FromFlatDataAndDimensions(flat, len(flat))
	}
	return []Sharded{value}
}

// Cut takes the numbers, scalars, from the first of a program's inputs. rest are the others.
func (n Params) Cut(in []*Node) (numbers, rest []*Node) {
	if len(n) == 0 {
		return nil, in
	}
	for i := range n {
		numbers = append(numbers, Reshape(Slice(in[0], AxisElem(i))))
	}
	return numbers, in[1:]
}

// Constants are the numbers as scalars of the graph and the type of a node: for parts that are used
// as they are.
func (n Params) Constants(like *Node) []*Node {
	nodes := make([]*Node, len(n))
	for i, x := range n {
		nodes[i] = Scalar(like.Graph(), like.DType(), x)
	}
	return nodes
}
