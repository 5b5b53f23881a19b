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

// CompareScores puts the medians of runs beside those that the paper prints (tables 1, 9 and 10),
// for some environments or, without names, for all. Fitness, which may be negative, is compared by
// the difference (ours - paper), the QD score by the ratio (ours / paper).
//
// Small runs are not expected to reach the paper's numbers. What can be compared is the order of
// the methods, see [CompareOrder].
func CompareScores(d *Data, envs ...string) (*tables.Table, error) {
	methods, all, err := compared(d)
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(all),
		func(env string) bool { return len(envs) > 0 && !slices.Contains(envs, env) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no run on %s is complete; there are %s", strings.Join(envs, ", "),
			strings.Join(all, ", "))
	}
	table := &tables.Table{
		Caption: "Medians over seeds beside the paper's",
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

// CompareOrder says how far runs put the methods in the order that the paper's numbers put them in:
// Spearman's rank correlation of the medians over methods, for each environment and metric, and the
// mean over environments. It is 1 for the same order, -1 for the opposite one and 0 for no
// relation. It does not ask how large scores are, so that it makes sense for small runs, too; of
// few methods or one seed it is still a matter of luck.
//
// It is of the methods of table 1. DIAYN and DADS without rewards, which are behind everywhere,
// would only make it look better.
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
	table.Notes = []string{"1: the paper's order; 0: none; -1: the opposite one. " + seedRange(d,
		methods, envs)}
	return table, nil
}

// CompareSteps puts the environment steps of training beside those of the paper's two hours (table
// 8).
func CompareSteps(d *Data) (*tables.Table, error) {
	methods, envs, err := trained(d, results.ExperimentTraining)
	if err != nil {
		return nil, err
	}
	table := &tables.Table{
		Caption: "Environment steps beside the paper's: mean over environments and seeds",
		Header:  []string{"method", "environments", "steps", "paper's", "ratio"},
	}
	var own, paper, ratios []float64
	for _, method := range methods {
		steps, ratio, n := d.MeanSteps(method, envs)
		own, paper, ratios = append(own, steps), append(paper, steps/ratio), append(ratios, ratio)
		table.Rows = append(table.Rows, tables.Row(figures.MethodName(method), strconv.Itoa(n)))
	}
	for _, column := range [][]float64{own, paper, ratios} {
		addNumbers(table, column)
	}
	table.Notes = []string{"The paper's are those of two hours on a Quadro RTX 4000. It prints the " +
		"mean over its environments; here it is that over the environments of the row (see " +
		"docs/experiments.md)."}
	return table, nil
}

// none stands for what is not known.
const none = "–"

// addNumbers adds a column to the rows of a table; what is not known is a dash.
func addNumbers(table *tables.Table, column []float64) {
	for i, text := range tables.Numbers(column...) {
		if math.IsNaN(column[i]) {
			text = none
		}
		table.Rows[i] = append(table.Rows[i], tables.Entry{Text: text})
	}
}

// correlation writes two decimals.
func correlation(rho float64) string {
	if math.IsNaN(rho) {
		return none
	}
	return strconv.FormatFloat(rho, 'f', 2, 64)
}

// compared are the methods and environments of training, and those of the experiment on the reward
// that are not trained otherwise.
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

// order is Spearman's rank correlation of medians with the paper's over the methods that both have;
// NaN of less than three.
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
