package stats

import (
	"math"
	"slices"
)

// Alternative is the alternative hypothesis of a test; the null hypothesis is that both samples
// come from one distribution.
type Alternative int

// The alternatives.
const (
	TwoSided Alternative = iota // x tends to be larger or smaller than y
	Greater                     // x tends to be larger
	Less                        // x tends to be smaller
)

// RankTest is the result of [MannWhitney].
type RankTest struct {
	U     float64 // U of x: number of pairs with x_i > y_j, ties counting half
	P     float64 // probability of a U at least as extreme under the null hypothesis
	Exact bool    // computed by counting, not by the normal approximation
}

// maxExact is the largest number of pairs for which the distribution is counted. Beyond it the
// normal approximation is accurate to many digits.
const maxExact = 2500

// MannWhitney is the Mann-Whitney U test (1947) of two independent samples of sizes n and m.
//
// Without ties and up to 2500 pairs, P is exact: the fraction of the (n+m choose n) equally likely
// orders whose U is at least as extreme. Otherwise it is the tail of a normal distribution with
// mean nm/2, a continuity correction of one half, and the variance
//
//	nm/12 (n + m + 1 - Σ_t (t³ - t) / ((n+m)(n+m-1)))
//
// where t runs over the sizes of groups of equal values. Both match scipy.stats.mannwhitneyu with
// method exact and asymptotic. Samples whose values are all equal have P = 1. For three seeds
// against three, P is at least 0.1: such small samples cannot show more.
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
	if !(sigma > 0) { // all equal, up to rounding
		return RankTest{U: u, P: 1}
	}
	tail := func(distance float64) float64 { // probability of being that far above the mean
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

// wins counts the pairs in which x is larger, ties counting half.
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

// exactP is the probability of a U at least as extreme as u over all orders of n and m distinct
// values.
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

// distribution returns P(U = u) for u from 0 to nm. The recursion is over the largest of all
// values: it belongs to x with probability n/(n+m) and then wins m pairs, or to y and wins none.
// All terms are positive, so nothing cancels.
func distribution(n, m int) []float64 {
	// above[j] is the distribution for i-1 values of x and j of y; row[j] for i values of x.
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
// than one of y, ties counting half,
//
//	A = U / (nm)
//
// It is 0.5 for samples from one distribution and 1 if all of x are larger. By convention 0.56,
// 0.64 and 0.71 are a small, a medium and a large effect.
func A12(x, y []float64) float64 {
	if len(x) == 0 || len(y) == 0 || hasNaN(x) || hasNaN(y) {
		return math.NaN()
	}
	return wins(x, y) / float64(len(x)) / float64(len(y))
}

// CliffsDelta is the effect size of Cliff (1993), P(x > y) - P(x < y) = 2 A12 - 1, from -1 to 1.
func CliffsDelta(x, y []float64) float64 { return 2*A12(x, y) - 1 }
