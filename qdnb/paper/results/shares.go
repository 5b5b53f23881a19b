package results

import (
	"math"
	"slices"

	"example.com/qdnb/internal/lists"
)

// at returns a run as it was after some environment steps, according to its log. Its metrics are
// NaN before the first row.
func (r Trained) at(steps float64) Trained {
	if steps >= float64(r.EnvSteps) || len(r.Curve) == 0 {
		return r
	}
	steps += 1e-9 * steps // a share of the paper's steps is rounded
	n := 0
	for n < len(r.Curve) && r.Curve[n].EnvSteps <= steps {
		n++
	}
	p := Point{EnvSteps: steps, MaxFitness: math.NaN(), Coverage: math.NaN(), QDScore: math.NaN()}
	if n > 0 {
		p = r.Curve[n-1]
	}
	r.EnvSteps, r.Seconds, r.Curve = int64(p.EnvSteps), p.Seconds, r.Curve[:n]
	r.MaxFitness, r.Coverage, r.QDScore = p.MaxFitness, p.Coverage, p.QDScore
	return r
}

// AfterSteps returns the values of a metric after some environment steps, one per run.
func (m Metric) AfterSteps(steps float64, trained []Trained) []float64 {
	return lists.Map(trained, func(r Trained) float64 { return m.Of(r.at(steps)) })
}

// Reached returns the share of the paper's environment steps after which a metric of a run was at least
// x, according to its log; NaN if it never was.
func (m Metric) Reached(x float64, r Trained) float64 {
	for _, p := range r.Curve {
		if m.Of(r.at(float64(p.EnvSteps))) >= x {
			return float64(p.EnvSteps) / float64(r.PaperSteps())
		}
	}
	return math.NaN()
}

// alone reports whether the runs of an experiment are compared with each other only.
func alone(experiment string) bool {
	return slices.Contains([]string{ExperimentSensitivity, ExperimentPrior, ExperimentTargets},
		experiment)
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
		paper := float64(r.PaperSteps())
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
