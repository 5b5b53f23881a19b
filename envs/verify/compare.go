package verify

import (
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/xla"
)

// subject is the environment to verify and its backend.
type subject struct {
	platform *xla.Platform
	form
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
