package verify

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// edge is the distance in m that a start is moved up and down to find marginal contacts. It is much
// larger than the rounding error of the height of a foot that a reset puts on the ground, and too
// small to change a contact impulse by its tolerance.
const edge = 1e-6

// settleEdges finds the starts that differ from the stored ones only by a marginal contact: the
// penetration of the ground is 0 up to rounding, so one float32 program has the contact and another
// one does not. In these starts it replaces the differing elements by their values a micrometre
// higher or lower. It returns the number of such starts.
func (s subject) settleEdges(stored *arrays, started []column, inputs []array,
	computed [][]float32) (int, error) {
	rows := stored.sizes[samples]
	type element struct{ of, i int }
	doubtful, want := make([][]element, rows), make([]array, len(started))
	off := func(e element, from [][]float32) bool {
		difference := float64(from[e.of][e.i]) - float64(want[e.of].flat[e.i])
		return !(math.Abs(difference) <= started[e.of].tolerance.base)
	}
	some := false
	for of, c := range started {
		var err error
		if want[of], err = stored.get(c); err != nil {
			return 0, err
		}
		size, first := c.dims[0], 0
		if of == 0 { // contacts are the last components of the observation
			first = size - s.rigid.contacts
		}
		for row := range rows {
			for i := row*size + first; i < (row+1)*size; i++ {
				if e := (element{of, i}); off(e, computed) {
					doubtful[row], some = append(doubtful[row], e), true
				}
			}
		}
	}
	if !some {
		return 0, nil
	}
	shown, err := s.run(inputs[:len(s.state)], func(in []*Node) (shown []*Node) {
		for _, by := range []float32{edge, -edge} {
			up := Const(in[0].Graph(), [][][]float32{{{0, 0, by}}})
			start := s.start(append([]*Node{Add(in[0], up)}, in[1:]...))
			shown = append(append(shown, start.Observation), present(start.Descriptor)...)
		}
		return shown
	})
	if err != nil {
		return 0, err
	}
	higher, lower := shown[:len(started)], shown[len(started):]
	edges := 0
	for _, elements := range doubtful {
		isReal := func(e element) bool { return off(e, higher) && off(e, lower) }
		if len(elements) == 0 || slices.ContainsFunc(elements, isReal) {
			continue
		}
		edges++
		for _, e := range elements {
			moved := higher
			if off(e, higher) {
				moved = lower
			}
			computed[e.of][e.i] = moved[e.of][e.i]
		}
	}
	return edges, nil
}
