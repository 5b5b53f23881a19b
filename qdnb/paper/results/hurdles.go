package results

import (
	"cmp"
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

func (t *Tables) controlCurve(label string, of func(ControlPoint) float64) []CurvePoint {
	var curves [][][2]float64
	for _, c := range t.Controlled {
		if c.Label != label {
			continue
		}
		var curve [][2]float64
		for _, p := range c.Curve {
			if n := len(curve); n == 0 || p.EnvSteps > curve[n-1][0] {
				curve = append(curve, [2]float64{p.EnvSteps, of(p)})
			}
		}
		curves = append(curves, curve)
	}
	return common(curves)
}

// common summarises curves of increasing x at the x values that all of them cover.
func common(curves [][][2]float64) []CurvePoint {
	from, to := math.Inf(-1), math.Inf(1)
	var steps []float64
	for _, curve := range curves {
		if len(curve) == 0 {
			return nil
		}
		from, to = max(from, curve[0][0]), min(to, curve[len(curve)-1][0])
		for _, p := range curve {
			steps = append(steps, p[0])
		}
	}
	slices.Sort(steps)
	var points []CurvePoint
	for _, x := range slices.Compact(steps) {
		if x < from || x > to {
			continue
		}
		var y []float64
		for _, curve := range curves {
			y = append(y, interpolate(curve, x))
		}
		q1, q3 := stats.Quartiles(y)
		points = append(points, CurvePoint{EnvSteps: x, Seeds: len(y), Median: stats.Median(y), Q1: q1,
			Q3: q3, IQM: stats.IQM(y)})
	}
	return points
}

// interpolate returns y at an x within a curve.
func interpolate(curve [][2]float64, x float64) float64 {
	i, exact := slices.BinarySearchFunc(curve, x,
		func(p [2]float64, x float64) int { return cmp.Compare(p[0], x) })
	if exact {
		return curve[i][1]
	}
	a, b := curve[i-1], curve[i]
	f := (x - a[0]) / (b[0] - a[0])
	return (1-f)*a[1] + f*b[1]
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
