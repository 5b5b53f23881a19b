package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Train trains the run of a spec, resumes it if it was interrupted, or loads it if it is complete.
func Train(ctx context.Context, spec Spec) (*runs.Run, error) {
	t, err := spec.Training(ctx)
	if err != nil {
		return nil, err
	}
	return t.Run(ctx)
}

// Load returns the run that [Train] returns for a spec, without training. If there is none, the
// error says what to do.
func Load(spec Spec) (*runs.Run, error) {
	t, err := spec.Training(context.Background())
	if err != nil {
		return nil, err
	}
	t.outdated(nil, 1)
	dir := t.Dir()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		reason := ""
		if changed := t.changed(); changed != "" {
			reason = fmt.Sprintf(" (%s)", changed)
		}
		return nil, fmt.Errorf("no run %s in %s%s: train it with the same Spec", filepath.Base(dir), t.Spec.Runs, reason)
	}
	run, err := runs.Open(dir)
	if err != nil {
		return nil, err
	}
	t.edited(run)
	if !run.Status.Finished {
		return nil, fmt.Errorf("%s is not finished: train it with the same Spec to resume it", run.Dir)
	}
	if !run.Status.Completes(t.Spec.Budget, 1) {
		return nil, fmt.Errorf("%s ended before the budget of the Spec, %v: train it with the same "+
			"Spec to extend it", run.Dir, t.Spec.Budget)
	}
	return run, run.Intact()
}

// TrainSeeds is [Train] for runs of a spec that differ only in their seeds, one after the other.
// Time limits are for all runs and divided equally; the other limits are for each. All but the
// first find their programs compiled, and do not repeat what [progress.Bar.Once] says. A run that
// fails does not keep the others from training; the error joins all failures.
func TrainSeeds(ctx context.Context, spec Spec, seeds ...int64) (found []*runs.Run, err error) {
	var trainings []Training
	said := map[string]bool{}
	for i, seed := range seeds {
		if slices.Contains(seeds[:i], seed) {
			return nil, names.Wrongf("seed %d is given twice", seed)
		}
		spec.Seed = seed
		t, err := spec.Training(ctx)
		if err != nil {
			return nil, err
		}
		t.seeds, t.said = len(seeds), said
		trainings = append(trainings, t)
	}
	type failure struct {
		seeds string
		err   error
	}
	var failures []failure
	for _, t := range trainings {
		run, failed := t.Run(ctx)
		if failed == nil {
			found = append(found, run)
			continue
		}
		seed := fmt.Sprintf("seed %d", t.Config.Seed)
		if i := slices.IndexFunc(failures, func(f failure) bool { return f.err.Error() == failed.Error() }); i >= 0 {
			failures[i].seeds += ", " + seed
		} else {
			failures = append(failures, failure{seed, failed})
		}
		if ctx == nil || ctx.Err() != nil {
			break
		}
	}
	for _, f := range failures {
		f.err = fmt.Errorf("%s: %w", f.seeds, f.err)
		if err != nil {
			f.err = fmt.Errorf("%w; %w", err, f.err)
		}
		err = f.err
	}
	return found, err
}

// Training is what a run computes: an algorithm in an environment.
type Training struct {
	Spec      Spec        // where, for how long and how to train; what is trained is in the fields below
	Config    runs.Config // names the run's folder in Spec.Runs
	Own       []string    // fields of the spec that hold code of the user
	Env       envs.Env
	Algorithm algorithms.Algorithm
	Base      string    // the algorithm that a variant is based on; "" if it is no variant
	Skills    *runs.Run // the finished run whose skills Env uses; nil if it uses none

	digest, schedule string // see identify
	evaluate         string // see evaluates

	// see [TrainSeeds]
	seeds int             // runs that share the budget's time limits
	said  map[string]bool // what those runs said once
}

// Dir returns the folder of the run.
func (t Training) Dir() string { return filepath.Join(t.Spec.Runs, t.Config.Name()) }

// Run trains to the end of the budget, or loads the run if it is complete. When ctx is done, it
// saves a checkpoint and returns [ErrInterrupted]. A panic, as of code of the user on the host, is an error.
func (t Training) Run(ctx context.Context) (run *runs.Run, err error) {
	if panicked := xla.Catch(func() { run, err = t.run(ctx) }); panicked != nil {
		return nil, fmt.Errorf("the training panicked: %w; correct that code, then %s", panicked, cell.Rerun())
	}
	return run, err
}

// run is [Training.Run] that panics.
func (t Training) run(ctx context.Context) (*runs.Run, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	found, err := runs.Open(t.Dir())
	t.outdated(found, t.seeds)
	if err == nil && !t.Spec.Fresh {
		t.edited(found)
	}
	if err != nil || t.Spec.Fresh || !found.Status.Completes(t.Spec.Budget, t.seeds) {
		if run, err := t.train(ctx); err != nil {
			return run, err
		}
	}
	found, err = runs.Open(t.Dir())
	if err == nil {
		err = found.Intact()
	}
	if err == nil {
		if err = found.Status.AllInvalid(); err != nil {
			err = fmt.Errorf("%s is finished, but %w", found.Dir, err)
		}
	}
	if err == nil {
		err = t.isCorrected(found)
	}
	if err == nil && t.Spec.TensorBoard {
		err = found.WriteEvents() // of a run that was complete
	}
	if err == nil {
		_ = cell.Trained(found.Dir, found.Status.Generation) // a run does not fail for it
	}
	return found, err
}

// train is the loop of all runs. It returns the run also with an error, if it was opened.
func (t Training) train(ctx context.Context) (*runs.Run, error) {
	if t.Skills != nil && !t.Skills.Status.Finished {
		return nil, fmt.Errorf("%s is not finished: train it to the end first", t.Skills.Dir)
	}
	if simulator, ok := t.Env.(*envs.Simulator); ok && simulator.Evaluate != nil {
		t.evaluate = t.evaluates()
		t.Env = hosted(simulator, func(_ context.Context, genotypes [][]float32) ([]envs.Result, error) {
			return simulator.Evaluate(ctx, genotypes)
		})
	}
	s := &session{Training: t}
	defer s.close()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	for !s.done() {
		if err := s.advance(ctx); err != nil {
			return s.writer.Run, err
		}
	}
	return s.writer.Run, s.complete()
}

// done reports whether the budget is spent, for which at least generation 0 is computed.
func (s *session) done() bool { return s.reached >= 0 && s.Spec.Budget.Done(s.status.Progress) }

// advance computes a generation, and saves a checkpoint if it is due or ctx is done. A search that
// stops in a generation because ctx is done leaves everything as it was.
func (s *session) advance(ctx context.Context) error {
	o, err := s.search.Step()
	stopped := ctx.Err() != nil
	if err == nil {
		err = s.record(o)
	} else if stopped && errors.Is(err, ctx.Err()) {
		err = nil
	}
	if err != nil {
		return s.explained(err)
	}
	// writing takes at most a twentieth of the time
	if stopped || time.Since(s.saved) > max(s.pause, 19*s.took) {
		if err := s.save(); err != nil {
			return err
		}
	}
	if !stopped {
		return nil
	}
	state, _ := s.describe()
	return fmt.Errorf("%w: %s is saved at %s; %s", ErrInterrupted, s.writer.Dir, state, cell.Rerun())
}

// explained adds to the error of a search that cannot learn further what is left of the run.
func (s *session) explained(err error) error {
	if diverged := (*scoring.Diverged)(nil); !errors.As(err, &diverged) {
		return err
	}
	return fmt.Errorf("%w, which makes another run; this one ends here again, because all transitions "+
		"were finite; %s", err, s.writer.Newest())
}

// record updates the status and the metrics after a generation, and saves the snapshots that are
// due.
func (s *session) record(o scoring.Outcome) error {
	before := s.status.Progress
	s.reached = o.Generation
	s.status.Generation, s.status.Evaluations, s.status.EnvSteps = o.Generation, o.Evaluations, o.EnvSteps
	s.clock()
	if s.table != nil {
		s.status.MaxFitness = max(s.status.MaxFitness, s.table.best)
		for _, row := range s.table.rows {
			if err := s.writer.Log(row...); err != nil {
				return err
			}
		}
		return nil
	}
	if o.Fitnesses != nil {
		if err := s.log(o, 0); err != nil {
			return err
		}
	}
	s.remark(o)
	if !s.done() { // else complete takes them
		if runs.SnapshotDue(s.Spec.Budget, before, s.status.Progress) {
			if err := s.snapshot(); err != nil {
				return err
			}
		}
		if runs.CorrectionDue(s.Spec.Budget, before, s.status.Progress) {
			if err := s.untimed(s.correct); err != nil {
				return err
			}
		}
	}
	_, metrics := s.describe()
	s.bar.Update(s.Spec.Budget.Fraction(s.status.Progress), metrics...)
	s.drawLive(false)
	return nil
}

// log updates the status with the metrics of the measured repertoire and writes a row of
// metrics.csv. final is 1 in the row of conclude.
func (s *session) log(o scoring.Outcome, final float64) error {
	measured := runs.Repertoire{Fitnesses: o.Fitnesses, Offset: s.search.Task().QDOffset()}
	stats := measured.Stats()
	s.status.MaxFitness, s.status.Coverage, s.status.QDScore = stats.MaxFitness, stats.Coverage, stats.QDScore
	s.remarkSize(o, stats.Filled)
	s.remarkUpdates(o)
	now := s.status
	row := []float64{float64(now.Generation), float64(now.Evaluations), float64(now.EnvSteps), now.Seconds,
		now.MaxFitness, now.Coverage, now.QDScore, float64(o.Invalid + o.Dropped)}
	return s.writer.Log(append(append(row, o.Extra...), final)...)
}

// describe returns the state that a checkpoint saves, as in "generation 5", and the metrics for the
// progress bar, the most important first.
func (s *session) describe() (state string, metrics []string) {
	if s.table != nil {
		return s.table.describe(s.status)
	}
	now, state := s.status, fmt.Sprintf("generation %d", s.status.Generation)
	if err := now.AllInvalid(); err != nil {
		return state, []string{err.Error()}
	}
	if math.IsInf(now.MaxFitness, -1) {
		return state, []string{"nothing evaluated yet"}
	}
	metrics = []string{fmt.Sprintf("max fitness %.4g", now.MaxFitness),
		fmt.Sprintf("coverage %.1f %%", now.Coverage), fmt.Sprintf("QD score %.4g", now.QDScore)}
	if now.Invalid > 0 {
		metrics = append(metrics, fmt.Sprintf("invalid %d", now.Invalid))
	}
	return state, metrics
}

// complete writes the results of a run whose budget is spent. They show the final state, which
// methods that measure at intervals measure for that purpose only: the last checkpoint holds the
// state before, so that an extended run equals one that never ended here. What a finished run does
// not need is deleted last.
func (s *session) complete() error {
	s.status.Finished = true
	before := s.status
	arrays, err := s.checkpoint()
	if err != nil {
		return err
	}
	if err := s.untimed(s.conclude); err != nil {
		return err
	}
	if s.table == nil {
		if err := s.results(); err != nil {
			return err
		}
	}
	if err := s.writer.SaveCheckpoint(before.Generation, arrays, before); err != nil {
		return err
	}
	if err := s.writer.SaveStatus(s.status); err != nil {
		return err
	}
	if !s.Spec.KeepReplay {
		if err := s.writer.DropReplay(); err != nil {
			return err
		}
	}
	state, metrics := s.describe()
	s.bar.Done(strings.Join(append([]string{state}, metrics...), "  "))
	return nil
}

// concluder is a search that measures its repertoire at intervals only.
type concluder interface {
	// Measured reports whether the newest step measured the state that it left.
	Measured() bool
	// Conclude measures the newest state. The outcome has its Fitnesses and counts, and Extra
	// unless that is the newest step's but for the evaluation steps. The search must not continue.
	Conclude() (scoring.Outcome, error)
}

// measured reports whether the newest step measured the state that it left.
func (s *session) measured() bool {
	search, ok := s.search.(concluder)
	return !ok || search.Measured()
}

// conclude measures the final state, unless the last step did.
func (s *session) conclude() error {
	if s.measured() {
		return nil
	}
	o, err := s.search.(concluder).Conclude()
	if err != nil {
		return err
	}
	if o.Extra == nil { // the generation has a row, which differs only in the repertoire and its evaluations
		row := s.writer.LastRow()
		o.Invalid, o.Extra = int(row[slices.Index(Columns, "invalid")]), row[len(Columns):len(row)-1]
		if i := slices.Index(s.search.Columns(), records.EvaluationSteps); i >= 0 {
			o.Extra[i] += float64(o.Evaluated * s.search.Task().Length)
		}
	} else {
		s.remark(o)
	}
	return s.log(o, 1)
}

// search compiles the algorithm.
func (t Training) search(platform *xla.Platform) (algorithms.Search, error) {
	search, err := t.Algorithm.New(platform, t.Env, t.Config.Seed)
	if err == nil && search == nil {
		err = fmt.Errorf("%T.New returns neither a search nor an error", t.Algorithm)
	}
	return search, err
}

// hosted returns an environment whose simulator evaluates genotypes by a function. Others are
// unchanged.
func hosted(env envs.Env, evaluate func(context.Context, [][]float32) ([]envs.Result, error)) envs.Env {
	simulator, ok := env.(*envs.Simulator)
	if !ok {
		return env
	}
	s := *simulator
	s.Evaluate = evaluate
	return &s
}
