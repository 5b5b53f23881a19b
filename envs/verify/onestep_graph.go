package verify

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// oneStep compares single steps from stored states, of a nominal or perturbed environment.
func oneStep(s subject, stored *arrays) ([]*group, error) {
	inputs := append(at(s.state, "", "_before", samples),
		column{name: "action", axes: []axis{samples}, dims: []int{s.env.Spec().Actions}})
	outputs := append(at(s.stepped, "", "", samples), at(s.state, "", "_after", samples)...)
	return s.samples(stored, inputs, outputs, s.percent, func(in []*Node) []*Node {
		last := len(in) - 1
		after, shown := s.step(s.start(in[:last]), in[last])
		return append(shown, s.read(after)...)
	})
}
