package results

import (
	"math"
	"slices"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/stats"
)

// Metric is a number of a training run, named by its column.
type Metric string

// The metrics.
const (
	MaxFitness Metric = "max_fitness"
	QDScore    Metric = "qd_score"
	Coverage   Metric = "coverage" // percent
	EnvSteps   Metric = "env_steps"
)

// Of returns the metric of a run at a point.
func (m Metric) Of(p Point) float64 {
	switch m {
	case MaxFitness:
		return p.MaxFitness
	case QDScore:
		return p.QDScore
	case Coverage:
		return p.Coverage
	case EnvSteps:
		return p.EnvSteps
	}
	return math.NaN()
}

// FinishedRuns returns a label's complete training runs on an environment with the method's
// hyperparameters, by seed. They come from the first experiment that has any: training, then
// reward, then the others that need such runs. The experiments "sensitivity" and "smerl-targets"
// are excluded; the SAC runs of the latter may have other hyperparameters.
func (t *Tables) FinishedRuns(label, env string) []Trained {
	for _, experiment := range []string{ExperimentTraining, ExperimentReward, ExperimentAdaptation,
		ExperimentHurdles, ExperimentPrior, ExperimentBeyond} {
		if found := t.TrainedIn(experiment, label, env); len(found) > 0 {
			return found
		}
	}
	return nil
}

// TrainedIn returns the complete training runs of an experiment, label and environment, by seed.
func (t *Tables) TrainedIn(experiment, label, env string) []Trained {
	return t.where(func(r Trained) bool {
		return r.Finished && r.Experiment == experiment && r.Label == label && r.Env == env
	})
}

// where reads the rows of training runs that are wanted.
func (t *Tables) where(wanted func(Trained) bool) []Trained {
	found := lists.Where(t.Trained, wanted)
	for _, r := range found {
		t.Reads(r.Run)
	}
	return found
}

func (t *Tables) finished(experiment string) []Trained {
	return t.where(func(r Trained) bool { return r.Finished && r.Experiment == experiment })
}

// Scores returns a label's final values of a metric on an environment, one per seed.
func (t *Tables) Scores(label, env string, m Metric) []float64 {
	return m.Scores(t.FinishedRuns(label, env))
}

// Scores returns the metric of runs.
func (m Metric) Scores(trained []Trained) []float64 {
	return lists.Map(trained, func(r Trained) float64 { return m.Of(r.Point) })
}

// Normalised returns a label's QD scores by environment, one per seed, divided by the largest score of any
// label and seed on the environment, as in the paper's figure 3. It is nil if the label lacks runs on an
// environment.
func (t *Tables) Normalised(label string, envs []string) (scores [][]float64) {
	for _, env := range envs {
		largest := math.Inf(-1)
		for _, other := range t.Labels() {
			for _, score := range t.Scores(other, env, QDScore) {
				largest = max(largest, score)
			}
		}
		own := t.Scores(label, env, QDScore)
		if len(own) == 0 {
			return nil
		}
		for i := range own {
			own[i] = normalised(own[i], largest)
		}
		scores = append(scores, own)
	}
	return scores
}

// normalised divides a score by the largest, which must be positive.
func normalised(score, largest float64) float64 {
	if !(largest > 0) {
		return math.NaN()
	}
	return score / largest
}

// Labels lists the labels of all runs in the paper's order.
func (t *Tables) Labels() []string {
	list := slices.Concat(lists.Map(t.Trained, func(r Trained) string { return r.Label }),
		lists.Map(t.Adapted, func(a Adapted) string { return a.Label }),
		lists.Map(t.Controlled, func(c Controlled) string { return c.Label }))
	slices.SortFunc(list, byLabel)
	return slices.Compact(list)
}

// GridPoint is a setting of the sensitivity experiment on an environment.
type GridPoint struct {
	Label, Env string
	A, B       Setting
	Seeds      int
	QDScore    float64 // mean over seeds
	Normalised float64 // divided by the largest score of any label and setting on the environment
}

// Sensitivity returns the settings of the grids. As the paper's caption says, scores are averaged
// over seeds and divided by the maximum on each task.
func (t *Tables) Sensitivity() []GridPoint {
	samples := map[GridPoint][]float64{}
	var order []GridPoint
	for _, r := range t.finished(ExperimentSensitivity) {
		if r.A.Name == "" || r.B.Name == "" {
			continue
		}
		k := GridPoint{Label: r.Label, Env: r.Env, A: r.A, B: r.B}
		if samples[k] == nil {
			order = append(order, k)
		}
		samples[k] = append(samples[k], r.QDScore)
	}
	var points []GridPoint
	largest := map[string]float64{}
	for _, k := range order {
		p := k
		p.Seeds, p.QDScore = len(samples[k]), stats.Mean(samples[k])
		points = append(points, p)
		if old, ok := largest[p.Env]; !ok || p.QDScore > old {
			largest[p.Env] = p.QDScore
		}
	}
	for i, p := range points {
		points[i].Normalised = normalised(p.QDScore, largest[p.Env])
	}
	return points
}

// SensitivityOf returns the settings of a label's grid on an environment.
func (t *Tables) SensitivityOf(label, env string) []GridPoint {
	return slices.DeleteFunc(t.Sensitivity(), func(p GridPoint) bool { return p.Label != label || p.Env != env })
}

// PriorRuns returns an algorithm's complete runs on ant-omni in the experiment "prior", with or
// without the prior, by seed.
func (t *Tables) PriorRuns(algorithm string, prior bool) []Trained {
	return t.where(func(r Trained) bool {
		return r.Finished && r.Experiment == ExperimentPrior && r.Algorithm == algorithm &&
			r.Env == "ant-omni" && r.Prior == prior
	})
}

// at returns a run as it was after some environment steps, according to its log. Its metrics are
// NaN before the first row.
func (r Trained) at(steps float64) Trained {
	if steps >= r.EnvSteps || len(r.Curve) == 0 {
		return r
	}
	steps += 1e-9 * steps // a share of the paper's steps is rounded
	n := 0
	for n < len(r.Curve) && r.Curve[n].EnvSteps <= steps {
		n++
	}
	r.Point = Point{EnvSteps: math.Trunc(steps), MaxFitness: math.NaN(), Coverage: math.NaN(), QDScore: math.NaN()}
	if r.Curve = r.Curve[:n]; n > 0 {
		r.Point = r.Curve[n-1]
	}
	return r
}

// AfterSteps returns the values of a metric after some environment steps, one per run.
func (m Metric) AfterSteps(steps float64, trained []Trained) []float64 {
	return lists.Map(trained, func(r Trained) float64 { return m.Of(r.at(steps).Point) })
}

// Reached returns the share of the paper's environment steps after which a metric of a run was at least
// x, according to its log; NaN if it never was.
func (m Metric) Reached(x float64, r Trained) float64 {
	for _, p := range r.Curve {
		if m.Of(r.at(p.EnvSteps).Point) >= x {
			return p.EnvSteps / r.PaperSteps()
		}
	}
	return math.NaN()
}

// alone reports whether the runs of an experiment are compared with each other only.
func alone(experiment string) bool {
	return slices.Contains([]string{ExperimentSensitivity, ExperimentPrior, ExperimentTargets}, experiment)
}

// Share returns the largest share of the paper's environment steps, at most 1, that every complete
// run on an environment reached: of the experiment if its runs are compared with each other only
// (sensitivity, prior and smerl-targets), else of all others. Methods whose steps the paper does
// not print do not count. It is NaN without runs.
func (t *Tables) Share(experiment, env string) float64 {
	share := math.Inf(1)
	for _, r := range t.Trained {
		same := r.Experiment == experiment || !alone(r.Experiment) && !alone(experiment)
		if r.Finished && r.Env == env && same {
			if own := r.StepsRatio(); own > 0 { // false for NaN
				share = min(share, own)
			}
		}
	}
	if math.IsInf(share, 1) {
		return math.NaN()
	}
	return min(share, 1)
}

// EqualShares returns the tables with every complete training run as it was at [Tables.Share] of
// its paper's steps, so that methods are compared at equal shares whatever their budgets were.
// Methods without steps in the paper are left out; adaptation and control are as they are.
func (t *Tables) EqualShares() *Tables {
	cut := *t
	cut.Trained = nil
	shares := map[[2]string]float64{}
	for _, r := range t.Trained {
		paper := r.PaperSteps()
		if !r.Finished || paper == 0 {
			continue
		}
		key := [2]string{r.Experiment, r.Env}
		if _, ok := shares[key]; !ok {
			shares[key] = t.Share(r.Experiment, r.Env)
		}
		cut.Trained = append(cut.Trained, r.at(shares[key]*paper))
	}
	return &cut
}

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
			t.Reads(a.Run)
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
	return lists.Map(t.AdaptedRuns(Target, "ant-maze", label), func(a Adapted) float64 {
		return stats.Mean(lists.Map(a.Values, func(v Value) float64 { return v.Score }))
	})
}

// FinalControl returns the last values of a label's hurdles curves, one per seed: the mean
// evaluation return and the hurdles passed.
func (t *Tables) FinalControl(label string) (fitness, hurdles []float64) {
	for _, c := range t.Controlled {
		if c.Label == label && len(c.Curve) > 0 {
			t.Reads(c.Run)
			last := c.Curve[len(c.Curve)-1]
			fitness, hurdles = append(fitness, last.FitnessMean), append(hurdles, last.HurdlesMean)
		}
	}
	return fitness, hurdles
}
