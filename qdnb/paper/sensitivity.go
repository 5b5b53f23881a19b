package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
)

// sensitivityEnvs are the environments of the grids, in the paper's order.
var sensitivityEnvs = protocol.GridEnvironments()

// Sensitivity draws figure 3: the distribution of QD scores over the nine settings of MAP-Elites
// and of DADS+REWARD, with a pair of boxes for each environment. A setting's score is the mean over
// its seeds, divided by the largest of any setting of either method on the environment. Boxes are
// quartiles over settings; bars are medians.
func Sensitivity(data *Data) (*figures.Figure, error) {
	panels, err := sensitivityPanels(data)
	if err != nil {
		return nil, err
	}
	joined := figures.BoxPanel{YLabel: panels[0].YLabel, YLimits: panels[0].YLimits}
	for _, panel := range panels {
		joined.Groups = append(joined.Groups, figures.BoxGroup{Label: panel.Title,
			Samples: panel.Groups[0].Samples})
	}
	return figures.Boxes([]figures.BoxPanel{joined}, figures.BoxOptions{})
}

// SensitivityInFull draws figure 14: figure 3 with a panel for each environment, a light box
// between the 0.125 and 0.875 quantiles, and the individual settings. In each box, from left to
// right, the settings are grouped by the three values of the first hyperparameter (the iso sigma,
// or the scale of the diversity reward), and within a group ordered by the second (the line sigma,
// or the entropy coefficient).
func SensitivityInFull(data *Data) (*figures.Figure, error) {
	panels, err := sensitivityPanels(data)
	if err != nil {
		return nil, err
	}
	return figures.Boxes(panels, figures.BoxOptions{Outer: true, Points: "setting"})
}

// SensitivitySettings returns a table for figure 14: the best and the worst setting of each method
// on each environment, with their QD scores (means over seeds) and the ratio of worst to best.
func SensitivitySettings(data *Data) (*tables.Table, error) {
	t := &tables.Table{
		Caption: "Best and worst settings of the grids",
		Header: []string{"environment", "method", "settings", "best", "QD score", "worst", "QD score",
			"worst / best"},
		Notes:   []string{"σ1 is iso_sigma, σ2 line_sigma, β diversity_reward_scale and α alpha_init."},
		Grouped: true,
	}
	points := data.Sensitivity()
	for _, env := range sensitivityEnvs {
		for _, grid := range protocol.Grids() {
			method := grid.Method
			var own []results.GridPoint
			for _, p := range points {
				if p.Env == env && p.Label == method && !math.IsNaN(p.QDScore) {
					own = append(own, p)
				}
			}
			if len(own) == 0 {
				continue
			}
			byScore := func(a, b results.GridPoint) int { return cmp.Compare(a.QDScore, b.QDScore) }
			best, worst := slices.MaxFunc(own, byScore), slices.MinFunc(own, byScore)
			part := none
			if best.QDScore > 0 {
				part = fmt.Sprintf("%.2f", worst.QDScore/best.QDScore)
			}
			t.Rows = append(t.Rows, tables.Row(env, figures.MethodName(method), fmt.Sprint(len(own)),
				settingsOf(best, grid), tables.Plain.Number(best.QDScore),
				settingsOf(worst, grid), tables.Plain.Number(worst.QDScore), part))
		}
	}
	if len(t.Rows) == 0 {
		return nil, data.noRuns(results.ExperimentSensitivity)
	}
	return t, nil
}

func settingsOf(p results.GridPoint, grid protocol.Grid) string {
	return fmt.Sprintf("%s %g, %s %g", grid.Symbols[0], p.A.Value, grid.Symbols[1], p.B.Value)
}

// sensitivityPanels returns a panel for each environment, with a shared y axis.
func sensitivityPanels(data *Data) ([]figures.BoxPanel, error) {
	var panels []figures.BoxPanel
	var groups []figures.BoxGroup
	for i, env := range sensitivityEnvs {
		panel := figures.BoxPanel{Title: env,
			Groups: []figures.BoxGroup{{Samples: sensitivitySamples(data, env)}}}
		if i == 0 {
			panel.YLabel = "Normalised QD score"
		}
		panels = append(panels, panel)
		groups = append(groups, panel.Groups...)
	}
	if !anySample(groups) {
		return nil, data.noRuns(results.ExperimentSensitivity)
	}
	for i := range panels {
		panels[i].YLimits = fromZero(groups)
	}
	return panels, nil
}

// sensitivitySamples returns the normalised scores of the settings on an environment, by method.
func sensitivitySamples(data *Data, env string) []figures.Sample {
	var samples []figures.Sample
	points := data.Sensitivity() // sorted by environment, method and setting
	for _, grid := range protocol.Grids() {
		method := grid.Method
		s := figures.Sample{Name: method}
		for _, p := range points {
			if p.Env == env && p.Label == method {
				s.Values = append(s.Values, p.Normalised)
			}
		}
		if len(s.Values) > 0 {
			samples = append(samples, s)
		}
	}
	return samples
}

func anySample(groups []figures.BoxGroup) bool {
	return slices.ContainsFunc(groups, func(g figures.BoxGroup) bool { return len(g.Samples) > 0 })
}

// fromZero returns the axis range of normalised scores with a margin: 0 to 1, or the data's range
// if a score is negative.
func fromZero(groups []figures.BoxGroup) [2]float64 {
	for _, g := range groups {
		for _, s := range g.Samples {
			if slices.ContainsFunc(s.Values, func(v float64) bool { return v < 0 }) {
				return [2]float64{}
			}
		}
	}
	return [2]float64{0, 1.04}
}
