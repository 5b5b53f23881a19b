package figures

import (
	"fmt"
	"math"
	"strings"

	"example.com/qdnb/qdnb/runs"
)

// Adaptation draws what a run of adaptation found: over the values of its perturbation the score of
// a method, which is the median fitness of the skill that is best there, and beside it that of the
// skill which is best where nothing is changed. Where targets move, values are their numbers, and
// the second skill is the one that is best on average.
func Adaptation(run *runs.Run) (*Figure, error) {
	panel, err := adaptationPanel(run)
	if err != nil {
		return nil, err
	}
	return Curves([]Panel{panel}, 1)
}

// MultiplierLabel names the axis of a perturbation that multiplies, "gravity" or "actuators", as
// the paper does.
func MultiplierLabel(perturbation string) string {
	if perturbation == "actuators" {
		perturbation = "actuator strength"
	}
	return perturbation + " multiplier"
}

func adaptationPanel(run *runs.Run) (Panel, error) {
	adaptation, err := run.Adaptation()
	if err != nil {
		return Panel{}, fmt.Errorf("figures: %w", err)
	}
	method, _, _ := strings.Cut(adaptation.Skills, "-"+run.Config.Env+"-")
	panel := Panel{XLabel: MultiplierLabel(adaptation.Perturbation),
		YLabel: "median fitness of the best skill"}
	best, fixed := Series{Name: method}, Series{Name: "its best one on average"}
	chosen := -1
	for _, v := range adaptation.Values {
		x := v.X
		if !math.IsNaN(v.Y) { // a position, which has no place on an axis
			x, panel.XLabel = float64(v.Index), adaptation.Perturbation
		} else if x == 1 {
			chosen, _ = v.Best()
			fixed.Name = "its best one unperturbed"
		}
		_, score := v.Best()
		best.X, best.Y = append(best.X, x), append(best.Y, score)
	}
	if fixed.Name == "its best one on average" {
		chosen = bestOnAverage(adaptation.Values)
	}
	panel.Series = []Series{best}
	if chosen >= 0 {
		fixed.X = best.X
		for _, v := range adaptation.Values {
			fixed.Y = append(fixed.Y, v.Score(chosen))
		}
		panel.Series = append(panel.Series, fixed)
	}
	return panel, nil
}

// bestOnAverage is the skill of the largest sum of scores over all values, or -1 if none has a
// score at each: the run is not complete.
func bestOnAverage(values []runs.AdaptedValue) int {
	totals := runs.AdaptedValue{Skills: values[0].Skills}
	for _, skill := range totals.Skills {
		total := 0.0
		for _, v := range values {
			total += v.Score(skill)
		}
		totals.Scores = append(totals.Scores, total)
	}
	best, _ := totals.Best()
	return best
}
