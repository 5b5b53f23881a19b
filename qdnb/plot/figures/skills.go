package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/runs"
)

// SkillTrajectories draws the trajectories of all episodes in the last evaluation of the skills of
// a finished run. Each skill has one colour, and the legend shows its mean fitness. The run must
// use a paper environment whose descriptor is a position, see [ArenaOf]. For other environments use
// watch.SkillTrajectories, which knows their limits and walls.
func SkillTrajectories(run *runs.Run) (*Panel, error) {
	if err := runs.Given(run); err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	arena, err := ArenaOf(run.Config.Env)
	if err != nil {
		return nil, err
	}
	return SkillTrajectoriesIn(*arena, run)
}

// SkillTrajectoriesIn is [SkillTrajectories] in a given arena, which needs neither paths nor a
// title.
func SkillTrajectoriesIn(arena Arena, run *runs.Run) (*Panel, error) {
	before := len(arena.Paths)
	skills, err := arena.addSkills(run)
	if err != nil {
		return nil, err
	}
	labels := skillLabels(skills)
	for i, k := range skills.Which {
		arena.Paths[before+i].Label = labels[k]
	}
	arena.Title = fmt.Sprintf("%s on %s, mean fitness of %d episodes", MethodName(run.Config.Algorithm),
		run.Config.Env, len(skills.Which))
	return Trajectories(arena)
}

// AddSkills adds the trajectories of all episodes in the last evaluation of the skills of a
// finished run to the paths of an arena. Labels are "skill 0" and so on, or "policy" for a run
// without skills.
//
// A trajectory ends with its first episode. The recorded positions continue for the maximum episode
// length, because evaluation does not reset the environments, but the descriptor of the episode is
// the last position that counts.
func (a *Arena) AddSkills(run *runs.Run) error {
	_, err := a.addSkills(run)
	return err
}

func (a *Arena) addSkills(run *runs.Run) (*runs.Skills, error) {
	skills, err := run.Evaluation()
	if err != nil {
		return nil, err
	}
	steps, n := skills.Steps(), len(skills.Which)
	switch {
	case n == 0:
		return nil, fmt.Errorf("the skills of %s were not evaluated: there are no trajectories to draw", run.Name())
	case steps == 0 || skills.Dims() != 2:
		return nil, fmt.Errorf("the evaluation of %s kept no positions to draw", run.Name())
	}
	a.Paths = a.Paths[:len(a.Paths):len(a.Paths)]
	for i, k := range skills.Which {
		positions, descriptor := skills.Trajectories[2*i*steps:2*(i+1)*steps],
			skills.Descriptors[2*i:2*i+2]
		path := Path{Label: skillName(skills, k)}
		for at := range firstEpisode(positions, descriptor, a.Goal) {
			path.X, path.Y = append(path.X, float64(positions[2*at])),
				append(path.Y, float64(positions[2*at+1]))
		}
		a.Paths = append(a.Paths, path)
	}
	return skills, nil
}

func skillName(s *runs.Skills, k int) string {
	if s.Count == 0 {
		return "policy"
	}
	return fmt.Sprintf("skill %d", k)
}

func skillLabels(s *runs.Skills) []string {
	var labels []string
	for k := range s.Skills() {
		mean, _ := s.Mean(k)
		decimals := 0
		if math.Abs(mean) < 100 {
			decimals = 1
		}
		number := strings.Replace(fmt.Sprintf("%.*f", decimals, mean), "-", "−", 1) // as on the axes
		labels = append(labels, skillName(s, k)+": "+number)
	}
	return labels
}

// firstEpisode returns how many of the positions [steps, 2] belong to the first episode. The
// episode ends at its descriptor, which is the position before the final step, plus the position
// after that step if it is in the goal. A position is the descriptor if the two are bitwise equal.
// If several positions match, the first one followed by a step into the goal counts, since a policy
// may leave the goal again and repeat itself; otherwise the last one counts.
func firstEpisode(positions, descriptor []float32, goal *Rect) int {
	steps, last := len(positions)/2, -1
	for k := range steps {
		if positions[2*k] != descriptor[0] || positions[2*k+1] != descriptor[1] {
			continue
		}
		last = k
		if next := k + 1; goal != nil && next < steps && contains(*goal, float64(positions[2*next]),
			float64(positions[2*next+1])) {
			return next + 1
		}
	}
	if last < 0 { // a value is NaN, or the descriptor is not a position
		return steps
	}
	return last + 1
}

// contains reports whether a point is in the rectangle, allowing for float32 rounding at its edges.
func contains(r Rect, x, y float64) bool {
	const margin = 1e-6
	return x > min(r.X0, r.X1)-margin && x < max(r.X0, r.X1)+margin && y > min(r.Y0, r.Y1)-margin && y < max(r.Y0, r.Y1)+margin
}

// Adaptation draws the result of an adaptation run: a method's score against the values of the
// perturbation. The score is the median fitness of the best skill at each value. A second curve
// shows the skill that is best without perturbation. Where targets move, the x axis shows their
// indices, and the second curve shows the skill that is best on average.
func Adaptation(run *runs.Run) (*Panel, error) {
	adaptation, err := run.Adaptation()
	if err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	method, _, _ := strings.Cut(adaptation.Skills, "-"+run.Config.Env+"-")
	axes := Axes{XLabel: MultiplierLabel(adaptation.Perturbation), YLabel: "median fitness of the best skill"}
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
	axes.LogX = adaptation.Perturbation == string(catalog.GravityMultiplier) && slices.Min(best.X) > 0 // as in the paper
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
