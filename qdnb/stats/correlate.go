package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"example.com/qdnb/internal/lists"
)

// Spearman is the rank correlation of paired samples: the correlation of their ranks, with ties
// sharing their mean rank. It is NaN for fewer than three pairs, for samples that contain NaN, and
// if all values of a sample are equal.
func Spearman(x, y []float64) float64 {
	if len(x) != len(y) || len(x) < 3 || hasNaN(x) || hasNaN(y) {
		return math.NaN()
	}
	return stat.Correlation(ranks(x), ranks(y), nil)
}

// ranks returns ranks counted from 1; ties share their mean rank.
func ranks(x []float64) []float64 {
	order := lists.Indices(len(x))
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	rank := make([]float64, len(x))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && x[order[to]] == x[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			rank[i] = float64(from+1+to) / 2
		}
		from = to
	}
	return rank
}
