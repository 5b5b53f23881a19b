package results

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// Markdown are tables of an experiment over training runs in the paper's layout, a row for each label and a column for each environment:
// median and standard deviation of max fitness and QD score (tables 1, 9 and 10), mean, median and interquartile mean (table 11), and for
// the experiment "training" the environment steps (table 8). The best median of a column is bold.
func (t *Tables) Markdown(experiment string) string {
	rowLabels, envs := t.axes(experiment)
	var out strings.Builder
	if len(rowLabels) == 0 {
		fmt.Fprintf(&out, "No run of the experiment %s is complete.\n", experiment)
		return out.String()
	}
	for _, metric := range []struct {
		name string
		of   Metric
	}{{"Max fitness", MaxFitness}, {"QD score", QDScore}} {
		best := map[string]string{}
		for _, env := range envs {
			highest := math.Inf(-1)
			for _, label := range rowLabels {
				if m := stats.Median(t.Scores(label, env, metric.of)); m > highest {
					highest, best[env] = m, label
				}
			}
		}
		t.table(&out, metric.name+": median (± standard deviation) [seeds]", rowLabels, envs, func(label, env string) string {
			x := t.Scores(label, env, metric.of)
			median := short(stats.Median(x))
			if best[env] == label {
				median = "**" + median + "**"
			}
			return fmt.Sprintf("%s (± %s) [%d]", median, short(stats.Std(x)), len(x))
		})
		t.table(&out, metric.name+": mean \\| median \\| interquartile mean", rowLabels, envs, func(label, env string) string {
			x := t.Scores(label, env, metric.of)
			return fmt.Sprintf("%s \\| %s \\| %s", short(stats.Mean(x)), short(stats.Median(x)), short(stats.IQM(x)))
		})
	}
	if experiment == ExperimentTraining {
		fmt.Fprintf(&out, "## Environment steps: mean over environments and seeds\n\n| method | steps | environments |\n|---|---|---|\n")
		for _, label := range rowLabels {
			var means []float64
			for _, env := range envs {
				if x := t.Scores(label, env, EnvSteps); len(x) > 0 {
					means = append(means, stats.Mean(x))
				}
			}
			fmt.Fprintf(&out, "| %s | %s | %d |\n", label, short(stats.Mean(means)), len(means))
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// table writes one table; entries without runs are empty.
func (t *Tables) table(out *strings.Builder, title string, rowLabels, envs []string, entry func(label, env string) string) {
	fmt.Fprintf(out, "## %s\n\n| method | %s |\n|---|%s\n", title, strings.Join(envs, " | "), strings.Repeat("---|", len(envs)))
	for _, label := range rowLabels {
		fmt.Fprintf(out, "| %s |", label)
		for _, env := range envs {
			text := ""
			if len(t.FinishedRuns(label, env)) > 0 {
				text = entry(label, env)
			}
			fmt.Fprintf(out, " %s |", text)
		}
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
}

// short writes a number with three digits, as the paper: 1280, -0.25, 7.89e5.
func short(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return runs.FormatNumber(v)
	case v == 0:
		return "0"
	case size >= 99950 || size < 0.001:
		text := strconv.FormatFloat(v, 'e', 2, 64)
		mantissa, exponent, _ := strings.Cut(text, "e")
		n, err := strconv.Atoi(exponent)
		if err != nil {
			return text
		}
		return fmt.Sprintf("%se%d", mantissa, n)
	default:
		digits := max(0, 2-int(math.Floor(math.Log10(size))))
		rounded := v
		if size >= 1000 { // three digits that count
			unit := math.Pow(10, math.Floor(math.Log10(size))-2)
			rounded = math.Round(v/unit) * unit
		}
		return strconv.FormatFloat(rounded, 'f', digits, 64)
	}
}
