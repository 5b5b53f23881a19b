package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/internal/lists"
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
	return scoreTable(d, results.ExperimentTraining,
		"Median over seeds of maximum fitness and QD score (the paper's table 1)",
		func(n tables.Notation, x []float64) string { return n.Number(stats.Median(x)) })
}

// ScoresWithStd returns table 9: table 1 with the standard deviation over seeds (see [stats.Std]).
func ScoresWithStd(d *Data) (*tables.Table, error) {
	return scoreTable(d, results.ExperimentTraining,
		"Maximum fitness and QD score: median (± standard deviation) over seeds (the paper's table 9)",
		tables.Notation.Spread)
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
		Notes: []string{"The paper's steps are for two hours on a Quadro RTX 4000. It prints the " +
			"mean over its environments; here the mean is over the row's environments (see " +
			"docs/experiments.md)."},
	}
	for _, method := range methods {
		var means, published []float64
		for _, env := range envs {
			if found := d.FinishedRuns(method, env); len(found) > 0 {
				means = append(means, stats.Mean(results.EnvSteps.Scores(found)))
				published = append(published, float64(found[0].PaperSteps()))
			}
		}
		steps, paper := stats.Mean(means), stats.Mean(published)
		row := tables.Row(figures.NameMethods(method), strconv.Itoa(len(means)), tables.Count(steps), none, none)
		if slices.Min(append(published, math.Inf(1))) > 0 {
			row[3].Text, row[4].Text = tables.Count(paper), tables.Short(steps/paper, 2)
		}
		table.Rows = append(table.Rows, row)
	}
	if missing := d.missing(allMethods, curveEnvs); missing != "" {
		table.Notes = append(table.Notes, missing)
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

// byMetric stacks a table for each of the metrics.
func byMetric(table func(results.Metric) *tables.Table) *tables.Table {
	var names []string
	var parts []*tables.Table
	for _, m := range scoreMetrics {
		names, parts = append(names, m.name), append(parts, table(m.of))
	}
	return tables.Stack("metric", names, parts...)
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
