package paper

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
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
	c := &comparison{Data: d}
	table := c.table(figures.SortMethods(methods), chosen)
	if len(envs) == 0 {
		envs = curveEnvs
	}
	table.Notes[0] = d.withMissing(table.Notes[0], allMethods, envs)
	return table, nil
}

// comparison compares the runs of an experiments folder with the paper's tables 9 and 10, and collects notes.
type comparison struct {
	*Data
	notes []string
}

// table has a row for each method with runs on an environment, and for each metric the paper's numbers, the
// medians of the runs, and those at equal shares.
func (c *comparison) table(methods, envs []string) *tables.Table {
	unequal := c.unequal(envs)
	equal := c.EqualShares()
	t := &tables.Table{Caption: "Medians over seeds and the paper's", Grouped: true,
		Header: []string{"environment", "method", "seeds × share"}}
	for _, m := range scoreMetrics {
		t.Header = append(t.Header, m.name+", paper", "ours")
		if unequal {
			t.Header = append(t.Header, "equal shares")
		}
	}
	t.Header = append(t.Header, "remarks")
	for _, env := range envs {
		environment := env
		if c.unequal([]string{env}) {
			environment += fmt.Sprintf(" (%s %%)", tables.Short(100*c.Share(results.ExperimentTraining, env), 2))
		}
		for _, method := range methods {
			found := c.FinishedRuns(method, env)
			if len(found) == 0 {
				continue
			}
			row := []string{environment, figures.MethodName(method), effort(found)}
			var remarks []string
			for _, m := range scoreMetrics {
				s := c.compare(m.of, method, env)
				ours := strings.TrimSpace(spreadOf(s.own) + " " + marks[s.side])
				if s.reached > 0 {
					ours += " at " + tables.Short(s.reached, 2)
				}
				row = append(row, s.published(c), ours)
				if unequal {
					row = append(row, spreadOf(equal.Scores(method, env, m.of)))
				}
				if s.remark != "" {
					remarks = append(remarks, c.note(s.remark))
				}
			}
			slices.Sort(remarks)
			t.Rows = append(t.Rows, tables.Row(append(row, strings.Join(slices.Compact(remarks), "; "))...))
		}
	}
	t.Notes = append([]string{"Share: of the paper's environment steps. Equal shares: at the share next to the " +
		"environment, which all methods reached. =, ↓, ↑: inside, below or above the paper's median ± " +
		"standard deviation. After “at”: the share of the steps after which the paper's median was reached."},
		lists.Map(c.numbered(), unlinked)...)
	return t
}

// effort formats the number of runs of the same kind and their median share of the paper's steps, if any.
func effort(found []results.Trained) string {
	share := stats.Median(results.EnvSteps.Scores(found)) / found[0].PaperSteps()
	if math.IsInf(share, 0) { // a method that is not in the paper
		return fmt.Sprint(len(found))
	}
	return fmt.Sprintf("%d × %s", len(found), tables.Short(share, 2))
}

// unequal reports whether methods had different shares of the paper's steps.
func (c *comparison) unequal(envs []string) bool {
	return slices.ContainsFunc(c.Trained, func(r results.Trained) bool {
		share := c.Share(results.ExperimentTraining, r.Env)
		return r.Finished && slices.Contains(envs, r.Env) && share < 0.995 && r.StepsRatio() > 1.1*share
	})
}

// compared is a metric of a method on an environment, here and in the paper.
type compared struct {
	own     []float64 // by seed
	paper   PublishedScore
	known   bool    // in the paper
	side    string  // of the paper's spread
	reached float64 // share of the paper's steps after which its median was reached; see [reached]
	remark  string
}

func (c *comparison) compare(m results.Metric, method, env string) (s compared) {
	if s.paper, s.known = publishedMedian(method, env, m); !s.known {
		s.paper.Median = math.NaN()
	}
	s.own = c.Scores(method, env, m)
	s.side = sideOf(s.own, s.paper)
	s.reached = reached(c.FinishedRuns(method, env), m, s.paper.Median)
	s.remark = c.remark(method, env, m, s)
	return s
}

// reached returns the median share of the paper's steps after which a metric reached the paper's median;
// NaN unless the runs have the paper's steps and units.
func reached(found []results.Trained, m results.Metric, median float64) float64 {
	whole := lists.Where(found, asPublished)
	return stats.Median(lists.Map(whole, func(r results.Trained) float64 { return m.Reached(median, r) }))
}

// asPublished reports whether a run has the paper's steps and units.
func asPublished(r results.Trained) bool {
	return r.StepsRatio() >= 0.995 && slices.Equal(r.Units, []int{256, 256})
}

// label names a folder in the figure and on the page.
func (d *Data) label() string {
	if d.Name() == "paper" {
		return "the paper's settings"
	}
	return "scale " + d.Name()
}

// spreadOf formats the median of scores and their standard deviation.
func spreadOf(scores []float64) string {
	if len(scores) == 0 {
		return none
	}
	return tables.Plain.Spread(scores)
}

// published formats the paper's number, with a note on misprints.
func (s compared) published(c *comparison) string {
	if !s.known {
		return none
	}
	text := tables.Plain.Number(s.paper.Median)
	if !math.IsNaN(s.paper.Std) {
		text += " (± " + tables.Plain.Number(s.paper.Std) + ")"
	}
	return text + c.misprint(s.paper)
}

// misprint refers to a note on a number of the paper, if there is one.
func (c *comparison) misprint(p PublishedScore) string {
	if p.Note == "" {
		return ""
	}
	return " " + c.note(strings.ToUpper(p.Note[:1])+p.Note[1:]+".")
}

// remark says why a number is outside of the paper's spread, if a cause is known, or that none is
// known of a run with the paper's steps that is two deviations away.
func (c *comparison) remark(method, env string, m results.Metric, s compared) string {
	if s.side != below && s.side != above {
		return ""
	}
	if reason := reasonFor(c.Name(), method, env, string(m), s.side); reason != "" {
		return reason
	}
	deviations := math.Abs(stats.Median(s.own)-s.paper.Median) / s.paper.Std
	switch {
	case s.side == below && !asPublished(c.FinishedRuns(method, env)[0]), deviations < 2: // or chance
		return ""
	case s.paper.Std > 0:
		return fmt.Sprintf("%.1f deviations %s: reason unknown.", deviations, s.side)
	}
	return s.side + ": reason unknown."
}

// numbered returns the notes with their numbers.
func (c *comparison) numbered() (list []string) {
	for i, note := range c.notes {
		list = append(list, fmt.Sprintf("[%d] %s", i+1, note))
	}
	return list
}

// link is a Markdown link to a page of docs.
var link = regexp.MustCompile(`\[([^\]]+)\]\(([^)#]+)[^)]*\)`)

// unlinked replaces the links of a note, which a table would show as they are written, by the pages' names.
func unlinked(note string) string {
	return strings.ReplaceAll(link.ReplaceAllString(note, "$1 in docs/$2"), "`", "")
}

// note adds a text to the notes unless it is there, and returns the reference to it.
func (c *comparison) note(text string) string {
	c.notes = lists.With(c.notes, text)
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
		if slices.EqualFunc(row[:len(row)-1], key, func(field, value string) bool { return field == "" || field == value }) {
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
