package session

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/hierarchy"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Control trains a meta-controller on the skills of a run. The hyperparameters of the run are
// [policies.ControlSettings]. The metrics hold a row per evaluation.
func Control(ctx context.Context, o Options, skills *runs.Run) (*runs.Run, error) {
	return run(ctx, o, &controlling{skills: skills}, skills)
}

// controlling is the [job] of [Control].
type controlling struct {
	*session
	skills *runs.Run
	search *hierarchy.Search
	last   []string // metrics of the newest evaluation, for the progress bar
}

func (c *controlling) open(s *session, platform *xla.Platform, arrays map[string]npz.Array) error {
	c.session = s
	var settings policies.ControlSettings
	if err := s.Config.Settings(&settings); err != nil {
		return err
	}
	skills, err := policies.ForControl(c.skills)
	if err != nil {
		return err
	}
	if c.search, err = hierarchy.New(platform, skills.Task, skills.Rows, settings.Settings,
		s.Config.Seed); err != nil {
		return err
	}
	if c.from >= 0 {
		if err := c.search.Restore(c.from, arrays); err != nil {
			return fmt.Errorf("%s: %w", c.writer.Name(), err)
		}
	}
	return nil
}

func (c *controlling) compileSeconds() float64 { return c.search.CompileTime().Seconds() }

// columns returns the columns of the metrics. fitness_max is the best of all evaluations so far.
func (c *controlling) columns() []string {
	return append([]string{"generation", "evaluations", "env_steps", "seconds", "fitness_mean",
		"fitness_std", "fitness_max", "hurdles_mean", "hurdles_max"},
		append(c.search.Losses(), runs.FinalColumn)...)
}

func (c *controlling) close() {
	if c.search != nil {
		c.search.Close()
	}
}

func (c *controlling) done() bool {
	return c.search.Iteration() >= 0 && c.Budget.Done(c.status.Progress)
}

func (c *controlling) state() string { return fmt.Sprintf("iteration %d", c.status.Generation) }

// step runs an iteration and records it.
func (c *controlling) step(context.Context) error {
	o, err := c.search.Step()
	if err != nil {
		return err
	}
	s := &c.status
	s.Generation, s.Evaluations, s.EnvSteps = o.Iteration, o.Evaluations, o.EnvSteps
	c.clock()
	if err := c.log(o, 0); err != nil {
		return err
	}
	c.bar.Update(c.fraction(s.Progress), c.metrics()...)
	return nil
}

// conclude evaluates the meta-controller unless the last step did.
func (c *controlling) conclude() error {
	if c.search.Measured() {
		return nil
	}
	o, err := c.search.Conclude()
	if err != nil {
		return err
	}
	return c.log(o, 1)
}

// log updates the status and writes a row of metrics.csv if there was an evaluation.
func (c *controlling) log(o hierarchy.Outcome, final float64) error {
	s := &c.status
	s.MaxFitness = o.Best
	s.Invalid += int64(o.Invalid)
	if e := o.Evaluation; e != nil {
		all := policies.Evaluated{Fitnesses: e.Fitnesses}
		sum, most := 0.0, 0
		for i := range e.Fitnesses {
			passed := policies.HurdlesPassed(float64(e.Farthest(i)))
			sum, most = sum+float64(passed), max(most, passed)
		}
		hurdles := sum / float64(len(e.Fitnesses))
		c.last = []string{fmt.Sprintf("hurdles %.2f", hurdles),
			fmt.Sprintf("mean fitness %.4g", all.Mean())}
		row := []float64{float64(s.Generation), float64(s.Evaluations), float64(s.EnvSteps), s.Seconds,
			all.Mean(), all.Std(), o.Best, hurdles, float64(most)}
		if err := c.writer.Log(append(append(row, o.Losses...), final)...); err != nil {
			return err
		}
	}
	return nil
}

// metrics returns the metrics for the progress bar, the most important first.
func (c *controlling) metrics() []string {
	if err := c.status.AllInvalid(); err != nil {
		return []string{err.Error()}
	}
	return append([]string{fmt.Sprintf("max fitness %.4g", c.status.MaxFitness)}, c.last...)
}

// checkpoint returns the state of the learner.
func (c *controlling) checkpoint() (map[string]npz.Array, bool, error) {
	arrays, err := c.search.Arrays()
	return arrays, true, err
}

// finish writes the meta-controller.
func (c *controlling) finish() (string, error) {
	policy, err := c.search.Policy()
	if err != nil {
		return "", err
	}
	if err := npz.Write(filepath.Join(c.writer.Dir, policies.ControllerFile), policy); err != nil {
		return "", fmt.Errorf("cannot write the policy of %s: %v; %s from the last checkpoint",
			c.writer.Name(), err, cell.Rerun())
	}
	return strings.Join(append([]string{c.state()}, c.metrics()...), "  "), nil
}
