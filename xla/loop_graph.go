package xla

import (
	"errors"
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/backend"
)

// For runs body count times and returns the last state: state = body(step, state) for step = 0, 1,
// ..., count-1, an int32 scalar. The state is a pytree (see [Flatten]) whose shapes may not change.
// Loops nest.
//
// The body may use only its arguments and constants, not nodes made outside. Carry what it reads in
// the state; state that it returns unchanged costs nothing. Gradients do not cross a loop, but may
// be taken inside one.
func For[T any](g *Graph, count int, state T, body func(step *Node, state T) T) T {
	return Repeat(Const(g, int32(count)), state, body)
}

// Repeat is [For] with a count (int32 scalar) computed by the graph.
func Repeat[T any](count *Node, state T, body func(step *Node, state T) T) T {
	return repeat(count, state, func(step *Node) *Node { return step }, body)
}

// repeat is [Repeat] with a function through, applied to the step before 1 is added. It must return
// the same number.
func repeat[T any](count *Node, state T, through func(step *Node) *Node, body func(step *Node, state T) T) T {
	type counted struct {
		Step, Count *Node
		State       T
	}
	start := counted{Step: Const(count.Graph(), int32(0)), Count: count, State: state}
	return Loop(start, func(s counted) *Node {
		return LessThan(s.Step, s.Count)
	}, func(s counted) counted {
		return counted{Step: AddScalar(through(s.Step), 1), Count: s.Count, State: body(s.Step, s.State)}
	}).State
}

// When returns body(0, state) if due, a bool scalar, else state. On XLA:CPU body runs in a loop of zero or
// one iterations, a count that XLA cannot know: it would evaluate both branches of a Where. The loop is
// also a barrier: what body returns is computed once as a whole. A body that computes something from
// constants and loop invariants alone must use its argument turn, which is always 0, or XLA moves that
// out of the loop. GPUs and TPUs evaluate body in any case and select, since such a loop would wait for
// the host.
func When[T any](due *Node, state T, body func(turn *Node, state T) T) T {
	return when(due, state, body, Repeat[T])
}

// WhenUnfused is [When] for a body of large operations, see [ForUnfused].
func WhenUnfused[T any](due *Node, state T, body func(turn *Node, state T) T) T {
	return when(due, state, body, RepeatUnfused[T])
}

func when[T any](due *Node, state T, body func(*Node, T) T, repeat func(*Node, T, func(*Node, T) T) T) T {
	if !KindOf(due.Graph()).Accelerator() {
		return repeat(ConvertDType(due, dtypes.Int32), state, body)
	}
	return Map2(body(Const(due.Graph(), int32(0)), state), state, func(done, state *Node) *Node {
		if done == state {
			return state
		}
		return Where(BroadcastToDims(due, state.Shape().Dimensions...), done, state)
	})
}

// Turns returns the number of iterations of a loop of count, an int32 scalar that the graph computes and
// that is at most most. It is most on GPUs and TPUs, so that the device need not report the count to the
// host: iterations from count on must change nothing.
func Turns(count *Node, most int) *Node {
	if KindOf(count.Graph()).Accelerator() {
		return ConstAs(count, int32(most))
	}
	return count
}

// Scan is [For] with a body that also returns what the loop stacks, [count, ...] each: JAX's
// lax.scan.
func Scan[S, T any](g *Graph, count int, state S, body func(step *Node, state S) (S, T)) (S, T) {
	return scan(Const(g, int32(count)), count, state, body)
}

// scan is [Repeat] with a body that also returns what the loop stacks, [most, ...] each. count is at most most.
func scan[S, T any](count *Node, most int, state S, body func(step *Node, state S) (S, T)) (S, T) {
	g := count.Graph()
	start := append([]*Node{Const(g, int32(0)), count}, Flatten(state)...)
	carried := len(start)
	var all T
	step := newClosure(g, func(g *Graph) []*Node {
		in := parametersLike(g, start)
		next, one := body(in[0], Unflatten(state, in[2:]))
		out := keepShapes(in, append([]*Node{AddScalar(in[0], 1), in[1]}, Flatten(next)...))
		all = Map(one, func(x *Node) *Node { // whose shapes are known only now
			shape := shapes.Make(x.DType(), append([]int{most}, x.Shape().Dimensions...)...)
			stack := Parameter(g, g.UniqueName("state"), shape)
			out = append(out, SetRow(stack, in[0], x))
			return stack
		})
		return out
	})
	for _, x := range Flatten(all) {
		start = append(start, Zeros(g, x.Shape()))
	}
	condition := newClosure(g, func(g *Graph) []*Node {
		in := parametersLike(g, start)
		return []*Node{LessThan(in[0], in[1])}
	})
	end := While(condition, step, start...)
	return Unflatten(state, end[2:carried]), Unflatten(all, end[carried:])
}

// Loop repeats state = body(state) while cond(state), a boolean scalar, is true. See [For] for what
// a body may use.
func Loop[T any](state T, cond func(T) *Node, body func(T) T) T {
	start := Flatten(state)
	if len(start) == 0 {
		panic(errors.New("a loop needs at least one tensor as its state"))
	}
	g := start[0].Graph()
	condition := newClosure(g, func(g *Graph) []*Node {
		return []*Node{cond(Unflatten(state, parametersLike(g, start)))}
	})
	step := newClosure(g, func(g *Graph) []*Node {
		in := parametersLike(g, start)
		return keepShapes(in, Flatten(body(Unflatten(state, in))))
	})
	return Unflatten(state, While(condition, step, start...))
}

// keepShapes returns what the body of a loop returned, if it has the shapes of what it took.
func keepShapes(in, out []*Node) []*Node {
	if len(out) != len(in) {
		panic(fmt.Errorf("the body of a loop took %d tensors and returned %d", len(in), len(out)))
	}
	for i, node := range out {
		if !node.Shape().Equal(in[i].Shape()) {
			panic(fmt.Errorf("the body of a loop turned a tensor of its state from %s into %s: shapes "+
				"may not change", in[i].Shape(), node.Shape()))
		}
	}
	return out
}

// parametersLike declares the parameters of a closure. Their names must be unique in the whole
// program, not only in the closure.
func parametersLike(g *Graph, nodes []*Node) []*Node {
	params := make([]*Node, len(nodes))
	for i, node := range nodes {
		params[i] = Parameter(g, g.UniqueName("state"), node.Shape())
	}
	return params
}

// KindOf returns the kind of backend that a graph is built for, or "" if [Compile] did not
// make the graph.
func KindOf(g *Graph) backend.Kind {
	if a, ok := g.Backend().(*adapter); ok {
		return a.kind
	}
	return ""
}

// ForUnfused is [For] for a body of large operations, mainly matrix products. XLA:CPU compiles a
// loop over little memory (see loopBytes) into one function, which runs on one core with simple
// matrix products: good for the steps of a rollout, ruinous for the updates of a learner. How much
// memory a loop uses depends on sizes that users choose. ForUnfused always compiles to a list of
// kernels, each of which runs on all cores.
func ForUnfused[T any](g *Graph, count int, state T, body func(step *Node, state T) T) T {
	return RepeatUnfused(Const(g, int32(count)), state, body)
}

// RepeatUnfused is [ForUnfused] with a count (int32 scalar) computed by the graph.
func RepeatUnfused[T any](count *Node, state T, body func(step *Node, state T) T) T {
	return repeat(count, state, Unfused, body)
}

// Unfused returns step, an int32 scalar that a loop counts, computed by sorting two numbers. XLA:CPU cannot
// emit a sort (nor a custom call, a Fourier transform or a collective operation) inside a single function,
// so it does not fuse a loop that contains one, nor the loops around it.
func Unfused(step *Node) *Node {
	g := step.Graph()
	if KindOf(g) != backend.CPU {
		return step
	}
	pair := Concatenate([]*Node{Reshape(step, 1), Const(g, []int32{math.MaxInt32})}, 0)
	less := newClosure(g, func(g *Graph) []*Node {
		scalar := shapes.Make(dtypes.Int32)
		return []*Node{LessThan(Parameter(g, g.UniqueName("left"), scalar), Parameter(g, g.UniqueName("right"), scalar))}
	})
	return Reshape(Slice(SortFunc(less, 0, false, pair)[0], AxisElem(0)))
}
