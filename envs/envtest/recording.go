package envtest

import (
	"fmt"
	"math"
)

// array is what a recording has of one name.
type array struct {
	name  string
	width int         // numbers of a step; 0 for what is recorded once
	rows  [][]float32 // of each copy
}

// recording is an episode of all copies.
type recording []array

// at says which number of an array is meant.
func (a array) at(copy, i int) string {
	if a.width == 0 {
		return fmt.Sprintf("number %d of %s of copy %d", i, a.name, copy)
	}
	return fmt.Sprintf("number %d of %s of copy %d after %d steps", i%a.width, a.name, copy, i/a.width)
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// first finds a number of some copies of which something holds.
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

// off is the largest difference between the first n numbers of two copies, relative to those above
// 1, and where that is.
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

// differ finds a number of some copies whose bits are not the same in two recordings.
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
