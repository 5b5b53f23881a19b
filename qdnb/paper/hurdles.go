package paper

import (
	"fmt"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/stats"
)

// Aggregate is a statistic over seeds: the paper's main text uses the median, its last appendix the
// interquartile mean.
type Aggregate int

// The aggregates.
const (
	Median Aggregate = iota
	IQM
)

// Of returns the aggregate of a sample; see [stats.Median] and [stats.IQM].
func (a Aggregate) Of(x []float64) float64 {
	if a == IQM {
		return stats.IQM(x)
	}
	return stats.Median(x)
}

// Hurdles draws figure 5: PPO trains a meta-controller that selects skills of each method to lead a
// cheetah over hurdles. The panels show, over the meta-controller's environment steps, the mean
// return of its evaluations and, unlike the paper's figure, the number of hurdles passed per
// episode, as medians and quartiles over seeds. The paper does not say whether its curve is the
// mean return of an evaluation or the best so far; here it is the mean.
func Hurdles(data *Data) (*figures.Figure, error) {
	panels, err := HurdlesPanels(data, Median)
	if err != nil {
		return nil, err
	}
	return figures.Curves(panels, len(panels))
}

// HurdlesPanels returns the two panels of [Hurdles], return and hurdles passed, with either
// aggregate over seeds. Figure 18 uses the interquartile mean. Methods without a complete run are
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
		return nil, data.noRuns(results.ExperimentHurdles)
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

// noRuns returns the error for missing runs, with the command that makes them.
func (d *Data) noRuns(experiment string) error {
	if d != nil && d.About != nil {
		return notShipped{fmt.Sprintf("these need runs of the experiment %q that are not shipped yet; "+
			"set %s to a folder of your own runs", experiment, FolderVariable)}
	}
	return fmt.Errorf("no run of the experiment %q is complete: make runs with "+
		"experiments.Prepare(%q) in a notebook, or `make experiments`", experiment, experiment)
}
