package results

import (
	"math"
	"slices"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/stats"
)

// near reports whether two values of a perturbation are equal up to decimal rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// Multipliers returns the sorted multipliers of a perturbation that any run on an environment has.
func (t *Tables) Multipliers(perturbation, env string) []float64 {
	var list []float64
	for _, a := range t.Adapted {
		if a.Perturbation != perturbation || a.Env != env {
			continue
		}
		for _, v := range a.Values {
			list = append(list, v.X)
		}
	}
	slices.Sort(list)
	return slices.CompactFunc(list, near)
}

// Adaptation returns a label's scores at a multiplier, one per seed.
func (t *Tables) Adaptation(perturbation, env, label string, multiplier float64) []float64 {
	var x []float64
	for _, a := range t.AdaptedRuns(perturbation, env, label) {
		if v, ok := a.At(multiplier); ok {
			x = append(x, v.Score)
		}
	}
	return x
}

// AdaptedRuns returns a label's runs. A run shared by two experiments is returned once.
func (t *Tables) AdaptedRuns(perturbation, env, label string) []Adapted {
	var found []Adapted
	for _, a := range t.Adapted {
		twice := slices.ContainsFunc(found, func(b Adapted) bool { return a.Run != "" && a.Run == b.Run })
		if a.Perturbation == perturbation && a.Env == env && a.Label == label && !twice {
			found = append(found, a)
		}
	}
	return found
}

// At returns the results at a multiplier; ok is false if there are none.
func (a Adapted) At(multiplier float64) (value Value, ok bool) {
	i := slices.IndexFunc(a.Values, func(v Value) bool { return near(v.X, multiplier) })
	if i < 0 {
		return Value{}, false
	}
	return a.Values[i], true
}

// Gain returns the relative change of a run's score at a multiplier from multiplier 1,
//
//	(F - F_nominal) / |F_nominal|
//
// the paper's fitness gain (figure 13). It is NaN if the nominal score is missing or 0.
func (a Adapted) Gain(multiplier float64) float64 {
	v, ok := a.At(multiplier)
	nominal, known := a.At(1)
	if !ok || !known || nominal.Score == 0 {
		return math.NaN()
	}
	return (v.Score - nominal.Score) / math.Abs(nominal.Score)
}

// Gains returns a label's fitness gains at a multiplier, one per seed, each relative to the seed's
// own nominal score.
func (t *Tables) Gains(perturbation, env, label string, multiplier float64) []float64 {
	var x []float64
	for _, a := range t.AdaptedRuns(perturbation, env, label) {
		if _, ok := a.At(multiplier); ok {
			x = append(x, a.Gain(multiplier))
		}
	}
	return x
}

// TargetMeans returns a label's scores on ant-maze averaged over the targets, one per seed. The
// paper does not say how its figure 4 combines the ten targets.
func (t *Tables) TargetMeans(label string) []float64 {
	var x []float64
	for _, a := range t.AdaptedRuns(Target, "ant-maze", label) {
		x = append(x, stats.Mean(lists.Map(a.Values, func(v Value) float64 { return v.Score })))
	}
	return x
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
