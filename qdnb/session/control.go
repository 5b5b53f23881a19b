package session

import (
	"context"
	"fmt"
	"path/filepath"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Control trains a meta-controller on the skills of a run, like [Train]. The hyperparameters of the run
// are [policies.ControlSettings].
func Control(ctx context.Context, o Options, skills *runs.Run) (*runs.Run, error) {
	return run(ctx, o, &controlling{skills: skills}, skills)
}

// controlling is the [job] of [Control]: a training in the environment of the skills.
type controlling struct {
	training
	skills *runs.Run
}

func (c *controlling) open(s *session, platform *xla.Platform, arrays map[string]npz.Array) error {
	var settings policies.ControlSettings
	if err := s.Config.Settings(&settings); err != nil {
		return err
	}
	skills, _, err := policies.ForControl(c.skills)
	if err != nil {
		return err
	}
	env, err := settings.Options(skills)
	if err != nil {
		return err
	}
	c.Training = Training{Options: s.Options, Env: env, Algorithm: settings.Algorithm()}
	return c.training.open(s, platform, arrays)
}

// finish also writes the meta-controller.
func (c *controlling) finish() (string, error) {
	policy, err := c.search.(*ppo.Search).Policy()
	if err != nil {
		return "", err
	}
	if err := npz.Write(filepath.Join(c.writer.Dir, policies.ControllerFile), policy); err != nil {
		return "", fmt.Errorf("cannot write the policy of %s: %v; %s from the last checkpoint",
			c.writer.Name(), err, cell.Rerun())
	}
	return c.training.finish()
}
