package figures

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/runs"
)

// Adaptation draws what a run of adaptation found: over the values of its perturbation the score of a method, which is the median fitness
// of the skill that is best there, and beside it that of the skill which is best where nothing is changed. Where targets move, values are
// their numbers, and the second skill is the one that is best on average.
func Adaptation(run *runs.Run) (*Figure, error) {
	panel, err := adaptationPanel(run)
	if err != nil {
		return nil, err
	}
	return Curves([]Panel{panel}, 1)
}

func adaptationPanel(run *runs.Run) (Panel, error) {
	var settings struct {
		Perturbation string `json:"perturbation"`
		Skills       string `json:"skills"` // name of the run that they are of
	}
	if err := json.Unmarshal(run.Config.Hyperparameters, &settings); err != nil {
		return Panel{}, fmt.Errorf("figures: settings of %s: %w", run.Name(), err)
	}
	table, err := run.Metrics()
	if err != nil {
		return Panel{}, err
	}
	columns := map[string][]float64{}
	for _, name := range []string{"index", "x", "y", "skill", "fitness_median"} {
		if columns[name], err = table.Column(name); err != nil {
			return Panel{}, fmt.Errorf("figures: %s: %w", run.Name(), err)
		}
	}
	if len(table.Rows) == 0 {
		return Panel{}, fmt.Errorf("figures: %s has evaluated nothing yet", run.Name())
	}
	method, _, _ := strings.Cut(settings.Skills, "-"+run.Config.Env+"-")
	panel := Panel{XLabel: settings.Perturbation + " ×", YLabel: "median fitness of the best skill"}
	best := Series{Name: method}
	bySkill := map[float64][]float64{} // scores by value
	nominal := -1
	for i, index := range columns["index"] {
		score, at := columns["fitness_median"][i], int(index)
		if at >= len(best.X) {
			x := columns["x"][i]
			if !math.IsNaN(columns["y"][i]) { // a position, which has no place on an axis
				x, panel.XLabel = index, settings.Perturbation
			} else if x == 1 {
				nominal = at
			}
			best.X, best.Y = append(best.X, x), append(best.Y, score)
		}
		best.Y[at] = max(best.Y[at], score)
		skill := columns["skill"][i]
		bySkill[skill] = append(bySkill[skill], score)
	}
	panel.Series = []Series{best}
	chosen, most := math.NaN(), math.Inf(-1)
	for skill, scores := range bySkill {
		value := 0.0
		switch {
		case len(scores) < len(best.X): // the run is not complete
			continue
		case nominal >= 0:
			value = scores[nominal]
		default:
			for _, s := range scores {
				value += s
			}
		}
		if value > most || value == most && skill < chosen { // the order of a map is random
			chosen, most = skill, value
		}
	}
	if scores, ok := bySkill[chosen]; ok {
		name := "its best one on average"
		if nominal >= 0 {
			name = "its best one unperturbed"
		}
		panel.Series = append(panel.Series, Series{Name: name, X: slices.Clone(best.X), Y: scores})
	}
	return panel, nil
}
