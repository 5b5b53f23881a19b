package paper

import (
	"fmt"
	"slices"

	"example.com/qdnb/qdnb/paper/results"
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
		results.Spread)
}

// Unsupervised returns table 10: table 9 for the experiment "reward", in which DIAYN and DADS do
// not see the task's reward. Fitness and QD score still use it.
func Unsupervised(d *Data) (*tables.Table, error) {
	return scoreTable(d, results.ExperimentReward,
		"With and without the task's reward: median (± standard deviation) over seeds (the paper's "+
			"table 10)", results.Spread)
}

// Aggregates returns table 11: table 1 with three averages over seeds, mean | median |
// interquartile mean.
func Aggregates(d *Data) (*tables.Table, error) {
	return scoreTable(d, results.ExperimentTraining,
		"Maximum fitness and QD score: mean | median | interquartile mean over seeds (the paper's "+
			"table 11)", results.Averages)
}

// Steps returns table 8: the environment steps of training, averaged over seeds and then over
// environments.
func Steps(d *Data) (*tables.Table, error) {
	methods, envs, err := trained(d, results.ExperimentTraining)
	if err != nil {
		return nil, err
	}
	table := d.StepTable(methods, envs)
	table.Caption = "Environment steps: mean over environments and seeds (the paper's table 8)"
	table.Notes = []string{"The paper's steps are for two hours on a Quadro RTX 4000. It prints the " +
		"mean over its environments; here the mean is over the row's environments (see " +
		"docs/experiments.md)."}
	if missing := d.missing(allMethods, curveEnvs); missing != "" {
		table.Notes = append(table.Notes, missing)
	}
	return table, nil
}

// scoreTable returns a table of both metrics for the methods of an experiment.
func scoreTable(d *Data, experiment, caption string,
	format func(n tables.Notation, scores []float64) string) (*tables.Table, error) {
	methods, envs, err := trained(d, experiment)
	if err != nil {
		return nil, err
	}
	table := byMetric(func(m results.Metric) *tables.Table { return d.ScoreTable(m, methods, envs, format) })
	table.Caption = caption
	note := "Bold: the best median of a column. " + seedRange(d, methods, envs)
	if experiment == results.ExperimentReward {
		note = d.withMissing(note, rewardMethods(), envs)
	} else {
		note = d.withMissing(note, allMethods, curveEnvs)
	}
	table.Notes = []string{note}
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
