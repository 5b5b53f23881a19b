// Package xlatest runs graph functions in tests, on every backend of the machine.
package xlatest

import (
	"math"
	"os"
	"testing"

	"github.com/gomlx/compute/dtypes/gotype"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Best opens the best backend of this machine.
func Best(t testing.TB) *xla.Platform { return open(t, "") }

// Pure opens the pure Go backend.
func Pure(t testing.TB) *xla.Platform { return open(t, string(backend.Go)) }

func open(t testing.TB, spec string) *xla.Platform {
	t.Helper()
	p, err := xla.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// As returns a platform with the graphs of another kind.
func As(p *xla.Platform, kind backend.Kind) *xla.Platform {
	copied := *p.Platform // of which a process has one
	copied.Kind = kind
	return &xla.Platform{Platform: &copied}
}

// WithWorkers returns a platform that uses so many of another one's workers.
func WithWorkers(p *xla.Platform, workers int) *xla.Platform {
	copied, of := *p, *p.Platform // of which a process has one
	copied.Platform, of.Workers = &of, workers
	return &copied
}

// Each runs a test on the best backend and on the pure Go one, or only on the one that QDNB_BACKEND names.
func Each(t *testing.T, test func(t *testing.T, p *xla.Platform)) {
	t.Helper()
	best, pure := Best(t), Pure(t)
	t.Run(best.Name(), func(t *testing.T) { test(t, best) })
	if best.Kind != backend.Go && os.Getenv(backend.BackendEnv) == "" {
		t.Run(pure.Name(), func(t *testing.T) { test(t, pure) })
	}
}

// Logic is [Each] for tests of what a graph computes, which does not depend on how XLA compiles it: without
// QDNB_LONG they run on the pure Go backend only, since XLA takes seconds for each program.
func Logic(t *testing.T, test func(t *testing.T, p *xla.Platform)) {
	t.Helper()
	if thorough() {
		Each(t, test)
	} else {
		pure := Pure(t)
		t.Run(pure.Name(), func(t *testing.T) { test(t, pure) })
	}
}

// Quick opens the backend of tests of what a graph computes: the pure Go one, except that thorough
// tests, see [Logic], use the best one.
func Quick(t testing.TB) *xla.Platform {
	t.Helper()
	if thorough() {
		return Best(t)
	}
	return Pure(t)
}

// Few returns the number of the first of n updates that a test compares in one program: one on XLA,
// which takes seconds to compile each, except that thorough tests, see [Logic], compare all.
func Few(p *xla.Platform, n int) int {
	if p.Kind == backend.Go || thorough() {
		return n
	}
	return 1
}

func thorough() bool { return os.Getenv("QDNB_LONG") != "" || os.Getenv(backend.BackendEnv) != "" }

// Run compiles a graph function, runs it once and returns its outputs.
func Run(t testing.TB, p *xla.Platform, build func(in []*graph.Node) []*graph.Node,
	inputs ...*tensors.Tensor) []*tensors.Tensor {
	t.Helper()
	var declared []shapes.Shape
	var values []xla.Sharded
	for _, input := range inputs {
		declared = append(declared, input.Shape())
		values = append(values, xla.Sharded{input})
	}
	program, err := Compile(p, "test", declared, build)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	out, err := program.Run(values...)
	if err != nil {
		t.Fatal(err)
	}
	outputs := make([]*tensors.Tensor, len(out))
	for i, value := range out {
		outputs[i] = value[0]
		t.Cleanup(value.Free)
	}
	return outputs
}

// Tensor makes a tensor from flat data.
func Tensor[T gotype.Supported](data []T, dimensions ...int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(data, dimensions...)
}

// Flat returns the elements of a tensor.
func Flat[T gotype.Supported](t testing.TB, x *tensors.Tensor) []T {
	t.Helper()
	flat, err := tensors.CopyFlatData[T](x)
	if err != nil {
		t.Fatal(err)
	}
	return flat
}

// Close fails the test if numbers differ by more than tolerance times max(1, |want|), and reports
// the largest error.
func Close(t testing.TB, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	worst, at := 0.0, -1
	for i := range got {
		if got[i] == want[i] { // also infinities
			continue
		}
		off := math.Abs(float64(got[i])-float64(want[i])) / max(1, math.Abs(float64(want[i])))
		if math.IsNaN(off) {
			off = math.Inf(1)
		}
		if off > worst {
			worst, at = off, i
		}
	}
	if worst > tolerance {
		t.Errorf("%s: element %d is %v, want %v: off by %.2g, %.2g is allowed", what, at, got[at], want[at], worst, tolerance)
	}
}

// Stored returns an array of a golden file as a tensor, with other dimensions if some are given.
func Stored(f golden.File, name string, dims ...int) *tensors.Tensor {
	if len(dims) == 0 {
		dims = f.Shape(name)
	}
	return Tensor(f.Float32s(name), dims...)
}

// Matches compares the first outputs with the arrays of a golden file that have these names, see
// [Close].
func Matches(t testing.TB, f golden.File, outputs []*tensors.Tensor, tolerance float64, names ...string) {
	t.Helper()
	for i, name := range names {
		Close(t, name, Flat[float32](t, outputs[i]), f.Float32s(name), tolerance)
	}
}

type list = xla.State[[]*graph.Node]

// Program is a compiled function from a list of tensors to another one.
type Program struct{ *xla.Program[list, list] }

// Compile compiles a program for one device.
func Compile(c xla.Compiler, name string, inputs []shapes.Shape,
	build func(in []*graph.Node) []*graph.Node) (*Program, error) {
	declared := make([]xla.Array, len(inputs))
	for i, shape := range inputs {
		declared[i] = xla.Declare(shape.DType, shape.Dimensions...)
	}
	program, err := xla.Compile(c, name, pack(declared), func(in list) list { return xla.Out(build(in.Tree)) })
	return &Program{program}, err
}

func pack(arrays []xla.Array) list {
	return xla.Pack(func(nodes []*graph.Node) []*graph.Node { return nodes }, arrays...)
}

// Run runs the program.
func (p *Program) Run(inputs ...xla.Sharded) (outputs []xla.Sharded, err error) {
	arrays := make([]xla.Array, len(inputs))
	for i, input := range inputs {
		arrays[i] = xla.Value(input)
	}
	out, err := p.Program.Run(pack(arrays))
	if err != nil {
		return nil, err
	}
	for _, leaf := range out.Leaves() {
		outputs = append(outputs, leaf.Value())
	}
	return outputs, nil
}
