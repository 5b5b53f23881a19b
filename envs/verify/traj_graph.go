package verify

import (
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// trajectories compares the starts and the steps of trajectories, which neither stop nor reset at
// the end of an episode. They run freely from their starts up to a horizon where rounding makes
// them diverge. In chaotic environments each step starts from the stored state before it.
func trajectories(s subject, stored *arrays) ([]*group, error) {
	columns := append(at(s.state, "init_", "", samples),
		column{name: "actions", axes: []axis{samples, steps}, dims: []int{s.env.Spec().Actions}})
	var posed []column
	if s.rigid != nil {
		angles := []int{s.rigid.system.Angles()}
		columns = append(columns, column{name: "init_qpos", axes: []axis{samples}, dims: angles},
			column{name: "init_qvel", axes: []axis{samples}, dims: angles})
		posed = at(s.rigid.posed, "init_", "", samples)
	}
	if s.restart {
		columns = append(columns, at(s.state, "", "", samples, steps)...)
	}
	inputs, err := stored.all(columns)
	if err != nil {
		return nil, err
	}
	fromReset, within, err := s.parts(stored)
	if err != nil {
		return nil, err
	}
	started, traced := at(s.started, "init_", "", samples), at(s.traced, "", "", samples, steps)
	for _, outputs := range [][]column{posed, started, traced} {
		if _, err := stored.all(outputs); err != nil {
			return nil, err
		}
	}

	computed, err := s.run(inputs, func(in []*Node) (nodes []*Node) {
		n := len(s.state)
		init, actions, more := in[:n], in[n], in[n+1:]
		if s.rigid != nil {
			nodes, more = s.rigid.pose(more[0], more[1]), more[2:]
		}
		start := s.start(init)
		nodes = append(append(nodes, start.Observation), present(start.Descriptor)...)
		if s.restart {
			return append(nodes, s.restarted(init, more, actions)...)
		}
		return append(nodes, s.follow(start, actions)...)
	})
	if err != nil {
		return nil, err
	}
	all, percent := every(stored.sizes[samples]), 0
	if s.restart {
		percent = s.percent
	}
	starts, moves := newGroup("starts", all, 0), newGroup("steps", within, percent)
	groups := []*group{starts, moves}
	if err := starts.compare(stored, posed, computed, fromReset); err != nil {
		return nil, err
	}
	computed = computed[len(posed):]
	if s.rigid != nil {
		if starts.Edges, err = s.settleEdges(stored, started, inputs, computed); err != nil {
			return nil, err
		}
	}
	if err := starts.compare(stored, started, computed, all); err != nil {
		return nil, err
	}
	return groups, moves.compare(stored, traced, computed[len(started):], within)
}

// parts returns which starts come directly from joint angles, and which steps are compared: in each
// row the first half of the horizon up to which the published code agrees with itself in float64
// and after a change of the start by 1e-6.
func (s subject) parts(stored *arrays) (fromReset, within []bool, err error) {
	rows := stored.sizes[samples]
	fromReset, within = every(rows), every(rows*stored.sizes[steps])
	if s.rigid != nil {
		kind, err := stored.get(column{name: "kind", axes: []axis{samples}})
		if err != nil {
			return nil, nil, err
		}
		for row, k := range kind.flat {
			fromReset[row] = k <= 1 // the others were moved next to a wall
		}
	}
	if !s.bounded {
		return fromReset, within, nil
	}
	horizons, err := stored.all([]column{{name: "horizon_1e6", axes: []axis{samples}},
		{name: "horizon_f64", axes: []axis{samples}}})
	if err != nil {
		return nil, nil, err
	}
	for i := range within {
		row, step := i/stored.sizes[steps], i%stored.sizes[steps]+1
		horizon := min(horizons[0].flat[row], horizons[1].flat[row])
		within[i] = float32(2*step) <= horizon
	}
	return fromReset, within, nil
}

// pose returns the state for joint angles, rad, and velocities, rad/s, [B, angles] each.
func (r *rigidForm) pose(angles, velocities *Node) []*Node {
	return r.write(r.system.Pose(Transpose(angles, 0, 1), Transpose(velocities, 0, 1)))
}

// restarted steps from all stored states, the starts [B, ...] and the states after each step but
// the last [B, T, ...], under actions [B, T, ...]. It returns the outputs of the steps, [B * T,
// ...] each.
func (s subject) restarted(init, after []*Node, actions *Node) []*Node {
	flat := func(x *Node) *Node {
		dims := x.Shape().Dimensions
		return Reshape(x, append([]int{dims[0] * dims[1]}, dims[2:]...)...)
	}
	before := make([]*Node, len(init))
	for i := range init {
		last := after[i].Shape().Dimensions[1] - 1
		before[i] = flat(Concatenate([]*Node{InsertAxes(init[i], 1),
			Slice(after[i], AxisRange(), AxisRange(0, last))}, 1))
	}
	return s.trace(s.env.Step(s.start(before), flat(actions)))
}

// follow runs B states under actions [B, T, ...] and returns the outputs of each step, [B, T, ...]
// each.
func (s subject) follow(start envs.State, actions *Node) []*Node {
	type running struct {
		State   envs.State
		Actions *Node   // [T, B, ...]
		Shown   []*Node // [T, B, ...]
	}
	g, steps := actions.Graph(), actions.Shape().Dimensions[1]
	run := running{start, swap(actions), nil}
	for _, node := range s.trace(start) {
		dims := append([]int{steps}, node.Shape().Dimensions...)
		run.Shown = append(run.Shown, Zeros(g, shapes.Make(node.DType(), dims...)))
	}
	run = xla.For(g, steps, run, func(step *Node, r running) running {
		r.State = s.env.Step(r.State, xla.Row(r.Actions, step))
		r.Shown = xla.SetRow(r.Shown, step, s.trace(r.State))
		return r
	})
	for i, node := range run.Shown {
		run.Shown[i] = swap(node)
	}
	return run.Shown
}

// swap exchanges the first two axes.
func swap(x *Node) *Node { return Transpose(x, 0, 1) }
