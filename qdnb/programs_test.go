package qdnb_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
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
	operation = regexp.MustCompile(`"stablehlo\.(\w+)"`)
	elements  = regexp.MustCompile(`tensor<(?:\d+x)*(\w+)>`)
)

// Programs for GPUs and TPUs are built from operations and types that both compile, and no loop
// waits for the host. Small networks have the same operations as the paper's.
func TestProgramsForAcceleratorsBuild(t *testing.T) {
	types := []string{"f32", "i32", "i64", "ui32", "ui64", "i1"} // not f64, which TPUs lack
	check := func(t *testing.T, kind xla.Kind, spec qdnb.Spec, devices int) {
		paths, err := spec.WritePrograms(kind, devices, t.TempDir())
		if err != nil {
			t.Fatalf("%s on %s for %s: %v", spec.Algorithm, spec.Env, kind, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range operation.FindAllStringSubmatch(string(text), -1) {
				if !slices.Contains(compiled, match[1]) {
					t.Errorf("%s of %s for %s has the operation %s: add it to the list if `make aot` compiles it",
						filepath.Base(path), spec.Algorithm, kind, match[1])
				}
			}
			for _, match := range elements.FindAllStringSubmatch(string(text), -1) {
				if !slices.Contains(types, match[1]) {
					t.Errorf("%s of %s for %s has numbers of type %s", filepath.Base(path), spec.Algorithm, kind,
						match[1])
				}
			}
			if kind == xla.TPU && strings.Contains(string(text), "precision DEFAULT") {
				t.Errorf("%s of %s has products of bfloat16", filepath.Base(path), spec.Algorithm)
			}
		}
		if len(paths) == 0 {
			t.Errorf("%s has no programs", spec.Algorithm)
		}
	}
	small := runs.Assign("cells=64", "cvt_samples=500", "hidden=[8,8]")
	for _, kind := range []xla.Kind{xla.CUDA, xla.TPU} {
		for _, algorithm := range qdnb.Algorithms() {
			check(t, kind, qdnb.Spec{Algorithm: algorithm, Env: "ant-uni", Tune: small}, 1)
		}
		for _, env := range envs.Names() {
			if env == "halfcheetah-hurdles" {
				check(t, kind, qdnb.Spec{Algorithm: protocol.HierarchicalControl, Env: env}, 1)
				continue
			}
			check(t, kind, qdnb.Spec{Algorithm: "map-elites", Env: env, Tune: small}, 2)
		}
		check(t, kind, qdnb.Spec{Algorithm: protocol.Adaptation, Env: "ant-maze"}, 1)
	}
}
