package verify

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// oneStep compares single steps from stored states, of a nominal or perturbed environment.
func oneStep(s subject, stored *arrays) ([]*group, error) {
	inputs, err := stored.all(append(at(s.state, "", "_before", samples),
		column{name: "action", axes: []axis{samples}, dims: []int{s.env.Spec().Actions}}))
	if err != nil {
		return nil, err
	}
	outputs := append(at(s.stepped, "", "", samples), at(s.state, "", "_after", samples)...)
	if _, err := stored.all(outputs); err != nil {
		return nil, err
	}
	computed, err := s.run(inputs, func(in []*Node) []*Node {
		last := len(in) - 1
		after, shown := s.step(s.start(in[:last]), in[last])
		return append(shown, s.read(after)...)
	})
	if err != nil {
		return nil, err
	}
	all := every(stored.sizes[samples])
	g := newGroup("samples", all, s.percent)
	return []*group{g}, g.compare(stored, outputs, computed, all)
}
