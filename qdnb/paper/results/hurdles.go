package results

import (
	"math"
	"slices"

	"example.com/qdnb/qdnb/stats"
)

// CurvePoint summarises a label's runs at a number of environment steps.
type CurvePoint struct {
	EnvSteps            float64
	Seeds               int
	Median, Q1, Q3, IQM float64
}

// HurdlesCurve returns a label's mean evaluation return over environment steps. It has a point at
// each logged step within the range that all its runs cover, interpolating each run linearly.
func (t *Tables) HurdlesCurve(label string) []CurvePoint {
	return t.controlCurve(label, func(p ControlPoint) float64 { return p.FitnessMean })
}

// HurdlesPassed is like [Tables.HurdlesCurve] for the mean number of hurdles passed per episode.
func (t *Tables) HurdlesPassed(label string) []CurvePoint {
	return t.controlCurve(label, func(p ControlPoint) float64 { return p.HurdlesMean })
}

func (t *Tables) controlCurve(label string, of func(ControlPoint) float64) (points []CurvePoint) {
	type curve struct{ x, y []float64 } // x increases
	var curves []curve
	var steps []float64
	from, to := math.Inf(-1), math.Inf(1) // the steps that all runs cover
	for _, c := range t.Controlled {
		if c.Label != label {
			continue
		}
		if len(c.Curve) == 0 {
			return nil
		}
		var run curve
		for _, p := range c.Curve {
			if n := len(run.x); n == 0 || p.EnvSteps > run.x[n-1] {
				run.x, run.y = append(run.x, p.EnvSteps), append(run.y, of(p))
			}
		}
		curves, steps = append(curves, run), append(steps, run.x...)
		from, to = max(from, run.x[0]), min(to, run.x[len(run.x)-1])
	}
	slices.Sort(steps)
	for _, x := range slices.Compact(steps) {
		if x < from || x > to {
			continue
		}
		var y []float64
		for _, run := range curves {
			y = append(y, stats.Interpolate(run.x, run.y, x))
		}
		q1, q3 := stats.Quartiles(y)
		points = append(points, CurvePoint{EnvSteps: x, Seeds: len(y), Median: stats.Median(y), Q1: q1,
			Q3: q3, IQM: stats.IQM(y)})
	}
	return points
}

// FinalControl returns the last values of a label's hurdles curves, one per seed: the mean
// evaluation return and the hurdles passed.
func (t *Tables) FinalControl(label string) (fitness, hurdles []float64) {
	for _, c := range t.Controlled {
		if c.Label == label && len(c.Curve) > 0 {
			last := c.Curve[len(c.Curve)-1]
			fitness, hurdles = append(fitness, last.FitnessMean), append(hurdles, last.HurdlesMean)
		}
	}
	return fitness, hurdles
}
