package qdnb

import (
	"fmt"
	"strings"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// maze is an environment with walls.
type maze interface{ Walls() []envs.Wall }

// goal is an environment with a goal at which an episode ends.
type goal interface{ Goal() envs.Wall }

// Trajectories replays the policies of cells (see [Replay]) and draws their trajectories in the
// plane of the state descriptor, which must be a position.
func Trajectories(run *runs.Run, seed int64, cells ...int) (*figures.Figure, error) {
	env, err := environmentOf(run)
	if err != nil {
		return nil, err
	}
	return TrajectoriesIn(env, run, seed, cells...)
}

// TrajectoriesIn is [Trajectories] in a given environment, see [ReplayIn].
func TrajectoriesIn(env envs.Env, run *runs.Run, seed int64, cells ...int) (*figures.Figure,
	error) {
	arena, err := arenaOf(env)
	if err != nil {
		return nil, err
	}
	episodes, err := ReplayIn(env, run, seed, cells...)
	if err != nil {
		return nil, err
	}
	for i, episode := range episodes {
		path := figures.Path{Label: fmt.Sprintf("cell %d: %s", cells[i], shortNumber(episode.Fitness)),
			Fitness: episode.Fitness}
		for _, position := range episode.Descriptors {
			path.X, path.Y = append(path.X, float64(position[0])), append(path.Y, float64(position[1]))
		}
		arena.Paths = append(arena.Paths, path)
	}
	return figures.Trajectories(arena)
}

// arenaOf returns the plane of an environment whose state descriptor is a position, without paths.
func arenaOf(env envs.Env) (figures.Arena, error) {
	limits := env.Spec().Descriptor
	if limits.Kind != envs.Final || len(limits.Lower) != 2 {
		return figures.Arena{}, errors.Errorf("%s has no positions to draw", env.Spec().Name)
	}
	arena := figures.Arena{
		XLabel: strings.TrimPrefix(limits.Components[0], "final "),
		YLabel: strings.TrimPrefix(limits.Components[1], "final "),
		Lower:  [2]float64{float64(limits.Lower[0]), float64(limits.Lower[1])},
		Upper:  [2]float64{float64(limits.Upper[0]), float64(limits.Upper[1])},
	}
	if m, ok := env.(maze); ok {
		for _, wall := range m.Walls() {
			arena.Walls = append(arena.Walls, figures.Rect(wall))
		}
	}
	if m, ok := env.(goal); ok {
		end := figures.Rect(m.Goal())
		arena.Goal = &end
	}
	return arena, nil
}
