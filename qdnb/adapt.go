package qdnb

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Adaptation is the algorithm name of the runs of [Adapt].
const Adaptation = protocol.Adaptation

// AdaptSpec configures [Adapt].
type AdaptSpec struct {
	// Skills is a finished run. Its policy's five skills are evaluated, or all filled cells of its
	// repertoire if it has no skills.
	Skills *runs.Run
	// SkillsBudget is the budget that the skills were trained for; the run's budget if zero. It is
	// part of the configuration of the results.
	SkillsBudget runs.Budget

	Perturbation envs.Perturbation
	Values       [][]float64 // of the perturbation; nil: the paper's
	Episodes     int         // per skill and value, from different initial states; 0: the paper's 100
	Seed         int64       // of the initial states, which all skills and values share

	Runs    string // folder of the results; [runs.Folder] if empty
	Backend string // see [xla.Open]; the best available one if empty
	Quiet   bool   // no progress bar
}

// adaptation are the hyperparameters of the runs of [Adapt].
type adaptation struct {
	Skills       string            `json:"skills"` // name of the folder of the run
	SkillsBudget runs.Budget       `json:"skills_budget"`
	Perturbation envs.Perturbation `json:"perturbation"`
	Values       [][]float64       `json:"values"`
	Episodes     int               `json:"episodes"`
	StatesSeed   int64             `json:"states_seed"`
}

// adaptationColumns are the columns of the metrics of [Adapt], with a row per value and skill.
var adaptationColumns = []string{
	"generation", "index", "x", "y", "skill", "fitness_median", "fitness_mean", "fitness_std",
	"fitness_q1", "fitness_q3",
}

// AdaptConfig returns the configuration of the run of [Adapt]. The training run is given by its
// configuration and budget, and need not exist yet.
func AdaptConfig(training runs.Config, trained runs.Budget, s AdaptSpec) (runs.Config, error) {
	env, err := envs.Make(training.Env)
	if err != nil {
		return runs.Config{}, err
	}
	live, err := envs.NewPerturbable(env)
	if err != nil {
		return runs.Config{}, err
	}
	values := s.Values
	if values == nil {
		values = s.Perturbation.Values()
	}
	for _, value := range values {
		c, err := s.Perturbation.Apply(live.Nominal(), value)
		if err == nil {
			_, err = live.Values(c)
		}
		if err != nil {
			return runs.Config{}, err
		}
	}
	if len(values) == 0 {
		_, err := s.Perturbation.Apply(live.Nominal(), nil)
		return runs.Config{}, err
	}
	if s.Episodes == 0 {
		s.Episodes = 100
	}
	return runs.NewConfig(Adaptation, training.Env, training.Seed, adaptation{
		training.Name(), trained, s.Perturbation, values, s.Episodes, s.Seed,
	})
}

// AdaptSpecOf is the inverse of [AdaptConfig]. It leaves Skills nil, since the configuration holds
// only the name of that run.
func AdaptSpecOf(c runs.Config) (AdaptSpec, error) {
	var a adaptation
	if err := c.Settings(&a); err != nil {
		return AdaptSpec{}, err
	}
	return AdaptSpec{SkillsBudget: a.SkillsBudget, Perturbation: a.Perturbation, Values: a.Values,
		Episodes: a.Episodes, Seed: a.StatesSeed}, nil
}

// Adapt evaluates the skills of a run in a changed environment, without further training: the
// paper's few-shot adaptation. It creates a run, whose metrics hold a row per value of the
// perturbation and skill (a skill's number, or a cell) with statistics of the fitness over the
// episodes, such as the median. A method's score under a value is the median of the best skill.
// Like [Train], it loads a finished run, resumes an interrupted one, and returns [ErrInterrupted]
// when ctx is done.
//
// For runs of AURORA it evaluates the measured repertoire, not the algorithm's own archive. The
// members of that repertoire are also members of the archive.
func Adapt(ctx context.Context, s AdaptSpec) (*runs.Run, error) {
	if s.Skills == nil {
		return nil, errors.New("no run is given: set Skills to the run whose skills to evaluate")
	}
	if s.SkillsBudget == (runs.Budget{}) {
		s.SkillsBudget = s.Skills.Status.Budget
	}
	if s.Runs == "" {
		s.Runs = runs.Folder()
	}
	config, err := AdaptConfig(s.Skills.Config, s.SkillsBudget, s)
	if err != nil {
		return nil, err
	}
	if _, err := xla.Canonical(s.Backend); err != nil { // checked even if nothing is left to compute
		return nil, err
	}
	if run, err := runs.Open(filepath.Join(s.Runs, config.Name())); err == nil && run.Status.Finished {
		return run, nil
	}
	if !s.Skills.Status.Finished {
		return nil, errors.Errorf("%s is not finished: train it to the end first", s.Skills.Dir)
	}
	a := &adapting{AdaptSpec: s}
	defer a.close()
	if err := a.open(config); err != nil {
		a.abandon()
		return nil, err
	}
	if err := a.adapt(ctx); err != nil {
		return nil, err
	}
	return runs.Open(a.writer.Dir)
}

// adapting is a session of [Adapt]. Its generations are the rows of its metrics, one per value and
// skill.
type adapting struct {
	AdaptSpec
	session
	settings adaptation
	rollouts *rollouts
	done     int // episodes, over all sessions
	total    int // episodes
}

// open opens the backend, compiles, and determines which episodes are done.
func (a *adapting) open(config runs.Config) error {
	if err := config.Settings(&a.settings); err != nil {
		return err
	}
	if _, err := a.session.open(a.Runs, config, a.Quiet); err != nil {
		return err
	}
	a.bar.Update(0, "compiling")
	policies, hidden, err := everySkill(a.Skills)
	if err != nil {
		return err
	}
	env, err := environmentOf(a.Skills)
	if err != nil {
		return err
	}
	if a.rollouts, err = newRollouts(a.Skills, env, policies, hidden, a.settings.Episodes,
		a.settings.StatesSeed, a.Backend); err != nil {
		return err
	}
	a.use(a.rollouts.platform)
	a.done, a.total = a.first()*len(policies)*a.settings.Episodes,
		len(a.settings.Values)*len(policies)*a.settings.Episodes
	if err := a.begin(runs.Budget{}, a.rollouts.evaluator.CompileTime.Seconds(),
		adaptationColumns...); err != nil {
		return err
	}
	a.bar.Begin(a.fraction())
	return a.save(a.from)
}

// fraction returns the fraction of the episodes that is done.
func (a *adapting) fraction() float64 { return float64(a.done) / float64(a.total) }

// metrics returns the texts of the progress bar under a value, the most important first.
func (a *adapting) metrics(value []float64) []string {
	under := fmt.Sprintf("%s %v", a.settings.Perturbation, value)
	if a.status.Evaluations == 0 { // no value is complete
		return []string{under}
	}
	return []string{fmt.Sprintf("best median %.4g", a.status.MaxFitness), under}
}

func (a *adapting) close() {
	if a.rollouts != nil {
		a.rollouts.close()
	}
	a.session.close()
}

// first returns the index of the first value that this session evaluates.
func (a *adapting) first() int { return int(a.from+1) / len(a.rollouts.policies) }

func (a *adapting) adapt(ctx context.Context) error {
	for index := a.first(); index < len(a.settings.Values); index++ {
		if err := a.value(ctx, index); err != nil {
			return err
		}
	}
	policies := len(a.rollouts.policies)
	a.status.Finished = true
	if err := a.save(int64(len(a.settings.Values)*policies) - 1); err != nil {
		return err
	}
	a.bar.Done(fmt.Sprintf("%d skills under %d values of %s, best median %.5g", policies,
		len(a.settings.Values), a.settings.Perturbation, a.status.MaxFitness))
	return nil
}

// value evaluates all skills under a value of the perturbation. If it is interrupted, the next
// session evaluates the value.
func (a *adapting) value(ctx context.Context, index int) error {
	live := a.rollouts.task.Env.(envs.Perturbable) // AdaptConfig checked it
	value := a.settings.Values[index]
	conditions, err := a.settings.Perturbation.Apply(live.Nominal(), value)
	if err != nil {
		return err
	}
	results, err := a.rollouts.under(&conditions, func(episodes int) error {
		a.done += episodes
		a.bar.Update(a.fraction(), a.metrics(value)...)
		if ctx.Err() == nil {
			return nil
		}
		if err := a.save(int64(index*len(a.rollouts.policies)) - 1); err != nil {
			return err
		}
		return a.interrupted(fmt.Sprintf("value %d of %d", index, len(a.settings.Values)))
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
	last := int64((index+1)*len(results)) - 1
	a.status.Generation = last
	a.status.Evaluations += int64(len(results) * a.settings.Episodes)
	a.status.EnvSteps = a.status.Evaluations * int64(a.rollouts.task.Length)
	a.clock()
	if a.due() {
		return a.save(last)
	}
	return nil
}

// save records that the rows up to the given one are complete. With -1, no row is, and it saves
// only the status.
func (a *adapting) save(row int64) error {
	if row >= 0 {
		return a.checkpoint(row, nil)
	}
	return a.writer.SaveStatus(a.status)
}
