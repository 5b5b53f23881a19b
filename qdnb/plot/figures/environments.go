package figures

import (
	"fmt"
	"strings"

	"example.com/qdnb/envs/catalog"
)

// ArenaOf returns the arena, without paths, of a paper environment whose descriptor is a position
// (pointmaze, ant-omni, ant-trap, ant-maze). Its limits are the descriptor's; it has the
// environment's walls and goal.
func ArenaOf(env string) (*Arena, error) {
	task, _ := catalog.Find(env)
	if !task.Positions() {
		return nil, fmt.Errorf("figures: %s has no positions to draw; for an environment of your own "+
			"use watch.SkillTrajectories", env)
	}
	arena := ArenaWithin(task.Descriptor)
	arena.Walls, arena.Goal = task.Walls, task.Goal
	return &arena, nil
}

// ArenaWithin returns an arena with the names and limits of a descriptor that is a position.
func ArenaWithin(d catalog.Descriptor) Arena {
	return Arena{
		XLabel: strings.TrimPrefix(d.Components[0], "final "),
		YLabel: strings.TrimPrefix(d.Components[1], "final "),
		Lower:  [2]float64{float64(d.Lower[0]), float64(d.Lower[1])},
		Upper:  [2]float64{float64(d.Upper[0]), float64(d.Upper[1])},
	}
}
