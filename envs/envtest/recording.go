package envtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
)

// The names of the arrays of a recording.
const (
	observation = "the observation"
	reward      = "the reward"
	done        = "done"
	descriptor  = "the descriptor"
	resetState  = "the physics state after the reset"
	endState    = "the physics state at the end"
	outcome     = "the episode's descriptor"
	variable    = "the variable " // and its name: at the start and at the end of an episode
)

// array is a named array of a recording.
type array struct {
	name  string
	width int         // numbers per step, starting at the reset; 0 if recorded once
	node  *graph.Node // [B, numbers], in the graph
	rows  [][]float32 // the same on the host
}

// recording is an episode of all copies.
type recording []array

// named returns an array by its name; the zero value if the recording has none.
func (r recording) named(name string) array {
	if i := slices.IndexFunc(r, func(a array) bool { return a.name == name }); i >= 0 {
		return r[i]
	}
	return array{}
}

// constant says which numbers all copies have after each step, or returns "".
func (a array) constant() string {
	for _, row := range a.rows {
		for step := range slices.Chunk(row[a.width:], a.width) {
			if !slices.Equal(step, a.rows[0][a.width:2*a.width]) {
				return ""
			}
		}
	}
	if len(a.rows) == 0 {
		return ""
	}
	return fmt.Sprintf("it is %g in all steps of all copies (Suite.Steps allows longer episodes)",
		a.rows[0][a.width:2*a.width])
}

// at describes the position of a number in an array.
func (a array) at(copy, i int) string {
	if a.width == 0 {
		return fmt.Sprintf("number %d of %s of copy %d", i, a.name, copy)
	}
	return fmt.Sprintf("number %d of %s of copy %d after %d steps", i%a.width, a.name, copy, i/a.width)
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// chosen returns the named arrays, or all if there are no names.
func (r recording) chosen(names []string) recording {
	return slices.DeleteFunc(slices.Clone(r), func(a array) bool {
		return len(names) > 0 && !slices.Contains(names, a.name)
	})
}

// first describes the first number of the chosen arrays for which holds returns true. It returns "" if
// there is none.
func (r recording) first(holds func(i int, x float32) bool, names ...string) string {
	for _, a := range r.chosen(names) {
		for copy, row := range a.rows {
			for i, x := range row {
				if holds(i, x) {
					return fmt.Sprintf("%s is %g", a.at(copy, i), x)
				}
			}
		}
	}
	return ""
}

// off returns the largest difference between the first n numbers of two copies, relative for
// numbers above 1, and its position.
func (a array) off(b array, copy, other, n int) (at string, worst float64) {
	for i, x := range a.rows[copy][:n] {
		y := b.rows[other][i]
		if x == y {
			continue
		}
		off := math.Abs(float64(x)-float64(y)) / max(1, math.Abs(float64(x)))
		if math.IsNaN(off) {
			off = math.Inf(1)
		}
		if off > worst {
			at, worst = fmt.Sprintf("%s is %g and %g", a.at(copy, i), x, y), off
		}
	}
	return at, worst
}

// differ describes the first number of some copies whose bits differ between the chosen arrays of two
// recordings. It returns "" if there is none.
func differ(a, b recording, copies []int, names ...string) string {
	a, b = a.chosen(names), b.chosen(names)
	for k := range a {
		for _, copy := range copies {
			for i, x := range a[k].rows[copy] {
				if y := b[k].rows[copy][i]; math.Float32bits(x) != math.Float32bits(y) {
					return fmt.Sprintf("%s is %g and %g", a[k].at(copy, i), x, y)
				}
			}
		}
	}
	return ""
}
