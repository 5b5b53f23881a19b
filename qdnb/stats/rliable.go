package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Profile returns a point of the performance profile of a method (Agarwal et al. 2021): the share of
// runs whose score is greater than tau, averaged over tasks. It is a statistic of a method's scores by
// task, one per seed, for [Bootstrap].
func Profile(tau float64) func(tasks [][]float64) float64 {
	return func(tasks [][]float64) float64 {
		return meanOver(tasks, func(i int) float64 {
			if len(tasks[i]) == 0 || hasNaN(tasks[i]) {
				return math.NaN()
			}
			above := 0
			for _, score := range tasks[i] {
				if score > tau {
					above++
				}
			}
			return float64(above) / float64(len(tasks[i]))
		})
	}
}

// OptimalityGap returns the statistic target - Σ min(x_i, target) / n (Agarwal et al. 2021): by how much
// scores fall short of a target, beyond which a score earns nothing more. Use it with [Pooled] for
// normalised scores of several tasks.
func OptimalityGap(target float64) func(x []float64) float64 {
	return func(x []float64) float64 {
		if len(x) == 0 || hasNaN(x) {
			return math.NaN()
		}
		gap := 0.0
		for _, score := range x {
			gap += target - min(score, target)
		}
		return gap / float64(len(x))
	}
}

// Improvement is the probability that a run of one method has a higher score than one of another on a
// task drawn at random (Agarwal et al. 2021): the mean over tasks of [A12]. It is NaN unless x and y
// have scores of the same number of tasks.
func Improvement(x, y [][]float64) float64 {
	if len(x) != len(y) {
		return math.NaN()
	}
	return meanOver(x, func(i int) float64 { return A12(x[i], y[i]) })
}

// ImprovementInterval returns the interval of [Improvement] by [Bootstrap], whose strata are the tasks of
// both methods.
func ImprovementInterval(random *rand.Rand, x, y [][]float64, resamples int, level float64) Interval {
	return Bootstrap(random, slices.Concat(x, y), func(drawn [][]float64) float64 {
		return Improvement(drawn[:len(x)], drawn[len(x):])
	}, resamples, level)
}

// meanOver returns the mean of a value of each task, NaN without tasks.
func meanOver(tasks [][]float64, value func(task int) float64) float64 {
	sum := 0.0
	for i := range tasks {
		sum += value(i)
	}
	return sum / float64(len(tasks))
}
