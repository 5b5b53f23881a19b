package verify

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// subject is what is verified, and where.
type subject struct {
	platform *xla.Platform
	env      envs.Env
	form     form
}

// compare runs a program on the stored inputs and compares its outputs with the stored ones, in their order.
func (s subject) compare(stored *arrays, inputs, outputs []column, build func(in []*graph.Node) []*graph.Node) ([]Result, error) {
	var declared []xla.Input
	var values []xla.Value
	for _, c := range inputs {
		flat, shape, err := stored.get(c)
		if err != nil {
			return nil, err
		}
		declared = append(declared, xla.Input{Shape: shapes.Make(dtypes.Float32, shape...)})
		values = append(values, xla.Value{tensors.FromFlatDataAndDimensions(flat, shape...)})
	}
	var want [][]float32
	for _, c := range outputs {
		flat, _, err := stored.get(c)
		if err != nil {
			return nil, err
		}
		want = append(want, flat)
	}
	program, err := s.platform.Compile("verification", declared, build)
	if err != nil {
		return nil, err
	}
	defer program.Free()
	computed, err := program.Run(values...)
	if err != nil {
		return nil, err
	}
	var results []Result
	for i, c := range outputs {
		got, err := tensors.CopyFlatData[float32](computed[i][0])
		if err != nil {
			return nil, err
		}
		computed[i].Free()
		results = append(results, compare(c, got, want[i]))
	}
	return results, nil
}

// compare finds the worst differences of an array.
func compare(c column, got, want []float32) Result {
	r := Result{Name: c.name, Tolerance: c.tolerance}
	for i := range want {
		a, b := float64(got[i]), float64(want[i])
		off := math.Abs(a - b)
		if math.IsNaN(off) { // want is finite
			off = math.Inf(1)
		}
		r.WorstAbs = max(r.WorstAbs, off)
		if off > 0 {
			r.WorstRel = max(r.WorstRel, off/math.Abs(b))
		}
	}
	r.Pass = r.WorstAbs <= c.tolerance
	return r
}

// state are the columns of a state's coordinates, named with what says when.
func (s subject) state(prefix, suffix string, tolerance float64, axes ...axis) (columns []column) {
	for _, c := range s.form.coordinates {
		columns = append(columns, column{prefix + c.name + suffix, axes, c.dims, tolerance})
	}
	return columns
}

// step are the columns of what a step shows, in the order of [observed]; suffix says when the coordinates are.
func (s subject) step(suffix string, axes ...axis) []column {
	spec, tolerance := s.env.Spec(), s.form.tolerance
	return append([]column{
		{"obs", axes, []int{spec.Observations}, tolerance},
		{"reward", axes, nil, tolerance},
		{"done", axes, nil, 0},
		{"desc", axes, []int{len(spec.Descriptor.Lower)}, tolerance},
	}, s.state("", suffix, tolerance, axes...)...)
}
