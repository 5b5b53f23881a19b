package figures

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"

	"example.com/qdnb/qdnb/stats"
)

// Quartiles combines the curves of several runs, such as one method with different seeds, into one
// series of that name: the median, with the lower and upper quartiles as its band.
//
// Runs are interpolated linearly at points x values, evenly spaced over the range that all runs
// cover. Runs with identical x values keep those instead. Where any run has a value that is not
// finite, the result is NaN, which [Curves] draws as a gap: a median of the other runs would favour
// them.
//
// The X values of each run must increase. Quantiles match NumPy's default (type 7 of Hyndman and
// Fan 1996).
func Quartiles(name string, runs []Series, points int) (Series, error) {
	if len(runs) == 0 || points < 2 {
		return Series{},
			fmt.Errorf("figures: quartiles of %d runs at %d points: want at least one run and two points",
				len(runs), points)
	}
	from, to, err := commonRange(name, runs)
	if err != nil {
		return Series{}, err
	}
	grid := runs[0].X
	if slices.ContainsFunc(runs, func(r Series) bool { return !slices.Equal(r.X, grid) }) {
		grid = evenly(from, to, points)
	}
	return quartilesAt(name, runs, grid), nil
}

// QuartilesAt is [Quartiles] at given x values, such as evenly spaced ones on a logarithmic axis.
// It drops values that not all runs cover, and returns an error if none remain.
func QuartilesAt(name string, runs []Series, at []float64) (Series, error) {
	from, to, err := commonRange(name, runs)
	if err != nil {
		return Series{}, err
	}
	var grid []float64
	for _, x := range at {
		if x >= from && x <= to {
			grid = append(grid, x)
		}
	}
	if len(grid) == 0 {
		return Series{},
			fmt.Errorf("figures: the runs of %q cover %g to %g, which has none of the %d x values", name,
				from, to, len(at))
	}
	return quartilesAt(name, runs, grid), nil
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

// quartilesAt combines runs at x values that all of them cover.
func quartilesAt(name string, runs []Series, grid []float64) Series {
	s := Series{Name: name, X: slices.Clone(grid)}
	values := make([]float64, len(runs))
	for _, x := range grid {
		for i, r := range runs {
			values[i] = interpolate(r.X, r.Y, x)
		}
		s.Low = append(s.Low, quantile(values, 0.25))
		s.Y = append(s.Y, quantile(values, 0.5))
		s.High = append(s.High, quantile(values, 0.75))
	}
	return s
}

// evenly returns n values from from to to, both included, or a single value if they are equal.
func evenly(from, to float64, n int) []float64 {
	if from == to {
		return []float64{from}
	}
	return floats.Span(make([]float64, n), from, to)
}

// interpolate returns y at x, which lies within the increasing xs.
func interpolate(xs, ys []float64, x float64) float64 {
	i := sort.SearchFloat64s(xs, x)
	if xs[i] == x {
		return ys[i]
	}
	t := (x - xs[i-1]) / (xs[i] - xs[i-1])
	return (1-t)*ys[i-1] + t*ys[i]
}

// quantile returns stats.Quantile, or NaN if any value is not finite.
func quantile(values []float64, p float64) float64 {
	if !slices.ContainsFunc(values, func(v float64) bool { return !finite(v) }) {
		return stats.Quantile(values, p)
	}
	return math.NaN()
}
