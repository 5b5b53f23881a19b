package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/stats"
)

// ofSensitivity are the paper's claims on grids of hyperparameters.
var ofSensitivity = []Claim{
	{"sensitivity-median",
		"over the grids MAP-Elites' median QD score is better than DADS+REWARD's on all four tasks",
		"figure 3", func(d *data) (bool, string) {
			var wins tally
			weakest, least := "", math.Inf(1)
			for _, env := range grids {
				a, b := d.grid("map-elites", env), d.grid("dads-reward", env)
				wins.add(a.median() > b.median(), env)
				if effect := stats.A12(a.x, b.x); effect < least {
					least, weakest = effect, fmt.Sprintf("least on %s: %s", env, against(a, b))
				}
			}
			return wins.yes == wins.all, join(wins.String(), weakest)
		}},
	{"sensitivity-spread",
		"over the grids DADS+REWARD's QD score spreads more than MAP-Elites' on most tasks " +
			"(interquartile range, relative to the median)", "figure 3", func(d *data) (bool, string) {
			var wins tally
			var words []string
			for _, env := range grids {
				a, b := spread(d.grid("map-elites", env)), spread(d.grid("dads-reward", env))
				wins.add(b > a, env)
				words = append(words, fmt.Sprintf("%s %.2f against %.2f", env, b, a))
			}
			return wins.majority(), join(wins.String(), strings.Join(words, ", "))
		}},
	{"sensitivity-ant-uni",
		"on ant-uni even the worst setting of MAP-Elites beats the best of DADS+REWARD",
		"figure 14", func(d *data) (bool, string) {
			a, b := d.grid("map-elites", "ant-uni"), d.grid("dads-reward", "ant-uni")
			low, high := lowest(a.x), highest(b.x)
			return low > high, fmt.Sprintf("worst %.2f, best %.2f of the task's maximum", low, high)
		}},
	{"sensitivity-halfcheetah-uni",
		"on halfcheetah-uni MAP-Elites varies little over the grid (all settings within 20 % of the " +
			"best)",
		"figure 14", func(d *data) (bool, string) {
			a := d.grid("map-elites", "halfcheetah-uni")
			low, high := lowest(a.x), highest(a.x)
			return similar(low, high), fmt.Sprintf("from %.2f to %.2f of the task's maximum", low, high)
		}},
	{"sensitivity-walker-uni",
		"on walker-uni both vary alike over their grids (ranges, relative to the task's maximum, that " +
			"differ by at most 0.2)",
		"figure 14", func(d *data) (bool, string) {
			a, b := d.grid("map-elites", "walker-uni"), d.grid("dads-reward", "walker-uni")
			ra, rb := highest(a.x)-lowest(a.x), highest(b.x)-lowest(b.x)
			return math.Abs(ra-rb) <= level, fmt.Sprintf("ranges %.2f (map-elites) and %.2f (dads-reward)",
				ra, rb)
		}},
}

// ofAblations are the paper's claims on methods without the prior or without the task's reward.
var ofAblations = []Claim{
	{"prior-dads", "without the prior the coverage of DADS+REWARD on ant-omni falls to about a " +
		"quarter (15 to 35 %)",
		"figure 15", func(d *data) (bool, string) { return d.prior("dads-reward", 0.15, 0.35) }},
	{"prior-diayn",
		"without the prior the coverage of DIAYN+REWARD on ant-omni falls by about 40 % (to 50 to 70 %)",
		"figure 15", func(d *data) (bool, string) { return d.prior("diayn-reward", 0.5, 0.7) }},
	{"reward-fitness",
		"without the task's reward DIAYN and DADS have a lower max fitness on every task",
		"table 10", func(d *data) (bool, string) { return d.withoutReward(results.MaxFitness, "") }},
	{"reward-qd-score",
		"without the task's reward DIAYN and DADS have a lower QD score on every task but ant-omni",
		"table 10", func(d *data) (bool, string) { return d.withoutReward(results.QDScore, "ant-omni") }},
	{"reward-adaptation",
		"without the task's reward adaptation collapses: DIAYN and DADS keep less than half of the " +
			"fitness of their +REWARD " +
			"versions (at 75 % of the values)", "figure 16", func(d *data) (bool, string) {
			return d.atMultipliers(every, func(p panel, x float64) bool {
				collapse := true
				for _, label := range protocol.Unrewarded() {
					a, b := stats.Median(d.adaptation(p.perturbation, p.env, label, x)),
						stats.Median(d.adaptation(p.perturbation, p.env, label+"-reward", x))
					collapse = a < b-collapsed*math.Abs(b) && collapse
				}
				return collapse
			})
		}},
}

// withoutReward compares DIAYN and DADS with their +REWARD versions on all tasks of the paper's
// table 10 except one.
func (d *data) withoutReward(m results.Metric, but string) (bool, string) {
	wins := tally{unit: " comparisons"}
	for _, env := range environments {
		if env == "pointmaze" || env == but {
			continue
		}
		for _, label := range protocol.Unrewarded() {
			a, b := d.pair(label, label+"-reward", env, m)
			wins.add(a.median() < b.median(), label+" on "+env)
		}
	}
	return wins.yes == wins.all, wins.String()
}

// grid returns the normalised QD scores of a method's settings.
func (d *data) grid(label, env string) sample {
	s := sample{label: label}
	d.settings = true
	d.trained(d.t.TrainedIn(results.ExperimentSensitivity, label, env))
	for _, p := range d.t.Sensitivity() {
		if p.Label == label && p.Env == env {
			s.x = append(s.x, p.Normalised)
			d.count(p.Seeds)
		}
	}
	if len(s.x) < minGrid || slices.ContainsFunc(s.x, math.IsNaN) {
		d.need(fmt.Sprintf("%d settings of %s on %s", minGrid, label, env))
	}
	return s
}

// spread returns the interquartile range divided by the median.
func spread(s sample) float64 {
	q1, q3 := stats.Quartiles(s.x)
	return (q3 - q1) / s.median()
}

func lowest(x []float64) float64  { return stats.Quantile(x, 0) }
func highest(x []float64) float64 { return stats.Quantile(x, 1) }

// prior compares a method's coverages with and without the prior.
func (d *data) prior(algorithm string, low, high float64) (bool, string) {
	d.trained(d.t.PriorRuns(algorithm, false))
	d.trained(d.t.PriorRuns(algorithm, true))
	a := sample{"without", d.note(d.t.PriorCoverages(algorithm, false),
		algorithm+" on ant-omni without the prior")}
	b := sample{"with", d.note(d.t.PriorCoverages(algorithm, true),
		algorithm+" on ant-omni with the prior, in the experiment prior")}
	ratio := a.median() / b.median()
	return ratio >= low && ratio <= high, fmt.Sprintf("to %s: coverage %s", percent(ratio),
		against(a, b))
}
