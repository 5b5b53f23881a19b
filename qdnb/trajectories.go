package qdnb

import (
	"fmt"

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
	spec := env.Spec()
	if !spec.Positions() {
		return figures.Arena{}, errors.Errorf("%s has no positions to draw", spec.Name)
	}
	arena := figures.ArenaWithin(spec.Descriptor)
	if m, ok := env.(maze); ok {
		arena.Walls = m.Walls()
	}
	if m, ok := env.(goal); ok {
		end := m.Goal()
		arena.Goal = &end
	}
	return arena, nil
}
