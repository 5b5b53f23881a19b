package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/stats"
)

// ofAdaptation are the paper's claims on few-shot adaptation.
var ofAdaptation = []Claim{
	{"adaptation-small",
		"PGA variants match mutual-information methods for changes of gravity and legs below 50 % " +
			"(best against " +
			"best, within 20 %, at 75 % of the values)", "figure 4", func(d *data) (bool, string) {
			return d.atMultipliers(slight, func(p panel, x float64) bool {
				a, b := d.bestAt(p, pga, x), d.bestAt(p, reinforcement, x)
				return closeTo(a.median(), b.median())
			})
		}},
	{"adaptation-behind",
		"MAP-Elites and AURORA are behind the best of the other methods for changes below 50 % (at 75 " +
			"% of the values)",
		"figure 4", func(d *data) (bool, string) {
			others := slices.Concat(pga, reinforcement)
			return d.atMultipliers(slight, func(p panel, x float64) bool {
				behind := d.bestAt(p, []string{"map-elites", "aurora"}, x)
				return behind.median() < d.bestAt(p, others, x).median()
			})
		}},
	{"adaptation-aurora",
		"AURORA variants adapt almost like their supervised counterparts (at most 20 % behind, at 75 % " +
			"of the values)",
		"figure 4", func(d *data) (bool, string) {
			return d.atMultipliers(every, func(p panel, x float64) bool {
				same := true
				for _, pair := range [][2]string{{"aurora", "map-elites"}, {"pga-aurora", "pga-map-elites"}} {
					a, b := d.adaptation(p.perturbation, p.env, pair[0], x),
						d.adaptation(p.perturbation, p.env, pair[1], x)
					same = closeTo(stats.Median(a), stats.Median(b)) && same
				}
				return same
			})
		}},
	{"adaptation-targets",
		"on the targets of ant-maze PGA-MAP-Elites is close to the best of DIAYN+REWARD and " +
			"DADS+REWARD (at most 20 % behind)", "figure 4", func(d *data) (bool, string) {
			a := sample{"pga-map-elites", d.targets("pga-map-elites")}
			b := best(of(protocol.With("-reward"), d.targets))
			return closeTo(a.median(), b.median()), against(a, b)
		}},
	{"adaptation-extreme",
		"QD methods are best in at least 10 of the 12 extreme cases (two ends of six panels)",
		"figure 4", func(d *data) (bool, string) {
			wins := tally{unit: " cases"}
			for _, p := range panels() {
				values := d.multipliers(p.perturbation, p.env)
				if len(values) < 2 || values[0] >= 1 || values[len(values)-1] <= 1 {
					d.need(fmt.Sprintf("multipliers on both sides of 1 for %s on %s", p.perturbation, p.env))
					continue
				}
				for _, x := range []float64{values[0], values[len(values)-1]} {
					a, b := d.bestAt(p, neuroevolution, x), d.bestAt(p, reinforcement, x)
					wins.add(a.median() > b.median(), fmt.Sprintf("%s %s %g (%s)", p.env, p.perturbation, x,
						b.label))
				}
			}
			return wins.yes >= 10, wins.String()
		}},
	{"gravity-quarter",
		"at a quarter of gravity PGA-MAP-Elites loses at most 40 % of its fitness, mutual-information " +
			"methods at least 60 %",
		"figure 13", func(d *data) (bool, string) {
			worst, bestOther := math.Inf(1), math.Inf(-1)
			at, atOther := "", ""
			for _, env := range gaits {
				if gain := stats.Median(d.gains(env, "pga-map-elites", 0.25)); gain < worst {
					worst, at = gain, env
				}
				for _, label := range reinforcement {
					if gain := stats.Median(d.gains(env, label, 0.25)); gain > bestOther {
						bestOther, atOther = gain, label+" on "+env
					}
				}
			}
			return worst >= -0.4 && bestOther <= -0.6,
				fmt.Sprintf("PGA-MAP-Elites at worst %s (%s), the others at best %s (%s)",
					percent(worst), at, percent(bestOther), atOther)
		}},
	{"gravity-map-elites",
		"MAP-Elites on ant-uni drops by at most 20 % over the whole range of gravity",
		"figure 13", func(d *data) (bool, string) {
			worst, at := math.Inf(1), 0.0
			for _, x := range d.multipliers(results.Gravity, "ant-uni") {
				if gain := stats.Median(d.gains("ant-uni", "map-elites", x)); gain < worst {
					worst, at = gain, x
				}
			}
			return worst >= -0.2, fmt.Sprintf("at worst %s, at %g times gravity", percent(worst), at)
		}},
	{"gravity-others",
		"on ant-uni other methods lose up to 70 % at the extremes of gravity (65 % or more)",
		"figure 13", func(d *data) (bool, string) {
			values := d.multipliers(results.Gravity, "ant-uni")
			worst, at := math.Inf(1), ""
			for _, label := range methods {
				if label == "map-elites" || len(values) == 0 {
					continue
				}
				for _, x := range []float64{values[0], values[len(values)-1]} {
					if gain := stats.Median(d.gains("ant-uni", label, x)); gain < worst {
						worst, at = gain, fmt.Sprintf("%s at %g times gravity", label, x)
					}
				}
			}
			return worst <= -farDrop, fmt.Sprintf("at worst %s (%s)", percent(worst), at)
		}},
	{"leg-smerl-near",
		"on ant-uni, for changes of a leg up to 25 %, SMERL(DIAYN) beats DIAYN+REWARD by more than 20 %",
		"figure 4", func(d *data) (bool, string) {
			return d.leg(func(x float64) bool { return math.Abs(x-1) <= 0.25+1e-9 },
				func(smerl, sum float64) bool { return smerl > sum+0.2*math.Abs(sum) })
		}},
	{"leg-smerl-far",
		"on ant-uni, for changes of a leg beyond 60 %, DIAYN+REWARD matches (within 20 %) or beats " +
			"SMERL(DIAYN)",
		"figure 4", func(d *data) (bool, string) {
			return d.leg(func(x float64) bool { return math.Abs(x-1) > 0.6 },
				func(smerl, sum float64) bool { return sum > smerl || similar(smerl, sum) })
		}},
	{"pga-aurora-adapts",
		"on ant-uni PGA-AURORA adapts better than MAP-Elites over the whole range of gravity and 80 % " +
			"of the leg's",
		"figure 4", func(d *data) (bool, string) {
			holds := true
			var words []string
			for _, c := range []struct {
				perturbation string
				part         float64
			}{{results.Gravity, 1}, {results.Actuators, 0.8}} {
				var wins tally
				for _, x := range append(d.multipliers(c.perturbation, "ant-uni"), 1) {
					a, b := d.adaptation(c.perturbation, "ant-uni", "pga-aurora", x),
						d.adaptation(c.perturbation, "ant-uni", "map-elites", x)
					wins.add(stats.Median(a) > stats.Median(b), fmt.Sprint(x))
				}
				holds = holds && float64(wins.yes) >= c.part*float64(wins.all)-1e-9
				words = append(words, c.perturbation+": "+wins.String())
			}
			return holds, strings.Join(words, "; ")
		}},
}

// ofHurdles are the paper's claims on hierarchical control.
var ofHurdles = []Claim{
	{"hurdles-jump",
		"only with skills of PGA-MAP-Elites and DIAYN+REWARD does the controller jump repeatedly (2 " +
			"hurdles per episode)",
		"figure 5", func(d *data) (bool, string) {
			holds := true
			var words []string
			for _, label := range methods {
				_, x := d.control(label)
				jumps := stats.Median(x) >= repeatedly
				holds = holds && jumps == (label == "pga-map-elites" || label == "diayn-reward")
				words = append(words, fmt.Sprintf("%s %.1f", label, stats.Median(x)))
			}
			return holds, "hurdles per episode: " + strings.Join(words, ", ")
		}},
	{"hurdles-fitness",
		"on hurdles, skills of PGA-MAP-Elites and DIAYN+REWARD reach similar fitness (within 20 %)",
		"figure 5", func(d *data) (bool, string) {
			pair := of([]string{"pga-map-elites", "diayn-reward"}, d.controlled)
			return similar(pair[0].median(), pair[1].median()), against(pair[0], pair[1])
		}},
}

// ofAverages are the paper's claims on results with other averages over seeds.
var ofAverages = []Claim{
	{"statistic", "the best method of a task is the same by mean, median and interquartile mean (at " +
		"75 % of max fitnesses and QD scores)",
		"table 11", func(d *data) (bool, string) {
			wins := tally{unit: " columns"}
			for _, m := range []results.Metric{results.MaxFitness, results.QDScore} {
				for _, env := range environments {
					samples := of(methods, func(label string) []float64 {
						return d.needIQM(d.scores(label, env, m), "on "+env)
					})
					top := best(samples)
					same := true
					for _, average := range []func([]float64) float64{stats.Mean, stats.IQM} {
						highest := math.Inf(-1)
						for _, s := range samples {
							highest = max(highest, average(s.x))
						}
						// equal in the digits of a table
						same = same && average(top.x) >= highest-1e-3*math.Abs(highest)
					}
					wins.add(same, fmt.Sprintf("%s on %s", m, env))
				}
			}
			return wins.threeQuarters(), wins.String()
		}},
	{"iqm-ranking",
		"ranked by interquartile means, methods keep their order by medians in adaptation and on " +
			"hurdles, except " +
			"PGA-AURORA and DIAYN+REWARD on ant-maze", "figure 18", func(d *data) (bool, string) {
			var same tally
			rank := func(name string, samples []sample, swap bool) {
				for _, s := range samples {
					d.needIQM(s.x, "of "+name)
				}
				order, other := ranking(samples, stats.Median), ranking(samples, stats.IQM)
				if swap && !slices.Equal(order, other) {
					exchange(order, "pga-aurora", "diayn-reward")
				}
				same.add(slices.Equal(order, other), name)
			}
			for _, p := range panels() { // a seed's mean over the multipliers stands for its curve
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
			rank("ant-maze targets", of(methods, d.targets), true)
			rank("hurdles", of(methods, d.controlled), false)
			return same.yes == same.all, "same order in " + same.String()
		}},
}

// needIQM records a sample that is too small for its interquartile mean as missing.
func (d *data) needIQM(x []float64, what string) []float64 {
	if len(x) > 0 && len(x) < minIQM {
		d.need(fmt.Sprintf("%d seeds %s (with fewer the interquartile mean is the mean)", minIQM, what))
	}
	return x
}

// slight selects changes below 50 %, every selects all changes.
func slight(x float64) bool { return math.Abs(x-1) < 0.5-1e-9 }
func every(float64) bool    { return true }

// atMultipliers checks whether a condition holds at three quarters of the wanted multipliers of all panels.
func (d *data) atMultipliers(wanted func(x float64) bool, so func(p panel, x float64) bool) (bool,
	string) {
	wins := tally{unit: " values"}
	for _, p := range panels() {
		for _, x := range d.multipliers(p.perturbation, p.env) {
			if wanted(x) {
				wins.add(so(p, x), fmt.Sprintf("%s %s %g", p.env, p.perturbation, x))
			}
		}
	}
	if wins.all == 0 {
		d.need("multipliers between 0.5 and 1.5")
	}
	return wins.threeQuarters(), wins.String()
}

// panel is one of the six left panels of figure 4.
type panel struct{ perturbation, env string }

func panels() (list []panel) {
	for _, perturbation := range []string{results.Gravity, results.Actuators} {
		for _, env := range gaits {
			list = append(list, panel{perturbation, env})
		}
	}
	return list
}

// bestAt returns the best of some methods at a multiplier.
func (d *data) bestAt(p panel, labels []string, x float64) sample {
	return best(of(labels,
		func(label string) []float64 { return d.adaptation(p.perturbation, p.env, label, x) }))
}

// leg compares SMERL(DIAYN) and DIAYN+REWARD at actuator strength multipliers of ant-uni.
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

func ranking(samples []sample, by func([]float64) float64) []string {
	sorted := slices.SortedStableFunc(slices.Values(samples),
		func(a, b sample) int { return cmp.Compare(by(b.x), by(a.x)) })
	var labels []string
	for _, s := range sorted {
		labels = append(labels, s.label)
	}
	return labels
}

func exchange(list []string, a, b string) {
	i, j := slices.Index(list, a), slices.Index(list, b)
	if i >= 0 && j >= 0 && (i-j == 1 || j-i == 1) {
		list[i], list[j] = list[j], list[i]
	}
}
