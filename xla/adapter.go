package xla

import (
	"reflect"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/stablehlo"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/backend"
)

// This file works around three limits of GoMLX's backends (cache.go works around a fourth). It can
// be deleted when GoMLX lifts them.
//
// Nested loops. GoMLX opens every closure on the graph's main function (core/graph/function.go,
// NewClosureWithSharding), so a While inside a While is rejected although XLA and the Go backend
// both support it. The adapter wraps backend, builder and function, keeps a stack of the functions
// being built, and opens each closure on the innermost one. It also keeps two caches, GoMLX's and
// go-xla's, from sharing nodes across functions. TestNestingStillNeedsTheAdapter fails when GoMLX
// fixes this.
//
// Results of loops. The Go backend (compute v0.1.6) has three bugs. A function other than the main
// one cannot return a node twice ("output not computed"). Arithmetic reads the operand of a
// broadcast in place of the broadcast, and does not find it inside a loop ("not computed yet")
// unless the broadcast adds an axis. A loop with unread results cannot end a function ("index out
// of range").
//
// Donated inputs. go-xla marks a buffer as reusable but does not say for which output, so XLA
// copies anyway: see alias.

// adapter is a compute.Backend for one program.
type adapter struct {
	compute.Backend
	kind    backend.Kind
	builder *nestingBuilder

	identities map[string]*graph.Function // by shape, see identity
}

func (a *adapter) Builder(name string) compute.Builder {
	a.builder = &nestingBuilder{Builder: a.Backend.Builder(name), backend: a.Backend, kind: a.kind}
	return a.builder
}

// alias tells XLA that an output reuses the memory of an input, both by index, through the
// parameter attribute tf.aliasing_output. Only go-xla's parameters have attributes; other backends
// decide on their own whether to reuse donated memory.
func (a *adapter) alias(input, output int) {
	value := private[*stablehlo.Value](a.builder.parameters[input], "value")
	if value == nil {
		return
	}
	if (*value).Attributes == nil {
		(*value).Attributes = map[string]any{}
	}
	(*value).Attributes["tf.aliasing_output"] = int32(output)
}

// private returns the address of an unexported field of a struct in another module, given by a pointer, or
// nil if there is no such field of type T.
func private[T any](of any, name string) *T {
	v := reflect.ValueOf(of)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	field := v.Elem().FieldByName(name)
	if !field.IsValid() || !field.Type().ConvertibleTo(reflect.TypeFor[T]()) {
		return nil
	}
	return (*T)(field.Addr().UnsafePointer())
}

type nestingBuilder struct {
	compute.Builder
	backend compute.Backend
	kind    backend.Kind
	main    *nestingFunction
	open    []*nestingFunction // closures being built, innermost last

	parameters, outputs []compute.Value // of the main function
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
	inner := &nestingFunction{Function: f, builder: b}
	b.open = append(b.open, inner)
	b.forgetReductions()
	return inner, nil
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
		if slices.Contains(outputs[:i], outputs[i]) || f.builder.kind == backend.Go && f.bare(outputs[i]) {
			var err error
			if outputs[i], err = f.Function.Identity(outputs[i]); err != nil {
				return err
			}
		}
	}
	if f == f.builder.main {
		f.builder.outputs = outputs
	}
	return f.Function.Return(outputs, shardings)
}

// bare reports whether the Go backend cannot return an output as it is: a result of a loop, or an
// input of the program, which fails if nothing is computed from the inputs after it.
func (f *nestingFunction) bare(output compute.Value) bool {
	return slices.Contains(f.loops, output) || f == f.builder.main && slices.Contains(f.builder.parameters, output)
}

// BroadcastInDim avoids a bug of the Go backend (see the top of this file). There it drops axes of
// one element before the broadcast, so that every broadcast adds an axis, and skips the broadcast
// if the shape is already right.
func (f *nestingFunction) BroadcastInDim(x compute.Value, output shapes.Shape, axes []int) (compute.Value, error) {
	if f.builder.kind != backend.Go {
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

// DotGeneral requests products of full float32 precision on TPUs, whose default is products of
// bfloat16. go-xla requests it for CUDA only. TestProductsAreExact fails if go-xla changes the private
// fields on the way to the attribute.
func (f *nestingFunction) DotGeneral(lhs compute.Value, lhsContracting, lhsBatch []int,
	rhs compute.Value, rhsContracting, rhsBatch []int, config compute.DotGeneralConfig) (compute.Value, error) {
	out, err := f.Function.DotGeneral(lhs, lhsContracting, lhsBatch, rhs, rhsContracting, rhsBatch, config)
	if err == nil && f.builder.kind == backend.TPU {
		const exact = "[#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]"
		statementOf(out).Attributes["precision_config"] = attribute(exact)
	}
	return out, err
}

// statementOf returns the statement that made a go-xla value.
func statementOf(result compute.Value) *stablehlo.Statement {
	return *private[*stablehlo.Statement](*private[*stablehlo.Value](result, "value"), "stmt")
}

// forgetReductions empties go-xla's caches of the small functions that reductions and scatters
// apply. go-xla keeps them for the whole program and then rejects those made in another function
// ("is not a StableHLO closure of"). Backends without such caches are left alone.
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

// Call calls a function. XLA inlines calls, but those of [Materialize] have an attribute that
// forbids it. TestMaterializeSeparates fails if go-xla changes the private fields on the way to the
// statement.
func (f *nestingFunction) Call(callee compute.Function, inputs ...compute.Value) ([]compute.Value, error) {
	results, err := f.Function.Call(unwrap(callee), inputs...)
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]attribute{
		identityName: `{inlineable = "false"}`,
		outlinedName: `{inlineable = "false", ` + backend.Parted + ` = "true"}`,
	} {
		if strings.HasPrefix(callee.Name(), name) {
			statementOf(results[0]).Attributes["mhlo.frontend_attributes"] = text
		}
	}
	return results, nil
}

// attribute is the value of an attribute, as StableHLO writes it.
type attribute string

func (a attribute) ToStableHLO() string { return string(a) }

func (f *nestingFunction) Sort(comparator compute.Function, axis int, isStable bool,
	inputs ...compute.Value) ([]compute.Value, error) {
	return f.Function.Sort(unwrap(comparator), axis, isStable, inputs...)
}

func (f *nestingFunction) While(cond, body compute.Function, state ...compute.Value) ([]compute.Value, error) {
	results, err := f.Function.While(unwrap(cond), unwrap(body), state...)
	f.loops = append(f.loops, results...)
	return results, err
}

func (f *nestingFunction) If(pred compute.Value, onTrue, onFalse compute.Function) ([]compute.Value, error) {
	return f.Function.If(pred, unwrap(onTrue), unwrap(onFalse))
}

func unwrap(f compute.Function) compute.Function {
	if n, ok := f.(*nestingFunction); ok {
		return n.Function
	}
	return f
}

// newClosure is graph.NewClosure with a scalar-constant cache for the closure alone. GoMLX keeps
// one cache per graph, so it would reuse a constant of the outer function inside the closure, which
// go-xla rejects ("operands are not part of the function").
func newClosure(g *graph.Graph, define func(g *graph.Graph) []*graph.Node) (f *graph.Function) {
	withOwnScalars(g, func() { f = graph.NewClosure(g, define) })
	return f
}

func withOwnScalars(g *graph.Graph, do func()) {
	cache := private[map[dtypes.DType]map[float64]*graph.Node](g, "scalars")
	outer := *cache
	*cache = make(map[dtypes.DType]map[float64]*graph.Node)
	defer func() { *cache = outer }()
	do()
}
