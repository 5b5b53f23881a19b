package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/claims"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/stats"
)

// scoreMetrics are the metrics of the paper's tables, by their names there.
var scoreMetrics = []struct {
	name string
	of   results.Metric
}{{"max fitness", results.MaxFitness}, {"QD score", results.QDScore}}

// Scores returns table 1: the median over seeds of the final maximum fitness and QD score, with a
// row for each method and a column for each environment. The best of a column is bold. Only trained
// methods and environments are included; combinations without runs are empty.
func Scores(d *Data) (*tables.Table, error) {
	return scoreTable(d, results.ExperimentTraining, "Median over seeds of maximum fitness and QD score (the paper's table 1)",
		func(n tables.Notation, x []float64) string { return n.Number(stats.Median(x)) })
}

// ScoresWithStd returns table 9: table 1 with the standard deviation over seeds (see [stats.Std]).
func ScoresWithStd(d *Data) (*tables.Table, error) {
	return scoreTable(d, results.ExperimentTraining,
		"Maximum fitness and QD score: median (± standard deviation) over seeds (the paper's table 9)", tables.Notation.Spread)
}

// Unsupervised returns table 10: table 9 for the experiment "reward", in which DIAYN and DADS do
// not see the task's reward. Fitness and QD score still use it.
func Unsupervised(d *Data) (*tables.Table, error) {
	return scoreTable(d, results.ExperimentReward,
		"With and without the task's reward: median (± standard deviation) over seeds (the paper's "+
			"table 10)", tables.Notation.Spread)
}

// Aggregates returns table 11: table 1 with three averages over seeds, mean | median |
// interquartile mean.
func Aggregates(d *Data) (*tables.Table, error) {
	return scoreTable(d, results.ExperimentTraining,
		"Maximum fitness and QD score: mean | median | interquartile mean over seeds (the paper's "+
			"table 11)", func(n tables.Notation, x []float64) string {
			return strings.Join([]string{n.Number(stats.Mean(x)), n.Number(stats.Median(x)), n.Number(stats.IQM(x))}, " | ")
		})
}

// Steps returns table 8: the environment steps of training, averaged over seeds and then over
// environments with runs. The ratio divides them by the paper's on the same environments, if those are
// known (see [results.PaperSteps]).
func Steps(d *Data) (*tables.Table, error) {
	methods, envs, err := trained(d, results.ExperimentTraining)
	if err != nil {
		return nil, err
	}
	table := &tables.Table{
		Caption: "Environment steps: mean over environments and seeds (the paper's table 8)",
		Header:  []string{"method", "environments", "steps", "paper's", "ratio"},
		Notes: notes("The paper's steps are for two hours on a Quadro RTX 4000. It prints the mean over its environments; "+
			"here the mean is over the row's environments (see docs/experiments.md).", d.missing(allMethods, curveEnvs)),
	}
	for _, method := range methods {
		var means, published []float64
		for _, env := range envs {
			if found := d.FinishedRuns(method, env); len(found) > 0 {
				means = append(means, stats.Mean(results.EnvSteps.Scores(found)))
				published = append(published, found[0].PaperSteps())
			}
		}
		steps, paper := stats.Mean(means), stats.Mean(published)
		row := tables.Row(figures.NameMethods(method), strconv.Itoa(len(means)), tables.Count(steps), none, none)
		if slices.Min(append(published, math.Inf(1))) > 0 {
			row[3].Text, row[4].Text = tables.Count(paper), tables.Short(steps/paper, 2)
		}
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}

// scoreTable returns a table of both metrics at the end of an experiment's training, with a row for each method
// and a column for each environment. format writes the scores over seeds in the notation of the column. Entries
// without runs are empty. Entries that print the best median of their column are bold.
func scoreTable(d *Data, experiment, caption string,
	format func(n tables.Notation, scores []float64) string) (*tables.Table, error) {
	methods, envs, err := trained(d, experiment)
	if err != nil {
		return nil, err
	}
	table := byMetric(func(m results.Metric) *tables.Table {
		part := &tables.Table{Header: append([]string{"method"}, envs...)}
		part.Rows = lists.Map(methodNames(methods), func(name string) []tables.Entry { return tables.Row(name) })
		for _, env := range envs {
			var all, medians []float64
			for _, method := range methods {
				scores := d.Scores(method, env, m)
				all, medians = append(all, scores...), append(medians, stats.Median(scores))
			}
			known := slices.DeleteFunc(slices.Clone(medians), math.IsNaN)
			notation, best := tables.NotationOf(all...), slices.Max(append(known, math.Inf(-1)))
			for i, method := range methods {
				var entry tables.Entry
				if x := d.Scores(method, env, m); len(x) > 0 {
					entry = tables.Entry{Text: format(notation, x), Bold: notation.Number(medians[i]) == notation.Number(best)}
				}
				part.Rows[i] = append(part.Rows[i], entry)
			}
		}
		return part
	})
	table.Caption = caption
	expected, on := allMethods, curveEnvs
	if experiment == results.ExperimentReward {
		expected, on = rewardMethods(), envs
	}
	table.Notes = []string{d.withMissing("Bold: the best median of a column. "+seedRange(d, methods, envs), expected, on)}
	return table, nil
}

// byMetric stacks a table for each of the metrics, which the first column names.
func byMetric(table func(results.Metric) *tables.Table) *tables.Table {
	stacked := &tables.Table{Grouped: true}
	for _, m := range scoreMetrics {
		part := table(m.of)
		stacked.Header = append([]string{"metric"}, part.Header...)
		for _, row := range part.Rows {
			stacked.Rows = append(stacked.Rows, append(tables.Row(m.name), row...))
		}
	}
	return stacked
}

// trained returns the methods and environments with complete runs in an experiment.
func trained(d *Data, experiment string) (methods, envs []string, err error) {
	methods, envs = d.Axes(experiment)
	if len(methods) == 0 {
		return nil, nil, d.noRuns(experiment)
	}
	return methods, envs, nil
}

func seedRange(d *Data, methods, envs []string) string {
	var seeds []int
	for _, method := range methods {
		for _, env := range envs {
			if n := len(d.FinishedRuns(method, env)); n > 0 {
				seeds = append(seeds, n)
			}
		}
	}
	least, most := slices.Min(seeds), slices.Max(seeds)
	switch {
	case least != most:
		return fmt.Sprintf("%d to %d seeds.", least, most)
	case most == 1:
		return "One seed."
	}
	return fmt.Sprintf("%d seeds.", most)
}

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
		return nil, fmt.Errorf("no pair of methods has runs: %w", data.noRuns(results.ExperimentTraining))
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
	return figures.Grid{Panels: [][]*figures.Panel{{panel}}, Note: data.missing(allMethods, curveEnvs)}, err
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
	return figures.Grid{Panels: [][]*figures.Panel{{panel}}, Note: data.missing(allMethods, curveEnvs)}, err
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
		return slices.ContainsFunc(methods, func(label string) bool { return len(data.FinishedRuns(label, env)) == 0 })
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

// RewardImpact compares the effect of the task's reward in these runs and in the paper's tables 9
// and 10: on each environment, the median QD score of DIAYN and DADS divided by that of
// DIAYN+REWARD and DADS+REWARD. Both scores have the same budget, so small runs are comparable with
// the paper's.
func RewardImpact(data *Data) (*tables.Table, error) {
	_, envs, err := trained(data, results.ExperimentReward)
	if err != nil {
		return nil, err
	}
	table := &tables.Table{
		Caption: "QD score without the task's reward, relative to that with it (medians over seeds)",
		Header:  []string{"environment"},
		Notes:   []string{"1: no loss; below 1: the reward helps."},
	}
	for _, label := range records.Names(records.Unrewarded) {
		table.Header = append(table.Header, figures.MethodName(label)+", here", "in the paper")
	}
	for _, env := range envs {
		row := []string{env}
		for _, label := range records.Names(records.Unrewarded) {
			here, there := "", ""
			without, with := data.Scores(label, env, results.QDScore),
				data.Scores(label+"-reward", env, results.QDScore)
			if len(without) > 0 && len(with) > 0 {
				here = ratio(stats.Median(without), stats.Median(with))
			}
			published, ok := publishedMedian(label, env, results.QDScore)
			rewarded, both := publishedMedian(label+"-reward", env, results.QDScore)
			if ok && both {
				there = ratio(published.Median, rewarded.Median)
			}
			row = append(row, here, there)
		}
		table.Rows = append(table.Rows, tables.Row(row...))
	}
	table.Notes[0] = data.withMissing(table.Notes[0], slices.DeleteFunc(rewardMethods(),
		func(method string) bool { return strings.HasPrefix(method, "smerl") }), envs)
	return table, nil
}

// ratio formats a / b with two decimals. It is empty for b = 0, an empty repertoire.
func ratio(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}

// rewardMethods lists the methods of the experiment "reward": each diversity without the task's
// reward, summed with it, and in SMERL.
func rewardMethods() (list []string) {
	for _, name := range records.Names(records.Unrewarded) {
		list = append(append(list, name), records.Compared(name)...)
	}
	return list
}

// Claims returns a table of the paper's headline statements, the evidence of these runs and a verdict; a
// note says why some are open. It includes the claims
// of package claims with the given IDs, and those whose IDs start with a given ID and a hyphen
// ("adaptation" selects "adaptation-small" and so on). Without IDs it includes all claims.
func Claims(data *Data, ids ...string) (*tables.Table, error) {
	t := &tables.Table{Caption: "The paper's statements, and the evidence of these runs",
		Header: []string{"statement", "verdict", "evidence: medians (± standard deviation)", "compared", "seeds"}}
	var reasons []string
	open := map[string][]string{} // IDs by reason
	checked := claims.Check(data.Tables, ids...)
	for _, r := range checked {
		row := tables.Row(fmt.Sprintf("%s (%s)", r.Claim, r.Where), string(r.Verdict), r.Evidence, r.Scope, r.Seeds())
		if row[1].Bold = r.Verdict != claims.Undecided; !row[1].Bold {
			if open[r.Reason] == nil {
				reasons = append(reasons, r.Reason)
			}
			open[r.Reason] = append(open[r.Reason], r.ID)
		}
		t.Rows = append(t.Rows, row)
	}
	for _, id := range ids {
		if !slices.ContainsFunc(checked, func(r claims.Result) bool { return r.Has(id) }) {
			return nil, names.Wrongf("unknown claim %q: `qdnb claims` lists the IDs", id)
		}
	}
	for i, reason := range reasons {
		reasons[i] = strings.Join(open[reason], ", ") + ": " + reason
	}
	if len(reasons) > 0 {
		t.Notes = []string{"Open: " + strings.Join(reasons, "; ") + "."}
	}
	return t, nil
}
