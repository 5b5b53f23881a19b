package verify

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// oneStep compares single steps from stored states.
func oneStep(s subject, stored *arrays) ([]Result, error) {
	inputs := append(s.state("", "_before", 0, samples), column{"action", []axis{samples}, []int{s.env.Spec().Actions}, 0})
	return s.compare(stored, inputs, s.step("_after", samples), func(in []*Node) []*Node {
		last := len(in) - 1
		return s.form.observed(s.env.Step(s.form.start(in[:last]), in[last]))
	})
}
