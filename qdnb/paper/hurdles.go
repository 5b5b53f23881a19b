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
func Hurdles(data *Data) (figures.Grid, error) {
	panels, err := hurdlesPanels(data, Median)
	return figures.InRows(2, panels...), err
}

// hurdlesPanels returns the two panels of [Hurdles], return and hurdles passed, with either
// aggregate over seeds. Figure 18 uses the interquartile mean. Methods without a complete run are
// left out.
func hurdlesPanels(data *Data, aggregate Aggregate) (panels []*figures.Panel, err error) {
	for _, metric := range []struct {
		label string
		of    func(string) []results.CurvePoint
	}{{"Mean return", data.HurdlesCurve}, {"Hurdles passed", data.HurdlesPassed}} {
		var lines []figures.Series
		for _, label := range data.Labels() {
			if points := metric.of(label); len(points) > 0 {
				lines = append(lines, controlSeries(label, points, aggregate))
			}
		}
		if len(panels) == 0 && len(lines) == 0 {
			return nil, data.noRuns(results.ExperimentHurdles)
		}
		panel, err := figures.Lines(figures.Axes{XLabel: figures.EnvSteps.Label, YLabel: metric.label}, lines...)
		if err != nil {
			return nil, err
		}
		panels = append(panels, panel)
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
