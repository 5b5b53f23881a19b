package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is an interval of confidence.
type Interval struct{ Low, High float64 }

// DefaultResamples is how often statistics of runs are drawn again: enough for the ends of a 95 %
// interval to two digits.
const DefaultResamples = 2000

// Source makes the source of random numbers of a [Bootstrap].
func Source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Bootstrap is the percentile interval of a statistic (Efron 1979), such as that of level 0.95:
// between the (1-level)/2- and the (1+level)/2-quantile of the statistic of resamples, in which
// every stratum is drawn anew from its own values, with replacement and with as many.
//
// One stratum is one sample. With several tasks a stratum is a task with a score per seed, and the
// statistic that of all: the stratified bootstrap of rliable (Agarwal et al. 2021), which varies
// the seeds and leaves the tasks as they are; see [Pooled]. The statistic must not keep or change
// what it is given.
//
// It is NaN if there is no stratum, one is empty or holds a NaN, the statistic of a resample is
// NaN, resamples is below 1, or level is not above 0 and below 1. A sample of one value has an
// interval of no width, which says that nothing is known of how it varies.
func Bootstrap(random *rand.Rand, strata [][]float64, statistic func(strata [][]float64) float64,
	resamples int, level float64) Interval {
	undefined := Interval{math.NaN(), math.NaN()}
	if len(strata) == 0 || resamples < 1 || !(level > 0 && level < 1) {
		return undefined
	}
	drawn := make([][]float64, len(strata))
	for i, stratum := range strata {
		if len(stratum) == 0 || hasNaN(stratum) {
			return undefined
		}
		drawn[i] = make([]float64, len(stratum))
	}
	values := make([]float64, resamples)
	for r := range values {
		for i, stratum := range strata {
			for k := range drawn[i] {
				drawn[i][k] = stratum[random.IntN(len(stratum))]
			}
		}
		values[r] = statistic(drawn)
	}
	if hasNaN(values) {
		return undefined
	}
	slices.Sort(values)
	return Interval{quantile(values, (1-level)/2), quantile(values, (1+level)/2)}
}

// Pooled is a statistic of all values of all strata together, as rliable's aggregate IQM over tasks
// and seeds. Scores of different tasks should be normalised first.
func Pooled(statistic func([]float64) float64) func(strata [][]float64) float64 {
	return func(strata [][]float64) float64 { return statistic(slices.Concat(strata...)) }
}
