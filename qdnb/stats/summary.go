package stats

import "slices"

// Summary describes a sample.
type Summary struct {
	N               int
	Median          float64
	Q1, Q3          float64 // quartiles
	Mean, Std       float64 // see [Std] for the divisor
	IQM             float64
	MedianCI, IQMCI Interval // 95 %, by [Bootstrap]
}

// summarySeed is fixed, so that a summary's intervals depend on the sample alone.
const summarySeed = 1

// Summarize describes a sample. Its intervals depend on the values alone, so that repeated runs
// write identical tables.
func Summarize(x []float64) Summary {
	x = slices.Sorted(slices.Values(x)) // independent of the order in which runs were found
	q1, q3 := Quartiles(x)
	interval := func(statistic func([]float64) float64) Interval {
		return Bootstrap(Source(summarySeed), [][]float64{x}, Pooled(statistic), DefaultResamples, 0.95)
	}
	return Summary{
		N: len(x), Median: Median(x), Q1: q1, Q3: q3, Mean: Mean(x), Std: Std(x), IQM: IQM(x),
		MedianCI: interval(Median), IQMCI: interval(IQM),
	}
}
