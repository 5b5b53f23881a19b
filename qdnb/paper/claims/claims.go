// Package claims checks the paper's claims against the results of runs.
//
// A [Claim] is a sentence of the paper with a check, which decides from tables whether it holds and
// gives one line of evidence. A verdict requires a run of every method on every environment in the
// claim. These runs need episodes of full length, 1024 cells, a budget that reaches the method's
// own schedule (see [results.Trained]), and three seeds unless the settings of a grid are the
// sample. The result includes the number of seeds.
//
// For comparisons of samples over seeds, the evidence includes Vargha and Delaney's effect size A
// (the probability that a seed of the first method is better) and P of the two-sided Mann-Whitney
// test. Medians decide whether a claim holds, as in the paper; P shows how much so few seeds can
// tell.
//
// Where the paper uses words without a number, a constant of this package gives the number, and the
// evidence or the sentence states it.
package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"

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
	NotEnough Verdict = "not enough data"
	// TooSmall means that all runs exist, but are too small or too few for a verdict.
	TooSmall Verdict = "n/a at this scale"
)

// Result is a claim with its verdict and evidence.
type Result struct {
	ID       string  `json:"id"`
	Claim    string  `json:"claim"` // the paper's sentence
	Where    string  `json:"where"` // location in the paper
	Verdict  Verdict `json:"verdict"`
	Evidence string  `json:"evidence"` // one line: numbers, or what is missing
	// MinSeeds and MaxSeeds are the smallest and largest number of seeds among the methods and
	// environments of the claim; 0 without runs.
	MinSeeds int `json:"min_seeds"`
	MaxSeeds int `json:"max_seeds"`
}

// Claim is a statement of the paper about its results.
type Claim struct {
	ID       string
	Sentence string
	Where    string
	check    func(*data) (holds bool, evidence string)
}

// Check checks the claim against tables.
func (c Claim) Check(t *results.Tables) Result {
	d := &data{t: t}
	holds, evidence := c.check(d)
	r := Result{ID: c.ID, Claim: c.Sentence, Where: c.Where, Verdict: HoldsNot, Evidence: evidence,
		MinSeeds: d.min, MaxSeeds: d.max}
	if d.min < minSeeds && !d.settings {
		d.tooSmall("", fmt.Sprintf("fewer than %d seeds", minSeeds))
	}
	switch {
	case len(d.missing) > 0:
		r.Verdict, r.Evidence = NotEnough, "needs "+some(d.missing, 4)
	case len(d.reasons) > 0:
		r.Verdict, r.Evidence = TooSmall, d.why()
	case holds:
		r.Verdict = Holds
	}
	r.Evidence = figures.NameMethods(r.Evidence)
	return r
}

// All lists the claims in the paper's order.
func All() []Claim { return slices.Clone(list) }

// Check checks all claims.
func Check(t *results.Tables) []Result {
	var all []Result
	for _, c := range list {
		all = append(all, c.Check(t))
	}
	return all
}

// data provides samples of tables to a check. It records missing data and the number of seeds.
type data struct {
	t        *results.Tables
	missing  []string
	min, max int
	settings bool // the sample is the settings of a grid, so one seed of each is enough
	reasons  []shortage
}

func (d *data) tooSmall(where string, reasons ...string) {
	for _, reason := range reasons {
		i := slices.IndexFunc(d.reasons, func(s shortage) bool { return s.reason == reason })
		if i < 0 {
			i = len(d.reasons)
			d.reasons = append(d.reasons, shortage{reason: reason})
		}
		if s := &d.reasons[i]; !slices.Contains(s.where, where) {
			s.where = append(s.where, where)
		}
	}
}

// shortage is a reason why runs are too small, and which.
type shortage struct {
	reason string
	where  []string
}

// why lists the reasons, each with the first of its runs.
func (d *data) why() string {
	const most = 3
	var parts []string
	for _, s := range d.reasons[:min(len(d.reasons), most)] {
		text := s.reason
		if where := some(s.where, 1); where != "" {
			text += " (" + where + ")"
		}
		parts = append(parts, text)
	}
	if more := len(d.reasons) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, "; ")
}

// trained records what makes training runs too small, and returns the runs.
func (d *data) trained(found []results.Trained) []results.Trained {
	for _, r := range found {
		d.tooSmall(r.Label+" on "+r.Env, r.Short...)
	}
	return found
}

// note counts the seeds of a sample, or records it as missing if it is empty or contains NaN.
func (d *data) note(x []float64, what string) []float64 {
	if len(x) == 0 || slices.ContainsFunc(x, math.IsNaN) {
		d.need(what)
		return nil
	}
	d.count(len(x))
	return x
}

func (d *data) count(seeds int) {
	if d.min == 0 || seeds < d.min {
		d.min = seeds
	}
	d.max = max(d.max, seeds)
}

func (d *data) need(what string) {
	if !slices.Contains(d.missing, what) {
		d.missing = append(d.missing, what)
	}
}

// some lists the first items and the number of others.
func some(list []string, most int) string {
	text := strings.Join(list[:min(len(list), most)], ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// scores returns the scores of complete training runs, one per seed.
func (d *data) scores(label, env string, m results.Metric) []float64 {
	d.trained(d.t.FinishedRuns(label, env))
	return d.note(d.t.Scores(label, env, m), label+" on "+env)
}

func (d *data) adapted(perturbation, env, label string) {
	for _, a := range d.t.AdaptedRuns(perturbation, env, label) {
		d.tooSmall(evaluated(label, env, perturbation), a.Short...)
	}
}

// adaptation returns the scores at a multiplier, one per seed.
func (d *data) adaptation(perturbation, env, label string, multiplier float64) []float64 {
	d.adapted(perturbation, env, label)
	return d.note(d.t.Adaptation(perturbation, env, label, multiplier),
		d.at(label, env, perturbation, multiplier))
}

// gains returns the relative changes at a multiplier of gravity, one per seed.
func (d *data) gains(env, label string, multiplier float64) []float64 {
	d.adapted(results.Gravity, env, label)
	return d.note(d.t.Gains(results.Gravity, env, label, multiplier),
		d.at(label, env, results.Gravity, multiplier))
}

// targets returns the means over the targets of ant-maze, one per seed.
func (d *data) targets(label string) []float64 {
	d.adapted(results.Target, "ant-maze", label)
	return d.note(d.t.TargetMeans(label), evaluated(label, "ant-maze", results.Target))
}

// control returns a meta-controller's final fitnesses and hurdles, one per seed.
func (d *data) control(label string) (fitness, hurdles []float64) {
	what := "hurdles with " + label
	for _, c := range d.t.Controlled {
		if c.Label == label {
			d.tooSmall(what, c.Short...)
		}
	}
	fitness, hurdles = d.t.FinalControl(label)
	return d.note(fitness, what), d.note(hurdles, what)
}

// controlled returns a meta-controller's final fitnesses, one per seed.
func (d *data) controlled(label string) []float64 {
	fitness, _ := d.control(label)
	return fitness
}

// at describes missing data: an adaptation run, or one of its values.
func (d *data) at(label, env, perturbation string, multiplier float64) string {
	what := evaluated(label, env, perturbation)
	if slices.ContainsFunc(d.t.Adapted, func(a results.Adapted) bool {
		return a.Perturbation == perturbation && a.Env == env && a.Label == label
	}) {
		what += fmt.Sprintf(" at %g", multiplier)
	}
	return what
}

func evaluated(label, env, perturbation string) string {
	return fmt.Sprintf("adaptation of %s on %s to %s", label, env, perturbation)
}

// multipliers returns the multipliers of a perturbation that have results, except 1.
func (d *data) multipliers(perturbation, env string) []float64 {
	values := slices.DeleteFunc(d.t.Multipliers(perturbation, env),
		func(x float64) bool { return x == 1 })
	if len(values) == 0 {
		d.need("adaptation on " + env + " to " + perturbation)
	}
	return values
}

type sample struct {
	label string
	x     []float64
}

func (s sample) median() float64 { return stats.Median(s.x) }

// best returns the sample with the highest median, the first of equals.
func best(samples []sample) sample {
	top := samples[0]
	for _, s := range samples[1:] {
		if s.median() > top.median() || math.IsNaN(top.median()) {
			top = s
		}
	}
	return top
}

func of(labels []string, sampleOf func(label string) []float64) []sample {
	var list []sample
	for _, label := range labels {
		list = append(list, sample{label, sampleOf(label)})
	}
	return list
}

// against compares two samples in words: medians, effect size and rank test.
func against(a, b sample) string {
	return fmt.Sprintf("%s %s against %s %s, A %.2f, P %s", a.label, number(a.median()), b.label,
		number(b.median()), stats.A12(a.x, b.x),
		tables.Probability(stats.MannWhitney(a.x, b.x)))
}

// number formats three significant digits, or all digits before the decimal point.
func number(v float64) string { return tables.Short(v, 3) }

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

// tally counts where a condition holds and lists where it does not.
type tally struct {
	unit     string // unit of the count, with a leading space; empty for tasks
	yes, all int
	not      []string
}

func (t *tally) add(yes bool, otherwise string) {
	t.all++
	if yes {
		t.yes++
	} else {
		t.not = append(t.not, otherwise)
	}
}

// String formats the tally, such as "5 of 7; not ant-uni, pointmaze".
func (t *tally) String() string {
	text := fmt.Sprintf("%d of %d", t.yes, t.all) + t.unit
	if len(t.not) > 0 {
		text += "; not " + some(t.not, 3)
	}
	return text
}

// majority reports whether the condition holds on most tasks.
func (t *tally) majority() bool { return 2*t.yes > t.all }

// threeQuarters reports whether the condition holds at most of many values.
func (t *tally) threeQuarters() bool { return 4*t.yes >= 3*t.all }
