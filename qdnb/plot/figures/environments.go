package figures

import (
	"fmt"
	"slices"
	"strings"
)

// environment describes a paper environment whose descriptors can be drawn as a map. Package envs
// has the same data but builds graphs; a test of package qdnb keeps the two in sync.
type environment struct {
	names        [2]string // of the descriptor components
	lower, upper [2]float64
	positions    bool // the descriptors are a position in the plane
	walls        []Rect
	goal         *Rect
}

var environments = map[string]environment{
	"pointmaze": {
		names: [2]string{"final x", "final y"}, lower: [2]float64{-1, -1}, upper: [2]float64{1, 1},
		positions: true,
		walls:     []Rect{{-0.5, -0.5, 1, -0.49}, {-1, 0.2, 0.5, 0.21}},
		goal:      &Rect{-0.55, 0.75, -0.45, 0.85},
	},
	"ant-omni": {
		names: [2]string{"final x (m)", "final y (m)"}, lower: [2]float64{-30, -30},
		upper: [2]float64{30, 30}, positions: true,
	},
	"ant-trap": {
		names: [2]string{"final x (m)", "final y (m)"}, lower: [2]float64{0, -8},
		upper: [2]float64{30, 8}, positions: true,
		walls: []Rect{{11.5, -2.5, 12.5, 2.5}, {6.5, 2.5, 12.5, 3.5}, {6.5, -3.5, 12.5, -2.5}},
	},
	"ant-maze": {
		names: [2]string{"final x (m)", "final y (m)"}, lower: [2]float64{-5, -5},
		upper: [2]float64{40, 40}, positions: true,
		walls: []Rect{
			// outer walls
			{-5.5, -5.5, 40.5, -4.5}, {-5.5, 39.5, 40.5, 40.5}, {-5.5, -4.5, -4.5, 39.5},
			{39.5, -4.5, 40.5, 39.5},
			{19.5, -4.5, 20.5, 19.5}, {10.5, 7, 19.5, 8}, {9.5, 20.25, 10.5, 39.75},
		},
	},
	"walker-uni": {
		names: [2]string{"contact of right foot", "contact of left foot"}, upper: [2]float64{1, 1},
	},
	"halfcheetah-uni": {
		names: [2]string{"contact of front foot", "contact of back foot"}, upper: [2]float64{1, 1},
	},
}

// ArenaOf returns the arena, without paths, of a paper environment whose descriptor is a position
// (pointmaze, ant-omni, ant-trap, ant-maze). Its limits are the descriptor's; it has the
// environment's walls and goal.
func ArenaOf(env string) (*Arena, error) {
	e, ok := environments[env]
	if !ok || !e.positions {
		return nil, fmt.Errorf("figures: %s has no positions to draw; for an environment of your own "+
			"use watch.SkillTrajectories", env)
	}
	a := &Arena{
		XLabel: strings.TrimPrefix(e.names[0], "final "),
		YLabel: strings.TrimPrefix(e.names[1], "final "),
		Lower:  e.lower, Upper: e.upper, Walls: slices.Clone(e.walls),
	}
	if e.goal != nil {
		goal := *e.goal
		a.Goal = &goal
	}
	return a, nil
}
