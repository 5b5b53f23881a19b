package figures

import (
	"fmt"
	"math"
	"strings"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/runs"
)

// Adaptation draws the result of an adaptation run: a method's score against the values of the
// perturbation. The score is the median fitness of the best skill at each value. A second curve
// shows the skill that is best without perturbation. Where targets move, the x axis shows their
// indices, and the second curve shows the skill that is best on average.
func Adaptation(run *runs.Run) (*Panel, error) {
	if err := runs.Given(run); err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	adaptation, err := run.Adaptation()
	if err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	method, _, _ := strings.Cut(adaptation.Skills, "-"+run.Config.Env+"-")
	axes := Axes{XLabel: MultiplierLabel(adaptation.Perturbation),
		YLabel: "median fitness of the best skill"}
	best, fixed := Series{Name: method}, Series{Name: "best skill on average"}
	chosen := -1
	for _, v := range adaptation.Values {
		x := v.X
		if !math.IsNaN(v.Y) { // a target position, which no axis shows
			x, axes.XLabel = float64(v.Index), adaptation.Perturbation
		} else if x == 1 {
			chosen, _ = v.Best()
			fixed.Name = "best skill without perturbation"
		}
		_, score := v.Best()
		best.X, best.Y = append(best.X, x), append(best.Y, score)
	}
	if fixed.Name == "best skill on average" {
		chosen = adaptation.BestOnAverage()
	}
	if chosen < 0 {
		return Lines(axes, best)
	}
	fixed.X = best.X
	fixed.Y = lists.Map(adaptation.Values, func(v runs.AdaptedValue) float64 { return v.Score(chosen) })
	return Lines(axes, best, fixed)
}

// MultiplierLabel returns the paper's axis label for a perturbation that multiplies, "gravity" or
// "actuators".
func MultiplierLabel(perturbation string) string {
	if perturbation == string(catalog.ActuatorsMultiplier) {
		perturbation = "actuator strength"
	}
	return perturbation + " multiplier"
}
