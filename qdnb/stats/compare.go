package stats

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

func init() { stats.MannWhitneyTiesExactLimit = 0 } // as scipy's asymptotic method

// MannWhitney returns P of the two-sided Mann-Whitney U test (1947) of two independent samples of
// sizes n and m: the probability of a U at least as extreme if both come from one distribution.
//
// Without ties and up to 50 values each, P is exact: the fraction of the (n+m choose n) equally
// likely orders whose U is at least as extreme. Otherwise it is the tail of a normal distribution
// with mean nm/2, a continuity correction of one half, and the variance
//
//	nm/12 (n + m + 1 - Σ_t (t³ - t) / ((n+m)(n+m-1)))
//
// where t runs over the sizes of groups of equal values. Both match scipy.stats.mannwhitneyu with
// method exact and asymptotic. Samples whose values are all equal have P = 1. For three seeds
// against three, P is at least 0.1: such small samples cannot show more.
func MannWhitney(x, y []float64) float64 {
	_, p := mannWhitney(x, y)
	return p
}

// mannWhitney returns U, the number of pairs in which x is larger, ties counting half, and P.
func mannWhitney(x, y []float64) (u, p float64) {
	if len(x) == 0 || len(y) == 0 || hasNaN(x) || hasNaN(y) {
		return math.NaN(), math.NaN()
	}
	r, err := stats.MannWhitneyUTest(x, y, stats.LocationDiffers)
	if err != nil { // all values are equal
		return float64(len(x)*len(y)) / 2, 1
	}
	return r.U, min(r.P, 1)
}

// A12 is the effect size of Vargha and Delaney (2000): the probability that a value of x is larger
// than one of y, ties counting half,
//
//	A = U / (nm)
//
// It is 0.5 for samples from one distribution and 1 if all of x are larger. By convention 0.56,
// 0.64 and 0.71 are a small, a medium and a large effect.
func A12(x, y []float64) float64 {
	u, _ := mannWhitney(x, y)
	return u / float64(len(x)*len(y))
}
