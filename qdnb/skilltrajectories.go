package qdnb

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/figures"
	"example.com/qdnb/qdnb/runs"
)

// SkillTrajectories draws the ways of all episodes in which the skills of a finished run were last evaluated, those of one skill in one
// colour, with the skill's mean fitness in the legend. It needs no backend. Positions must tell skills of the task apart, as in
// pointmaze and ant-omni, and not how often feet touch the ground.
//
// A way ends where its first episode does. The recorded positions go on for as many steps as an episode may have, since nothing
// restarts the environments of an evaluation, but the descriptor of the episode is the last position that counts.
func SkillTrajectories(run *runs.Run) (*figures.Figure, error) {
	if !slices.Contains(envs.Names(), run.Config.Env) {
		return nil, errors.Errorf("%s is an environment of your own: give it to SkillTrajectoriesIn", run.Config.Env)
	}
	env, err := envs.Make(run.Config.Env)
	if err != nil {
		return nil, err
	}
	return SkillTrajectoriesIn(env, run)
}

// SkillTrajectoriesIn is [SkillTrajectories] with the limits and the walls of a given environment: of one of one's own, that the run was
// trained in.
func SkillTrajectoriesIn(env envs.Env, run *runs.Run) (*figures.Figure, error) {
	skills, err := run.Skills()
	if err != nil {
		return nil, err
	}
	arena, err := arenaOf(env)
	if err != nil {
		return nil, err
	}
	steps, n := skills.Steps(), len(skills.Which)
	switch {
	case n == 0:
		return nil, errors.Errorf("the skills of %s were not evaluated, so there are no trajectories to draw", run.Name())
	case steps == 0 || skills.Dims() != 2:
		return nil, errors.Errorf("the evaluation of %s kept no positions to draw", run.Name())
	}
	labels := skillLabels(skills)
	for i, k := range skills.Which {
		positions, descriptor := skills.Trajectories[2*i*steps:2*(i+1)*steps], skills.Descriptors[2*i:2*i+2]
		path := figures.Path{Label: labels[k], Fitness: float64(skills.Fitnesses[i])}
		for at := range firstEpisode(positions, descriptor, arena.Goal) {
			path.X, path.Y = append(path.X, float64(positions[2*at])), append(path.Y, float64(positions[2*at+1]))
		}
		arena.Paths = append(arena.Paths, path)
	}
	arena.Title = fmt.Sprintf("%s on %s, %d episodes", figures.MethodName(run.Config.Algorithm), run.Config.Env, n)
	return figures.Trajectories(arena)
}

// skillLabels says how each skill did: its mean fitness.
func skillLabels(s *runs.Skills) []string {
	sums, episodes := make([]float64, s.Skills()), make([]float64, s.Skills())
	for i, k := range s.Which {
		sums[k] += float64(s.Fitnesses[i])
		episodes[k]++
	}
	var labels []string
	for k := range sums {
		name := fmt.Sprintf("skill %d", k)
		if s.Count == 0 {
			name = "policy"
		}
		mean, decimals := sums[k]/episodes[k], 0
		if math.Abs(mean) < 100 {
			decimals = 1
		}
		number := strings.Replace(fmt.Sprintf("%.*f", decimals, mean), "-", "−", 1) // as on the axes
		labels = append(labels, name+": "+number)
	}
	return labels
}

// firstEpisode is how many of the positions [steps, 2] are of the first episode: those up to its descriptor, the position before the step
// that ended it, and the one after that step where it is in the goal. A position is the descriptor if it equals it to the bit. Of several
// it is the first that a step into the goal follows, since a policy may leave the goal again and repeat itself; else the last one.
func firstEpisode(positions, descriptor []float32, goal *figures.Rect) int {
	steps, last := len(positions)/2, -1
	for k := range steps {
		if positions[2*k] != descriptor[0] || positions[2*k+1] != descriptor[1] {
			continue
		}
		last = k
		if next := k + 1; goal != nil && next < steps && inside(*goal, float64(positions[2*next]), float64(positions[2*next+1])) {
			return next + 1
		}
	}
	if last < 0 { // something was not a number, or the descriptor is another one
		return steps
	}
	return last + 1
}

// inside tells whether a point is in a rectangle, up to the rounding of float32 at its edges.
func inside(r figures.Rect, x, y float64) bool {
	const margin = 1e-6
	return x > min(r.X0, r.X1)-margin && x < max(r.X0, r.X1)+margin && y > min(r.Y0, r.Y1)-margin && y < max(r.Y0, r.Y1)+margin
}
