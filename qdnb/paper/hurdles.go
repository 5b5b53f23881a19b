package paper

import (
	"fmt"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/stats"
)

// Aggregate is how the seeds of a method become one number: the paper's main text takes the median,
// its last appendix the interquartile mean.
type Aggregate int

// The aggregates.
const (
	Median Aggregate = iota
	IQM
)

// String is the aggregate's name as figures print it.
func (a Aggregate) String() string {
	if a == IQM {
		return "interquartile mean"
	}
	return "median"
}

// Of is the aggregate of a sample, see [stats.Median] and [stats.IQM].
func (a Aggregate) Of(x []float64) float64 {
	if a == IQM {
		return stats.IQM(x)
	}
	return stats.Median(x)
}

// Hurdles draws figure 5: PPO learns to choose among the skills of each method and leads a cheetah
// over hurdles. Against the environment steps of the meta-controller stand the mean return of its
// evaluations and, which the paper's figure lacks, how many hurdles it passes in an episode: the
// median over seeds, the band between the quartiles. The paper does not say whether its curve is
// the mean return of an evaluation or the best so far; it is the mean here.
func Hurdles(data *Data) (*figures.Figure, error) {
	panels, err := HurdlesPanels(data, Median)
	if err != nil {
		return nil, err
	}
	return figures.Curves(panels, len(panels))
}

// HurdlesPanels are the two panels of [Hurdles], return and hurdles passed, with either aggregate
// of the seeds; figure 18 has those of the interquartile mean. Methods without a complete run are
// left out.
func HurdlesPanels(data *Data, aggregate Aggregate) ([]figures.Panel, error) {
	panels := []figures.Panel{
		{XLabel: figures.EnvSteps.Label, YLabel: "Mean return"},
		{XLabel: figures.EnvSteps.Label, YLabel: "Hurdles passed"},
	}
	for i, curve := range []func(string) []results.CurvePoint{data.HurdlesCurve, data.HurdlesPassed} {
		for _, label := range data.Labels() {
			if points := curve(label); len(points) > 0 {
				panels[i].Series = append(panels[i].Series, controlSeries(label, points, aggregate))
			}
		}
	}
	if len(panels[0].Series) == 0 {
		return nil, noRuns(results.ExperimentHurdles)
	}
	return panels, nil
}

func controlSeries(label string, points []results.CurvePoint, aggregate Aggregate) figures.Series {
	s := figures.Series{Name: label}
	for _, p := range points {
		y := p.Median
		if aggregate == IQM {
			y = p.IQM
		}
		s.X, s.Y = append(s.X, p.EnvSteps), append(s.Y, y)
		s.Low, s.High = append(s.Low, p.Q1), append(s.High, p.Q3)
	}
	return s
}

// noRuns says that there is nothing to draw, and what makes it.
func noRuns(experiment string) error {
	return fmt.Errorf("no run of the experiment %q is complete: experiments.Prepare(%q) in a "+
		"notebook, or `make experiments`, makes them",
		experiment, experiment)
}
