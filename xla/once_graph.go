package xla

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// cheap is the number of operations that are cheaper to repeat than to store, found by experiment.
const cheap = 3

// Materialize makes XLA:CPU compute nodes before their users, like [Barrier] but at a lower cost:
// it divides values that several operations use by 1. XLA does not duplicate a division in each of
// its users, as it does with cheaper operations, and it cannot know this 1, which is computed from
// the bits of a parameter. The loop of a Barrier costs copies at run time and compile time; a
// division is one instruction. Values that are cheap to compute stay unchanged, and so does
// everything on other backends. Values do not change: a quotient by 1 is exact.
func Materialize(nodes []*Node) []*Node {
	if len(nodes) == 0 {
		return nodes
	}
	if KindOf(nodes[0].Graph()) != CPU {
		return nodes
	}
	parameter := parameterOf(nodes)
	if parameter == nil {
		return nodes
	}
	one := hiddenOne(parameter)
	out := make([]*Node, len(nodes))
	for i, x := range nodes {
		if !long(x) {
			out[i] = x
			continue
		}
		switch x.DType() {
		case dtypes.Float32:
			out[i] = Div(x, one)
		case dtypes.Bool:
			number := Div(ConvertDType(x, dtypes.Float32), one)
			out[i] = NotEqual(number, ZerosLike(number))
		default:
			out[i] = x
		}
	}
	return out
}

// long reports whether a node takes more than a few operations from nodes that XLA does not
// duplicate anyway: parameters, results of loops, divisions and roots.
func long(x *Node) bool {
	seen := map[*Node]bool{}
	operations := 0
	var count func(x *Node)
	count = func(x *Node) {
		if operations > cheap || seen[x] {
			return
		}
		seen[x] = true
		switch x.Type() {
		case NodeTypeParameter, NodeTypeConstant, NodeTypeDiv, NodeTypeSqrt, NodeTypeSplitNode:
			return
		case NodeTypeReshape, NodeTypeBroadcastInDim, NodeTypeConvertDType:
		default:
			operations++
		}
		for _, input := range x.Inputs() {
			count(input)
		}
	}
	count(x)
	return operations > cheap
}

// parameterOf returns a parameter, of the program or of the body of a loop, on which the nodes
// depend, or nil if all are constants.
func parameterOf(nodes []*Node) *Node {
	seen := map[*Node]bool{}
	var find func(x *Node) *Node
	find = func(x *Node) *Node {
		if seen[x] {
			return nil
		}
		seen[x] = true
		if x.Type() == NodeTypeParameter {
			if t := x.DType(); t == dtypes.Float32 || t == dtypes.Uint32 {
				return x
			}
			return nil
		}
		for _, input := range x.Inputs() {
			if found := find(input); found != nil {
				return found
			}
		}
		return nil
	}
	for _, x := range nodes {
		if found := find(x); found != nil {
			return found
		}
	}
	return nil
}

// hiddenOne returns 1, a float32 scalar, computed from the bits of a parameter. It is a quotient
// itself, so XLA computes it once.
func hiddenOne(parameter *Node) *Node {
	first := Reshape(Slice(Reshape(parameter, -1), AxisRange(0, 1)))
	if first.DType() == dtypes.Float32 {
		first = Bitcast(first, dtypes.Uint32)
	}
	one := func(bit uint32) *Node {
		return ConvertDType(Min(BitwiseOr(first, ConstAs(first, bit)), ConstAs(first, uint32(1))),
			dtypes.Float32)
	}
	return Div(one(1), one(2))
}
