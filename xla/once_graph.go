package xla

import (
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/backend"
)

// identityName begins the names of the functions that [Materialize] calls.
const identityName = "materialize"

// cheap is the number of operations that are cheaper to repeat than to store, found by experiment:
// with less, compilation takes longer, with more, rollouts do (docs/performance.md).
const cheap = 8

// Materialize makes XLA:CPU compute nodes before their users. XLA fuses cheap operations into each
// of their users, which turns a chain of vector algebra into a tree that computes the same values
// hundreds of times. It does not fuse across a call, so each node passes through a call of the
// identity, for which no machine code remains. Values that are cheap to compute stay unchanged, and
// so does everything on other backends. Materialized nodes have no gradients.
func Materialize(nodes ...*Node) []*Node {
	out := slices.Clone(nodes)
	for i, x := range nodes {
		if long(x) {
			out[i] = Store(x)
		}
	}
	return out
}

// Store is [Materialize] of a node that may be cheap to compute. It also keeps XLA:CPU from computing a
// tensor [n, B] for users that read it as [n * B], one number after the other.
func Store(x *Node) *Node {
	if a, ok := x.Graph().Backend().(*adapter); ok && a.kind == backend.CPU {
		return a.identity(x.Graph(), x.Shape()).Call(x)[0]
	}
	return x
}

// Join concatenates tensors along their first axis. XLA:CPU fuses a concatenation with what
// computes and what uses its values, and then compares the index of each number with the ends of
// the parts. This copies the parts.
func Join(parts []*Node) *Node {
	if len(parts) == 1 {
		return parts[0]
	}
	parts = slices.Clone(parts)
	for i, x := range parts {
		parts[i] = Store(x)
	}
	return Store(Concatenate(parts, 0))
}

// identity returns the function of one tensor of a shape that returns it.
func (a *adapter) identity(g *Graph, shape shapes.Shape) *Function {
	name := shape.String()
	if a.identities[name] == nil {
		if a.identities == nil {
			a.identities = map[string]*Function{}
		}
		a.identities[name] = NewFunction(g, g.UniqueName(identityName), func(g *Graph) []*Node {
			return []*Node{Parameter(g, g.UniqueName("same"), shape)}
		})
	}
	return a.identities[name]
}

// long reports whether a node takes more than a few operations from nodes that XLA does not
// duplicate anyway: parameters, results of loops and calls, divisions and roots.
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
		case NodeTypeParameter, NodeTypeConstant, NodeTypeDiv, NodeTypeSqrt, NodeTypeSplitNode,
			NodeTypeCall:
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
