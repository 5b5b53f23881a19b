package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/stats"
)

// ScoreTable returns a table of a metric at the end of training, with a row for each label and a
// column for each environment. format writes the scores over seeds (see [Tables.Scores]) in the
// notation of the column. Entries without runs are empty. Entries that print the best median of
// their column are bold.
func (t *Tables) ScoreTable(m Metric, rowLabels, envs []string,
	format func(n tables.Notation, scores []float64) string) *tables.Table {
	best, notations := make([]string, len(envs)), make([]tables.Notation, len(envs))
	for i, env := range envs {
		highest := math.Inf(-1)
		var all []float64
		for _, label := range rowLabels {
			all = append(all, t.Scores(label, env, m)...)
		}
		notations[i] = tables.NotationOf(all...)
		for _, label := range rowLabels {
			if median := stats.Median(t.Scores(label, env, m)); median > highest {
				highest, best[i] = median, notations[i].Number(median)
			}
		}
	}
	table := &tables.Table{Header: append([]string{"method"}, envs...)}
	for _, label := range rowLabels {
		row := tables.Row(figures.NameMethods(label))
		for i, env := range envs {
			x := t.Scores(label, env, m)
			if len(x) == 0 {
				row = append(row, tables.Entry{})
				continue
			}
			row = append(row, tables.Entry{Text: format(notations[i], x),
				Bold: notations[i].Number(stats.Median(x)) == best[i]})
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// Spread formats a sample as "median (± standard deviation)", and a single number as that number.
func Spread(n tables.Notation, x []float64) string {
	if len(x) == 1 {
		return n.Number(x[0])
	}
	return fmt.Sprintf("%s (± %s)", n.Number(stats.Median(x)), n.Number(stats.Std(x)))
}

// Averages formats a sample as "mean | median | interquartile mean".
func Averages(n tables.Notation, x []float64) string {
	return strings.Join([]string{n.Number(stats.Mean(x)), n.Number(stats.Median(x)),
		n.Number(stats.IQM(x))}, " | ")
}

// MeanSteps returns the environment steps of a label's training runs, averaged over seeds and then
// over the environments with runs. ratio divides them by the paper's on the same environments; it
// is NaN if those are unknown (see [PaperSteps]).
func (t *Tables) MeanSteps(label string, envs []string) (steps, ratio float64, environments int) {
	var means, published []float64
	for _, env := range envs {
		if found := t.FinishedRuns(label, env); len(found) > 0 {
			means = append(means, stats.Mean(EnvSteps.Scores(found)))
			published = append(published, float64(found[0].PaperSteps()))
		}
	}
	steps, ratio = stats.Mean(means), math.NaN()
	if slices.Min(append(published, math.Inf(1))) > 0 {
		ratio = steps / stats.Mean(published)
	}
	return steps, ratio, len(means)
}

// StepTable returns a table of [Tables.MeanSteps], with a row for each label.
func (t *Tables) StepTable(rowLabels, envs []string) *tables.Table {
	table := &tables.Table{Header: []string{"method", "environments", "steps", "paper's", "ratio"}}
	for _, label := range rowLabels {
		steps, ratio, environments := t.MeanSteps(label, envs)
		row := []string{figures.NameMethods(label), strconv.Itoa(environments), tables.Count(steps),
			"–", "–"}
		if !math.IsNaN(ratio) {
			row[3], row[4] = tables.Count(steps/ratio), tables.Short(ratio, 2)
		}
		table.Rows = append(table.Rows, tables.Row(row...))
	}
	return table
}
