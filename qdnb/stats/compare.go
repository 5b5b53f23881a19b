package stats

import (
	"math"
	"slices"
)

// Alternative is what a test asks for against the hypothesis that two samples come from one
// distribution.
type Alternative int

// The alternatives.
const (
	TwoSided Alternative = iota // x tends to other values than y
	Greater                     // x tends to larger values
	Less                        // x tends to smaller values
)

// RankTest is the outcome of [MannWhitney].
type RankTest struct {
	U     float64 // of x: pairs (x_i, y_j) with x_i > y_j, and half of those that are equal
	P     float64 // probability of a U as extreme, if both samples come from one distribution
	Exact bool    // by counting, not by the normal approximation
}

// maxExact is the largest number of pairs whose distribution is counted; beyond it the normal
// approximation is good to many digits.
const maxExact = 2500

// MannWhitney is the test of Mann and Whitney (1947) of two independent samples of sizes n and m.
//
// Without ties and up to 2500 pairs, P is exact: of all (n+m choose n) equally likely orders, the
// part with a U as extreme. Otherwise it is the tail of a normal distribution with mean nm/2, half
// a unit of correction for continuity, and the variance
//
//	nm/12 (n + m + 1 - Σ_t (t³ - t) / ((n+m)(n+m-1)))
//
// with t over the numbers of values that are equal. Both are what scipy.stats.mannwhitneyu gives
// with method exact and asymptotic. Samples whose values are all equal have P = 1. Of three seeds
// against three, P is at least 0.1: the test cannot find more in so few.
func MannWhitney(x, y []float64, alternative Alternative) RankTest {
	n, m := len(x), len(y)
	if n == 0 || m == 0 || hasNaN(x) || hasNaN(y) {
		return RankTest{U: math.NaN(), P: math.NaN()}
	}
	u := wins(x, y)
	ties := 0.0 // Σ t³ - t
	all := slices.Sorted(slices.Values(slices.Concat(x, y)))
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j] == all[i] {
			j++
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	if ties == 0 && n*m <= maxExact {
		return RankTest{U: u, P: exactP(int(u), n, m, alternative), Exact: true}
	}
	total := float64(n + m)
	pairs := float64(n) * float64(m)
	sigma := math.Sqrt(pairs / 12 * (total + 1 - ties/(total*(total-1))))
	if !(sigma > 0) { // all equal, or rounding of that
		return RankTest{U: u, P: 1}
	}
	tail := func(distance float64) float64 { // probability of that far above the mean
		return math.Erfc((distance-0.5)/sigma/math.Sqrt2) / 2
	}
	var p float64
	switch above := u - pairs/2; alternative {
	case Greater:
		p = tail(above)
	case Less:
		p = tail(-above)
	default:
		p = 2 * tail(math.Abs(above))
	}
	return RankTest{U: u, P: min(p, 1)}
}

// wins counts the pairs of which x is the larger, and half of those that are equal.
func wins(x, y []float64) float64 {
	count := 0.0
	for _, a := range x {
		for _, b := range y {
			switch {
			case a > b:
				count++
			case a == b:
				count += 0.5
			}
		}
	}
	return count
}

// exactP is the probability of a U as extreme as u among orders of n and m distinct values.
func exactP(u, n, m int, alternative Alternative) float64 {
	p := distribution(n, m)
	upper, lower := 0.0, 0.0 // P(U >= u), P(U <= u)
	for v := n * m; v >= u; v-- {
		upper += p[v]
	}
	for v := 0; v <= u; v++ {
		lower += p[v]
	}
	switch alternative {
	case Greater:
		return min(upper, 1)
	case Less:
		return min(lower, 1)
	}
	return min(2*min(upper, lower), 1)
}

// distribution gives P(U = u) for u from 0 to nm, by what the largest of all values is: one of x
// with probability n/(n+m), which then wins m pairs, or one of y, which wins none. All terms are
// positive, so nothing cancels.
func distribution(n, m int) []float64 {
	// above[j] is the distribution for i-1 values of x and j of y, row that for i.
	above := make([][]float64, m+1)
	for j := range above {
		above[j] = []float64{1}
	}
	for i := 1; i <= n; i++ {
		row := make([][]float64, m+1)
		row[0] = []float64{1}
		for j := 1; j <= m; j++ {
			p := make([]float64, i*j+1)
			ofX, ofY := float64(i)/float64(i+j), float64(j)/float64(i+j)
			for u, q := range above[j] {
				p[u+j] += ofX * q
			}
			for u, q := range row[j-1] {
				p[u] += ofY * q
			}
			row[j] = p
		}
		above = row
	}
	return above[m]
}

// A12 is the effect size of Vargha and Delaney (2000): the probability that a value of x is larger
// than one of y, equal ones counting half,
//
//	A = U / (nm)
//
// It is 0.5 for samples of one distribution and 1 if all of x are larger. By custom 0.56, 0.64 and
// 0.71 are a small, a medium and a large effect.
func A12(x, y []float64) float64 {
	if len(x) == 0 || len(y) == 0 || hasNaN(x) || hasNaN(y) {
		return math.NaN()
	}
	return wins(x, y) / float64(len(x)) / float64(len(y))
}

// CliffsDelta is the effect size of Cliff (1993), P(x > y) - P(x < y) = 2 A12 - 1, from -1 to 1.
func CliffsDelta(x, y []float64) float64 { return 2*A12(x, y) - 1 }
