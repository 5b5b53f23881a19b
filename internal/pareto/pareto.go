// Package pareto compares solutions of several objectives, which are all maximised.
package pareto

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"example.com/qdnb/internal/lists"
)

// dominates reports whether a solution is at least as good as another one in all objectives and
// better in one.
func dominates(a, b []float64) bool {
	for i := range a {
		if a[i] < b[i] {
			return false
		}
	}
	return slices.Compare(a, b) > 0
}

// Front returns the solutions that none of the others dominates, in descending order; of equal ones
// it returns one.
func Front(solutions [][]float64) (front [][]float64) {
	sorted := slices.Clone(solutions)
	slices.SortFunc(sorted, func(a, b []float64) int { return slices.Compare(b, a) })
	for _, s := range slices.CompactFunc(sorted, slices.Equal) { // only an earlier one dominates s
		if !slices.ContainsFunc(front, func(f []float64) bool { return dominates(f, s) }) {
			front = append(front, s)
		}
	}
	return front
}

// Hypervolume returns the volume of the points that some solution dominates and that dominate the
// reference point. A solution below the reference point in some objective adds nothing.
func Hypervolume(solutions [][]float64, reference []float64) (volume float64) {
	last := len(reference) - 1
	if last == 0 {
		for _, s := range solutions {
			volume = max(volume, s[0]-reference[0])
		}
		return volume
	}
	sorted := slices.DeleteFunc(slices.Clone(solutions), func(s []float64) bool { return !(s[last] > reference[last]) })
	slices.SortFunc(sorted, func(a, b []float64) int { return cmp.Compare(b[last], a[last]) })
	for i, s := range sorted { // slices along the last objective, the best solutions first
		below := reference[last]
		if i+1 < len(sorted) {
			below = sorted[i+1][last]
		}
		if height := s[last] - below; height > 0 {
			volume += height * Hypervolume(sorted[:i+1], reference[:last])
		}
	}
	return volume
}

// Fronts returns the fronts of an archive in which size slots belong to each cell. flat are the
// returns of the slots by objective, [cells * size * objectives], -Inf where a slot is empty.
func Fronts(flat []float32, size, objectives int) iter.Seq[[][]float64] {
	return func(yield func([][]float64) bool) {
		for cell := range slices.Chunk(flat, size*objectives) {
			var front [][]float64
			for slot := range slices.Chunk(cell, objectives) {
				if !math.IsInf(float64(slot[0]), -1) {
					front = append(front, lists.Convert[float64](slot))
				}
			}
			if !yield(front) {
				return
			}
		}
	}
}
