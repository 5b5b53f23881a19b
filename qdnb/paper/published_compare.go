package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/stats"
)

// CompareScores compares the medians of runs with the paper's (tables 1, 9 and 10), on the given
// environments or, without names, on all. Fitness, which may be negative, is compared by the
// difference (ours - paper), and the QD score by the ratio (ours / paper).
//
// Small runs are not expected to reach the paper's numbers. For them, compare the order of the
// methods with [CompareOrder].
func CompareScores(d *Data, envs ...string) (*tables.Table, error) {
	methods, all, err := compared(d)
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(all),
		func(env string) bool { return len(envs) > 0 && !slices.Contains(envs, env) })
	if len(chosen) == 0 {
		err := fmt.Errorf("no run on %s is complete; there are runs on %s", strings.Join(envs, ", "),
			strings.Join(all, ", "))
		if d.About != nil {
			err = notShipped{err.Error()}
		}
		return nil, err
	}
	table := &tables.Table{
		Caption: "Medians over seeds, compared with the paper's",
		Header: []string{"environment", "method", "seeds", "max fitness", "paper's", "difference",
			"QD score", "paper's", "ratio"},
		Grouped: true,
	}
	columns := make([][]float64, 3*len(scoreMetrics))
	for _, env := range chosen {
		for _, method := range methods {
			n := len(d.FinishedRuns(method, env))
			if n == 0 {
				continue
			}
			table.Rows = append(table.Rows, tables.Row(env, figures.MethodName(method), strconv.Itoa(n)))
			for i, m := range scoreMetrics {
				own := stats.Median(d.Scores(method, env, m.of))
				published, ok := publishedMedian(method, env, m.of)
				if !ok {
					published.Median = math.NaN()
				}
				deviation := own - published.Median
				if m.of == results.QDScore {
					deviation = own / published.Median
				}
				for k, v := range []float64{own, published.Median, deviation} {
					columns[3*i+k] = append(columns[3*i+k], v)
				}
				if published.Note != "" {
					table.Notes = append(table.Notes,
						fmt.Sprintf("The paper's %s of %s on %s: %s.", m.name, figures.MethodName(method), env,
							published.Note))
				}
			}
		}
	}
	for _, column := range columns {
		addNumbers(table, column)
	}
	return table, nil
}

// CompareOrder compares the order of methods with the paper's, by Spearman's rank correlation of
// the medians over methods, for each environment and metric, and its mean over environments. It is
// 1 for the same order, -1 for the reverse order and 0 for no relation. It ignores the magnitude of
// scores, so it is meaningful for small runs too. With few methods or one seed it is still
// dominated by chance.
//
// It covers the methods of table 1. DIAYN and DADS without rewards, which are worst everywhere,
// would only inflate it.
func CompareOrder(d *Data) (*tables.Table, error) {
	methods, envs, err := trained(d, results.ExperimentTraining)
	if err != nil {
		return nil, err
	}
	table := &tables.Table{
		Caption: "Order of the methods against the paper's: Spearman's ρ",
		Header:  []string{"environment", "methods", "max fitness", "QD score"},
	}
	correlations := map[results.Metric][]float64{}
	for _, env := range envs {
		row := []string{env, "0"}
		for _, m := range scoreMetrics {
			rho, n := order(d, methods, env, m.of)
			row[1] = strconv.Itoa(n)
			if !math.IsNaN(rho) {
				correlations[m.of] = append(correlations[m.of], rho)
			}
			row = append(row, correlation(rho))
		}
		table.Rows = append(table.Rows, tables.Row(row...))
	}
	mean := []string{"mean", ""}
	for _, m := range scoreMetrics {
		mean = append(mean, correlation(stats.Mean(correlations[m.of])))
	}
	table.Rows = append(table.Rows, tables.Row(mean...))
	table.Notes = []string{"1: the paper's order; 0: no relation; -1: the reverse order. " +
		seedRange(d, methods, envs)}
	return table, nil
}

// none marks unknown values.
const none = "–"

// addNumbers adds a column to the rows of a table. Unknown values are a dash.
func addNumbers(table *tables.Table, column []float64) {
	for i, text := range tables.Numbers(column...) {
		if math.IsNaN(column[i]) {
			text = none
		}
		table.Rows[i] = append(table.Rows[i], tables.Entry{Text: text})
	}
}

// correlation formats a correlation with two decimals.
func correlation(rho float64) string {
	if math.IsNaN(rho) {
		return none
	}
	return strconv.FormatFloat(rho, 'f', 2, 64)
}

// compared returns the methods and environments of training, plus the methods that only the
// experiment "reward" trains.
func compared(d *Data) (methods, envs []string, err error) {
	if methods, envs, err = trained(d, results.ExperimentTraining); err == nil {
		more, _ := d.Axes(results.ExperimentReward)
		return figures.SortMethods(append(methods, more...)), envs, nil
	}
	if methods, envs, other := trained(d, results.ExperimentReward); other == nil {
		return methods, envs, nil
	}
	return nil, nil, err
}

// order returns Spearman's rank correlation of our medians with the paper's over the methods that
// have both; NaN for fewer than three methods.
func order(d *Data, methods []string, env string, metric results.Metric) (rho float64, n int) {
	var own, paper []float64
	for _, method := range methods {
		published, ok := publishedMedian(method, env, metric)
		x := d.Scores(method, env, metric)
		if !ok || len(x) == 0 {
			continue
		}
		own, paper = append(own, stats.Median(x)), append(paper, published.Median)
	}
	return stats.Spearman(own, paper), len(own)
}
