package envtest

import (
	"fmt"
	"math"
	"slices"
)

// array is a named array of a recording.
type array struct {
	name  string
	width int         // numbers per step; 0 if recorded once
	rows  [][]float32 // one row per copy
}

// recording is an episode of all copies.
type recording []array

// named returns an array by its name; the zero value if the recording has none.
func (r recording) named(name string) array {
	for _, a := range r {
		if a.name == name {
			return a
		}
	}
	return array{}
}

// constant reports whether all copies have the same numbers after each step.
func (a array) constant() bool {
	for _, row := range a.rows {
		for step := range slices.Chunk(row[a.width:], a.width) {
			if !slices.Equal(step, a.rows[0][a.width:2*a.width]) {
				return false
			}
		}
	}
	return true
}

// at describes the position of a number in an array.
func (a array) at(copy, i int) string {
	if a.width == 0 {
		return fmt.Sprintf("number %d of %s of copy %d", i, a.name, copy)
	}
	return fmt.Sprintf("number %d of %s of copy %d after %d steps", i%a.width, a.name, copy, i/a.width)
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// first describes the first number of some copies for which holds returns true, or returns "".
func (a array) first(copies []int, holds func(copy, i int, x float32) bool) string {
	for _, copy := range copies {
		for i, x := range a.rows[copy] {
			if holds(copy, i, x) {
				return fmt.Sprintf("%s is %g", a.at(copy, i), x)
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

// differ describes the first number of some copies whose bits differ between two recordings, or
// returns "".
func differ(a, b recording, copies []int) string {
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
