package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/results"
	"example.com/qdnb/qdnb/stats"
)

// The methods of the paper's comparison, by family.
var (
	neuroevolution = results.Neuroevolution()
	reinforcement  = results.Reinforcement()
	methods        = slices.Concat(neuroevolution, reinforcement)
)

// The environments.
var (
	environments = results.Environments()
	gaits        = []string{"ant-uni", "walker-uni", "halfcheetah-uni"} // whose descriptor are contacts
	grids        = []string{"ant-omni", "ant-uni", "walker-uni", "halfcheetah-uni"}
)

// What the paper's words mean here.
const (
	level      = 0.2  // "on the level of", "similar", "matches": medians that differ by at most this part of the larger
	most       = 0.5  // "on most tasks": more than this part of them
	mostly     = 0.75 // a statement over many multipliers: at least this part of them
	trapped    = 500  // max fitness on ant-trap of those who stay in the trap; 449 in the paper
	nearlyFull = 90   // "near full coverage", in per cent
	repeatedly = 2    // "jump repeatedly": hurdles per episode
	littleLoss = 0.75 // "loses little": part of the score that is kept
	minGrid    = 4    // settings of a grid that a spread needs; 9 in the paper
	minIQM     = 4    // seeds from which on the interquartile mean is not the mean
)

// list has the claims.
var list = []Claim{
	{"qd-score", "QD methods have a better QD score than mutual-information methods on every task but ant-omni (best against best)",
		"table 1", func(d *data) (bool, string) {
			var wins tally
			weakest := ""
			least := math.Inf(1)
			for _, env := range environments {
				if env == "ant-omni" {
					continue
				}
				a, b := d.families(env, results.QDScore)
				wins.add(a.median() > b.median(), env)
				if effect := stats.A12(a.x, b.x); effect < least {
					least, weakest = effect, fmt.Sprintf("least on %s: %s", env, against(a, b))
				}
			}
			return wins.yes == wins.all, join(wins.String(), weakest)
		}},
	{"qd-score-ant-omni", "on ant-omni the QD score of DADS+REWARD is on the level of MAP-Elites' (within 20 %)",
		"table 1", func(d *data) (bool, string) {
			a, b := d.pair("dads-reward", "map-elites", "ant-omni", results.QDScore)
			return similar(a.median(), b.median()), against(a, b)
		}},
	{"max-fitness", "no single method has the best max fitness on all tasks",
		"table 1", func(d *data) (bool, string) {
			count := map[string]int{}
			for _, env := range environments {
				highest := math.Inf(-1)
				samples := of(methods, func(label string) []float64 { return d.scores(label, env, results.MaxFitness) })
				for _, s := range samples {
					highest = max(highest, s.median())
				}
				for _, s := range samples {
					if s.median() >= highest-1e-3*math.Abs(highest) { // equal in the digits that a table has
						count[s.label]++
					}
				}
			}
			var words []string
			holds := true
			for _, label := range methods {
				if count[label] > 0 {
					words = append(words, fmt.Sprintf("%s %d", label, count[label]))
				}
				holds = holds && count[label] < len(environments)
			}
			return holds, "best on (ties counted for each): " + strings.Join(words, ", ")
		}},
	{"ant-maze-jump", "on ant-maze mutual-information methods reach a better max fitness than QD methods (by jumping over a wall)",
		"table 1", func(d *data) (bool, string) {
			a, b := d.families("ant-maze", results.MaxFitness)
			return b.median() > a.median(), against(b, a)
		}},
	{"ant-maze-sac", "a plain RL agent does not find the jump: SAC's max fitness on ant-maze is below the best mutual-information method's",
		"text on table 1", func(d *data) (bool, string) {
			sac := sample{"sac", nil}
			for _, r := range d.t.Trained {
				if r.Finished && r.Experiment == results.ExperimentTargets && r.Label == "sac" && r.Env == "ant-maze" {
					sac.x = append(sac.x, r.MaxFitness)
				}
			}
			sac.x = d.note(sac.x, "sac on ant-maze")
			_, b := d.families("ant-maze", results.MaxFitness)
			return b.median() > sac.median(), against(b, sac)
		}},
	{"ant-trap-coverage", "on ant-trap PGA-MAP-Elites ends near full coverage (90 % of the cells)",
		"figure 6", func(d *data) (bool, string) {
			x := d.scores("pga-map-elites", "ant-trap", results.Coverage)
			return stats.Median(x) >= nearlyFull, fmt.Sprintf("median coverage %.1f %%", stats.Median(x))
		}},
	{"ant-trap-fitness", "on ant-trap DADS+REWARD has the best max fitness",
		"table 1", func(d *data) (bool, string) {
			a := sample{"dads-reward", d.scores("dads-reward", "ant-trap", results.MaxFitness)}
			others := slices.DeleteFunc(slices.Clone(methods), func(label string) bool { return label == a.label })
			b := best(of(others, func(label string) []float64 { return d.scores(label, "ant-trap", results.MaxFitness) }))
			return a.median() > b.median(), against(a, b)
		}},
	{"ant-trap-smerl", "on ant-trap SMERL stays in the trap (max fitness up to 500), PGA-MAP-Elites and DADS+REWARD do not",
		"table 1", func(d *data) (bool, string) {
			holds := true
			var words []string
			for _, label := range []string{"smerl-diayn", "smerl-dads", "pga-map-elites", "dads-reward"} {
				median := stats.Median(d.scores(label, "ant-trap", results.MaxFitness))
				words = append(words, label+" "+number(median))
				holds = holds && (median <= trapped) == strings.HasPrefix(label, "smerl")
			}
			return holds, strings.Join(words, ", ")
		}},

	{"adaptation-small", "PGA variants match mutual-information methods for changes of gravity and legs below 50 % (best against " +
		"best, within 20 %, at 75 % of the values)", "figure 4", func(d *data) (bool, string) {
		wins := tally{unit: " values"}
		for _, p := range panels() {
			for _, x := range d.multipliers(p.perturbation, p.env) {
				if math.Abs(x-1) >= 0.5-1e-9 {
					continue
				}
				a, b := d.adapted(p, []string{"pga-map-elites", "pga-aurora"}, x), d.adapted(p, reinforcement, x)
				wins.add(a.median() >= b.median()-level*math.Abs(b.median()), fmt.Sprintf("%s %s %g", p.env, p.perturbation, x))
			}
		}
		if wins.all == 0 {
			d.need("multipliers between 0.5 and 1.5")
		}
		return float64(wins.yes) >= mostly*float64(wins.all), wins.String()
	}},
	{"adaptation-extreme", "QD methods are best in at least 10 of the 12 extreme cases (two ends of six panels)",
		"figure 4", func(d *data) (bool, string) {
			wins := tally{unit: " cases"}
			for _, p := range panels() {
				values := d.multipliers(p.perturbation, p.env)
				if len(values) < 2 || values[0] >= 1 || values[len(values)-1] <= 1 {
					d.need(fmt.Sprintf("multipliers on both sides of 1 for %s on %s", p.perturbation, p.env))
					continue
				}
				for _, x := range []float64{values[0], values[len(values)-1]} {
					a, b := d.adapted(p, neuroevolution, x), d.adapted(p, reinforcement, x)
					wins.add(a.median() > b.median(), fmt.Sprintf("%s %s %g (%s)", p.env, p.perturbation, x, b.label))
				}
			}
			return wins.yes >= 10, wins.String()
		}},
	{"gravity-quarter", "at a quarter of gravity PGA-MAP-Elites loses at most 40 % of its fitness, mutual-information methods at least 60 %",
		"figure 13", func(d *data) (bool, string) {
			worst, bestOther := math.Inf(1), math.Inf(-1)
			at, atOther := "", ""
			for _, env := range gaits {
				if gain := stats.Median(d.gains(results.Gravity, env, "pga-map-elites", 0.25)); gain < worst {
					worst, at = gain, env
				}
				for _, label := range reinforcement {
					if gain := stats.Median(d.gains(results.Gravity, env, label, 0.25)); gain > bestOther {
						bestOther, atOther = gain, label+" on "+env
					}
				}
			}
			return worst >= -0.4 && bestOther <= -0.6, fmt.Sprintf("PGA-MAP-Elites at worst %s (%s), the others at best %s (%s)",
				percent(worst), at, percent(bestOther), atOther)
		}},
	{"gravity-map-elites", "MAP-Elites on ant-uni drops by at most 20 % over the whole range of gravity",
		"figure 13", func(d *data) (bool, string) {
			worst, at := math.Inf(1), 0.0
			for _, x := range d.multipliers(results.Gravity, "ant-uni") {
				if gain := stats.Median(d.gains(results.Gravity, "ant-uni", "map-elites", x)); gain < worst {
					worst, at = gain, x
				}
			}
			return worst >= -0.2, fmt.Sprintf("at worst %s, at %g times gravity", percent(worst), at)
		}},
	{"leg-smerl-near", "on ant-uni, for changes of a leg up to 25 %, SMERL(DIAYN) beats DIAYN+REWARD by more than 20 %",
		"figure 4", func(d *data) (bool, string) {
			return d.leg(func(x float64) bool { return math.Abs(x-1) <= 0.25+1e-9 },
				func(smerl, sum float64) bool { return smerl > sum+0.2*math.Abs(sum) })
		}},
	{"leg-smerl-far", "on ant-uni, for changes of a leg beyond 60 %, DIAYN+REWARD matches (within 20 %) or beats SMERL(DIAYN)",
		"figure 4", func(d *data) (bool, string) {
			return d.leg(func(x float64) bool { return math.Abs(x-1) > 0.6 },
				func(smerl, sum float64) bool { return sum > smerl || similar(smerl, sum) })
		}},
	{"pga-aurora-adapts", "on ant-uni PGA-AURORA adapts better than MAP-Elites over the whole range of gravity and 80 % of that of the leg",
		"figure 4", func(d *data) (bool, string) {
			holds := true
			var words []string
			for _, c := range []struct {
				perturbation string
				part         float64
			}{{results.Gravity, 1}, {results.Actuators, 0.8}} {
				var wins tally
				for _, x := range append(d.multipliers(c.perturbation, "ant-uni"), 1) {
					a, b := d.adaptation(c.perturbation, "ant-uni", "pga-aurora", x), d.adaptation(c.perturbation, "ant-uni", "map-elites", x)
					wins.add(stats.Median(a) > stats.Median(b), fmt.Sprint(x))
				}
				holds = holds && float64(wins.yes) >= c.part*float64(wins.all)-1e-9
				words = append(words, c.perturbation+": "+wins.String())
			}
			return holds, strings.Join(words, "; ")
		}},

	{"hurdles-jump", "only with skills of PGA-MAP-Elites and DIAYN+REWARD the controller jumps repeatedly (2 hurdles an episode)",
		"figure 5", func(d *data) (bool, string) {
			holds := true
			var words []string
			for _, label := range methods {
				_, x := d.t.FinalControl(label)
				x = d.note(x, "hurdles with "+label)
				jumps := stats.Median(x) >= repeatedly
				holds = holds && jumps == (label == "pga-map-elites" || label == "diayn-reward")
				words = append(words, fmt.Sprintf("%s %.1f", label, stats.Median(x)))
			}
			return holds, "hurdles per episode: " + strings.Join(words, ", ")
		}},
	{"hurdles-fitness", "on hurdles, skills of PGA-MAP-Elites and DIAYN+REWARD reach similar fitness (within 20 %)",
		"figure 5", func(d *data) (bool, string) {
			pair := of([]string{"pga-map-elites", "diayn-reward"}, func(label string) []float64 {
				x, _ := d.t.FinalControl(label)
				return d.note(x, "hurdles with "+label)
			})
			return similar(pair[0].median(), pair[1].median()), against(pair[0], pair[1])
		}},

	{"sensitivity-median", "over the grids MAP-Elites' median QD score is better than DADS+REWARD's on all four tasks",
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
	{"sensitivity-spread", "over the grids DADS+REWARD's QD score spreads more than MAP-Elites' on most tasks (interquartile range, " +
		"in parts of the median)", "figure 3", func(d *data) (bool, string) {
		var wins tally
		var words []string
		for _, env := range grids {
			a, b := spread(d.grid("map-elites", env)), spread(d.grid("dads-reward", env))
			wins.add(b > a, env)
			words = append(words, fmt.Sprintf("%s %.2f against %.2f", env, b, a))
		}
		return float64(wins.yes) > most*float64(wins.all), join(wins.String(), strings.Join(words, ", "))
	}},
	{"sensitivity-ant-uni", "on ant-uni even the worst setting of MAP-Elites beats the best of DADS+REWARD",
		"figure 14", func(d *data) (bool, string) {
			a, b := d.grid("map-elites", "ant-uni"), d.grid("dads-reward", "ant-uni")
			low, high := lowest(a.x), highest(b.x)
			return low > high, fmt.Sprintf("worst %.2f, best %.2f of the task's maximum", low, high)
		}},
	{"sensitivity-halfcheetah-uni", "on halfcheetah-uni MAP-Elites varies little over the grid (all settings within 20 % of the best)",
		"figure 14", func(d *data) (bool, string) {
			a := d.grid("map-elites", "halfcheetah-uni")
			low, high := lowest(a.x), highest(a.x)
			return similar(low, high), fmt.Sprintf("from %.2f to %.2f of the task's maximum", low, high)
		}},
	{"sensitivity-walker-uni", "on walker-uni both vary alike over their grids (ranges, in parts of the task's maximum, that differ " +
		"by at most 0.2)",
		"figure 14", func(d *data) (bool, string) {
			a, b := d.grid("map-elites", "walker-uni"), d.grid("dads-reward", "walker-uni")
			ra, rb := highest(a.x)-lowest(a.x), highest(b.x)-lowest(b.x)
			return math.Abs(ra-rb) <= level, fmt.Sprintf("ranges %.2f (map-elites) and %.2f (dads-reward)", ra, rb)
		}},

	{"smerl-fitness", "SMERL has a better max fitness than the plain sum of rewards on most tasks (both variants)",
		"table 1", func(d *data) (bool, string) {
			return d.smerlAgainstSum(func(smerl, sum []float64, env string) bool { return stats.Median(smerl) > stats.Median(sum) },
				results.MaxFitness)
		}},
	{"sum-qd-score", "the plain sum has a better QD score than SMERL on most tasks (both variants)",
		"table 1", func(d *data) (bool, string) {
			return d.smerlAgainstSum(func(smerl, sum []float64, env string) bool { return stats.Median(sum) > stats.Median(smerl) },
				results.QDScore)
		}},
	{"sum-variance", "the plain sum varies more over seeds than SMERL on most tasks (standard deviation of max fitness, both variants)",
		"table 9", func(d *data) (bool, string) {
			return d.smerlAgainstSum(func(smerl, sum []float64, env string) bool {
				if len(smerl) == 1 || len(sum) == 1 {
					d.need("2 seeds of each method on " + env)
				}
				return stats.Std(sum) > stats.Std(smerl)
			}, results.MaxFitness)
		}},
	{"edges", "mutual-information methods leave the edges of repertoires empty on the uni tasks: all fill less of the outer tenth " +
		"than any QD method",
		"figure 2", func(d *data) (bool, string) {
			holds := true
			var words []string
			for _, env := range gaits {
				low, high := math.Inf(1), math.Inf(-1)
				for _, label := range neuroevolution {
					low = min(low, stats.Median(d.scores(label, env, results.EdgeCoverage)))
				}
				for _, label := range reinforcement {
					high = max(high, stats.Median(d.scores(label, env, results.EdgeCoverage)))
				}
				holds = holds && low > high
				words = append(words, fmt.Sprintf("%s: up to %.0f %% against at least %.0f %%", env, high, low))
			}
			return holds, strings.Join(words, ", ")
		}},
	{"map-elites-qd-score", "MAP-Elites has the best QD score on ant-maze and halfcheetah-uni",
		"table 1 (the appendix says: on three of the seven tasks)", func(d *data) (bool, string) {
			holds := true
			var words []string
			for _, env := range []string{"ant-maze", "halfcheetah-uni"} {
				top := best(of(methods, func(label string) []float64 { return d.scores(label, env, results.QDScore) }))
				holds = holds && top.label == "map-elites"
				words = append(words, fmt.Sprintf("%s: %s %s", env, top.label, number(top.median())))
			}
			return holds, "best on " + strings.Join(words, ", on ")
		}},
	{"aurora-little-loss", "AURORA loses little QD score against MAP-Elites (median over the tasks of the ratio at least 0.75)",
		"table 1", func(d *data) (bool, string) {
			var ratios []float64
			var words []string
			for _, env := range environments {
				a, b := d.pair("aurora", "map-elites", env, results.QDScore)
				ratio := a.median() / b.median()
				ratios = append(ratios, ratio)
				words = append(words, fmt.Sprintf("%s %.2f", env, ratio))
			}
			return stats.Median(ratios) >= littleLoss, fmt.Sprintf("ratio %.2f (%s)", stats.Median(ratios), strings.Join(words, ", "))
		}},
	{"iqm-ranking", "ranked by interquartile means, methods keep their order by medians in adaptation and on hurdles, except " +
		"PGA-AURORA and DIAYN+REWARD on ant-maze", "figure 18", func(d *data) (bool, string) {
		var same tally
		rank := func(name string, samples []sample, swap bool) {
			for _, s := range samples {
				if len(s.x) > 0 && len(s.x) < minIQM {
					d.need(fmt.Sprintf("%d seeds of %s (fewer have no interquartile mean of their own)", minIQM, name))
				}
			}
			order, other := ranking(samples, stats.Median), ranking(samples, stats.IQM)
			if swap && !slices.Equal(order, other) {
				exchange(order, "pga-aurora", "diayn-reward")
			}
			same.add(slices.Equal(order, other), name)
		}
		for _, p := range panels() { // the mean over the multipliers of a seed stands for its curve
			values := append(d.multipliers(p.perturbation, p.env), 1)
			rank(p.env+" "+p.perturbation, of(methods, func(label string) []float64 {
				var sums []float64
				for _, x := range values {
					scores := d.adaptation(p.perturbation, p.env, label, x)
					if sums == nil {
						sums = make([]float64, len(scores))
					}
					for i := range min(len(scores), len(sums)) {
						sums[i] += scores[i] / float64(len(values))
					}
				}
				return sums
			}), false)
		}
		rank("ant-maze targets", of(methods, func(label string) []float64 {
			return d.note(d.t.TargetMeans(label), evaluated(label, "ant-maze", results.Target))
		}), true)
		rank("hurdles", of(methods, func(label string) []float64 {
			x, _ := d.t.FinalControl(label)
			return d.note(x, "hurdles with "+label)
		}), false)
		return same.yes == same.all, "same order in " + same.String()
	}},

	{"prior-dads", "without the prior the coverage of DADS+REWARD on ant-omni falls to about a quarter (15 to 35 %)",
		"figure 15", func(d *data) (bool, string) { return d.prior("dads-reward", 0.15, 0.35) }},
	{"prior-diayn", "without the prior the coverage of DIAYN+REWARD on ant-omni falls by about 40 % (to 50 to 70 %)",
		"figure 15", func(d *data) (bool, string) { return d.prior("diayn-reward", 0.5, 0.7) }},
	{"reward-fitness", "without the task's reward DIAYN and DADS have a lower max fitness on every task",
		"table 10", func(d *data) (bool, string) {
			wins := tally{unit: " comparisons"}
			for _, env := range environments {
				if env == "pointmaze" {
					continue
				}
				for _, label := range []string{"diayn", "dads"} {
					a, b := d.pair(label, label+"-reward", env, results.MaxFitness)
					wins.add(a.median() < b.median(), label+" on "+env)
				}
			}
			return wins.yes == wins.all, wins.String()
		}},
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// similar tells whether two medians differ by at most a part of the larger.
func similar(a, b float64) bool { return math.Abs(a-b) <= level*max(math.Abs(a), math.Abs(b)) }

// families are the best methods of both families by a metric.
func (d *data) families(env string, m results.Metric) (evolved, learnt sample) {
	samples := func(label string) []float64 { return d.scores(label, env, m) }
	return best(of(neuroevolution, samples)), best(of(reinforcement, samples))
}

// pair are two methods on an environment.
func (d *data) pair(a, b, env string, m results.Metric) (sample, sample) {
	return sample{a, d.scores(a, env, m)}, sample{b, d.scores(b, env, m)}
}

// panel is one of the six of figure 4, left.
type panel struct{ perturbation, env string }

func panels() (list []panel) {
	for _, perturbation := range []string{results.Gravity, results.Actuators} {
		for _, env := range gaits {
			list = append(list, panel{perturbation, env})
		}
	}
	return list
}

// adapted is the best of some methods at a multiplier.
func (d *data) adapted(p panel, labels []string, x float64) sample {
	return best(of(labels, func(label string) []float64 { return d.adaptation(p.perturbation, p.env, label, x) }))
}

// leg compares SMERL(DIAYN) and DIAYN+REWARD at multipliers of a leg of the ant.
func (d *data) leg(at func(x float64) bool, holds func(smerl, sum float64) bool) (bool, string) {
	wins := tally{unit: " values"}
	for _, x := range append(d.multipliers(results.Actuators, "ant-uni"), 1) {
		if !at(x) {
			continue
		}
		smerl := stats.Median(d.adaptation(results.Actuators, "ant-uni", "smerl-diayn", x))
		sum := stats.Median(d.adaptation(results.Actuators, "ant-uni", "diayn-reward", x))
		wins.add(holds(smerl, sum), fmt.Sprintf("%g (%s against %s)", x, number(smerl), number(sum)))
	}
	if wins.all == 0 {
		d.need("multipliers of the leg in that range")
	}
	return wins.yes == wins.all, wins.String()
}

// grid are the normalised QD scores of the settings of a method.
func (d *data) grid(label, env string) sample {
	s := sample{label: label}
	for _, p := range d.t.Sensitivity() {
		if p.Label == label && p.Env == env {
			s.x = append(s.x, p.Normalised)
			if d.min == 0 || p.Seeds < d.min {
				d.min = p.Seeds
			}
			d.max = max(d.max, p.Seeds)
		}
	}
	if len(s.x) < minGrid || slices.ContainsFunc(s.x, math.IsNaN) {
		d.need(fmt.Sprintf("%d settings of %s on %s", minGrid, label, env))
	}
	return s
}

// spread is the interquartile range in parts of the median.
func spread(s sample) float64 {
	q1, q3 := stats.Quartiles(s.x)
	return (q3 - q1) / s.median()
}

func lowest(x []float64) float64  { return stats.Quantile(x, 0) }
func highest(x []float64) float64 { return stats.Quantile(x, 1) }

// smerlAgainstSum counts the tasks on which something is so, for DIAYN and DADS.
func (d *data) smerlAgainstSum(so func(smerl, sum []float64, env string) bool, m results.Metric) (bool, string) {
	holds := true
	var words []string
	for _, variant := range []string{"diayn", "dads"} {
		var wins tally
		for _, env := range environments {
			a, b := d.pair("smerl-"+variant, variant+"-reward", env, m)
			wins.add(so(a.x, b.x, env), env)
		}
		holds = holds && float64(wins.yes) > most*float64(wins.all)
		words = append(words, strings.ToUpper(variant)+": "+wins.String())
	}
	return holds, strings.Join(words, "; ")
}

// prior compares the coverages of a method with the prior and without.
func (d *data) prior(algorithm string, low, high float64) (bool, string) {
	a := sample{"without", d.note(d.t.PriorCoverages(algorithm, false), algorithm+" on ant-omni without the prior")}
	b := sample{"with", d.note(d.t.PriorCoverages(algorithm, true), algorithm+" on ant-omni with the prior, in the experiment prior")}
	ratio := a.median() / b.median()
	return ratio >= low && ratio <= high, fmt.Sprintf("to %s: coverage %s", percent(ratio), against(a, b))
}

// ranking are the labels from the best on.
func ranking(samples []sample, by func([]float64) float64) []string {
	sorted := slices.SortedStableFunc(slices.Values(samples), func(a, b sample) int { return cmp.Compare(by(b.x), by(a.x)) })
	var labels []string
	for _, s := range sorted {
		labels = append(labels, s.label)
	}
	return labels
}

// exchange swaps two names that stand beside each other.
func exchange(list []string, a, b string) {
	i, j := slices.Index(list, a), slices.Index(list, b)
	if i >= 0 && j >= 0 && (i-j == 1 || j-i == 1) {
		list[i], list[j] = list[j], list[i]
	}
}
