package session

import (
	"context"
	"fmt"
	"math"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Adaptation are the hyperparameters of a run of [Adapt].
type Adaptation struct {
	Skills       string            `json:"skills"` // name of the folder of the run
	SkillsBudget runs.Budget       `json:"skills_budget"`
	Perturbation envs.Perturbation `json:"perturbation"`
	Values       [][]float64       `json:"values"`
	Episodes     int               `json:"episodes"`
	StatesSeed   int64             `json:"states_seed"`
}

// Adapt evaluates all skills of a run under values of a perturbation, or all filled cells of its
// repertoire if it has no skills. env is nil for the run's built-in environment. The hyperparameters of
// the run are an [Adaptation]. The metrics hold a row per value and skill.
func Adapt(ctx context.Context, o Options, skills *runs.Run, env envs.Env) (*runs.Run, error) {
	return run(ctx, o, &adapting{skills: skills, env: env}, skills)
}

// adapting is the [job] of [Adapt]. Its generations are the rows of its metrics.
type adapting struct {
	Adaptation
	*session
	skills   *runs.Run
	env      envs.Env
	set      *policies.Set
	rollouts *policies.Rollouts
	n        int   // policies
	last     int64 // generation: the newest row, -1 before the first
	episodes int   // done, over all sessions
}

// AdaptationDigest is [Training.Digest] for the run of a configuration of [Adapt], in the built-in
// environment of the skills.
func AdaptationDigest(c runs.Config, skills *runs.Run) (string, error) {
	a := &adapting{skills: skills}
	if err := a.prepare(c); err != nil {
		return "", err
	}
	return a.digest()
}

// prepare reads the settings of a configuration and the skills.
func (a *adapting) prepare(c runs.Config) (err error) {
	if err := c.Settings(&a.Adaptation); err != nil {
		return err
	}
	if a.set, err = policies.All(a.skills); err != nil {
		return err
	}
	if a.env == nil {
		if a.env, err = policies.Environment(a.skills); err != nil {
			return err
		}
	}
	if live, err := envs.NewPerturbable(a.env); err == nil {
		a.env = live
	}
	return nil
}

func (a *adapting) open(s *session, platform *xla.Platform, _ map[string]npz.Array) error {
	a.session = s
	err := a.prepare(s.Config)
	if err != nil {
		return err
	}
	a.rollouts, err = policies.NewRollouts(platform, a.set, a.env, a.Episodes, a.StatesSeed)
	if err != nil {
		return err
	}
	s.status.CompileSeconds += a.rollouts.CompileTime.Seconds()
	a.n, a.last = len(a.set.Policies), s.from
	a.episodes = a.index() * a.n * a.Episodes
	return nil
}

func (a *adapting) digest() (string, error) {
	return digest(Programs(backend.CPU, 1, func(p *xla.Platform) error {
		rollouts, err := policies.NewRollouts(p, a.set, a.env, a.Episodes, a.StatesSeed)
		if err == nil {
			rollouts.Close()
		}
		return err
	}))
}

func (a *adapting) columns() []string {
	return []string{"generation", "index", "x", "y", "skill", "fitness_median", "fitness_mean",
		"fitness_std", "fitness_q1", "fitness_q3"}
}

// index returns the number of values whose rows are complete.
func (a *adapting) index() int { return int(a.last+1) / a.n }

func (a *adapting) done() bool { return a.index() == len(a.Values) }

func (a *adapting) fraction(runs.Progress) float64 {
	return float64(a.episodes) / float64(len(a.Values)*a.n*a.Episodes)
}

// metrics returns the texts of the progress bar under a value, the most important first.
func (a *adapting) metrics(value []float64) []string {
	under := fmt.Sprintf("%s %v", a.Perturbation, value)
	if a.status.Evaluations == 0 { // no value is complete
		return []string{under}
	}
	return []string{fmt.Sprintf("best median %.4g", a.status.MaxFitness), under}
}

// step evaluates all skills under the next value. An interrupted value is evaluated again.
func (a *adapting) step(ctx context.Context) error {
	live, ok := a.rollouts.Task.Env.(envs.Perturbable)
	if !ok {
		return fmt.Errorf("%s has nothing to perturb", a.skills.Config.Env)
	}
	index := a.index()
	value := a.Values[index]
	conditions, err := a.Perturbation.Apply(live.Nominal(), value)
	if err != nil {
		return err
	}
	results, err := a.rollouts.Run(ctx, &conditions, func(episodes int) {
		a.episodes += episodes
		a.bar.Update(a.fraction(runs.Progress{}), a.metrics(value)...)
	})
	if err != nil {
		return err
	}
	x, y := value[0], math.NaN()
	if len(value) > 1 {
		y = value[1]
	}
	for k, r := range results {
		low, high := r.Quartiles()
		row := index*len(results) + k
		median := r.Median()
		if err := a.writer.Log(float64(row), float64(index), x, y, float64(r.Number), median, r.Mean(),
			r.Std(), low, high); err != nil {
			return err
		}
		if row == 0 || median > a.status.MaxFitness {
			a.status.MaxFitness = median
		}
	}
	a.last = int64((index+1)*len(results)) - 1
	a.status.Generation = a.last
	a.status.Evaluations += int64(len(results) * a.Episodes)
	a.status.EnvSteps = a.status.Evaluations * int64(a.rollouts.Task.Length)
	a.clock()
	return nil
}

func (a *adapting) state() string {
	return fmt.Sprintf("value %d of %d", a.index(), len(a.Values))
}

// checkpoint saves nothing but the number of the last row.
func (a *adapting) checkpoint() (map[string]npz.Array, bool, error) {
	return nil, a.last >= 0, nil
}

func (a *adapting) finish() (string, error) {
	return fmt.Sprintf("%d skills under %d values of %s, best median %.5g", a.n, len(a.Values),
		a.Perturbation, a.status.MaxFitness), nil
}

func (a *adapting) close() {
	if a.rollouts != nil {
		a.rollouts.Close()
	}
}
