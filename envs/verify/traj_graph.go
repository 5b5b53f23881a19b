package verify

import (
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// trajectories compares every step of trajectories that run freely from their stored starts: neither stopped nor reset at the
// end of an episode.
func trajectories(s subject, stored *arrays) ([]Result, error) {
	spec, tolerance := s.env.Spec(), s.form.tolerance
	inputs := append(s.state("init_", "", 0, samples), column{"actions", []axis{samples, steps}, []int{spec.Actions}, 0})
	outputs := append([]column{
		{"init_obs", []axis{samples}, []int{spec.Observations}, tolerance},
		{"init_desc", []axis{samples}, []int{len(spec.Descriptor.Lower)}, tolerance},
	}, s.step("", samples, steps)...)
	return s.compare(stored, inputs, outputs, func(in []*Node) []*Node {
		last := len(in) - 1
		start := s.form.start(in[:last])
		return append([]*Node{start.Observation, start.Descriptor}, s.follow(start, in[last])...)
	})
}

// follow runs B states under actions [B, T, ...] and returns what each step shows, [B, T, ...] each.
func (s subject) follow(start envs.State, actions *Node) []*Node {
	type running struct {
		State   envs.State
		Actions *Node   // [T, B, ...]
		Shown   []*Node // [T, B, ...]
	}
	g, steps := actions.Graph(), actions.Shape().Dimensions[1]
	run := running{start, swap(actions), nil}
	for _, node := range s.form.observed(start) {
		dims := append([]int{steps}, node.Shape().Dimensions...)
		run.Shown = append(run.Shown, Zeros(g, shapes.Make(node.DType(), dims...)))
	}
	run = xla.For(g, steps, run, func(step *Node, r running) running {
		r.State = s.env.Step(r.State, Squeeze(xla.Rows(r.Actions, step, 1), 0))
		for i, node := range s.form.observed(r.State) {
			r.Shown[i] = xla.SetRows(r.Shown[i], step, InsertAxes(node, 0))
		}
		return r
	})
	for i, node := range run.Shown {
		run.Shown[i] = swap(node)
	}
	return run.Shown
}

// swap exchanges the first two axes.
func swap(x *Node) *Node { return Transpose(x, 0, 1) }
