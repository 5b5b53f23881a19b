package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/stats"
)

// gaits are the environments whose gravity and legs change.
var gaits = protocol.Gaits()

// Adaptation draws figure 4: the fitness of each method's skills, without further training, under
// multiples of gravity or of one leg's actuator strength (left, the three gait environments), and
// with moved targets on ant-maze (right). Environments without runs are left out.
//
// The score of a method and seed is the score of its best skill: the highest median fitness over
// initial states. Lines are medians over seeds, bands are quartiles, and a dashed line marks
// multiplier 1.
// The gravity axis is logarithmic. On ant-maze a seed's scores are averaged over targets, since the
// paper does not say how it combines them; bars are quartiles, rings are seeds.
func Adaptation(data *Data) (figures.Grid, error) {
	return data.adaptation(data.adaptedLabels(results.ExperimentAdaptation), results.ExperimentAdaptation, stats.Median)
}

// AdaptationIQM draws figure 18: the panels of [Adaptation] and [Hurdles] with interquartile means
// over seeds instead of medians, to show that the order of methods does not depend on the
// statistic. Bands are still quartiles. If only adaptation or only hurdles has runs, that part is
// drawn alone.
func AdaptationIQM(data *Data) (figures.Grid, error) {
	hurdles, err := hurdlesPanels(data, stats.IQM)
	labels := data.adaptedLabels(results.ExperimentAdaptation)
	if len(labels) == 0 && err == nil {
		return figures.InRows(2, hurdles...), nil
	}
	g, failed := data.adaptation(labels, results.ExperimentAdaptation, stats.IQM)
	if failed == nil && err == nil {
		g.Panels = append(g.Panels, hurdles)
	}
	return g, failed
}

// RewardAdaptation draws figure 16: the panels of [Adaptation] for DIAYN and DADS, which learn
// without the task's reward, compared with DIAYN+REWARD, DADS+REWARD and both SMERL variants.
// Fitness is the task's for all of them.
func RewardAdaptation(data *Data) (figures.Grid, error) {
	return data.adaptation(data.rewardLabels(), results.ExperimentReward, stats.Median)
}

// rewardLabels returns the methods of the experiment "reward" that have adaptation runs.
func (d *Data) rewardLabels() []string {
	adapted := d.adaptedLabels("")
	return slices.DeleteFunc(rewardMethods(), func(label string) bool { return !slices.Contains(adapted, label) })
}

// AdaptationTargets returns the data of the right panel of [Adaptation]: the best fitness on
// ant-maze for each target position, the median over seeds. The best of a column is bold. The table
// is empty if no targets were moved but other perturbations were evaluated.
func AdaptationTargets(data *Data) (*tables.Table, error) {
	labels := data.adaptedLabels(results.ExperimentAdaptation)
	if len(labels) == 0 {
		return nil, data.noRuns(results.ExperimentAdaptation)
	}
	type moved struct {
		label    string
		position [2]float64
	}
	var positions [][2]float64
	var with []string               // methods
	scores := map[moved][]float64{} // one per seed
	for _, label := range labels {
		for _, a := range data.AdaptedRuns(results.Target, "ant-maze", label) {
			for _, v := range a.Values {
				with = lists.With(with, label)
				to := moved{label, [2]float64{v.X, v.Y}}
				positions, scores[to] = lists.With(positions, to.position), append(scores[to], v.Score)
			}
		}
	}
	table := &tables.Table{Caption: "Best fitness on ant-maze by target position (m), " +
		"median over seeds", Header: []string{"method"}}
	labels = lists.Where(labels, func(label string) bool { return slices.Contains(with, label) })
	if table.Notes = notes(lacking(allMethods, labels)); len(positions) == 0 {
		table.Notes = []string{"No complete run has a moved target."}
	}
	table.Rows = lists.Map(labels, func(label string) []tables.Entry { return tables.Row(figures.MethodName(label)) })
	for _, position := range positions {
		table.Header = append(table.Header, fmt.Sprintf("(%.0f, %.0f)", position[0], position[1]))
		column := lists.Map(labels, func(label string) float64 { return stats.Median(scores[moved{label, position}]) })
		for i, entry := range tables.Column(column...) {
			table.Rows[i] = append(table.Rows[i], entry)
		}
	}
	return table, nil
}

// AdaptationSkills returns a table of the best skills in an environment at each multiplier of a
// perturbation, [results.Gravity] or [results.Actuators]. An empty env is the first one with runs.
// Skills are those of each method's first seed: a cell of the repertoire or a latent code. The
// table includes the number of skills evaluated.
func AdaptationSkills(data *Data, perturbation, env string) (*tables.Table, error) {
	known := []string{results.Gravity, results.Actuators}
	if !slices.Contains(known, perturbation) {
		return nil, names.Unknown("perturbation", perturbation, known)
	}
	labels := data.adaptedLabels(results.ExperimentAdaptation)
	if len(labels) == 0 {
		return nil, data.noRuns(results.ExperimentAdaptation)
	}
	for _, run := range data.Adapted {
		if env == "" && run.Perturbation == perturbation && len(run.Values) > 0 {
			env = run.Env
		}
	}
	multipliers := data.Multipliers(perturbation, env)
	if len(multipliers) == 0 {
		if env == "" {
			env = "any environment"
		}
		return nil, fmt.Errorf("%s on %s: %w", perturbation, env, data.noRuns(results.ExperimentAdaptation))
	}
	table := &tables.Table{Caption: fmt.Sprintf("Best skill on %s, %s multiplied", env, perturbation),
		Header: []string{"method", "skills"}}
	for _, x := range multipliers {
		table.Header = append(table.Header, fmt.Sprintf("× %g", x))
	}
	var with []string // methods
	for _, label := range labels {
		// the smallest seed: runs are sorted by seed
		i := slices.IndexFunc(data.Adapted, func(a results.Adapted) bool {
			return a.Label == label && a.Perturbation == perturbation && a.Env == env && len(a.Values) > 0
		})
		if i < 0 {
			continue
		}
		data.Reads(data.Adapted[i].Run)
		row := tables.Row(figures.MethodName(label), strconv.Itoa(data.Adapted[i].Values[0].Skills))
		for _, x := range multipliers {
			skill := ""
			if v, ok := data.Adapted[i].At(x); ok && v.Skill >= 0 {
				skill = strconv.Itoa(v.Skill)
			}
			row = append(row, tables.Entry{Text: skill})
		}
		table.Rows, with = append(table.Rows, row), append(with, label)
	}
	table.Notes = notes(lacking(allMethods, with))
	return table, nil
}

// gainLimit bounds the axes of [AdaptationGain], in percent.
const gainLimit = 150

// AdaptationGain draws figure 13: the fitness gain
//
//	(F - F₁) / |F₁|
//
// in percent over the multipliers of gravity and of one leg's actuator strength, where F₁ is the
// same seed's score at multiplier 1, as medians and quartiles over seeds. Axes are cut at ±150 %:
// larger gains occur where a score without perturbation is close to 0, and say little. Targets are
// left out because the plan does not evaluate the nominal target with the same protocol.
func AdaptationGain(data *Data) (figures.Grid, error) {
	labels := data.adaptedLabels(results.ExperimentAdaptation)
	if len(labels) == 0 {
		return figures.Grid{}, data.noRuns(results.ExperimentAdaptation)
	}
	panels, err := data.multiplierRows(labels, stats.Median, "Fitness gain (%)", gainLimits,
		func(perturbation, env, label string, multiplier float64) []float64 {
			gains := data.Gains(perturbation, env, label, multiplier)
			for i := range gains {
				gains[i] *= 100
			}
			return gains
		})
	return figures.Grid{Panels: panels, Note: lacking(allMethods, labels)}, err
}

// gainLimits returns axis limits for gains: the range of the data with a margin, within gainLimit.
func gainLimits(series []figures.Series) [2]float64 {
	low, high := 0.0, 0.0
	for _, s := range series {
		for i := range s.Y {
			for _, y := range []float64{s.Y[i], s.Low[i], s.High[i]} {
				if !math.IsNaN(y) {
					low, high = min(low, y), max(high, y)
				}
			}
		}
	}
	low, high = max(low, -gainLimit), min(high, gainLimit)
	margin := 0.05*(high-low) + 1
	return [2]float64{max(low-margin, -gainLimit), min(high+margin, gainLimit)}
}

// adaptedLabels returns the labels with adaptation runs in an experiment, or in any experiment if
// it is "", in the paper's order.
func (d *Data) adaptedLabels(experiment string) []string {
	found := lists.Where(d.Adapted, func(a results.Adapted) bool { return experiment == "" || a.Experiment == experiment })
	labels := lists.Map(found, func(a results.Adapted) string { return a.Label })
	slices.SortFunc(labels, records.Compare)
	return slices.Compact(labels)
}

// adaptation draws figure 4 for some labels: to the right of the panels over multipliers, the scores
// for moved targets.
func (d *Data) adaptation(labels []string, experiment string, average func([]float64) float64) (figures.Grid, error) {
	if len(labels) == 0 {
		return figures.Grid{}, d.noRuns(experiment)
	}
	rows, err := d.multiplierRows(labels, average, "Best fitness", nil, d.Tables.Adaptation)
	if err != nil {
		return figures.Grid{}, err
	}
	if targets := d.targets(labels, average); len(targets) > 0 {
		panel, err := figures.Intervals(figures.Axes{Title: "ant-maze", XLabel: "Best fitness, mean over targets"}, targets...)
		if err != nil {
			return figures.Grid{}, err
		}
		panel.Rows, panel.Aspect = len(rows), 0.6
		rows[0] = append(rows[0], panel)
	}
	expected := allMethods
	if experiment == results.ExperimentReward {
		expected = rewardMethods()
	}
	return figures.Grid{Panels: rows, Note: lacking(expected, labels)}, nil
}

// targets averages the scores of each label's seeds for moved targets, with their quartiles. Labels without scores are
// left out.
func (d *Data) targets(labels []string, average func([]float64) float64) (rows []figures.Interval) {
	for _, label := range labels {
		if scores := d.TargetMeans(label); len(scores) > 0 {
			low, high := stats.Quartiles(scores)
			rows = append(rows, figures.Interval{Name: label, Value: average(scores), Low: low, High: high, Points: scores})
		}
	}
	return rows
}

// multiplierRows makes the two rows of panels over multipliers, a column for each environment with
// runs. scores returns one score per seed; limits, if any, the ends of the y axis.
func (d *Data) multiplierRows(labels []string, average func([]float64) float64, yLabel string,
	limits func([]figures.Series) [2]float64,
	scores func(perturbation, env, label string, multiplier float64) []float64) (rows [][]*figures.Panel, err error) {
	envs := slices.DeleteFunc(slices.Clone(gaits), func(env string) bool {
		return len(d.Multipliers(results.Gravity, env))+len(d.Multipliers(results.Actuators, env)) == 0
	})
	if len(envs) == 0 { // only targets were moved
		envs = gaits
	}
	for _, perturbation := range []string{results.Gravity, results.Actuators} {
		var row []*figures.Panel
		var all []float64 // shared by the panels of a row, so that they have one axis
		for _, env := range envs {
			all = append(all, d.Multipliers(perturbation, env)...)
		}
		for i, env := range envs {
			axes := figures.Axes{XLabel: figures.MultiplierLabel(perturbation), LogX: perturbation == results.Gravity}
			if len(rows) == 0 {
				axes.Title = env
			}
			if i == 0 {
				axes.YLabel = yLabel
			}
			if len(all) > 0 && slices.Min(all) < slices.Max(all) {
				axes.XLimits = [2]float64{slices.Min(all), slices.Max(all)}
			}
			var lines []figures.Series
			for _, label := range labels {
				if s := responses(label, d.Multipliers(perturbation, env), average,
					func(multiplier float64) []float64 { return scores(perturbation, env, label, multiplier) },
				); len(s.X) > 0 {
					lines = append(lines, s)
				}
			}
			if limits != nil {
				axes.YLimits = limits(lines)
			}
			panel, err := figures.Lines(axes, lines...)
			if err != nil {
				return nil, err
			}
			panel.Add(figures.Vertical(1))
			row = append(row, panel)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// responses averages scores at multipliers, with their quartiles. Multipliers without scores are
// left out.
func responses(label string, multipliers []float64, average func([]float64) float64,
	scores func(multiplier float64) []float64) figures.Series {
	s := figures.Series{Name: label, Dots: true}
	for _, multiplier := range multipliers {
		x := scores(multiplier)
		if len(x) == 0 {
			continue
		}
		low, high := stats.Quartiles(x)
		s.X, s.Y = append(s.X, multiplier), append(s.Y, average(x))
		s.Low, s.High = append(s.Low, low), append(s.High, high)
	}
	return s
}
