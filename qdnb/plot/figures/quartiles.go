package figures

import (
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/qdnb/stats"
)

// Quartiles combines the curves of several runs, such as one method with different seeds, into one
// series of that name: the median, with the lower and upper quartiles as its band, at the given x
// values. It drops values that not all runs cover, and returns an error if none remain.
//
// Runs are interpolated linearly. Where any run has a value that is not finite, the result is NaN,
// which [Curves] draws as a gap: a median of the other runs would favour them.
//
// The X values of each run must increase. Quantiles match NumPy's default (type 7 of Hyndman and
// Fan 1996).
func Quartiles(name string, runs []Series, at []float64) (Series, error) {
	from, to, err := commonRange(name, runs)
	if err != nil {
		return Series{}, err
	}
	s := Series{Name: name}
	values := make([]float64, len(runs))
	for _, x := range at {
		if !(x >= from && x <= to) {
			continue
		}
		for i, r := range runs {
			values[i] = stats.Interpolate(r.X, r.Y, x)
		}
		s.X = append(s.X, x)
		s.Low = append(s.Low, quantile(values, 0.25))
		s.Y = append(s.Y, quantile(values, 0.5))
		s.High = append(s.High, quantile(values, 0.75))
	}
	if len(s.X) == 0 {
		return Series{},
			fmt.Errorf("figures: the runs of %q cover %g to %g, which has none of the %d x values", name,
				from, to, len(at))
	}
	return s, nil
}

// commonRange returns the range of x that all runs cover.
func commonRange(name string, runs []Series) (from, to float64, err error) {
	if len(runs) == 0 {
		return 0, 0, fmt.Errorf("figures: quartiles of no runs of %q: want at least one", name)
	}
	from, to = math.Inf(-1), math.Inf(1)
	for i, r := range runs {
		if len(r.X) == 0 || len(r.X) != len(r.Y) {
			return 0, 0, fmt.Errorf("figures: run %d of %q has %d x and %d y values", i, name, len(r.X),
				len(r.Y))
		}
		for k, x := range r.X {
			if !finite(x) || k > 0 && x <= r.X[k-1] {
				return 0, 0, fmt.Errorf("figures: run %d of %q: x must increase, but value %d is %g", i, name,
					k, x)
			}
		}
		from, to = max(from, r.X[0]), min(to, r.X[len(r.X)-1])
	}
	if from > to {
		return 0, 0, fmt.Errorf("figures: the runs of %q have no x in common", name)
	}
	return from, to, nil
}

// quantile returns stats.Quantile, or NaN if any value is not finite.
func quantile(values []float64, p float64) float64 {
	if !slices.ContainsFunc(values, func(v float64) bool { return !finite(v) }) {
		return stats.Quantile(values, p)
	}
	return math.NaN()
}
