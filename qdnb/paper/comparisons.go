package paper

import (
	"fmt"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/stats"
)

// comparedPairs are the comparisons that the paper's text emphasises: the families against each
// other, and the variants within each family.
var comparedPairs = [][2]string{
	{"pga-map-elites", "dads-reward"}, {"pga-map-elites", "diayn-reward"},
	{"map-elites", "dads-reward"}, {"map-elites", "diayn-reward"},
	{"pga-map-elites", "map-elites"}, {"map-elites", "aurora"}, {"smerl-diayn", "diayn-reward"},
	{"smerl-dads", "dads-reward"},
}

// significance is the P value below which [Comparisons] prints an entry in bold.
const significance = 0.05

// Comparisons tests pairs of methods against each other on each training environment, in maximum
// fitness and QD score. Entries are Vargha and Delaney's effect size A (see [stats.A12]) and, in
// parentheses, P of the two-sided Mann-Whitney test (see [stats.MannWhitney]). Entries without runs
// of both methods are empty. Without pairs, the table has the pairs that the paper's text
// emphasises: families against each other and variants within each. Pairs without runs are left
// out; it is an error if no pair has runs.
//
// There are as many tests as entries, and each P is for a single test: without any difference, five
// in a hundred are below 0.05.
func Comparisons(data *Data, pairs ...[2]string) (*tables.Table, error) {
	methods, envs, err := trained(data, results.ExperimentTraining)
	if err != nil {
		return nil, err
	}
	if len(pairs) == 0 {
		pairs = comparedPairs
	}
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(pair [2]string) bool {
		return !slices.Contains(methods, pair[0]) || !slices.Contains(methods, pair[1])
	})
	if len(pairs) == 0 {
		return nil, fmt.Errorf("no pair of methods has runs: %w",
			data.noRuns(results.ExperimentTraining))
	}
	table := byMetric(func(metric results.Metric) *tables.Table {
		part := &tables.Table{Header: append([]string{"methods"}, envs...)}
		for _, pair := range pairs {
			row := tables.Row(figures.MethodName(pair[0]) + " : " + figures.MethodName(pair[1]))
			for _, env := range envs {
				row = append(row, effect(data.Scores(pair[0], env, metric), data.Scores(pair[1], env, metric)))
			}
			part.Rows = append(part.Rows, row)
		}
		return part
	})
	table.Caption = "Pairs of methods: effect size A (P)"
	table.Notes = []string{
		"A is the probability that a seed of the first method has the larger score. 0.5 is no " +
			"difference; 0.71 and 0.29 are conventionally large ones.",
		data.withMissing(fmt.Sprintf("P is from the two-sided Mann-Whitney test, uncorrected for multiple tests; "+
			"bold: below %g. %s", significance, seedRange(data, methods, envs)), allMethods, curveEnvs),
	}
	return table, nil
}

func effect(x, y []float64) tables.Entry {
	if len(x) == 0 || len(y) == 0 {
		return tables.Entry{}
	}
	p := stats.MannWhitney(x, y)
	text := fmt.Sprintf("%.2f (%s)", stats.A12(x, y), tables.Probability(p))
	return tables.Entry{Text: text, Bold: p < significance}
}

// Overall draws the methods' performance over all environments: the interquartile mean of QD scores
// over environments and seeds, each divided by the largest on its environment, and their optimality gap, by
// how much they fall short of the largest, each with the 95 % interval of a bootstrap that resamples seeds
// within each environment (after rliable, Agarwal et al. 2021). It uses the environments on which all
// methods have runs; the title names the others. If no environment has runs of all methods, those without
// runs on every environment are left out.
func Overall(data *Data) (figures.Grid, error) {
	methods, title, err := overall(data)
	if err != nil {
		return figures.Grid{}, err
	}
	var panels figures.Panels
	for _, c := range []struct {
		label     string
		statistic func([]float64) float64
	}{
		{"Normalised QD score, interquartile mean", stats.IQM}, {"Optimality gap", stats.OptimalityGap(1)},
	} {
		var rows []figures.Interval
		for _, m := range methods {
			interval := stats.Interval95(c.statistic, m.Tasks...)
			rows = append(rows, figures.Interval{Name: m.Name, Value: stats.Pooled(c.statistic)(m.Tasks), Low: interval.Low,
				High: interval.High})
		}
		panels.Add(figures.Intervals(figures.Axes{Title: title, XLabel: c.label}, rows...))
		title = ""
	}
	g, err := panels.InRows(2)
	g.Note = data.missing(allMethods, curveEnvs)
	return g, err
}

// Profiles draws the methods' performance profiles over the environments of [Overall]: the share of runs
// whose QD score is larger than a share of the largest on its environment.
func Profiles(data *Data) (figures.Grid, error) {
	methods, title, err := overall(data)
	if err != nil {
		return figures.Grid{}, err
	}
	panel, err := figures.Profiles(figures.Axes{Title: title, XLabel: "Normalised QD score",
		YLabel: "Runs with a larger score (%)", XLimits: [2]float64{0, 1}}, methods...)
	g := figures.InRows(1, panel)
	g.Note = data.missing(allMethods, curveEnvs)
	return g, err
}

// Improvements draws the probability that the first method of a pair has the higher QD score on one of the
// environments of [Overall], for the pairs of [Comparisons] that have runs.
func Improvements(data *Data, pairs ...[2]string) (figures.Grid, error) {
	methods, title, err := overall(data)
	if err != nil {
		return figures.Grid{}, err
	}
	if len(pairs) == 0 {
		pairs = comparedPairs
	}
	known := map[string]figures.Scores{}
	for _, m := range methods {
		known[m.Name] = m
	}
	var rows [][2]figures.Scores
	for _, pair := range pairs {
		x, y := known[pair[0]], known[pair[1]]
		if x.Tasks != nil && y.Tasks != nil {
			rows = append(rows, [2]figures.Scores{x, y})
		}
	}
	if len(rows) == 0 {
		return figures.Grid{}, fmt.Errorf("no pair of methods has runs: %w", data.noRuns(results.ExperimentTraining))
	}
	panel, err := figures.Improvements(figures.Axes{Title: title, XLabel: "Probability of a higher QD score"}, rows...)
	g := figures.InRows(1, panel)
	g.Note = data.missing(allMethods, curveEnvs)
	return g, err
}

// overall returns the normalised QD scores of the methods on the environments that they share, and a title
// that names these.
func overall(data *Data) (scores []figures.Scores, title string, err error) {
	methods, envs, err := trained(data, results.ExperimentTraining)
	if err != nil {
		return nil, "", err
	}
	without := ""
	if common := slices.DeleteFunc(slices.Clone(envs), func(env string) bool {
		return slices.ContainsFunc(methods,
			func(label string) bool { return len(data.FinishedRuns(label, env)) == 0 })
	}); len(common) > 0 && len(common) < len(envs) {
		rest := slices.DeleteFunc(envs, func(env string) bool { return slices.Contains(common, env) })
		envs, without = common, " (incomplete: "+strings.Join(rest, ", ")+")"
	}
	title = fmt.Sprintf("%d environments", len(envs)) + without
	if len(envs) == 1 {
		title = envs[0] + without
	}
	for _, label := range methods {
		if tasks := data.Normalised(label, envs); tasks != nil {
			scores = append(scores, figures.Scores{Name: label, Tasks: tasks})
		}
	}
	if len(scores) == 0 {
		return nil, "", absent{fmt.Sprintf("no method has complete runs on all of %s: make them with "+
			"experiments.Prepare(%q)", strings.Join(envs, ", "), results.ExperimentTraining)}
	}
	return scores, title, nil
}
