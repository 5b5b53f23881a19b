// Package claims checks the paper's headline statements against the results of runs.
//
// [Check] checks the statements of the paper. A [Result] always has the evidence: for each
// comparison the medians over seeds of both sides, their standard deviations, and the share of the
// paper's environment steps at which they are compared, the largest that all methods reached on an
// environment ([results.Tables.EqualShares]). A statement is decided only with three seeds of every
// method, and either the paper's steps on both sides, or equal processor time on one machine by the same
// programs; all others are open. A statement about all tasks is decided on those that have such runs, if
// they are two or more, and its [Result.Scope] names them.
//
// Where the paper uses words without a number, the sentence or a constant gives the number. Medians
// decide, as in the paper.
package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/stats"
)

// Verdict is the outcome of a claim's check.
type Verdict string

// The verdicts.
const (
	Holds     Verdict = "holds"
	HoldsNot  Verdict = "does not hold"
	Undecided Verdict = "open"
)

// claim is a statement of the paper about its results.
type claim struct {
	id       string
	sentence string
	where    string            // in the paper
	holds    func(*check) bool // whether the comparisons bear it out
	check    func(*check)      // makes the comparisons
}

// Result is a claim with its verdict and evidence.
type Result struct {
	ID       string  `json:"id"`
	Claim    string  `json:"claim"`
	Where    string  `json:"where"`
	Verdict  Verdict `json:"verdict"`
	Evidence string  `json:"evidence"` // one line; empty without any run
	// Scope is the budget and the size of the networks, such as "at 4 to 10 % of the paper's steps, with
	// 64 × 64 units", or "after 6 minutes of processor time each, on pointmaze, walker-uni".
	Scope string `json:"scope"`
	// Reason says why the statement is open.
	Reason string `json:"reason,omitempty"`
	// MinSeeds and MaxSeeds are the smallest and largest number of seeds of a method on an environment;
	// 0 without runs.
	MinSeeds int `json:"min_seeds"`
	MaxSeeds int `json:"max_seeds"`
}

// Check checks the claims that have one of the IDs (see [Result.Has]), or all without IDs.
func Check(t *results.Tables, ids ...string) []Result {
	cut := t.EqualShares()
	chosen := lists.Where(list, func(c claim) bool { return len(ids) == 0 || slices.ContainsFunc(ids, Result{ID: c.id}.Has) })
	return lists.Map(chosen, func(c claim) Result { return c.result(t, cut) })
}

// Has reports whether an ID is the claim's, or its beginning before a hyphen.
func (r Result) Has(id string) bool { return r.ID == id || strings.HasPrefix(r.ID, id+"-") }

func (c claim) result(t, cut *results.Tables) Result {
	d := &check{whole: t, cut: t, timed: true, best: map[string]int{}}
	if c.check(d); !equalTime(d.runs) {
		d = &check{whole: t, cut: cut, best: map[string]int{}}
		c.check(d)
	}
	r := Result{ID: c.id, Claim: c.sentence, Where: c.where, Verdict: Undecided,
		Evidence: figures.NameMethods(d.text()), Scope: d.scope(), MinSeeds: d.min, MaxSeeds: d.max}
	low, high := d.shareRange()
	switch {
	case len(d.missing) > 0:
		r.Reason = "needs " + some(d.missing)
	case d.short != "":
		r.Reason = fmt.Sprintf("%s (%s)", d.short, some(d.shortRuns))
	case d.min < fewestSeeds:
		r.Reason = fmt.Sprintf("%s of %d seeds", r.Seeds(), fewestSeeds)
	case !d.timed && !(low >= whole):
		r.Reason = fmt.Sprintf("%s to %s %% of the paper's steps, in unequal processor time", percent(low), percent(high))
	case c.holds(d):
		r.Verdict = Holds
	default:
		r.Verdict = HoldsNot
	}
	r.Reason = figures.NameMethods(r.Reason)
	return r
}

// check gives samples to a claim and gathers its evidence.
type check struct {
	whole, cut *results.Tables // at the end of training, and at equal shares
	timed      bool            // methods are compared at the end of training, in equal processor time
	smerl      bool            // the claim is about SMERL
	same       bool            // methods were compared after the same number of steps
	parts      []part
	missing    []string
	short      string   // the first reason why runs cannot decide
	shortRuns  []string // that it is the reason of
	runs       []results.Trained
	shares     []float64 // of the paper's steps
	units      []string
	best       map[string]int // environments on which a method is the best
	some       []string       // the tasks of a statement about all, if others have no runs that decide
	min, max   int
}

// What decides: seeds of each method, the share of the paper's steps from which on runs have those of the
// paper, how much larger than the smallest a processor time may be that equals it, and tasks of a statement
// about all.
const (
	fewestSeeds = 3
	whole       = 0.995
	equal       = 1.1
	fewestTasks = 2
)

// tasks returns the environments on which runs of some methods decide, or all environments if those are
// too few.
func (c *check) tasks(labels []string) []string {
	decided := lists.Where(environments, func(env string) bool {
		var all []results.Trained
		for _, label := range labels {
			trained := c.whole.FinishedRuns(label, env)
			if len(trained) < fewestSeeds {
				return false
			}
			all = append(all, trained...)
		}
		paper := !slices.ContainsFunc(all, func(r results.Trained) bool { return !(r.StepsRatio() >= whole) })
		short := slices.ContainsFunc(all, func(r results.Trained) bool { return len(r.Short) > 0 || c.smerl && r.GateShut })
		return !short && (paper || equalTime(all))
	})
	if len(decided) < fewestTasks || len(decided) == len(environments) {
		return environments
	}
	c.some = decided
	return decided
}

// equalTime reports whether the runs of each environment took equal processor time, on one machine for
// all, and those of each method by the same programs.
func equalTime(runs []results.Trained) bool {
	type method struct{ experiment, label, env string }
	least, programs := map[string]float64{}, map[method]string{}
	for _, r := range runs {
		of := method{r.Experiment, r.Label, r.Env}
		if known, ok := programs[of]; ok && known != r.Programs || r.Programs == "" || r.Machine == "" ||
			r.Machine != runs[0].Machine {
			return false
		}
		programs[of] = r.Programs
		if x, ok := least[r.Env]; !ok || r.Processor < x {
			least[r.Env] = r.Processor
		}
	}
	longer := func(r results.Trained) bool { return r.Processor > equal*least[r.Env] }
	return len(runs) > 0 && !slices.ContainsFunc(runs, longer)
}

// part is a comparison.
type part struct {
	group, where string
	a, b         sample
	holds        bool
	share        float64 // NaN if it has none
}

// sample is a method with a value per seed or per setting.
type sample struct {
	label string
	x     []float64
}

func (s sample) median() float64 { return stats.Median(s.x) }

// String formats the sample with its spread.
func (s sample) String() string { return s.label + " " + tables.Plain.Spread(s.x) }

// compare adds a comparison, unless one side has no runs.
func (c *check) compare(group, where string, share float64, a, b sample, holds func(a, b float64) bool) {
	if len(a.x) == 0 || len(b.x) == 0 {
		return
	}
	c.parts = append(c.parts, part{group, where, a, b, holds(a.median(), b.median()), share})
}

// versus compares the scores of two methods on an environment.
func (c *check) versus(group, env string, m results.Metric, a, b string, holds func(a, b float64) bool) {
	c.compare(group, env, c.share(env), c.scores(a, env, m), c.scores(b, env, m), holds)
}

// won counts the comparisons that hold, of a group or, with "", of all.
func (c *check) won(group string) (won, all int) {
	for _, p := range c.parts {
		if group == "" || p.group == group {
			all++
			if p.holds {
				won++
			}
		}
	}
	return won, all
}

func (c *check) everywhere() bool {
	won, all := c.won("")
	return won == all
}

// winner returns the method that is the best on all environments of the comparisons; none without one.
func (c *check) winner() string {
	for _, label := range methods {
		if c.best[label] == len(c.parts) {
			return label
		}
	}
	return ""
}

// mostly reports whether more than half of the comparisons of each group hold.
func (c *check) mostly() bool {
	return !slices.ContainsFunc(c.parts, func(p part) bool {
		won, all := c.won(p.group)
		return 2*won <= all
	})
}

// shown is the number of comparisons that evidence lists one by one. Of more, it has the closest of
// each group.
const shown = 12

// text is the evidence.
func (c *check) text() string {
	var groups, texts []string
	for _, p := range c.parts {
		groups = lists.With(groups, p.group)
	}
	for _, group := range groups {
		own := lists.Where(c.parts, func(p part) bool { return p.group == group })
		text := strings.TrimSpace(group + " ")
		if won, all := c.won(group); all > 1 {
			text += fmt.Sprintf(" %d of %d", won, all)
		}
		if len(c.parts) > shown {
			text += ", closest"
			own = []part{slices.MinFunc(own, func(p, q part) int { return cmp.Compare(p.distance(), q.distance()) })}
		}
		comparisons := strings.Join(lists.Map(own, part.String), "; ")
		texts = append(texts, strings.TrimPrefix(strings.TrimSpace(text)+": "+comparisons, ": "))
	}
	return strings.Join(texts, ". ")
}

// distance is the relative distance of the medians.
func (p part) distance() float64 {
	a, b := p.a.median(), p.b.median()
	return math.Abs(a-b) / max(math.Abs(a), math.Abs(b), math.SmallestNonzeroFloat64)
}

func (p part) String() string {
	text := p.where + " " + p.a.String() + ", " + p.b.String()
	if !math.IsNaN(p.share) {
		text += " at " + percent(p.share) + " %"
	}
	return strings.TrimSpace(text)
}

// scope says at which share of the paper's steps, and with which networks.
func (c *check) scope() string {
	var parts []string
	low, high := c.shareRange()
	switch {
	case c.timed && !c.same:
		minutes := lists.Map(c.runs, func(r results.Trained) float64 { return r.Processor / 60 })
		parts = append(parts, fmt.Sprintf("after %s minutes of processor time each", tables.Short(stats.Median(minutes), 2)))
	case c.same && len(c.runs) > 0:
		parts = append(parts, "after equal steps")
	case len(c.shares) == 0:
	case percent(low) == percent(high):
		parts = append(parts, fmt.Sprintf("at %s %% of the paper's steps", percent(low)))
	default:
		parts = append(parts, fmt.Sprintf("at %s to %s %% of the paper's steps", percent(low), percent(high)))
	}
	if len(c.units) > 0 {
		parts = append(parts, "with "+strings.Join(c.units, " or ")+" units")
	}
	if len(c.some) > 0 {
		parts = append(parts, "on "+names.List(c.some))
	}
	return strings.Join(parts, ", ")
}

func (c *check) shareRange() (low, high float64) {
	if len(c.shares) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(c.shares), slices.Max(c.shares)
}

// note records what training runs are like.
func (c *check) note(trained []results.Trained, share func(results.Trained) float64) {
	c.runs = append(c.runs, trained...)
	for _, r := range trained {
		reasons := slices.Clone(r.Short)
		if c.smerl && r.GateShut {
			reasons = append(reasons, "SMERL's gate never opened")
		}
		for _, reason := range reasons {
			if c.short = cmp.Or(c.short, reason); reason == c.short {
				c.shortRuns = lists.With(c.shortRuns, r.Label+" on "+r.Env)
			}
		}
		if s := share(r); !math.IsNaN(s) {
			c.shares = append(c.shares, min(s, 1))
		}
		if units := strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Units), "[]"), " ", " × "); units != "" {
			c.units = lists.With(c.units, units)
		}
	}
}

// take returns a sample, or records it as missing if it is empty or has NaN.
func (c *check) take(label string, x []float64, what string) sample {
	if len(x) == 0 || slices.ContainsFunc(x, math.IsNaN) {
		c.missing = lists.With(c.missing, what)
		return sample{label: label}
	}
	c.count(len(x))
	return sample{label, x}
}

func (c *check) count(seeds int) {
	if c.min == 0 || seeds < c.min {
		c.min = seeds
	}
	c.max = max(c.max, seeds)
}

// scores returns a metric of a method at the share that all methods reached on an environment.
func (c *check) scores(label, env string, m results.Metric) sample {
	trained, share := c.cut.FinishedRuns(label, env), c.share(env)
	c.note(trained, func(results.Trained) float64 { return share })
	return c.take(label, m.Scores(trained), label+" on "+env)
}

func (c *check) share(env string) float64 { return c.shareIn(results.ExperimentTraining, env) }

// shareIn is the share of the paper's steps at which runs are compared; NaN in equal time.
func (c *check) shareIn(experiment, env string) float64 {
	if c.timed {
		return math.NaN()
	}
	return c.whole.Share(experiment, env)
}

// best returns the method with the highest median among those with runs, the first of equals.
func best(labels []string, of func(label string) sample) sample {
	var top sample
	for _, label := range labels {
		if s := of(label); len(top.x) == 0 || s.median() > top.median() {
			top = s
		}
	}
	return top
}

// bestOf returns the best of some methods by their scores.
func (c *check) bestOf(labels []string, env string, m results.Metric) sample {
	return best(labels, func(label string) sample { return c.scores(label, env, m) })
}

// skills returns a result of the skills that a method had at the end of training.
func (c *check) skills(label, env string, x []float64, what string) sample {
	if len(x) > 0 {
		c.note(c.whole.FinishedRuns(label, env), results.Trained.StepsRatio)
	}
	return c.take(label, x, what)
}

// percent formats a share in percent with two digits.
func percent(share float64) string { return tables.Short(100*share, 2) }

// some names the first item and the number of others.
func some(list []string) string {
	if more := len(list) - 1; more > 0 {
		return fmt.Sprintf("%s and %d more", list[0], more)
	}
	return list[0]
}

// Seeds formats the numbers of seeds, such as "3" or "1 to 3".
func (r Result) Seeds() string {
	if r.MinSeeds == r.MaxSeeds {
		return fmt.Sprint(r.MaxSeeds)
	}
	return fmt.Sprintf("%d to %d", r.MinSeeds, r.MaxSeeds)
}
