package paper

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// Record compares the runs of experiments folders with every number of the paper's tables 1 and 9.
type Record struct{ sections []section }

// section is the part of a record about one experiments folder.
type section struct {
	scale  string       // "paper", "medium" or "small"
	hidden []int        // units of the hidden layers of the policies
	budget runs.Budget  // of a run; one in environment steps differs between cells
	cells  []recordCell // by environment, then method
	makers []string     // what computed the runs
	order  string       // the table of [CompareOrder]; empty if it has no numbers
}

// recordCell is a method on an environment.
type recordCell struct {
	method, env string
	runs        []*runs.Run // complete, by seed
	started     bool        // a run has begun and is not complete
	makers      []string    // numbers in the section's list
	numbers     []recordNumber
}

// recordNumber is a metric of a cell.
type recordNumber struct {
	metric string // as in the paper's tables
	paper  PublishedScore
	own    []float64 // by seed
	side   string    // of the paper's spread: inside, below or above; empty if unknown
	reason string    // a known reason for being outside, in Markdown
}

// The sides of the paper's spread.
const inside, below, above = "inside", "below", "above"

// paperHidden are the units of the hidden layers of the paper's policies.
var paperHidden = []int{256, 256}

// Reproduce returns the record of experiments folders, with a section for each. If none is at the
// paper's scale, a last section without runs says what that costs. A run that cannot be read is an
// error, since a record must not leave out runs silently.
func Reproduce(folders ...*Data) (*Record, error) {
	r, complete := &Record{}, 0
	for _, d := range folders {
		if len(d.Problems) > 0 {
			return nil, d.Problems[0]
		}
		s, err := newSection(d)
		if err != nil {
			return nil, err
		}
		complete += s.complete()
		r.sections = append(r.sections, s)
	}
	if complete == 0 {
		return nil, (*Data)(nil).noRuns(results.ExperimentTraining)
	}
	if !slices.ContainsFunc(r.sections, func(s section) bool { return s.scale == "paper" }) {
		s, err := newSection(&Data{Tables: new(results.Tables)})
		if err != nil {
			return nil, err
		}
		r.sections = append(r.sections, s)
	}
	return r, nil
}

// newSection returns the section of a folder. A folder without a plan is at the paper's scale.
func newSection(d *Data) (s section, err error) {
	s = section{scale: "paper", hidden: paperHidden, budget: runs.Budget{EnvSteps: 1}}
	compared := func(l sweep.Line) bool {
		return l.Experiment != results.ExperimentSensitivity &&
			slices.Contains(protocol.Compared(), l.Run.Algorithm)
	}
	if i := slices.IndexFunc(d.Lines, compared); i >= 0 {
		var settings struct {
			Hidden []int `json:"hidden"`
		}
		if err := json.Unmarshal(d.Lines[i].Run.Hyperparameters, &settings); err != nil {
			return s, fmt.Errorf("hidden of %s: %w", d.Lines[i].Run.Name(), err)
		}
		if s.budget = d.Lines[i].Budget; len(settings.Hidden) > 0 {
			s.hidden = settings.Hidden
		}
	}
	switch {
	case !s.smaller():
	case s.budget.CPU > 0:
		s.scale = "medium"
	default:
		s.scale = "small"
	}
	for _, env := range protocol.Environments() {
		for _, method := range protocol.Compared() {
			if err := s.add(d, method, env); err != nil {
				return s, err
			}
		}
	}
	if order, err := CompareOrder(d); err == nil && order.Rows[len(order.Rows)-1][2].Text != none {
		s.order = order.Markdown()
	}
	return s, nil
}

// add adds a cell.
func (s *section) add(d *Data, method, env string) error {
	c := recordCell{method: method, env: env}
	c.started = slices.ContainsFunc(d.Trained, func(r results.Trained) bool {
		return !r.Finished && r.Label == method && r.Env == env
	})
	for _, trained := range d.FinishedRuns(method, env) {
		run, err := d.Run(trained.Run)
		if err != nil {
			return err
		}
		c.runs = append(c.runs, run)
		for _, maker := range makersOf(run.Status) {
			if !slices.Contains(s.makers, maker) {
				s.makers = append(s.makers, maker)
			}
			number := strconv.Itoa(slices.Index(s.makers, maker) + 1)
			if !slices.Contains(c.makers, number) {
				c.makers = append(c.makers, number)
			}
		}
	}
	for _, m := range scoreMetrics {
		n := recordNumber{metric: m.name, own: d.Scores(method, env, m.of)}
		n.paper, _ = PublishedOf(9, method, env, m.of)
		if n.side = sideOf(n.own, n.paper); n.outside() {
			n.reason = reasonFor(s.scale, method, env, string(m.of), n.side)
		}
		c.numbers = append(c.numbers, n)
	}
	s.cells = append(s.cells, c)
	return nil
}

// makersOf describes the machines, commits and backends that computed a run.
func makersOf(s runs.Status) (list []string) {
	var backends []string
	for _, use := range s.Backends {
		backends = append(backends, use.Backend)
	}
	add := func(parts ...string) {
		list = append(list, strings.Join(append(parts, backends...), "; "))
	}
	if len(s.Machines) == 0 || s.Machines[0].After >= 0 {
		add("machine and commit not recorded")
	}
	for _, u := range s.Machines {
		add(u.Machine, "qdnb "+u.Version, "commit "+u.Commit)
	}
	return list
}

// sideOf compares the median of scores, rounded to three digits as in the paper, with the paper's
// median plus or minus its standard deviation.
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

func (n recordNumber) outside() bool { return n.side == below || n.side == above }

// deviations is the distance from the paper's median in the paper's standard deviations.
func (n recordNumber) deviations() float64 {
	return math.Abs(stats.Median(n.own)-n.paper.Median) / n.paper.Std
}

//go:embed reproduction_reasons.csv
var reasonsCSV string

var reasons = sync.OnceValues(func() (rows [][]string, err error) {
	err = readTable(reasonsCSV, "scale,method,env,metric,side,text", func(row []string) error {
		rows = append(rows, row)
		return nil
	})
	return rows, err
})

// reasonFor returns the text of the first known reason with the given scale, method, environment,
// metric and side. Empty fields match everything.
func reasonFor(key ...string) string {
	rows, _ := reasons() // a test reads the file
	for _, row := range rows {
		if slices.EqualFunc(row[:len(row)-1], key,
			func(field, value string) bool { return field == "" || field == value }) {
			return row[len(row)-1]
		}
	}
	return ""
}

// complete counts the cells with complete runs.
func (s section) complete() (n int) {
	for _, c := range s.cells {
		n += min(len(c.runs), 1)
	}
	return n
}

// smaller reports whether the networks differ from the paper's.
func (s section) smaller() bool { return !slices.Equal(s.hidden, paperHidden) }

// median returns the median over the runs of a cell.
func (c recordCell) median(of func(runs.Status) float64) float64 {
	var x []float64
	for _, run := range c.runs {
		x = append(x, of(run.Status))
	}
	return stats.Median(x)
}

// steps returns the median environment steps, and their share of the paper's.
func (c recordCell) steps() (steps, share float64) {
	steps = c.median(func(s runs.Status) float64 { return float64(s.EnvSteps) })
	return steps, steps / float64(results.PaperSteps(c.method, c.env))
}

// cost is what runs cost in seconds on two cores, and estimated on a GPU. 0 is unknown.
type cost struct{ cores, gpu float64 }

// cost predicts what a run of a cell costs. The paper's took two hours each, on a GPU.
func (s section) cost(c recordCell) cost {
	switch b := s.budget; {
	case b.CPU > 0:
		return cost{cores: b.CPU.Seconds() / 2}
	case b.Time > 0:
		return cost{cores: b.Time.Seconds()}
	case b.EnvSteps > 0 && s.scale == "paper":
		steps := results.PaperSteps(c.method, c.env)
		return cost{results.TwoCoreSeconds(c.method, c.env, steps), 2 * 3600}
	}
	return cost{}
}

func (c cost) String() string {
	text := "unknown cost"
	if c.cores > 0 {
		text = fmt.Sprintf("about %s on two cores", tables.Duration(c.cores))
	}
	if c.gpu > 0 {
		text += fmt.Sprintf(" (estimate: %s or less on an H100-class GPU)", tables.Duration(c.gpu))
	}
	return text
}

// Figure draws the cells with runs: for each environment and metric, the paper's medians and
// standard deviations, and our medians as marks, in one shape for each section.
func (r *Record) Figure() (*figures.Figure, error) {
	shown := slices.DeleteFunc(slices.Clone(r.sections),
		func(s section) bool { return s.complete() == 0 })
	var marks []string
	for _, s := range shown {
		marks = append(marks, "ours, scale "+s.scale)
	}
	var panels []figures.IntervalPanel
	for at := 0; at < len(shown[0].cells); at += len(protocol.Compared()) {
		for k, m := range scoreMetrics {
			panel := figures.IntervalPanel{Title: shown[0].cells[at].env,
				XLabel: strings.ToUpper(m.name[:1]) + m.name[1:]}
			for i := range protocol.Compared() {
				cell := shown[0].cells[at+i]
				p, own := cell.numbers[k].paper, []float64(nil)
				for _, s := range shown {
					own = append(own, stats.Median(s.cells[at+i].numbers[k].own))
				}
				if slices.ContainsFunc(own, func(x float64) bool { return !math.IsNaN(x) }) {
					panel.Rows = append(panel.Rows, figures.Interval{Name: cell.method, Value: p.Median,
						Low: p.Median - p.Std, High: p.Median + p.Std, Marks: own})
				}
			}
			if len(panel.Rows) > 0 {
				panels = append(panels, panel)
			}
		}
	}
	return figures.MarkedIntervals(panels, len(scoreMetrics),
		"the paper's median ± standard deviation", marks...)
}
