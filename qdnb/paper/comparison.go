package paper

import (
	_ "embed"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// CompareScores compares medians of runs with the paper's (tables 9 and 10), at the end of training
// and, for all methods alike, at the largest share of the paper's steps that each of them reached
// on the environment (see [results.Tables.EqualShares]). Without names it has all environments.
func CompareScores(d *Data, envs ...string) (*tables.Table, error) {
	methods, all, err := trained(d, results.ExperimentTraining)
	if err == nil {
		more, _ := d.Axes(results.ExperimentReward)
		methods = append(methods, more...)
	} else if methods, all, err = trained(d, results.ExperimentReward); err != nil {
		return nil, d.noRuns(results.ExperimentTraining)
	}
	chosen := slices.DeleteFunc(slices.Clone(all),
		func(env string) bool { return len(envs) > 0 && !slices.Contains(envs, env) })
	if len(chosen) == 0 {
		return nil, absent{fmt.Sprintf("no run on %s is complete; there are runs on %s", strings.Join(envs, ", "),
			strings.Join(all, ", "))}
	}
	c := newComparison(d)
	c.methods = figures.SortMethods(methods)
	table := c.table(chosen)
	if len(envs) == 0 {
		envs = curveEnvs
	}
	table.Notes[0] = d.withMissing(table.Notes[0], allMethods, envs)
	return table, nil
}

// comparison compares the runs of experiments folders with the paper's tables 9 and 10.
type comparison struct {
	folders []*Data
	equal   []*results.Tables // of the folders, at equal shares
	methods []string
	notes   []string
	brief   bool // without the scores at equal shares
}

func newComparison(folders ...*Data) *comparison {
	c := &comparison{folders: folders, methods: allMethods}
	for _, d := range folders {
		c.equal = append(c.equal, d.EqualShares())
	}
	return c
}

// table has a row for each method with runs, and for each metric the paper's numbers, the medians of
// each folder, and those at equal shares.
func (c *comparison) table(envs []string) *tables.Table {
	t := &tables.Table{Caption: "Medians over seeds and the paper's", Grouped: true,
		Header: []string{"environment", "method", "seeds × share"}}
	for _, m := range scoreMetrics {
		t.Header = append(t.Header, m.name+", paper")
		for i := range c.folders {
			if c.has(i, envs) {
				t.Header = append(t.Header, "ours"+c.suffix(i))
			}
			if c.unequal(i, envs) {
				t.Header = append(t.Header, "equal shares"+c.suffix(i))
			}
		}
	}
	t.Header = append(t.Header, "remarks")
	for _, env := range envs {
		for _, method := range c.methods {
			if row := c.row(method, env, envs); row != nil {
				t.Rows = append(t.Rows, tables.Row(row...))
			}
		}
	}
	t.Notes = []string{"Share: of the paper's environment steps. Equal shares: at the share next to the " +
		"environment, which all methods reached. =, ↓, ↑: inside, below or above the paper's median ± " +
		"standard deviation."}
	for i, note := range c.notes {
		t.Notes = append(t.Notes, fmt.Sprintf("[%d] %s", i+1, note))
	}
	return t
}

// suffix names a folder if there are several.
func (c *comparison) suffix(folder int) string {
	if len(c.folders) == 1 {
		return ""
	}
	return ", " + c.folders[folder].label()
}

// has reports whether a folder has runs of the methods.
func (c *comparison) has(folder int, envs []string) bool {
	return slices.ContainsFunc(c.methods, func(method string) bool {
		return slices.ContainsFunc(envs,
			func(env string) bool { return len(c.folders[folder].FinishedRuns(method, env)) > 0 })
	})
}

// unequal reports whether methods of a folder had different shares of the paper's steps.
func (c *comparison) unequal(folder int, envs []string) bool {
	return !c.brief && slices.ContainsFunc(c.folders[folder].Trained, func(r results.Trained) bool {
		share := c.folders[folder].Share(results.ExperimentTraining, r.Env)
		return r.Finished && slices.Contains(envs, r.Env) && share < 0.995 && r.StepsRatio() > 1.1*share
	})
}

// row returns the row of a method on an environment; nil without runs.
func (c *comparison) row(method, env string, envs []string) []string {
	var efforts, remarks []string
	for _, d := range c.folders {
		if found := d.FinishedRuns(method, env); len(found) > 0 {
			share := stats.Median(results.EnvSteps.Scores(found)) / float64(found[0].PaperSteps())
			text := fmt.Sprintf("%d × %s", len(found), tables.Short(share, 2))
			if math.IsInf(share, 0) { // a method that is not in the paper
				text = fmt.Sprint(len(found))
			}
			if len(c.folders) > 1 {
				text = d.label() + " " + text
			}
			efforts = append(efforts, text)
		}
	}
	if len(efforts) == 0 {
		return nil
	}
	environment := env
	if i := slices.IndexFunc(c.folders, func(d *Data) bool { return d.Share("", env) > 0 }); i >= 0 &&
		c.unequal(i, []string{env}) {
		environment += fmt.Sprintf(" (%s %%)",
			tables.Short(100*c.folders[i].Share(results.ExperimentTraining, env), 2))
	}
	row := []string{environment, figures.MethodName(method), strings.Join(efforts, ", ")}
	for _, m := range scoreMetrics {
		paper, known := publishedMedian(method, env, m.of)
		if !known {
			paper.Median = math.NaN()
		}
		row = append(row, c.published(paper, known, method, env, m.name))
		for i, d := range c.folders {
			if !c.has(i, envs) {
				continue
			}
			own := d.Scores(method, env, m.of)
			side := sideOf(own, paper)
			row = append(row, strings.TrimSpace(spreadOf(own)+" "+marks[side]))
			if c.unequal(i, envs) {
				row = append(row, spreadOf(c.equal[i].Scores(method, env, m.of)))
			}
			if remark := c.remark(d, method, env, m.of, side, own, paper); remark != "" {
				remarks = append(remarks, remark)
			}
			if at := reached(d.FinishedRuns(method, env), m.of, paper.Median); at > 0 {
				remarks = append(remarks, c.note(fmt.Sprintf("The paper's %s is reached after %s of its steps.", m.name,
					tables.Short(at, 2))))
			}
		}
	}
	slices.Sort(remarks)
	return append(row, strings.Join(slices.Compact(remarks), "; "))
}

// reached returns the median share of the paper's steps after which a metric reached the paper's median;
// NaN unless the runs have the paper's steps and units.
func reached(found []results.Trained, m results.Metric, median float64) float64 {
	var shares []float64
	for _, r := range found {
		if asPublished(r) {
			shares = append(shares, m.Reached(median, r))
		}
	}
	return stats.Median(shares)
}

// asPublished reports whether a run has the paper's steps and units.
func asPublished(r results.Trained) bool {
	return r.StepsRatio() >= 0.995 && slices.Equal(r.Units, []int{256, 256})
}

// label names a folder in tables.
func (d *Data) label() string {
	if d.Name() == "paper" {
		return "paper's settings"
	}
	return d.Name()
}

// spreadOf formats the median of scores and their standard deviation.
func spreadOf(scores []float64) string {
	if len(scores) == 0 {
		return none
	}
	return results.Spread(tables.Plain, scores)
}

// published formats a number of the paper, with a note on misprints.
func (c *comparison) published(p PublishedScore, known bool, method, env, metric string) string {
	if !known {
		return none
	}
	text := tables.Plain.Number(p.Median)
	if !math.IsNaN(p.Std) {
		text += " (± " + tables.Plain.Number(p.Std) + ")"
	}
	if p.Note != "" {
		text += " " + c.note(fmt.Sprintf("The paper's %s of %s on %s: %s.", metric,
			figures.MethodName(method), env, p.Note))
	}
	return text
}

// remark says why a number is outside of the paper's spread, if a cause is known, or that none is
// known of a run with the paper's steps.
func (c *comparison) remark(d *Data, method, env string, m results.Metric, side string, own []float64,
	p PublishedScore) string {
	if side != below && side != above {
		return ""
	}
	if reason := reasonFor(d.Name(), method, env, string(m), side); reason != "" {
		return c.note(reason)
	}
	found := d.FinishedRuns(method, env)
	deviations := math.Abs(stats.Median(own)-p.Median) / p.Std
	switch {
	case side == below && !asPublished(found[0]):
		return ""
	case deviations < 2:
		return c.note(fmt.Sprintf("%.1f deviations %s: perhaps chance.", deviations, side))
	case p.Std > 0:
		return c.note(fmt.Sprintf("%.1f deviations %s: reason unknown.", deviations, side))
	}
	return c.note(side + ": reason unknown.")
}

// note adds a text to the notes unless it is there, and returns the reference to it.
func (c *comparison) note(text string) string {
	if !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
	return fmt.Sprintf("[%d]", slices.Index(c.notes, text)+1)
}

// The sides of the paper's spread.
const inside, below, above = "inside", "below", "above"

var marks = map[string]string{inside: "=", below: "↓", above: "↑"}

// sideOf compares the median of scores, rounded to three digits as in the paper, with the paper's
// median plus or minus its standard deviation. It is "" if either is unknown.
func sideOf(own []float64, p PublishedScore) string {
	rounded, err := strconv.ParseFloat(tables.Plain.Number(stats.Median(own)), 64)
	distance := rounded - p.Median
	switch {
	case err != nil || math.IsNaN(distance) || math.IsNaN(p.Std):
		return ""
	case math.Abs(distance) <= p.Std+1e-9*math.Abs(p.Median):
		return inside
	case distance < 0:
		return below
	}
	return above
}

//go:embed reproduction_reasons.csv
var reasonsCSV string

var reasons = sync.OnceValue(func() [][]string { return readTable(reasonsCSV) })

// reasonFor returns the text of the first known reason with the given scale, method, environment,
// metric and side. Empty fields match everything.
func reasonFor(key ...string) string {
	for _, row := range reasons() {
		if slices.EqualFunc(row[:len(row)-1], key,
			func(field, value string) bool { return field == "" || field == value }) {
			return row[len(row)-1]
		}
	}
	return ""
}

// CompareOrder compares the order of methods with the paper's, by Spearman's rank correlation of
// the medians over methods at equal shares of the paper's steps, for each environment and metric,
// and its mean over environments. It is 1 for the same order, -1 for the reverse order and 0 for no
// relation. It ignores the magnitude of scores, so it is meaningful for small runs too. With few
// methods or one seed it is still dominated by chance.
//
// It covers the methods of table 1. DIAYN and DADS without rewards, which are worst everywhere,
// would only inflate it.
func CompareOrder(d *Data) (*tables.Table, error) {
	methods, envs, err := trained(d, results.ExperimentTraining)
	if err != nil {
		return nil, err
	}
	table := &tables.Table{
		Caption: "Order of the methods at equal shares of the paper's steps, against the paper's: Spearman's ρ",
		Header:  []string{"environment", "methods", "share (%)", "max fitness", "QD score"},
	}
	equal := d.EqualShares()
	correlations := map[results.Metric][]float64{}
	for _, env := range envs {
		row := []string{env, "0", tables.Short(100*d.Share(results.ExperimentTraining, env), 2)}
		for _, m := range scoreMetrics {
			var own, paper []float64
			for _, method := range methods {
				published, ok := publishedMedian(method, env, m.of)
				if x := equal.Scores(method, env, m.of); ok && len(x) > 0 {
					own, paper = append(own, stats.Median(x)), append(paper, published.Median)
				}
			}
			rho := stats.Spearman(own, paper) // NaN for fewer than three methods
			row[1] = strconv.Itoa(len(own))
			if !math.IsNaN(rho) {
				correlations[m.of] = append(correlations[m.of], rho)
			}
			row = append(row, correlation(rho))
		}
		table.Rows = append(table.Rows, tables.Row(row...))
	}
	mean := []string{"mean", "", ""}
	for _, m := range scoreMetrics {
		mean = append(mean, correlation(stats.Mean(correlations[m.of])))
	}
	table.Rows = append(table.Rows, tables.Row(mean...))
	table.Notes = []string{d.withMissing("1: the paper's order; 0: no relation; -1: the reverse order. "+
		seedRange(d, methods, envs), allMethods, curveEnvs)}
	return table, nil
}

// none marks unknown values.
const none = "–"

// correlation formats a correlation with two decimals.
func correlation(rho float64) string {
	if math.IsNaN(rho) {
		return none
	}
	return strconv.FormatFloat(rho, 'f', 2, 64)
}

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
	c := newComparison(folders...)
	for _, d := range folders {
		if len(d.Problems) > 0 {
			return "", d.Problems[0]
		}
		programs, err := d.programs(origin)
		if err != nil {
			return "", err
		}
		out.WriteString(filled("- ", fmt.Sprintf("**%s**: %s", d.label(), d.coverage()+programs)))
	}
	c.brief = true
	compared := false
	for _, env := range curveEnvs {
		c.notes = nil
		t := c.table([]string{env})
		if len(t.Rows) == 0 {
			continue
		}
		compared = true
		fmt.Fprintf(&out, "\n### %s\n\n", env)
		t.Caption, t.Grouped, t.Header = "", false, t.Header[1:]
		notes := t.Notes[1:] // the introduction has the first
		t.Notes = nil
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][1:]
		}
		out.WriteString(t.Markdown())
		for _, note := range notes {
			out.WriteString("\n" + filled("", note))
		}
	}
	if !compared {
		return "", (*Data)(nil).noRuns(results.ExperimentTraining)
	}
	out.WriteString("\n## The paper's statements\n")
	for _, d := range folders {
		claims, err := Claims(d)
		if order, wrong := CompareOrder(d); err == nil && wrong == nil && len(d.Labels()) > 2 {
			claims.Caption, claims.Header = "", slices.Delete(claims.Header, 2, 3)
			var decided [][]tables.Entry
			for _, row := range claims.Rows {
				if row[1].Bold {
					decided = append(decided, slices.Delete(row, 2, 3)) // the evidence
				}
			}
			notes := claims.Notes
			claims.Rows, claims.Notes = decided, nil
			mean := order.Rows[len(order.Rows)-1]
			fmt.Fprintf(&out, "\n### Runs at scale %s\n\n", d.Name())
			if len(decided) > 0 {
				fmt.Fprintf(&out, "%s\n", claims.Markdown())
			}
			for _, note := range notes {
				out.WriteString(filled("", note+" `qdnb claims` shows all statements and their evidence.") + "\n")
			}
			out.WriteString(filled("", fmt.Sprintf("The order of the methods at equal shares agrees with the paper's "+
				"with a mean Spearman correlation of %s for max fitness and %s for QD score.", mean[3].Text, mean[4].Text)))
		}
	}
	out.WriteString("\nBack: [experiments](experiments.md). Next: " +
		"[beyond the paper](../notebooks/beyond.ipynb).\n")
	return out.String(), nil
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
	text := fmt.Sprintf("%d of %d cells; %s.", cells-missing, cells,
		describe(d.linesOf(results.ExperimentTraining)))
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

// filled breaks a paragraph into lines of at most 100 characters, with a mark before the first.
func filled(mark, text string) string {
	lines := names.Wrap(text, 100-len(mark))
	return mark + strings.Join(lines, "\n"+strings.Repeat(" ", len(mark))) + "\n"
}

// ReproductionFigure draws the numbers of [ReproductionPage]: for each environment and metric, the
// paper's medians and standard deviations, and as marks our medians at the end of training, in one
// shape for each folder, and at equal shares of the paper's steps.
func ReproductionFigure(folders ...*Data) (figures.Grid, error) {
	c := newComparison(folders...)
	var ours []string
	for i := range folders {
		ours = append(ours, "ours"+c.suffix(i))
		if c.unequal(i, curveEnvs) {
			ours = append(ours, "ours at equal shares of the steps"+c.suffix(i))
		}
	}
	var panels []*figures.Panel
	for _, env := range curveEnvs {
		for _, m := range scoreMetrics {
			var rows []figures.Interval
			for _, method := range allMethods {
				p, _ := PublishedOf(9, method, env, m.of)
				var own []float64
				for i, d := range folders {
					own = append(own, stats.Median(d.Scores(method, env, m.of)))
					if c.unequal(i, curveEnvs) {
						own = append(own, stats.Median(c.equal[i].Scores(method, env, m.of)))
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
			axes := figures.Axes{Title: env, XLabel: strings.ToUpper(m.name[:1]) + m.name[1:]}
			panel, err := figures.MarkedIntervals(axes, rows, "the paper's median ± standard deviation", ours...)
			if err != nil {
				return figures.Grid{}, err
			}
			panels = append(panels, panel)
		}
	}
	if len(panels) == 0 {
		return figures.Grid{}, (*Data)(nil).noRuns(results.ExperimentTraining)
	}
	return figures.InRows(len(scoreMetrics), panels...), nil
}
