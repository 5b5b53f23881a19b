package xla

import (
	"io"
	"reflect"
	"slices"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/stablehlo"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"
)

// This file adapts GoMLX's backends to three needs of ours (cache.go to a fourth); it can go when
// GoMLX meets them itself.
//
// Loops nest. GoMLX opens every closure on the graph's main function (core/graph/function.go,
// NewClosureWithSharding), so that a While inside a While is refused although XLA and the Go
// backend both support it. The adapter wraps backend, builder and function, keeps a stack of the
// functions being built, and opens each closure on the innermost one; and it keeps two caches,
// GoMLX's and go-xla's, from handing things across functions. TestNestingStillNeedsTheAdapter fails
// when GoMLX mends this.
//
// A loop may return a node twice, and broadcast. The Go backend (compute v0.1.6) allows the first
// in a main function only ("output not computed"); and it lets arithmetic read what a broadcast
// reads, which in a loop it then cannot find ("not computed yet"), unless the broadcast adds an
// axis. And a loop some of whose results nobody reads may not be the last of a function ("index out
// of range").
//
// Donated inputs are reused. go-xla passes on that a buffer may be reused, but not for which
// output, and XLA then copies all the same: see alias.

// adapter is a compute.Backend for one program.
type adapter struct {
	compute.Backend
	kind    Kind
	text    io.Writer // takes the program's text in place of a compiler; nil: programs are compiled
	builder *nestingBuilder
}

func (a *adapter) Builder(name string) compute.Builder {
	a.builder = &nestingBuilder{Builder: a.Backend.Builder(name), backend: a.Backend, kind: a.kind,
		text: a.text}
	return a.builder
}

// alias tells XLA that an output takes the memory of an input, both by index: the attribute
// tf.aliasing_output of the parameter. Only go-xla's parameters have attributes; other backends
// reuse donated memory or do not, by themselves.
func (a *adapter) alias(input, output int) {
	node := reflect.ValueOf(a.builder.parameters[input])
	if node.Kind() != reflect.Pointer || node.Elem().Kind() != reflect.Struct {
		return
	}
	field := node.Elem().FieldByName("value")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*stablehlo.Value]() {
		return
	}
	value := *(**stablehlo.Value)(field.Addr().UnsafePointer())
	if value.Attributes == nil {
		value.Attributes = map[string]any{}
	}
	value.Attributes["tf.aliasing_output"] = int32(output)
}

type nestingBuilder struct {
	compute.Builder
	backend compute.Backend
	kind    Kind
	text    io.Writer // see adapter
	main    *nestingFunction
	open    []*nestingFunction // closures being built, innermost last

	parameters []compute.Value // of the main function
}

func (b *nestingBuilder) Main() compute.Function {
	if b.main == nil {
		b.main = &nestingFunction{Function: b.Builder.Main(), builder: b}
	}
	return b.main
}

func (b *nestingBuilder) NewFunction(name string) (compute.Function, error) {
	f, err := b.Builder.NewFunction(name)
	if err != nil {
		return nil, err
	}
	return &nestingFunction{Function: f, builder: b}, nil
}

type nestingFunction struct {
	compute.Function
	builder *nestingBuilder
	loops   []compute.Value // results of loops
}

func (f *nestingFunction) Parameter(name string, shape shapes.Shape,
	sharding *compute.ShardingSpec) (compute.Value, error) {
	value, err := f.Function.Parameter(name, shape, sharding)
	if err == nil && f == f.builder.main {
		f.builder.parameters = append(f.builder.parameters, value)
	}
	return value, err
}

// Closure opens a closure on the innermost function being built, which need not be f.
func (f *nestingFunction) Closure() (compute.Function, error) {
	parent := f.Function
	if n := len(f.builder.open); n > 0 {
		parent = f.builder.open[n-1].Function
	}
	inner, err := parent.Closure()
	if err != nil {
		return nil, err
	}
	closure := &nestingFunction{Function: inner, builder: f.builder}
	f.builder.open = append(f.builder.open, closure)
	f.builder.forgetReductions()
	return closure, nil
}

func (f *nestingFunction) Return(outputs []compute.Value, shardings []*compute.ShardingSpec) error {
	if n := len(f.builder.open); n > 0 && f.builder.open[n-1] == f {
		f.builder.open = f.builder.open[:n-1]
		f.builder.forgetReductions()
	}
	outputs = slices.Clone(outputs)
	for i := range outputs {
		if slices.Contains(outputs[:i], outputs[i]) || f.builder.kind == Go && f.bare(outputs[i]) {
			var err error
			if outputs[i], err = f.Function.Identity(outputs[i]); err != nil {
				return err
			}
		}
	}
	return f.Function.Return(outputs, shardings)
}

// bare says whether an output is what the Go backend cannot return as it is: a result of a loop, or
// an input of a program, which fails where nothing is computed of the inputs behind it.
func (f *nestingFunction) bare(output compute.Value) bool {
	return slices.Contains(f.loops,
		output) || f == f.builder.main && slices.Contains(f.builder.parameters, output)
}

// BroadcastInDim broadcasts on the Go backend what has no axes of one element, by adding axes, and
// not at all what has the shape.
func (f *nestingFunction) BroadcastInDim(x compute.Value, output shapes.Shape,
	axes []int) (compute.Value, error) {
	if f.builder.kind != Go {
		return f.Function.BroadcastInDim(x, output, axes)
	}
	shape, err := f.builder.OpShape(x)
	if err != nil {
		return nil, err
	}
	if slices.Equal(shape.Dimensions, output.Dimensions) {
		return x, nil
	}
	var kept, dims []int
	for i, axis := range axes {
		if shape.Dimensions[i] != 1 {
			kept, dims = append(kept, axis), append(dims, shape.Dimensions[i])
		}
	}
	if len(dims) < len(axes) {
		if x, err = f.Function.Reshape(x, dims...); err != nil {
			return nil, err
		}
	}
	return f.Function.BroadcastInDim(x, output, kept)
}

// forgetReductions empties go-xla's caches of the little functions that reductions and scatters
// apply: it keeps them for the whole program, and then refuses those made in another function ("is
// not a StableHLO closure of"). Backends without such caches are left alone.
func (b *nestingBuilder) forgetReductions() {
	inner := reflect.ValueOf(b.Builder)
	if inner.Kind() != reflect.Pointer || inner.Elem().Kind() != reflect.Struct {
		return
	}
	for _, name := range []string{"cacheReductions", "cacheArgMinMax", "cacheSelections"} {
		if field := inner.Elem().FieldByName(name); field.IsValid() && field.Kind() == reflect.Map {
			reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Clear()
		}
	}
}

func (f *nestingFunction) Call(callee compute.Function, inputs ...compute.Value) ([]compute.Value,
	error) {
	return f.Function.Call(unwrap(callee), inputs...)
}

func (f *nestingFunction) Sort(comparator compute.Function, axis int, isStable bool,
	inputs ...compute.Value) ([]compute.Value, error) {
	return f.Function.Sort(unwrap(comparator), axis, isStable, inputs...)
}

func (f *nestingFunction) While(cond, body compute.Function,
	state ...compute.Value) ([]compute.Value, error) {
	results, err := f.Function.While(unwrap(cond), unwrap(body), state...)
	f.loops = append(f.loops, results...)
	return results, err
}

func (f *nestingFunction) If(pred compute.Value, onTrue, onFalse compute.Function) ([]compute.Value,
	error) {
	return f.Function.If(pred, unwrap(onTrue), unwrap(onFalse))
}

func unwrap(f compute.Function) compute.Function {
	if n, ok := f.(*nestingFunction); ok {
		return n.Function
	}
	return f
}

// newClosure is graph.NewClosure with a scalar-constant cache of the closure's own: GoMLX keeps one
// cache per graph, so a constant first used outside would be handed out inside, which go-xla
// refuses ("operands are not part of the function").
func newClosure(g *graph.Graph, define func(g *graph.Graph) []*graph.Node) *graph.Function {
	cache := scalarCache(g)
	outer := *cache
	*cache = make(map[dtypes.DType]map[float64]*graph.Node)
	defer func() { *cache = outer }()
	return graph.NewClosure(g, define)
}

// scalarCache reaches the private field Graph.scalars; TestScalarCacheIsReached guards it against a
// change of GoMLX.
func scalarCache(g *graph.Graph) *map[dtypes.DType]map[float64]*graph.Node {
	field := reflect.ValueOf(g).Elem().FieldByName("scalars")
	if !field.IsValid() || field.Kind() != reflect.Map {
		panic(errors.New("this version of GoMLX keeps its scalar constants elsewhere: xla/adapter.go " +
			"must follow it"))
	}
	return (*map[dtypes.DType]map[float64]*graph.Node)(unsafe.Pointer(field.UnsafeAddr()))
}
