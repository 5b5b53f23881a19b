package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
)

// sensitivityEnvs are the environments of the grids, in the paper's order.
var sensitivityEnvs = protocol.GridEnvironments()

// Sensitivity draws figure 3: the distribution of QD scores over the settings of MAP-Elites
// and of DADS+REWARD, with a pair of boxes for each environment. A setting's score is the mean over
// its seeds, divided by the largest of any setting of either method on the environment. Boxes are
// quartiles over settings; bars are medians.
func Sensitivity(data *Data) (figures.Grid, error) {
	groups, err := sensitivityGroups(data)
	if err != nil {
		return figures.Grid{}, err
	}
	panel, err := figures.Boxes(figures.Axes{YLabel: "Normalised QD score", YLimits: fromZero(groups)},
		figures.BoxOptions{}, groups...)
	return figures.Grid{Panels: [][]*figures.Panel{{panel}}, Note: lackingGrids(data)}, err
}

// SensitivityInFull draws figure 14: figure 3 with a panel for each environment, a light box
// between the 0.125 and 0.875 quantiles, and the individual settings. In each box, from left to
// right, the settings are grouped by the three values of the first hyperparameter (the iso sigma,
// or the scale of the diversity reward), and within a group ordered by the second (the line sigma,
// or the entropy coefficient).
func SensitivityInFull(data *Data) (figures.Grid, error) {
	groups, err := sensitivityGroups(data)
	if err != nil {
		return figures.Grid{}, err
	}
	var panels figures.Panels
	for _, group := range groups {
		axes := figures.Axes{Title: group.Label, YLabel: "Normalised QD score", YLimits: fromZero(groups)}
		group.Label = ""
		panels.Add(figures.Boxes(axes, figures.BoxOptions{Outer: true, Points: "One setting"}, group))
	}
	g, err := panels.InRows(len(groups))
	g.Note = lackingGrids(data)
	return g, err
}

// SensitivitySettings returns a table for figure 14: the best and the worst setting of each method
// on each environment, with their QD scores (means over seeds) and the ratio of worst to best.
func SensitivitySettings(data *Data) (*tables.Table, error) {
	t := &tables.Table{
		Caption: "Best and worst settings of the grids",
		Header:  []string{"environment", "method", "settings", "best", "QD score", "worst", "QD score", "worst / best"},
		Notes:   notes("σ1 is iso_sigma, σ2 line_sigma, β diversity_reward_scale and α alpha_init.", lackingGrids(data)),
		Grouped: true,
	}
	for _, env := range sensitivityEnvs {
		for _, grid := range protocol.Grids() {
			method := grid.Method
			own := slices.DeleteFunc(data.SensitivityOf(method, env),
				func(p results.GridPoint) bool { return math.IsNaN(p.QDScore) })
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

func settingsOf(p results.GridPoint, grid protocol.HyperparameterGrid) string {
	return fmt.Sprintf("%s %g, %s %g", grid.Symbols[0], p.A.Value, grid.Symbols[1], p.B.Value)
}

// sensitivityGroups returns the normalised scores of the settings, by environment and method.
func sensitivityGroups(data *Data) (groups []figures.BoxGroup, err error) {
	for _, env := range sensitivityEnvs {
		group := figures.BoxGroup{Label: env}
		for _, grid := range protocol.Grids() {
			box := figures.Box{Name: grid.Method}
			for _, p := range data.SensitivityOf(grid.Method, env) { // sorted by setting
				box.Values = append(box.Values, p.Normalised)
			}
			if len(box.Values) > 0 {
				group.Boxes = append(group.Boxes, box)
			}
		}
		if len(group.Boxes) > 0 {
			groups = append(groups, group)
		}
	}
	if len(groups) == 0 {
		return nil, data.noRuns(results.ExperimentSensitivity)
	}
	return groups, nil
}

// lackingGrids returns a sentence with the methods and environments whose grids have no complete run.
func lackingGrids(data *Data) string {
	var all, with []string
	for _, grid := range protocol.Grids() {
		for _, env := range sensitivityEnvs {
			all = lists.With(lists.With(all, grid.Method), env)
			if len(data.SensitivityOf(grid.Method, env)) > 0 {
				with = append(with, grid.Method, env)
			}
		}
	}
	return lacking(all, with)
}

// fromZero returns the axis range of normalised scores with a margin: 0 to 1, or the data's range
// if a score is negative.
func fromZero(groups []figures.BoxGroup) [2]float64 {
	for _, g := range groups {
		for _, s := range g.Boxes {
			if slices.ContainsFunc(s.Values, func(v float64) bool { return v < 0 }) {
				return [2]float64{}
			}
		}
	}
	return [2]float64{0, 1.04}
}
