package paper

import (
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/stats"
)

// Hurdles draws figure 5: PPO trains a meta-controller that selects skills of each method to lead a
// cheetah over hurdles. The panels show, over the meta-controller's environment steps, the mean
// return of its evaluations and, unlike the paper's figure, the number of hurdles passed per
// episode, as medians and quartiles over seeds. The paper does not say whether its curve is the
// mean return of an evaluation or the best so far; here it is the mean.
func Hurdles(data *Data) (figures.Grid, error) {
	panels, err := hurdlesPanels(data, stats.Median)
	g := figures.InRows(2, panels...)
	g.Note = lacking(allMethods, lists.Map(data.Controlled, func(c results.Controlled) string { return c.Label }))
	return g, err
}

// hurdlesPanels returns the two panels of [Hurdles], return and hurdles passed, with an average over
// seeds. Figure 18 uses the interquartile mean. Methods without a complete run are left out.
func hurdlesPanels(data *Data, average func([]float64) float64) ([]*figures.Panel, error) {
	if len(data.Controlled) == 0 {
		return nil, data.noRuns(results.ExperimentHurdles)
	}
	var row figures.Panels
	for _, metric := range []struct {
		label string
		of    func(results.ControlPoint) float64
	}{
		{"Mean return", func(p results.ControlPoint) float64 { return p.FitnessMean }},
		{"Hurdles passed", func(p results.ControlPoint) float64 { return p.HurdlesMean }},
	} {
		var lines []figures.Series
		for _, label := range data.Labels() {
			own := lists.Where(data.Controlled, func(c results.Controlled) bool { return c.Label == label })
			curves := lists.Map(own, func(c results.Controlled) figures.Series {
				data.Reads(c.Run)
				return controlCurve(c, metric.of)
			})
			line, err := figures.Quartiles(label, curves, nil, average)
			if err == nil { // else there are no curves, or they have no steps in common
				lines = append(lines, line)
			}
		}
		row.Add(figures.Lines(figures.Axes{XLabel: figures.EnvSteps.Label, YLabel: metric.label}, lines...))
	}
	return row.Row()
}

// controlCurve returns a number over a meta-controller's environment steps, which increase.
func controlCurve(c results.Controlled, of func(results.ControlPoint) float64) (s figures.Series) {
	for _, p := range c.Curve {
		if n := len(s.X); n == 0 || p.EnvSteps > s.X[n-1] {
			s.X, s.Y = append(s.X, p.EnvSteps), append(s.Y, of(p))
		}
	}
	return s
}
