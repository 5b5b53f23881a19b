package results

import (
	"cmp"
	"math"
	"slices"

	"example.com/qdnb/qdnb/stats"
)

// Metric is a number at the end of a training run, by its column's name.
type Metric string

// The metrics.
const (
	MaxFitness Metric = "max_fitness"
	QDScore    Metric = "qd_score"
	Coverage   Metric = "coverage" // per cent
	EnvSteps   Metric = "env_steps"
	// EdgeCoverage is the coverage of the cells at the edge of the descriptor's range, in per cent.
	EdgeCoverage Metric = "edge_coverage"
)

// Of is the metric of a run.
func (m Metric) Of(r Trained) float64 {
	switch m {
	case MaxFitness:
		return r.MaxFitness
	case QDScore:
		return r.QDScore
	case Coverage:
		return r.Coverage
	case EnvSteps:
		return float64(r.EnvSteps)
	case EdgeCoverage:
		return r.EdgeCoverage
	}
	return math.NaN()
}

// FinishedRuns are the complete training runs of a label on an environment with the hyperparameters of the method, by seed. They are taken
// from the first experiment that has any: training, reward impact, then the others, which need such runs too; of "sensitivity" none, and of
// "smerl-targets" none, whose runs are SAC's and may be of other hyperparameters.
func (t *Tables) FinishedRuns(label, env string) []Trained {
	for _, experiment := range []string{ExperimentTraining, ExperimentReward, ExperimentAdaptation, ExperimentHurdles, ExperimentPrior} {
		if found := t.TrainedIn(experiment, label, env); len(found) > 0 {
			return found
		}
	}
	return nil
}

// TrainedIn are the complete training runs of an experiment, a label and an environment, by seed.
func (t *Tables) TrainedIn(experiment, label, env string) []Trained {
	var found []Trained
	for _, r := range t.Trained {
		if r.Finished && r.Experiment == experiment && r.Label == label && r.Env == env {
			found = append(found, r)
		}
	}
	return found
}

// Scores are the final values of a metric of a label on an environment, one per seed.
func (t *Tables) Scores(label, env string, m Metric) []float64 {
	return scores(t.FinishedRuns(label, env), m)
}

func scores(trained []Trained, m Metric) []float64 {
	var x []float64
	for _, r := range trained {
		x = append(x, m.Of(r))
	}
	return x
}

// Summary describes Scores over seeds: one entry of the paper's tables 1, 9 and 11.
func (t *Tables) Summary(label, env string, m Metric) stats.Summary {
	return stats.Summarize(t.Scores(label, env, m))
}

// Overall is the interquartile mean of a label's QD scores over environments and seeds, with its 95 % interval by the stratified
// bootstrap: seeds are drawn again on each environment. Scores are divided by the largest of any label and seed on the environment, as
// for the paper's figure 3. It is not ok if the label lacks runs on one of the environments.
func (t *Tables) Overall(label string, envs []string) (iqm float64, interval stats.Interval, ok bool) {
	var strata [][]float64
	for _, env := range envs {
		largest := math.Inf(-1)
		for _, other := range t.Labels() {
			for _, score := range t.Scores(other, env, QDScore) {
				largest = max(largest, score)
			}
		}
		own := t.Scores(label, env, QDScore)
		if len(own) == 0 {
			return 0, stats.Interval{}, false
		}
		for i := range own {
			own[i] = normalised(own[i], largest)
		}
		strata = append(strata, own)
	}
	if len(strata) == 0 {
		return 0, stats.Interval{}, false
	}
	statistic := stats.Pooled(stats.IQM)
	return statistic(strata), stats.Bootstrap(stats.Source(1), strata, statistic, stats.DefaultResamples, 0.95), true
}

// normalised is a score as a part of the largest, which must be positive.
func normalised(score, largest float64) float64 {
	if !(largest > 0) {
		return math.NaN()
	}
	return score / largest
}

// Labels lists the labels of all runs in the paper's order.
func (t *Tables) Labels() []string {
	var list []string
	for _, r := range t.Trained {
		list = append(list, r.Label)
	}
	for _, a := range t.Adapted {
		list = append(list, a.Label)
	}
	for _, c := range t.Controlled {
		list = append(list, c.Label)
	}
	slices.SortFunc(list, byLabel)
	return slices.Compact(list)
}

// near tells whether two values of a perturbation are the same; they come from decimals.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// Multipliers are the values of a perturbation by a multiplier that any run on an environment has, in order.
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

// Adaptation are the scores of a label at a multiplier, one per seed.
func (t *Tables) Adaptation(perturbation, env, label string, multiplier float64) []float64 {
	var x []float64
	for _, a := range t.adapted(perturbation, env, label) {
		if v, ok := a.at(multiplier); ok {
			x = append(x, v.Score)
		}
	}
	return x
}

// adapted are the runs of a label, those that two experiments share once.
func (t *Tables) adapted(perturbation, env, label string) []Adapted {
	var found []Adapted
	for _, a := range t.Adapted {
		twice := slices.ContainsFunc(found, func(b Adapted) bool { return a.Run != "" && a.Run == b.Run })
		if a.Perturbation == perturbation && a.Env == env && a.Label == label && !twice {
			found = append(found, a)
		}
	}
	return found
}

func (a Adapted) at(multiplier float64) (Value, bool) {
	i := slices.IndexFunc(a.Values, func(v Value) bool { return near(v.X, multiplier) })
	if i < 0 {
		return Value{}, false
	}
	return a.Values[i], true
}

// Gain is the relative change of a run's score at a multiplier against that at multiplier 1,
//
//	(F - F_nominal) / |F_nominal|
//
// the paper's fitness gain (figure 13). It is NaN if the run has no nominal score, or that is 0.
func (a Adapted) Gain(multiplier float64) float64 {
	v, ok := a.at(multiplier)
	nominal, known := a.at(1)
	if !ok || !known || nominal.Score == 0 {
		return math.NaN()
	}
	return (v.Score - nominal.Score) / math.Abs(nominal.Score)
}

// Gains are the fitness gains of a label at a multiplier, one per seed. Each is relative to the seed's own nominal score.
func (t *Tables) Gains(perturbation, env, label string, multiplier float64) []float64 {
	var x []float64
	for _, a := range t.adapted(perturbation, env, label) {
		if _, ok := a.at(multiplier); ok {
			x = append(x, a.Gain(multiplier))
		}
	}
	return x
}

// TargetMeans are the means over the targets of a label's scores on ant-maze, one per seed. The paper does not say how its figure 4
// joins the ten targets.
func (t *Tables) TargetMeans(label string) []float64 {
	var x []float64
	for _, a := range t.adapted(Target, "ant-maze", label) {
		x = append(x, a.mean())
	}
	return x
}

// mean of the scores over all values.
func (a Adapted) mean() float64 {
	var x []float64
	for _, v := range a.Values {
		x = append(x, v.Score)
	}
	return stats.Mean(x)
}

// GridPoint is a setting of the sensitivity experiment on an environment.
type GridPoint struct {
	Label, Env string
	A, B       Setting
	Seeds      int
	QDScore    float64 // mean over seeds
	Normalised float64 // divided by the largest of all settings of all labels on the environment
}

// Sensitivity are the settings of the grids. The paper's caption averages over seeds and divides by the maximum on each task.
func (t *Tables) Sensitivity() []GridPoint {
	type key struct {
		label, env string
		a, b       Setting
	}
	samples := map[key][]float64{}
	var order []key
	for _, r := range t.Trained {
		if !r.Finished || r.Experiment != ExperimentSensitivity || r.A.Name == "" || r.B.Name == "" {
			continue
		}
		k := key{r.Label, r.Env, r.A, r.B}
		if samples[k] == nil {
			order = append(order, k)
		}
		samples[k] = append(samples[k], r.QDScore)
	}
	var points []GridPoint
	largest := map[string]float64{}
	for _, k := range order {
		mean := stats.Mean(samples[k])
		points = append(points, GridPoint{Label: k.label, Env: k.env, A: k.a, B: k.b, Seeds: len(samples[k]), QDScore: mean})
		if old, ok := largest[k.env]; !ok || mean > old {
			largest[k.env] = mean
		}
	}
	for i, p := range points {
		points[i].Normalised = normalised(p.QDScore, largest[p.Env])
	}
	return points
}

// PriorRuns are the complete runs of an algorithm on ant-omni in the experiment "prior", with the prior or without, by seed.
func (t *Tables) PriorRuns(algorithm string, prior bool) []Trained {
	var found []Trained
	for _, r := range t.Trained {
		if r.Finished && r.Experiment == ExperimentPrior && r.Algorithm == algorithm && r.Prior == prior {
			found = append(found, r)
		}
	}
	return found
}

// PriorCoverages are the final coverages of [Tables.PriorRuns], one per seed.
func (t *Tables) PriorCoverages(algorithm string, prior bool) []float64 {
	return scores(t.PriorRuns(algorithm, prior), Coverage)
}

// SMERLTarget is what SMERL aims at on an environment.
type SMERLTarget struct {
	Env    string
	Seeds  int
	Target float64 // median over seeds of the best return of SAC
	Margin float64 // 10 % of its size
}

// SMERLTargets are the targets that the runs of SAC give.
func (t *Tables) SMERLTargets() []SMERLTarget {
	samples := map[string][]float64{}
	for _, r := range t.Trained {
		if r.Finished && r.Experiment == ExperimentTargets {
			samples[r.Env] = append(samples[r.Env], r.MaxFitness)
		}
	}
	var list []SMERLTarget
	for env, x := range samples {
		target := stats.Median(x)
		list = append(list, SMERLTarget{Env: env, Seeds: len(x), Target: target, Margin: 0.1 * math.Abs(target)})
	}
	slices.SortFunc(list, func(a, b SMERLTarget) int { return byEnv(a.Env, b.Env) })
	return list
}

// CurvePoint describes the runs of a label at a number of environment steps.
type CurvePoint struct {
	EnvSteps            float64
	Seeds               int
	Median, Q1, Q3, IQM float64
}

// HurdlesCurve is the mean return of evaluations of a label over environment steps, and HurdlesPassed the mean number of hurdles: each at
// the steps of any of its runs that all of them cover. Between its own steps a run is interpolated linearly.
func (t *Tables) HurdlesCurve(label string) []CurvePoint {
	return t.controlCurve(label, func(p ControlPoint) float64 { return p.FitnessMean })
}

// HurdlesPassed is as HurdlesCurve, of the hurdles that are passed per episode.
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

// common describes curves of rising x at the x values that all of them cover.
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
		points = append(points, CurvePoint{EnvSteps: x, Seeds: len(y), Median: stats.Median(y), Q1: q1, Q3: q3, IQM: stats.IQM(y)})
	}
	return points
}

// interpolate gives y at an x within a curve.
func interpolate(curve [][2]float64, x float64) float64 {
	i, exact := slices.BinarySearchFunc(curve, x, func(p [2]float64, x float64) int { return cmp.Compare(p[0], x) })
	if exact {
		return curve[i][1]
	}
	a, b := curve[i-1], curve[i]
	f := (x - a[0]) / (b[0] - a[0])
	return (1-f)*a[1] + f*b[1]
}

// FinalControl are the last values of a label's curves on hurdles, one per seed: the mean return of evaluations, and the hurdles passed.
func (t *Tables) FinalControl(label string) (fitness, hurdles []float64) {
	for _, c := range t.Controlled {
		if c.Label == label && len(c.Curve) > 0 {
			last := c.Curve[len(c.Curve)-1]
			fitness, hurdles = append(fitness, last.FitnessMean), append(hurdles, last.HurdlesMean)
		}
	}
	return fitness, hurdles
}
