package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/internal/lists"
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
	table := &tables.Table{Header: append([]string{"method"}, envs...)}
	table.Rows = lists.Map(rowLabels, func(label string) []tables.Entry { return tables.Row(figures.NameMethods(label)) })
	for _, env := range envs {
		best := math.Inf(-1)
		var all []float64
		for _, label := range rowLabels {
			scores := t.Scores(label, env, m)
			all = append(all, scores...)
			if median := stats.Median(scores); median > best { // false for NaN
				best = median
			}
		}
		notation := tables.NotationOf(all...)
		for i, label := range rowLabels {
			var entry tables.Entry
			if x := t.Scores(label, env, m); len(x) > 0 {
				entry = tables.Entry{Text: format(notation, x),
					Bold: notation.Number(stats.Median(x)) == notation.Number(best)}
			}
			table.Rows[i] = append(table.Rows[i], entry)
		}
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

// StepTable returns a table of the environment steps of training, averaged over seeds and then over
// the environments with runs, with a row for each label. The ratio divides them by the paper's on the
// same environments, if those are known (see [PaperSteps]).
func (t *Tables) StepTable(rowLabels, envs []string) *tables.Table {
	table := &tables.Table{Header: []string{"method", "environments", "steps", "paper's", "ratio"}}
	for _, label := range rowLabels {
		var means, published []float64
		for _, env := range envs {
			if found := t.FinishedRuns(label, env); len(found) > 0 {
				means = append(means, stats.Mean(EnvSteps.Scores(found)))
				published = append(published, float64(found[0].PaperSteps()))
			}
		}
		steps, paper := stats.Mean(means), stats.Mean(published)
		row := tables.Row(figures.NameMethods(label), strconv.Itoa(len(means)), tables.Count(steps), "–", "–")
		if slices.Min(append(published, math.Inf(1))) > 0 {
			row[3].Text, row[4].Text = tables.Count(paper), tables.Short(steps/paper, 2)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}
