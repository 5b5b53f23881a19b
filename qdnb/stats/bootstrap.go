package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is a confidence interval.
type Interval struct{ Low, High float64 }

// DefaultResamples is the number of bootstrap resamples: enough for two digits of the ends of a 95
// % interval.
const DefaultResamples = 2000

// Source returns a source of random numbers for [Bootstrap].
func Source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Bootstrap returns the percentile interval of a statistic (Efron 1979) at a level such as 0.95:
// between the (1-level)/2- and the (1+level)/2-quantile of the statistic over resamples. Each
// resample draws every stratum from its own values, with replacement and of the same size.
//
// One stratum is one sample. With several tasks, a stratum holds a task's scores, one per seed, and
// the statistic covers all tasks. This is the stratified bootstrap of rliable (Agarwal et al.
// 2021), which varies the seeds and keeps the tasks fixed; see [Pooled]. The statistic must not
// retain or modify its argument.
//
// The result is NaN if there is no stratum, a stratum is empty or contains a NaN, the statistic of
// a resample is NaN, resamples is below 1, or level is not strictly between 0 and 1. A sample of
// one value has an interval of zero width, which says nothing about its variation.
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

// Interval95 returns the 95 % interval of a statistic of the values of all strata together, after
// [DefaultResamples] with a fixed source: equal values have equal intervals.
func Interval95(statistic func([]float64) float64, strata ...[]float64) Interval {
	return Bootstrap(Source(1), strata, Pooled(statistic), DefaultResamples, 0.95)
}

// Pooled applies a statistic to the values of all strata together, as rliable's aggregate IQM over
// tasks and seeds. Normalise scores of different tasks first.
func Pooled(statistic func([]float64) float64) func(strata [][]float64) float64 {
	return func(strata [][]float64) float64 { return statistic(slices.Concat(strata...)) }
}
