package verify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/xla"
)

// subject is the environment to verify and its backend.
type subject struct {
	platform *xla.Platform
	format
}

// run compiles a program, runs it on stored inputs and returns its outputs.
func (s subject) run(inputs []array, build func(in []*graph.Node) []*graph.Node) ([][]float32,
	error) {
	var values []xla.Array
	for _, in := range inputs {
		values = append(values, xla.Single(tensors.FromFlatDataAndDimensions(in.flat, in.shape...)))
	}
	type list = xla.State[[]*graph.Node]
	stored := xla.Pack(func(nodes []*graph.Node) []*graph.Node { return nodes }, values...)
	defer stored.Free()
	program, err := xla.Compile(s.platform, "verification", stored,
		func(in list) list { return xla.Out(build(in.Tree)) })
	if err != nil {
		return nil, err
	}
	defer program.Free()
	outputs, err := program.Run(stored)
	if err != nil {
		return nil, err
	}
	defer outputs.Free()
	return outputs.Lists()
}

// group compares arrays with the same parts.
type group struct {
	Group
	results []Result
	outside []bool // parts with an array outside of its tolerance
}

// newGroup returns an empty group. Only parts with counts set are compared. percent of them may be
// outside, at least one unless percent is 0.
func newGroup(parts string, counts []bool, percent int) *group {
	g := &group{Group: Group{Parts: parts}, outside: make([]bool, len(counts))}
	for _, count := range counts {
		if count {
			g.Of++
		}
	}
	if percent > 0 {
		g.Allowed = max(1, g.Of*percent/100)
	}
	return g
}

// compare compares computed arrays with stored ones, in the parts with counts set.
func (g *group) compare(stored *arrays, columns []column, computed [][]float32,
	counts []bool) error {
	for i, c := range columns {
		want, err := stored.get(c)
		if err != nil {
			return err
		}
		var err64 array
		if name := c.tolerance.err64; name != "" {
			if err64, err = stored.get(column{name: name, axes: c.axes}); err != nil {
				return err
			}
		}
		result, outside := compare(c, counts, computed[i], want.flat, err64.flat)
		for part, out := range outside {
			if out {
				result.Outside++
			}
			if out && !g.outside[part] {
				g.outside[part] = true
				g.Outside++
			}
		}
		result.Pass = result.Outside <= g.Allowed
		g.results = append(g.results, result)
	}
	return nil
}

// every returns counts for all of n parts.
func every(n int) []bool { return slices.Repeat([]bool{true}, n) }

// tolerance is the largest difference that counts as rounding. The zero value requires equality.
type tolerance struct {
	base float64
	// err64 names the array with the published code's rounding error per sample. Ten times this is
	// added to the tolerance.
	err64 string
	value float64 // added after multiplication by the absolute stored number
}

func (t tolerance) String() string {
	if t == (tolerance{}) {
		return "equal"
	}
	short := func(x float64) string { return strings.Replace(fmt.Sprintf("%.0e", x), "e-0", "e-", 1) }
	terms := []string{short(t.base)}
	if t.err64 != "" {
		terms = append(terms, "10 err64")
	}
	if t.value > 0 {
		terms = append(terms, short(t.value)+" |x|")
	}
	return strings.Join(terms, " + ")
}

// compare returns the worst differences of an array and which of its parts (samples, steps) are
// outside of the tolerance. It compares the parts with counts set. err64 has a number per part, or
// is nil.
func compare(c column, counts []bool, got, want, err64 []float32) (r Result, outside []bool) {
	t := c.tolerance
	r = Result{Name: c.name, Tolerance: t.String()}
	outside = make([]bool, len(counts))
	size := len(want) / len(counts)
	for part, count := range counts {
		if !count {
			continue
		}
		for i := part * size; i < (part+1)*size-c.ignore; i++ {
			x := math.Abs(float64(want[i]))
			off := math.Abs(float64(got[i]) - float64(want[i]))
			if math.IsNaN(off) { // want is finite
				off = math.Inf(1)
			}
			if off == 0 {
				continue
			}
			allowed := t.base + t.value*x
			if err64 != nil {
				allowed += 10 * float64(err64[part])
			}
			r.WorstAbs = max(r.WorstAbs, off)
			r.WorstShare = max(r.WorstShare, off/allowed)
			if x > 0 {
				r.WorstRel = max(r.WorstRel, off/x)
			}
			outside[part] = outside[part] || off > allowed
		}
	}
	return r, outside
}
