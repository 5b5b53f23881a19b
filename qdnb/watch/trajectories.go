package watch

import (
	"errors"
	"fmt"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// Trajectories draws the recorded episodes: the trajectories in the plane of the state descriptor,
// which must be a position, or the torso over the hurdles in the episode of a meta-controller that
// passed most of them.
func (r *Recording) Trajectories() (figures.Grid, error) {
	if len(r.Results) == 0 || r.Results[0].Recorded == nil {
		return figures.Grid{}, errors.New("the episodes are not recorded: set Record in the Spec")
	}
	if first := r.Results[0]; first.Recorded[0].Choices != nil {
		best := 0
		for i, episode := range first.Recorded {
			if episode.Choices.Hurdles > first.Recorded[best].Choices.Hurdles {
				best = i
			}
		}
		return first.overHurdles(best)
	}
	arena, err := arenaOf(r.env)
	if err != nil {
		return figures.Grid{}, err
	}
	arena.Title = "Recorded episodes, mean fitness"
	for _, result := range r.Results {
		label := fmt.Sprintf("%s: %s", result.Policy, shortNumber(result.Mean()))
		for _, episode := range result.Recorded {
			path := figures.Path{Label: label}
			for _, position := range episode.Path {
				path.X, path.Y = append(path.X, float64(position[0])), append(path.Y, float64(position[1]))
			}
			arena.Paths = append(arena.Paths, path)
		}
	}
	panel, err := figures.Trajectories(arena)
	return figures.InRows(1, panel), err
}

// SkillTrajectories is [figures.SkillTrajectories] with the limits and walls of the custom
// environment that the run was trained in. It needs no backend.
func SkillTrajectories(env envs.Env, run *runs.Run) (*figures.Panel, error) {
	arena, err := arenaOf(env)
	if err != nil {
		return nil, err
	}
	return figures.SkillTrajectoriesIn(arena, run)
}

// arenaOf returns the plane of an environment whose state descriptor is a position, without paths.
func arenaOf(env envs.Env) (figures.Arena, error) {
	spec := env.Spec()
	if !spec.Positions() {
		return figures.Arena{}, fmt.Errorf("%s has no positions to draw", spec.Name)
	}
	arena := figures.ArenaWithin(spec.Descriptor)
	env = envs.Inner(env)
	if m, ok := env.(interface{ Walls() []envs.Wall }); ok {
		arena.Walls = m.Walls()
	}
	switch env := env.(type) {
	case interface{ Goal() envs.Wall }:
		end := env.Goal()
		arena.Goal = &end
	case *envs.Rigid:
		moves := slices.ContainsFunc(env.Vary, func(v envs.Variation) bool { return v.Quantity == envs.TargetPosition })
		if at := env.Target; at != nil && !moves {
			arena.Goal = &figures.Rect{X0: at[0], Y0: at[1], X1: at[0], Y1: at[1]}
		}
	}
	return arena, nil
}
