package verify

import (
	"math"
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// oneStep compares single steps from stored states, of a nominal or perturbed environment.
func oneStep(s subject, stored *arrays) ([]*group, error) {
	inputs, err := stored.all(append(at(s.state, "", "_before", samples),
		column{name: "action", axes: []axis{samples}, dims: []int{s.env.Spec().Actions}}))
	if err != nil {
		return nil, err
	}
	outputs := append(at(columnsOf(s.stepped), "", "", samples), at(s.state, "", "_after", samples)...)
	if _, err := stored.all(outputs); err != nil {
		return nil, err
	}
	computed, err := s.run(inputs, func(in []*Node) []*Node {
		last := len(in) - 1
		v := s.step(s.start(in[:last]), in[last])
		return append(v.show(s.stepped), v.arrays...)
	})
	if err != nil {
		return nil, err
	}
	all := every(stored.sizes[samples])
	g := newGroup("samples", all, s.percent)
	return []*group{g}, g.compare(stored, outputs, computed, all)
}

// systemSteps compares single steps of a system, and poses of joint angles if the file has some.
func systemSteps(s subject, stored *arrays) ([]*group, error) {
	groups, err := oneStep(s, stored)
	if err != nil {
		return nil, err
	}
	const starts axis = "starts"
	inputs, err := stored.all(s.joints(starts))
	if err != nil {
		return groups, nil
	}
	computed, err := s.run(inputs, s.pose)
	if err != nil {
		return nil, err
	}
	all := every(stored.sizes[starts])
	poses := newGroup("poses", all, 0)
	return append(groups, poses), poses.compare(stored, at(s.posed, "init_", "", starts), computed, all)
}

// joints returns the arrays of joint angles and velocities of starts.
func (s subject) joints(starts axis) []column {
	return at([]column{{name: "qpos", dims: []int{len(s.rigid.System.DefaultAngles())}},
		{name: "qvel", dims: []int{len(s.rigid.System.DefaultAngles())}}}, "init_", "", starts)
}

// pose returns the arrays of the state at joint angles and velocities, [B, angles].
func (s subject) pose(in []*Node) []*Node {
	return export(s.rigid.System, s.rigid.System.Pose(swap(in[0]), swap(in[1])))
}

// trajectories compares the starts and the steps of trajectories, which neither stop nor reset at
// the end of an episode. They run freely from their starts up to a horizon where rounding makes
// them diverge. In chaotic environments each step starts from the stored state before it.
func trajectories(s subject, stored *arrays) ([]*group, error) {
	columns := append(at(s.state, "init_", "", samples),
		column{name: "actions", axes: []axis{samples, steps}, dims: []int{s.env.Spec().Actions}})
	if s.rigid != nil {
		columns = append(columns, s.joints(samples)...)
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
	posed, started := at(s.posed, "init_", "", samples), at(columnsOf(s.started), "init_", "", samples)
	traced := at(columnsOf(s.traced), "", "", samples, steps)
	if _, err := stored.all(slices.Concat(posed, started, traced)); err != nil {
		return nil, err
	}
	computed, err := s.run(inputs, func(in []*Node) (nodes []*Node) {
		n := len(s.state)
		init, actions, more := in[:n], in[n], in[n+1:]
		if s.rigid != nil {
			nodes, more = s.pose(more), more[2:]
		}
		start := s.start(init)
		nodes = append(nodes, s.view(start).show(s.started)...)
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
	return []*group{starts, moves}, moves.compare(stored, traced, computed[len(started):], within)
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
		within[i] = float32(2*step) <= min(horizons[0].flat[row], horizons[1].flat[row])
	}
	return fromReset, within, nil
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
	return s.view(s.env.Step(s.start(before), flat(actions))).show(s.traced)
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
	for _, node := range s.view(start).show(s.traced) {
		dims := append([]int{steps}, node.Shape().Dimensions...)
		run.Shown = append(run.Shown, Zeros(g, shapes.Make(node.DType(), dims...)))
	}
	run = xla.For(g, steps, run, func(step *Node, r running) running {
		r.State = s.env.Step(r.State, xla.Row(r.Actions, step))
		r.Shown = xla.SetRow(r.Shown, step, s.view(r.State).show(s.traced))
		return r
	})
	for i, node := range run.Shown {
		run.Shown[i] = swap(node)
	}
	return run.Shown
}

// swap exchanges the first two axes.
func swap(x *Node) *Node { return Transpose(x, 0, 1) }

// edge is the distance in m that a start is moved up and down to find marginal contacts. It is much
// larger than the rounding error of the height of a foot that a reset puts on the ground, and too
// small to change a contact impulse by its tolerance.
const edge = 1e-6

// settleEdges finds the starts that differ from the stored ones only by a marginal contact: the
// penetration of the ground is 0 up to rounding, so one float32 program has the contact and another
// one does not. In these starts it replaces the differing elements by their values a micrometre
// higher or lower. It returns the number of such starts.
func (s subject) settleEdges(stored *arrays, started []column, inputs []array,
	computed [][]float32) (edges int, err error) {
	type element struct{ of, i int }
	want, err := stored.all(started)
	if err != nil {
		return 0, err
	}
	off := func(e element, from [][]float32) bool {
		difference := float64(from[e.of][e.i]) - float64(want[e.of].flat[e.i])
		return !(math.Abs(difference) <= started[e.of].tolerance.base)
	}
	doubtful := map[int][]element{} // by row
	for of, c := range started {
		size, first := c.dims[0], 0
		if of == 0 { // contacts are the last components of the observation
			first = size - s.rigid.Contacts
		}
		for i := range want[of].flat {
			if e := (element{of, i}); i%size >= first && off(e, computed) {
				doubtful[i/size] = append(doubtful[i/size], e)
			}
		}
	}
	if len(doubtful) == 0 {
		return 0, nil
	}
	moved, err := s.run(inputs[:len(s.state)], func(in []*Node) (shown []*Node) {
		for _, by := range []float32{edge, -edge} {
			up := Const(in[0].Graph(), [][][]float32{{{0, 0, by}}})
			start := s.start(append([]*Node{Add(in[0], up)}, in[1:]...))
			shown = append(shown, s.view(start).show(s.started)...)
		}
		return shown
	})
	if err != nil {
		return 0, err
	}
	higher, lower := moved[:len(started)], moved[len(started):]
	for _, elements := range doubtful {
		if slices.ContainsFunc(elements, func(e element) bool { return off(e, higher) && off(e, lower) }) {
			continue
		}
		edges++
		for _, e := range elements {
			computed[e.of][e.i] = higher[e.of][e.i]
			if off(e, higher) {
				computed[e.of][e.i] = lower[e.of][e.i]
			}
		}
	}
	return edges, nil
}
