package qdnb

import (
	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// SkillTrajectoriesIn is [figures.SkillTrajectories] with the limits and walls of the custom
// environment that the run was trained in. It needs no backend.
func SkillTrajectoriesIn(env envs.Env, run *runs.Run) (*figures.Figure, error) {
	arena, err := arenaOf(env)
	if err != nil {
		return nil, err
	}
	return figures.SkillTrajectoriesIn(arena, run)
}
