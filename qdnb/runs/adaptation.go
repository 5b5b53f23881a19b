package runs

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Adaptation holds the results of an adaptation run: the skills of another run, each evaluated
// under each value of a perturbation.
type Adaptation struct {
	Perturbation string
	Skills       string         // name of the run that supplies the skills
	Values       []AdaptedValue // by index
}

// AdaptedValue is one value of a perturbation and the scores of the skills under it.
type AdaptedValue struct {
	Index  int       // index in the plan's list of values
	X, Y   float64   // multiplier and NaN, or target position in metres
	Skills []int     // cell or number of each skill; a shipped run has only the best ones
	Scores []float64 // of each skill: median fitness over initial states
	Count  int       // number of evaluated skills
}

// Best returns the skill with the largest score, the first one on ties. NaN scores are ignored; if
// all are NaN, it returns -1 and NaN.
func (v AdaptedValue) Best() (skill int, score float64) {
	skill, score = -1, math.NaN()
	for i, s := range v.Scores {
		if s > score || math.IsNaN(score) && !math.IsNaN(s) {
			skill, score = v.Skills[i], s
		}
	}
	return skill, score
}

// BestOnAverage returns the skill with the largest sum of scores over all values, the first one on
// ties; -1 if no skill has a score at every value, which means that the run is incomplete.
func (a *Adaptation) BestOnAverage() int {
	totals := AdaptedValue{Skills: a.Values[0].Skills}
	for _, skill := range totals.Skills {
		total := 0.0
		for _, v := range a.Values {
			total += v.Score(skill)
		}
		totals.Scores = append(totals.Scores, total)
	}
	best, _ := totals.Best()
	return best
}

// Score returns the score of a skill; NaN if it was not evaluated.
func (v AdaptedValue) Score(skill int) float64 {
	if i := slices.Index(v.Skills, skill); i >= 0 {
		return v.Scores[i]
	}
	return math.NaN()
}

// Columns of metrics.csv of an adaptation run. The number of evaluated skills is in shipped runs,
// which have only some of their rows.
const indexColumn, skillColumn, countColumn = "index", "skill", "skills"

// Adaptation reads the results of an adaptation run so far. It is an error if the run is of another
// kind or has no results yet.
func (r *Run) Adaptation() (*Adaptation, error) {
	if err := Given(r); err != nil {
		return nil, err
	}
	var settings struct {
		Perturbation string `json:"perturbation"`
		Skills       string `json:"skills"`
	}
	if err := json.Unmarshal(r.Config.Hyperparameters, &settings); err != nil {
		return nil, fmt.Errorf("settings of %s: %w", r.Name(), err)
	}
	if settings.Perturbation == "" { // a meta-controller uses skills, too
		return nil, fmt.Errorf("%s is not a run of adaptation", r.Name())
	}
	table, err := r.Metrics()
	if err != nil {
		return nil, err
	}
	var columns [5][]float64
	for i, name := range []string{indexColumn, "x", "y", skillColumn, "fitness_median"} {
		if columns[i], err = table.Column(name); err != nil {
			return nil, fmt.Errorf("metrics.csv of %s: %w", r.Name(), err)
		}
	}
	values := map[int]*AdaptedValue{}
	for i := range table.Rows {
		index := int(columns[0][i])
		v := values[index]
		if v == nil {
			v = &AdaptedValue{Index: index, X: columns[1][i], Y: columns[2][i]}
			values[index] = v
		}
		v.Skills, v.Scores = append(v.Skills, int(columns[3][i])), append(v.Scores, columns[4][i])
		v.Count = len(v.Skills)
	}
	if counts, err := table.Column(countColumn); err == nil {
		for i, count := range counts {
			values[int(columns[0][i])].Count = int(count)
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s has no results yet: its metrics.csv has no rows", r.Name())
	}
	a := &Adaptation{Perturbation: settings.Perturbation, Skills: settings.Skills}
	for _, index := range slices.Sorted(maps.Keys(values)) {
		a.Values = append(a.Values, *values[index])
	}
	return a, nil
}
