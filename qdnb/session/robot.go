package session

import (
	"cmp"
	"context"
	"errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/runs"
)

// gaits are the settings with which MAP-Elites finds gaits of a robot in minutes.
var gaits = []string{"hidden=[32]", "batch=256", "cells=1024", "iso_sigma=0.05", "line_sigma=0.1"}

// tracking are the settings with which PPO learns to follow commanded velocities in minutes. An iteration plays
// whole episodes, so that it learns from all commands.
var tracking = []string{"num_envs=64", "unroll_length=25", "batch_size=80", "num_minibatches=8", "update_epochs=4",
	"learning_rate=0.0005", "clip_epsilon=0.2", "entropy_cost=0.003", "discount=0.97", "reward_scaling=10",
	"normalize_observations=true", "normalize_advantages=true", "initial_scale=0.2", "policy_hidden=[64,64]",
	"value_hidden=[64,64]", "slice=32", "evaluation_envs=32", "evaluation_interval=5", "cells=256"}

// trackingStride is the stride of the task then. Without it PPO learns to stand still: the noise of its actions does
// not step, and costs more than it earns by tracking.
const trackingStride = 2

// readRobot replaces Robot by its environment, and sets the algorithm of its task and the budget, unless they are set.
func (s *Spec) readRobot(ctx context.Context) error {
	if s.Env != "" || s.Environment != nil {
		return errors.New("Robot, Env and Environment are mutually exclusive: set one of them")
	}
	robot, err := envs.ReadRobot(ctx, s.Robot, s.Task)
	if err != nil {
		return err
	}
	stored, _ := envs.Robot(robot)
	budget := Generations(100)
	switch {
	case s.Algorithm != "" || s.Loop != nil:
	case stored.Task.Task == envs.Velocity:
		s.Algorithm, s.Tune, budget = "ppo", Tuning(runs.Assign(tracking...)).And(s.Tune), Generations(400)
		stored.Task.Stride = cmp.Or(stored.Task.Stride, trackingStride)
		if stepping, err := stored.Task.Environment(stored.Model); err == nil { // else it has no position servos, and no stride
			robot = stepping
		}
	default:
		s.Algorithm, s.Tune = "map-elites", Tuning(runs.Assign(gaits...)).And(s.Tune)
	}
	s.Environment, s.Budget = robot, cmp.Or(s.Budget, budget)
	return nil
}
