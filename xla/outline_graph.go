package xla

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/backend"
)

// outlinedName begins the names of the functions that [Outline] calls.
const outlinedName = "outlined"

// Outline returns body(state). XLA:CPU compiles body to a function of its own, which the host calls, if the loops
// around it are unfused (see [ForUnfused]). The time to compile a function grows with the square of its operations,
// so a large program compiles faster in parts, and on several cores. But a call passes all buffers of a part, even
// those of intermediate results. In a fused loop XLA inlines the parts, which then compile no faster. What body may
// use is as in [For]. Other backends inline body.
func Outline[S, T any](state S, body func(S) T) T {
	start := Flatten(state)
	if len(start) == 0 || KindOf(start[0].Graph()) != backend.CPU {
		return body(state)
	}
	g := start[0].Graph()
	var result T
	var f *Function
	var in []*Node
	withOwnScalars(g, func() {
		f = NewFunction(g, g.UniqueName(outlinedName), func(g *Graph) []*Node {
			in = parametersLike(g, start)
			result = body(Unflatten(state, in))
			changed := slices.DeleteFunc(Flatten(result), func(x *Node) bool { return slices.Contains(in, x) })
			// XLA:CPU stops the process at a parameter that is not used.
			return append(changed, in...)
		})
	})
	out := f.Call(start...)
	return Map(result, func(x *Node) *Node {
		if i := slices.Index(in, x); i >= 0 {
			return start[i]
		}
		x, out = out[0], out[1:]
		return x
	})
}
