package results

import (
	"math"
	"slices"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/stats"
)

// Metric is a number at the end of a training run, named by its column.
type Metric string

// The metrics.
const (
	MaxFitness Metric = "max_fitness"
	QDScore    Metric = "qd_score"
	Coverage   Metric = "coverage" // percent
	EnvSteps   Metric = "env_steps"
)

// Of returns the metric of a run.
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

func (t *Tables) where(wanted func(Trained) bool) []Trained { return lists.Where(t.Trained, wanted) }

func (t *Tables) finished(experiment string) []Trained {
	return t.where(func(r Trained) bool { return r.Finished && r.Experiment == experiment })
}

// Scores returns a label's final values of a metric on an environment, one per seed.
func (t *Tables) Scores(label, env string, m Metric) []float64 {
	return m.Scores(t.FinishedRuns(label, env))
}

// Scores returns the metric of runs.
func (m Metric) Scores(trained []Trained) []float64 { return lists.Map(trained, m.Of) }

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

// Overall returns the interquartile mean of [Tables.Normalised] over environments and seeds, with a
// 95 % interval from the stratified bootstrap: seeds are resampled within each environment. ok is false if
// the label lacks runs on an environment.
func (t *Tables) Overall(label string, envs []string) (iqm float64, interval stats.Interval,
	ok bool) {
	strata := t.Normalised(label, envs)
	if len(strata) == 0 {
		return 0, interval, false
	}
	return stats.IQM(slices.Concat(strata...)), stats.Interval95(stats.IQM, strata...), true
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
