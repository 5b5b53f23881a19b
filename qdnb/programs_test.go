package qdnb_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// compiled are the operations that XLA compiles for GPUs and TPUs: those of the programs that `make
// aot` compiled for both.
var compiled = strings.Fields(`abs add all_reduce and bitcast_convert broadcast_in_dim ceil clamp
	compare concatenate constant convert cosine divide dot_general dynamic_slice dynamic_update_slice
	exponential exponential_minus_one floor gather iota is_finite log log_plus_one logistic maximum
	minimum multiply negate not optimization_barrier or pad popcnt power reduce reduce_window
	remainder reshape return reverse round_nearest_even rsqrt scatter select shift_left
	shift_right_arithmetic shift_right_logical sign sine slice sort sqrt subtract tanh transpose
	while xor`)

var (
	loop      = regexp.MustCompile(`"stablehlo\.while"\(%\w+, (%\w+)`)
	openOrder = regexp.MustCompile(`"stablehlo\.(?:scatter|all_reduce)".*\n.*\n\s*%\w+ = ` +
		`"stablehlo\.(?:add|multiply)"\(%\w+, %\w+\) : \(tensor<b?f\d`)
)

// between returns the distinct parts of a text from each begin to the next end. Regular expressions take seconds for
// the programs of the ledger.
func between(text, begin, end string) map[string]bool {
	found := map[string]bool{}
	for _, text, ok := strings.Cut(text, begin); ok; _, text, ok = strings.Cut(text, begin) {
		part, _, _ := strings.Cut(text, end)
		found[part] = true
	}
	return found
}

// waits counts the loops of a program whose count is not a constant.
func waits(text string) (loops int) {
	for _, match := range loop.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, match[1]+` = "stablehlo.constant"`) {
			loops++
		}
	}
	return loops
}

// Sums of floats in an open order, and loops with counts of the device, are found.
func TestUnwelcomeOperationsAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		open  bool
		waits int
		graph func(x, index *graph.Node) *graph.Node
	}{
		{"a float scatter-add", true, 0, func(x, index *graph.Node) *graph.Node {
			return graph.ScatterSum(x, index, x, false, false)
		}},
		{"a float scatter-max", false, 0, func(x, index *graph.Node) *graph.Node {
			return graph.ScatterMax(x, index, x, false, false)
		}},
		{"an int scatter-add", false, 0, func(x, index *graph.Node) *graph.Node {
			number := graph.ConvertDType(x, dtypes.Int32)
			return graph.ScatterSum(number, index, number, false, false)
		}},
		{"a loop of 3 iterations", false, 0, func(x, _ *graph.Node) *graph.Node {
			return xla.For(x.Graph(), 3, x, func(_, x *graph.Node) *graph.Node { return graph.Neg(x) })
		}},
		{"a loop of the device's count", false, 1, func(x, index *graph.Node) *graph.Node {
			return xla.Repeat(graph.ReduceAllSum(index), x,
				func(_, x *graph.Node) *graph.Node { return graph.Neg(x) })
		}},
	} {
		var text string
		p := must.Get(xla.DryRun(backend.CUDA, 1, func(_ string, program []byte) error {
			text = string(program)
			return nil
		}))
		type in struct{ X, Index xla.Array }
		program := must.Get(xla.Compile(p, c.name, in{xla.Declare(dtypes.Float32, 4),
			xla.Declare(dtypes.Int32, 4, 1)}, func(in in) xla.Array {
			return xla.Out(c.graph(in.X.Tree, in.Index.Tree))
		}))
		program.Free()
		errtest.Equal(t, fmt.Sprintf("%s: sums in an open order", c.name), openOrder.MatchString(text), c.open)
		errtest.Equal(t, c.name, waits(text), c.waits)
	}
}

// Settings that would not reach a program are refused.
func TestProgramsRefuseSettings(t *testing.T) {
	set := func(assignment string) qdnb.Tuning {
		return func(h any) error { return runs.Set(h, assignment) }
	}
	for want, spec := range map[string]qdnb.Spec{
		`"nonsense"`:          {Algorithm: "hierarchical-control", Env: "nonsense"},
		`unknown field "xyz"`: {Algorithm: "hierarchical-control", Env: "halfcheetah-hurdles", Tune: set("xyz=1")},
		`unknown field "abc"`: {Algorithm: "adaptation", Env: "ant-uni", Tune: set("abc=1")},
	} {
		errtest.Want(t, errtest.Of(spec.Programs(backend.CUDA, 1)), want)
	}
}

// welcome checks that the programs of a Spec for a GPU or a TPU are built from operations and types that both compile,
// that no sum depends on the order in which a device computes, and that no loop waits for the host, except the epochs
// of AURORA's training.
func welcome(t *testing.T, name string, kind backend.Kind, programs []session.Program) {
	t.Helper()
	types := []string{"f32", "i32", "i64", "ui32", "ui64", "i1"} // not f64, which TPUs lack
	for _, p := range programs {
		text := string(p.Text)
		for operation := range between(text, `"stablehlo.`, `"`) {
			if !slices.Contains(compiled, operation) {
				t.Errorf("%s of %s for %s has the operation %s: add it to the list if `make aot` compiles it",
					p.Name, name, kind, operation)
			}
		}
		for tensor := range between(text, "tensor<", ">") {
			if number := tensor[strings.LastIndex(tensor, "x")+1:]; !slices.Contains(types, number) {
				t.Errorf("%s of %s for %s has numbers of type %s", p.Name, name, kind, number)
			}
		}
		if open := openOrder.FindString(text); open != "" {
			t.Errorf("%s of %s for %s sums floats in an order that the device chooses: %s", p.Name, name, kind, open)
		}
		allowed := 0
		if strings.HasSuffix(p.Name, "training") {
			allowed = 1
		}
		// MuJoCo's constraints are solved until all copies have converged, which only the device knows.
		solves := strings.HasSuffix(name, "-v5")
		if n := waits(text); n != allowed && !(solves && n > 0) {
			t.Errorf("%s of %s for %s has %d loops whose count only the device knows, not %d", p.Name, name, kind, n, allowed)
		}
		if kind == backend.TPU && strings.Contains(text, "precision DEFAULT") {
			t.Errorf("%s of %s has products of bfloat16", p.Name, name)
		}
	}
	if len(programs) == 0 {
		t.Errorf("%s has no programs", name)
	}
}

// Programs for TPUs are built. Those for GPUs are checked with the ledger. Small networks have the same operations as the
// paper's.
func TestProgramsForAcceleratorsBuild(t *testing.T) {
	builds := func(name string, spec qdnb.Spec, kind backend.Kind, devices int) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			welcome(t, name, kind, must.Get(spec.Programs(kind, devices)))
		})
	}
	for _, name := range records.Names() {
		builds(name, qdnb.Smallest(name, ""), backend.TPU, 1)
	}
	for _, name := range []string{"map-elites", "pga-aurora"} {
		builds(name+" on two devices", qdnb.Smallest(name, ""), backend.CUDA, 2)
	}
	for _, spec := range []qdnb.Spec{{Algorithm: "dads-reward", Env: "ant-uni"}, {Algorithm: "map-elites", Env: "ant-maze"},
		{Algorithm: records.HierarchicalControl, Env: "halfcheetah-hurdles"}, {Algorithm: records.Adaptation, Env: "ant-maze"}} {
		builds(spec.Algorithm+" on "+spec.Env, spec, backend.TPU, 1)
	}
	small := runs.Assign("cells=64", "cvt_samples=500", "hidden=[8,8]")
	for _, env := range envs.Names() {
		if !strings.HasSuffix(env, "-v5") || env == "Humanoid-v5" {
			continue // no robot of MuJoCo, or one that differs only in its descriptor or takes seconds to build
		}
		builds("map-elites on "+env, qdnb.Spec{Algorithm: "map-elites", Env: env, Tune: small}, backend.TPU, 2)
	}
}
