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

// ofScores are the main text's claims on scores at the end of training.
var ofScores = []Claim{
	{"qd-score", "QD methods have a better QD score than mutual-information methods on every task " +
		"but ant-omni (best against best)",
		"table 1", func(d *data) (bool, string) { return d.superior(results.QDScore) }},
	{"coverage", "QD methods have better coverage than mutual-information methods on every task " +
		"but ant-omni (best against best)",
		"figure 6", func(d *data) (bool, string) { return d.superior(results.Coverage) }},
	{"coverage-map-elites",
		"the coverage of MAP-Elites is close to PGA-MAP-Elites' on most tasks (at most 20 % less)",
		"figure 6", func(d *data) (bool, string) {
			var wins tally
			var words []string
			for _, env := range environments {
				a, b := d.pair("map-elites", "pga-map-elites", env, results.Coverage)
				wins.add(closeTo(a.median(), b.median()), env)
				words = append(words, fmt.Sprintf("%s %.0f %% against %.0f %%", env, a.median(), b.median()))
			}
			return wins.majority(), join(wins.String(), strings.Join(words, ", "))
		}},
	{"pga-fitness", "PGA-MAP-Elites has the best max fitness on pointmaze and walker-uni",
		"table 1", func(d *data) (bool, string) {
			return d.first("pga-map-elites", []string{"pointmaze", "walker-uni"}, results.MaxFitness)
		}},
	{"pga-efficiency",
		"PGA-MAP-Elites is more sample-efficient than MAP-Elites: after the same number of steps its " +
			"max fitness is better on most tasks", "figure 7", func(d *data) (bool, string) {
			var wins tally
			for _, env := range environments {
				steps := math.Inf(1) // reached by both
				pair := []string{"pga-map-elites", "map-elites"}
				for _, label := range pair {
					for _, x := range d.scores(label, env, results.EnvSteps) {
						steps = min(steps, x)
					}
				}
				samples := of(pair, func(label string) (x []float64) {
					for _, r := range d.t.FinishedRuns(label, env) {
						x = append(x, fitnessAfter(r.Curve, steps))
					}
					return d.note(x, "curves of "+label+" on "+env)
				})
				wins.add(samples[0].median() > samples[1].median(),
					fmt.Sprintf("%s after %.2g steps", env, steps))
			}
			return wins.majority(), wins.String()
		}},
	{"qd-score-ant-omni",
		"on ant-omni the QD score of DADS+REWARD is on the level of MAP-Elites' (within 20 %)",
		"table 1", func(d *data) (bool, string) {
			a, b := d.pair("dads-reward", "map-elites", "ant-omni", results.QDScore)
			return similar(a.median(), b.median()), against(a, b)
		}},
	{"max-fitness", "no single method has the best max fitness on all tasks",
		"table 1", func(d *data) (bool, string) {
			count := map[string]int{}
			for _, env := range environments {
				highest := math.Inf(-1)
				samples := d.samples(methods, env, results.MaxFitness)
				for _, s := range samples {
					highest = max(highest, s.median())
				}
				for _, s := range samples {
					if s.median() >= highest-1e-3*math.Abs(highest) { // equal in the digits of a table
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
	{"ant-maze-jump",
		"on ant-maze mutual-information methods reach a better max fitness than QD methods (by jumping " +
			"over a wall)",
		"table 1", func(d *data) (bool, string) {
			a, b := d.families("ant-maze", results.MaxFitness)
			return b.median() > a.median(), against(b, a)
		}},
	{"ant-maze-sac",
		"a plain RL agent does not find the jump: SAC's max fitness on ant-maze is more than 10 % " +
			"below the best mutual-information method's",
		"text on table 1", func(d *data) (bool, string) {
			sac := sample{"sac", nil}
			for _, r := range d.trained(d.t.TrainedIn(results.ExperimentTargets, "sac", "ant-maze")) {
				sac.x = append(sac.x, r.MaxFitness)
			}
			sac.x = d.note(sac.x, "sac on ant-maze")
			_, b := d.families("ant-maze", results.MaxFitness)
			return sac.median() < b.median()-margin*math.Abs(b.median()), against(b, sac)
		}},
	{"ant-trap-coverage", "on ant-trap PGA-MAP-Elites ends near full coverage (90 % of the cells)",
		"figure 6", func(d *data) (bool, string) {
			x := d.scores("pga-map-elites", "ant-trap", results.Coverage)
			return stats.Median(x) >= nearlyFull, fmt.Sprintf("median coverage %.1f %%", stats.Median(x))
		}},
	{"ant-trap-fitness", "on ant-trap DADS+REWARD has the best max fitness",
		"table 1", func(d *data) (bool, string) {
			a := sample{"dads-reward", d.scores("dads-reward", "ant-trap", results.MaxFitness)}
			others := slices.DeleteFunc(slices.Clone(methods),
				func(label string) bool { return label == a.label })
			b := best(d.samples(others, "ant-trap", results.MaxFitness))
			return a.median() > b.median(), against(a, b)
		}},
	{"ant-trap-smerl",
		"on ant-trap SMERL stays in the trap (max fitness up to 500), PGA-MAP-Elites and DADS+REWARD " +
			"do not",
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
}

// ofRewards are the appendix's claims on scores: SMERL against the plain sum of rewards, and single
// methods.
var ofRewards = []Claim{
	{"smerl-fitness",
		"SMERL has a better max fitness than the plain sum of rewards on most tasks (both variants)",
		"table 1", func(d *data) (bool, string) {
			return d.smerlAgainstSum(results.MaxFitness,
				func(smerl, sum []float64) bool { return stats.Median(smerl) > stats.Median(sum) })
		}},
	{"sum-qd-score", "the plain sum has a better QD score than SMERL on most tasks (both variants)",
		"table 1", func(d *data) (bool, string) {
			return d.smerlAgainstSum(results.QDScore,
				func(smerl, sum []float64) bool { return stats.Median(sum) > stats.Median(smerl) })
		}},
	{"sum-variance",
		"the plain sum varies more over seeds than SMERL on most tasks (standard deviation of max " +
			"fitness, both variants)",
		"table 9", func(d *data) (bool, string) { return d.sumVaries(results.MaxFitness) }},
	{"sum-variance-qd-score",
		"the plain sum varies more over seeds than SMERL on most tasks (standard deviation of the QD " +
			"score)",
		"table 9", func(d *data) (bool, string) { return d.sumVaries(results.QDScore) }},
	{"sum-variance-coverage",
		"the plain sum varies more over seeds than SMERL on most tasks (standard deviation of the " +
			"coverage)",
		"figure 6", func(d *data) (bool, string) { return d.sumVaries(results.Coverage) }},
	{"edges", "mutual-information methods leave the edges of repertoires empty on the uni tasks: " +
		"all fill less of the outer tenth than any QD method",
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
			return d.first("map-elites", []string{"ant-maze", "halfcheetah-uni"}, results.QDScore)
		}},
	{"aurora-little-loss",
		"AURORA loses little QD score against MAP-Elites (median ratio over the tasks at least 0.75)",
		"table 1", func(d *data) (bool, string) {
			var ratios []float64
			var words []string
			for _, env := range environments {
				a, b := d.pair("aurora", "map-elites", env, results.QDScore)
				ratio := a.median() / b.median()
				ratios = append(ratios, ratio)
				words = append(words, fmt.Sprintf("%s %.2f", env, ratio))
			}
			return stats.Median(ratios) >= littleLoss,
				fmt.Sprintf("ratio %.2f (%s)", stats.Median(ratios), strings.Join(words, ", "))
		}},
}

// superior checks whether the best QD method beats the best mutual-information method on all tasks
// except ant-omni.
func (d *data) superior(m results.Metric) (bool, string) {
	var wins tally
	weakest := ""
	least := math.Inf(1)
	for _, env := range environments {
		if env == "ant-omni" {
			continue
		}
		a, b := d.families(env, m)
		wins.add(a.median() > b.median(), env)
		if effect := stats.A12(a.x, b.x); effect < least {
			least, weakest = effect, fmt.Sprintf("least on %s: %s", env, against(a, b))
		}
	}
	return wins.yes == wins.all, join(wins.String(), weakest)
}

// first checks whether a method is the best on each of the given tasks.
func (d *data) first(label string, envs []string, m results.Metric) (bool, string) {
	holds := true
	var words []string
	for _, env := range envs {
		top := best(d.samples(methods, env, m))
		holds = holds && top.label == label
		words = append(words, fmt.Sprintf("%s: %s %s", env, top.label, number(top.median())))
	}
	return holds, "best on " + strings.Join(words, ", on ")
}

// fitnessAfter returns the max fitness of a curve after a number of environment steps; NaN before
// its first point.
func fitnessAfter(curve []results.Point, steps float64) float64 {
	fitness := math.NaN()
	for _, p := range curve {
		if p.EnvSteps <= steps {
			fitness = p.MaxFitness
		}
	}
	return fitness
}

// sumVaries checks whether the plain sum varies more over seeds than SMERL on most tasks.
func (d *data) sumVaries(m results.Metric) (bool, string) {
	return d.smerlAgainstSum(m,
		func(smerl, sum []float64) bool { return stats.Std(sum) > stats.Std(smerl) })
}

// families returns the best method of each family by a metric.
func (d *data) families(env string, m results.Metric) (evolved, learnt sample) {
	return best(d.samples(neuroevolution, env, m)), best(d.samples(reinforcement, env, m))
}

func (d *data) samples(labels []string, env string, m results.Metric) []sample {
	return of(labels, func(label string) []float64 { return d.scores(label, env, m) })
}

// pair returns the samples of two methods on an environment.
func (d *data) pair(a, b, env string, m results.Metric) (sample, sample) {
	return sample{a, d.scores(a, env, m)}, sample{b, d.scores(b, env, m)}
}

// smerlAgainstSum counts the tasks on which a condition holds, for DIAYN and DADS.
func (d *data) smerlAgainstSum(m results.Metric, so func(smerl, sum []float64) bool) (bool,
	string) {
	holds := true
	var words []string
	for _, variant := range protocol.Unrewarded() {
		var wins tally
		for _, env := range environments {
			a, b := d.pair("smerl-"+variant, variant+"-reward", env, m)
			wins.add(so(a.x, b.x), env)
		}
		holds = holds && wins.majority()
		words = append(words, strings.ToUpper(variant)+": "+wins.String())
	}
	return holds, strings.Join(words, "; ")
}
