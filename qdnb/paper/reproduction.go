package paper

import (
	_ "embed"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// pageIntro is the first part of docs/reproduction.md.
//
//go:embed reproduction_intro.md
var pageIntro string

// ReproductionPage returns a page of docs that compares experiments folders with every number of the
// paper's tables 1 and 9. It shows the figure reproduction.png ([ReproductionFigure]). A run that
// cannot be read is an error, since a record must not leave out runs silently. origin tells by whose
// programs a run was computed, such as "same programs as today".
func ReproductionPage(origin func(*runs.Run) string, folders ...*Data) (string, error) {
	var out strings.Builder
	out.WriteString(pageIntro)
	for _, d := range folders {
		if len(d.Problems) > 0 {
			return "", d.Problems[0]
		}
		out.WriteString(d.statements())
	}
	written := false
	var c comparison
	for _, d := range folders {
		programs, err := d.programs(origin)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "\n## Scores at %s\n\n%s", d.label(), filled(d.coverage()+programs))
		c.Data = d
		for _, m := range scoreMetrics {
			if t := c.summary(m.name, m.of); len(t.Rows) > 0 {
				written = true
				fmt.Fprintf(&out, "\n%s", t.Markdown())
			}
		}
	}
	if !written {
		return "", (*Data)(nil).noRuns(results.ExperimentTraining)
	}
	out.WriteString("\n## Remarks\n")
	for _, note := range c.numbered() {
		out.WriteString("\n" + filled(note))
	}
	return out.String(), nil
}

// summary has a row for each method with runs and a column for each environment: the median of a metric, its
// side of the paper's spread, and the paper's median.
func (c *comparison) summary(name string, m results.Metric) *tables.Table {
	t := &tables.Table{Header: append([]string{name, "seeds", "share"}, curveEnvs...)}
	for _, method := range allMethods {
		row := []string{figures.MethodName(method), "", ""}
		var seeds, shares []float64
		for _, env := range curveEnvs {
			found := c.FinishedRuns(method, env)
			if len(found) == 0 {
				row = append(row, none)
				continue
			}
			seeds = append(seeds, float64(len(found)))
			shares = append(shares, stats.Median(results.EnvSteps.Scores(found))/found[0].PaperSteps())
			s := c.compare(m, method, env)
			text := strings.TrimSpace(tables.Plain.Number(stats.Median(s.own)) + " " + marks[s.side])
			text += " (" + tables.Plain.Number(s.paper.Median)
			if s.reached > 0 {
				text += " at " + tables.Short(s.reached, 2)
			}
			text += ")" + c.misprint(s.paper)
			if s.remark != "" {
				text += " " + c.note(s.remark)
			}
			row = append(row, text)
		}
		if len(seeds) > 0 {
			row[1], row[2] = ranged(seeds), ranged(shares)
			t.Rows = append(t.Rows, tables.Row(row...))
		}
	}
	return t
}

// ranged formats the least and the greatest of numbers.
func ranged(x []float64) string {
	least, most := tables.Short(slices.Min(x), 2), tables.Short(slices.Max(x), 2)
	if least == most {
		return least
	}
	return least + "–" + most
}

// unitsInScope is the size of the networks in the scope of a claim, which the page says of all runs of a folder.
var unitsInScope = regexp.MustCompile(`, with \d+ × \d+ units`)

// statements returns a section on the paper's statements that the runs of a folder decide and on the open
// ones; "" if the folder has too few methods.
func (d *Data) statements() string {
	claims, err := Claims(d)
	order, wrong := CompareOrder(d)
	if err != nil || wrong != nil || len(d.Labels()) < 3 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n**Runs at %s.**\n\n", d.label())
	notes := claims.Notes
	claims.Caption, claims.Notes = "", nil
	claims.Header = slices.Delete(claims.Header, 2, 3)
	claims.Rows = slices.DeleteFunc(claims.Rows, func(row []tables.Entry) bool { return !row[1].Bold }) // the open ones
	for i, row := range claims.Rows {
		row = slices.Delete(row, 2, 3) // the evidence
		row[2].Text = unitsInScope.ReplaceAllString(row[2].Text, "")
		claims.Rows[i] = row
	}
	if len(claims.Rows) > 0 {
		fmt.Fprintf(&out, "%s\n", claims.Markdown())
	}
	for _, note := range notes {
		out.WriteString(filled(note) + "\n")
	}
	mean := order.Rows[len(order.Rows)-1]
	out.WriteString(filled(fmt.Sprintf("The order of the methods at equal shares agrees with the paper's with a mean "+
		"Spearman correlation of %s for max fitness and %s for QD score.", mean[3].Text, mean[4].Text)))
	return out.String()
}

// coverage describes the training runs of a folder, and what one seed of the missing cells costs at
// the paper's settings.
func (d *Data) coverage() string {
	cells, missing, seconds := 0, 0, 0.0
	for _, env := range curveEnvs {
		for _, method := range allMethods {
			if cells++; len(d.FinishedRuns(method, env)) == 0 {
				missing++
				seconds += results.TwoCoreSeconds(method, env, results.PaperSteps(method, env))
			}
		}
	}
	text := fmt.Sprintf("%d of %d cells; %s.", cells-missing, cells, describe(d.linesOf(results.ExperimentTraining)))
	if missing > 0 {
		text += fmt.Sprintf(" At the paper's settings one seed of the others takes about %s on two cores "+
			"([formula](experiments.md#the-papers-runs)).", tables.Duration(seconds))
	}
	return text
}

// programs counts the training runs of a folder by the origin of their programs.
func (d *Data) programs(origin func(*runs.Run) string) (string, error) {
	count := map[string]int{}
	for _, env := range curveEnvs {
		for _, method := range allMethods {
			for _, trained := range d.FinishedRuns(method, env) {
				run, err := runs.Open(filepath.Join(d.Dir, RunsFolder, trained.Run))
				if err != nil {
					return "", err
				}
				count[origin(run)]++
			}
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s: %d", name, count[name]))
	}
	return " Runs by the programs that computed them: " + strings.Join(parts, ", ") + ".", nil
}

// filled breaks a paragraph into lines of at most 100 characters.
func filled(text string) string { return strings.Join(names.Wrap(text, 100), "\n") + "\n" }

// ReproductionFigure draws the numbers of [ReproductionPage]: for each environment and metric, the
// paper's medians and standard deviations, and as marks our medians at the end of training, in one
// shape for each folder, and at equal shares of the paper's steps.
func ReproductionFigure(folders ...*Data) (figures.Grid, error) {
	var ours []string
	equal := make([]*results.Tables, len(folders)) // nil unless methods had different shares of the paper's steps
	for i, d := range folders {
		suffix := ""
		if len(folders) > 1 {
			suffix = ", " + d.label()
		}
		ours = append(ours, "Ours"+suffix)
		if (&comparison{Data: d}).unequal(curveEnvs) {
			equal[i] = d.EqualShares()
			ours = append(ours, "Ours at equal shares of the steps"+suffix)
		}
	}
	var panels figures.Panels
	some := false
	for _, env := range curveEnvs {
		for _, m := range scoreMetrics {
			var rows []figures.Interval
			for _, method := range allMethods {
				p, _ := PublishedOf(9, method, env, m.of)
				var own []float64
				for i, d := range folders {
					own = append(own, stats.Median(d.Scores(method, env, m.of)))
					if equal[i] != nil {
						own = append(own, stats.Median(equal[i].Scores(method, env, m.of)))
					}
				}
				if slices.ContainsFunc(own, func(x float64) bool { return !math.IsNaN(x) }) {
					rows = append(rows, figures.Interval{Name: method, Value: p.Median,
						Low: p.Median - p.Std, High: p.Median + p.Std, Marks: own})
				}
			}
			if len(rows) == 0 {
				continue
			}
			some = true
			panels.Add(figures.MarkedIntervals(figures.Axes{Title: env, XLabel: m.name}, rows,
				"The paper's median ± standard deviation", ours...))
		}
	}
	if !some {
		return figures.Grid{}, (*Data)(nil).noRuns(results.ExperimentTraining)
	}
	return panels.InRows(len(scoreMetrics))
}
