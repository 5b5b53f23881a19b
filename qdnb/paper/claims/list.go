package claims

import (
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/stats"
)

var (
	neuroevolution = records.Names(records.Neuroevolution)
	reinforcement  = records.Names(records.Reinforcement)
	methods        = records.Compared()
	environments   = protocol.Environments()
	gaits          = protocol.Gaits()
)

// Numbers for the paper's words.
const (
	level      = 0.2  // "similar", "matches", "small loss": medians differ by at most this fraction
	trapped    = 500  // max fitness on ant-trap without leaving the trap; 449 in the paper
	repeatedly = 2    // "jump repeatedly": hurdles per episode
	littleLoss = 0.75 // "loses little": fraction of the score that is kept
	farDrop    = 0.65 // "drops of 70 %": at least this fraction
	minGrid    = 4    // settings required for the spread of a grid; 9 in the paper
)

func above(a, b float64) bool { return a > b }

// similar reports whether two medians differ by at most the fraction level of the larger.
func similar(a, b float64) bool { return math.Abs(a-b) <= level*max(math.Abs(a), math.Abs(b)) }

// matches reports whether median a is at most the fraction level below median b.
func matches(a, b float64) bool { return a >= b-level*math.Abs(b) }

// without returns methods except one.
func without(labels []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(labels), func(label string) bool { return label == one })
}

var list = []claim{
	{"qd-score", "on every task but ant-omni the best QD method has a better QD score than the best " +
		"mutual-information method", "table 1", (*check).everywhere, func(c *check) {
		for _, env := range without(c.tasks(methods), "ant-omni") {
			c.compare("", env, c.share(env), c.bestOf(neuroevolution, env, results.QDScore),
				c.bestOf(reinforcement, env, results.QDScore), above)
		}
	}},
	{"qd-score-omni", "on ant-omni the QD score of DADS+REWARD is on the level of MAP-Elites' (within 20 %)", "table 1",
		(*check).everywhere, func(c *check) {
			c.versus("", "ant-omni", results.QDScore, "dads-reward", "map-elites", similar)
		}},
	{"max-fitness", "no single method has the best max fitness on all tasks (best and second best)",
		"table 1", func(c *check) bool { return c.winner() == "" }, func(c *check) {
			for _, env := range c.tasks(methods) {
				top := c.bestOf(methods, env, results.MaxFitness)
				for _, label := range methods { // equal in the digits of a table
					own := c.scores(label, env, results.MaxFitness).median()
					if own >= top.median()-1e-3*math.Abs(top.median()) {
						c.best[label]++
					}
				}
				c.compare("", env, c.share(env), top, c.bestOf(without(methods, top.label), env, results.MaxFitness), above)
			}
			if label := c.winner(); label != "" && len(c.some) > 0 {
				c.short, c.shortRuns = "one method is the best on the tasks that decide, but perhaps not on all", []string{label}
			}
		}},
	{"pga-fitness", "PGA-MAP-Elites has the best max fitness on pointmaze and walker-uni", "table 1", (*check).everywhere,
		func(c *check) {
			for _, env := range []string{"pointmaze", "walker-uni"} {
				c.compare("", env, c.share(env), c.scores("pga-map-elites", env, results.MaxFitness),
					c.bestOf(without(methods, "pga-map-elites"), env, results.MaxFitness), above)
			}
		}},
	{"pga-efficiency", "PGA-MAP-Elites is more sample-efficient than MAP-Elites: after the same number " +
		"of steps its max fitness is better on most tasks", "figure 7", (*check).mostly, func(c *check) {
		c.same = true
		pair := []string{"pga-map-elites", "map-elites"}
		for _, env := range c.tasks(pair) {
			steps := math.Inf(1) // reached by both
			for _, label := range pair {
				for _, x := range c.whole.Scores(label, env, results.EnvSteps) {
					steps = min(steps, x)
				}
			}
			var samples []sample
			for _, label := range pair {
				trained := c.whole.FinishedRuns(label, env)
				c.note(trained, results.Trained.StepsRatio)
				samples = append(samples, c.take(label, results.MaxFitness.AfterSteps(steps, trained), label+" on "+env))
			}
			c.compare("", fmt.Sprintf("%s after %s steps", env, tables.Count(steps)), math.NaN(), samples[0], samples[1], above)
		}
	}},
	{"ant-trap", "on ant-trap DADS+REWARD has the best max fitness; SMERL stays in the trap (up to 500), " +
		"PGA-MAP-Elites does not", "table 1", (*check).everywhere, func(c *check) {
		const env = "ant-trap"
		c.smerl = true
		c.compare("best", "", c.share(env), c.scores("dads-reward", env, results.MaxFitness),
			c.bestOf(without(methods, "dads-reward"), env, results.MaxFitness), above)
		c.compare("trapped", "", c.share(env), c.bestOf(records.Compared("smerl"), env, results.MaxFitness),
			c.scores("pga-map-elites", env, results.MaxFitness),
			func(smerl, pga float64) bool { return smerl <= trapped && pga > trapped })
	}},
	{"ant-maze", "on ant-maze mutual-information methods reach a better max fitness than QD methods (by " +
		"jumping over a wall)", "table 1", (*check).everywhere, func(c *check) {
		const env = "ant-maze"
		c.compare("", "", c.share(env), c.bestOf(reinforcement, env, results.MaxFitness),
			c.bestOf(neuroevolution, env, results.MaxFitness), above)
	}},
	{"smerl", "SMERL has a better max fitness than the plain sum of rewards, and a lower QD score, on " +
		"most tasks", "table 1", (*check).mostly, func(c *check) {
		c.smerl = true
		tasks := c.tasks(reinforcement)
		for _, variant := range records.Names(records.Unrewarded) {
			smerl, sum := "smerl-"+variant, variant+"-reward"
			for _, env := range tasks {
				c.versus(variant+" max fitness", env, results.MaxFitness, smerl, sum, above)
				c.versus(variant+" QD score", env, results.QDScore, sum, smerl, above)
			}
		}
	}},
	{"aurora", "AURORA loses little QD score against MAP-Elites (it keeps 75 % on most tasks)", "table 1", (*check).mostly,
		func(c *check) {
			for _, env := range c.tasks([]string{"aurora", "map-elites"}) {
				c.versus("", env, results.QDScore, "aurora", "map-elites", func(a, b float64) bool { return a >= littleLoss*b })
			}
		}},

	{"adaptation-small", "PGA variants match mutual-information methods for changes of gravity and legs " +
		"below 50 % (best against best, mean over the values, at most 20 % behind)", "figure 4", (*check).mostly,
		func(c *check) {
			c.panels(func(perturbation, env string, values []float64) {
				values = slices.DeleteFunc(values, func(x float64) bool { return math.Abs(x-1) > 0.5-1e-9 })
				c.compare("", env+" "+perturbation, math.NaN(), c.adapted(records.Compared("pga"), perturbation, env, values),
					c.adapted(reinforcement, perturbation, env, values), matches)
			})
		}},
	{"adaptation-extreme", "QD methods are best at the extremes of gravity and legs (best against best, at " +
		"least 10 of 12)", "figure 4", func(c *check) bool {
		won, _ := c.won("")
		return won >= 10
	}, func(c *check) {
		c.panels(func(perturbation, env string, values []float64) {
			if len(values) < 2 {
				return
			}
			for _, x := range []float64{slices.Min(values), slices.Max(values)} {
				at := []float64{x}
				c.compare("", fmt.Sprintf("%s %s × %g", env, perturbation, x), math.NaN(),
					c.adapted(neuroevolution, perturbation, env, at), c.adapted(reinforcement, perturbation, env, at), above)
			}
		})
	}},
	{"adaptation-map-elites", "on ant-uni MAP-Elites loses at most 20 % of its fitness over the whole " +
		"range of gravity, another method 70 % (largest losses, in percent)", "figure 13", (*check).everywhere,
		func(c *check) {
			const env = "ant-uni"
			largest := func(label string) (worst sample) {
				for _, x := range c.whole.Multipliers(results.Gravity, env) {
					gains := c.whole.Gains(results.Gravity, env, label, x)
					percents := lists.Map(gains, func(gain float64) float64 { return -100 * gain })
					if s := (sample{label, percents}); len(worst.x) == 0 || s.median() > worst.median() {
						worst = s
					}
				}
				return c.skills(label, env, worst.x, label+" under changed gravity on "+env)
			}
			c.compare("", "", math.NaN(), largest("map-elites"), best(without(methods, "map-elites"), largest),
				func(own, other float64) bool { return own <= 100*level && other >= 100*farDrop })
		}},
	{"adaptation-targets", "on moved targets of ant-maze PGA-MAP-Elites is close to the best of " +
		"DIAYN+REWARD and DADS+REWARD (at most 20 % behind)", "figure 4", (*check).everywhere, func(c *check) {
		targets := func(label string) sample {
			return c.skills(label, "ant-maze", c.whole.TargetMeans(label), label+" with moved targets")
		}
		c.compare("", "", math.NaN(), targets("pga-map-elites"), best(records.Compared("-reward"), targets), matches)
	}},

	{"hurdles", "only with skills of PGA-MAP-Elites and DIAYN+REWARD does the controller jump repeatedly " +
		"(2 hurdles per episode)", "figure 5", (*check).everywhere, func(c *check) {
		hurdles := func(label string) sample {
			_, x := c.whole.FinalControl(label)
			return c.skills(label, "halfcheetah-uni", x, "hurdles with "+label)
		}
		for _, label := range []string{"pga-map-elites", "diayn-reward"} {
			others := without(without(methods, "pga-map-elites"), "diayn-reward")
			c.compare("", "", math.NaN(), hurdles(label), best(others, hurdles),
				func(own, other float64) bool { return own >= repeatedly && other < repeatedly })
		}
	}},
	{"sensitivity", "over their grids of hyperparameters MAP-Elites has a better median QD score than " +
		"DADS+REWARD on all four tasks (divided by the task's maximum)", "figure 3", (*check).everywhere, func(c *check) {
		for _, env := range protocol.GridEnvironments() {
			share := c.shareIn(results.ExperimentSensitivity, env)
			grid := func(label string) sample {
				c.note(c.cut.TrainedIn(results.ExperimentSensitivity, label, env), func(results.Trained) float64 { return share })
				var x []float64 // the settings are the sample
				for _, p := range c.cut.SensitivityOf(label, env) {
					x = append(x, p.Normalised)
					c.count(p.Seeds)
				}
				if len(x) < minGrid {
					return c.take(label, nil, fmt.Sprintf("%d settings of %s on %s", minGrid, label, env))
				}
				return sample{label, x}
			}
			c.compare("", env, share, grid("map-elites"), grid("dads-reward"), above)
		}
	}},
	{"prior", "without the prior the coverage on ant-omni falls to about a quarter with DADS+REWARD (15 " +
		"to 35 %), and by about 40 % with DIAYN+REWARD (to 50 to 70 %)", "figure 15", (*check).everywhere, func(c *check) {
		share := c.shareIn(results.ExperimentPrior, "ant-omni")
		for _, method := range []struct {
			label     string
			low, high float64
		}{{"dads-reward", 0.15, 0.35}, {"diayn-reward", 0.5, 0.7}} {
			coverage := func(prior bool, name string) sample {
				trained := c.cut.PriorRuns(method.label, prior)
				c.note(trained, func(results.Trained) float64 { return share })
				return c.take(name, results.Coverage.Scores(trained), method.label+" "+name+" prior")
			}
			c.compare("", method.label, share, coverage(false, "without"), coverage(true, "with"),
				func(a, b float64) bool { return method.low*b <= a && a <= method.high*b })
		}
	}},
	{"reward", "without the task's reward DIAYN and DADS have a lower max fitness on every task, and a " +
		"lower QD score on every task but ant-omni", "table 10", (*check).everywhere, func(c *check) {
		for _, label := range records.Names(records.Unrewarded) {
			for _, env := range without(environments, "pointmaze") {
				c.versus(label+" max fitness", env, results.MaxFitness, label+"-reward", label, above)
				if env != "ant-omni" {
					c.versus(label+" QD score", env, results.QDScore, label+"-reward", label, above)
				}
			}
		}
	}},
}

// panels calls a function with the left panels of the paper's figure 4 and their multipliers except
// 1.
func (c *check) panels(do func(perturbation, env string, values []float64)) {
	for _, perturbation := range []string{results.Gravity, results.Actuators} {
		for _, env := range gaits {
			values := slices.DeleteFunc(c.whole.Multipliers(perturbation, env), func(x float64) bool { return x == 1 })
			if len(values) == 0 {
				c.take("", nil, "adaptation on "+env+" to "+perturbation)
			}
			do(perturbation, env, values)
		}
	}
}

// adapted returns the best of some methods by the mean of their best skills' scores over
// multipliers, one per seed.
func (c *check) adapted(labels []string, perturbation, env string, values []float64) sample {
	return best(labels, func(label string) sample {
		var means []float64
		for _, a := range c.whole.AdaptedRuns(perturbation, env, label) {
			var x []float64
			for _, value := range values {
				if v, ok := a.At(value); ok {
					x = append(x, v.Score)
				}
			}
			means = append(means, stats.Mean(x))
		}
		return c.skills(label, env, means, label+" on "+env+" with changed "+perturbation)
	})
}
