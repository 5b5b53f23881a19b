package qdnb

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// ErrInterrupted is what [Train] returns when it was told to stop: the run is saved, and the same call goes on.
var ErrInterrupted = errors.New("interrupted")

// checkpointEvery is the time between two checkpoints.
var checkpointEvery = 2 * time.Minute

// columns of metrics.csv.
var columns = []string{"generation", "evaluations", "env_steps", "seconds", "max_fitness", "coverage", "qd_score", "invalid"}

// Train trains what spec says, or loads it if it is there, or goes on where it stopped. SIGINT and SIGTERM (an interrupted
// cell) save a checkpoint and end it with [ErrInterrupted]; a second signal ends the process at once.
func Train(spec Spec) (*runs.Run, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal finds no handler
	return TrainContext(ctx, spec)
}

// TrainContext is [Train] that stops when ctx is done, and leaves signals alone.
func TrainContext(ctx context.Context, spec Spec) (*runs.Run, error) {
	p, err := spec.resolve()
	if err != nil {
		return nil, err
	}
	if run, err := runs.Open(filepath.Join(p.Runs, p.config.Name())); err == nil && run.Status.Finished && p.Budget.Done(run.Status.Progress) {
		return run, nil
	}
	t, err := begin(p)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if err := t.train(ctx); err != nil {
		return t.writer.Run, err
	}
	return runs.Open(t.writer.Dir)
}

// training is one session of a run.
type training struct {
	plan
	writer *runs.Writer
	search search
	status runs.Status
	bar    *runs.Bar
	start  time.Time // such that the time since it is what the run took over all sessions
	saved  time.Time // when the newest checkpoint was

	noReplay bool // the learner's replay buffer is not there, for nothing is left to learn
}

// begin takes the folder, opens the backend, and restores the newest checkpoint.
func begin(p plan) (*training, error) {
	t := &training{plan: p, start: time.Now(), saved: time.Now()}
	if err := t.open(); err != nil {
		if t.writer != nil {
			_ = t.writer.Discard() // the folder of a run that cannot begin is of no use
			t.writer = nil
		}
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *training) open() (err error) {
	p := t.plan
	if t.writer, err = runs.Create(p.Runs, p.config); err != nil {
		return err
	}
	t.status = t.writer.Status
	arrays, generation, warnings, err := t.writer.LoadCheckpoint(&t.status)
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		fmt.Fprintln(os.Stderr, "qdnb:", warning)
	}
	if generation < 0 {
		t.status = runs.Status{}
	}
	t.bar = runs.NewBar(p.config.Name(), p.Quiet)
	t.bar.Update(p.Budget.Fraction(t.status.Progress), "opening the backend")
	platform, err := xla.Open(p.Backend)
	if err != nil {
		return err
	}
	if t.status.UseBackend(platform.Name(), generation) {
		fmt.Fprintf(os.Stderr, "qdnb: another backend computed this run before: going on with %s, the result is not exact to the bit\n", platform.Name())
	}
	t.bar.Update(p.Budget.Fraction(t.status.Progress), "compiling")
	if t.search, err = p.search(platform); err != nil {
		return err
	}
	if generation >= 0 {
		if err := t.search.Restore(generation, arrays); err != nil {
			return err
		}
		if err := t.restoreReplay(); err != nil {
			return err
		}
	}
	t.status.CompileSeconds += t.search.compileSeconds()
	t.start = t.start.Add(-time.Duration(t.status.Seconds * float64(time.Second)))
	t.status.Budget, t.status.Finished, t.status.Version = p.Budget, false, version()
	t.status.Descriptor = p.env.Spec().Descriptor.Components
	return t.writer.Begin(generation, append(slices.Clone(columns), t.search.Columns()...)...)
}

func (t *training) close() {
	if t.search != nil {
		t.search.Close()
	}
	if t.writer != nil {
		_ = t.writer.Close() // it only gives the lock back; what had to be written was
	}
}

func (t *training) train(ctx context.Context) error {
	for t.search.generation() < 0 || !t.Budget.Done(t.status.Progress) {
		if err := t.step(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			if err := t.save(); err != nil {
				return err
			}
			t.bar.Done(fmt.Sprintf("stopped at generation %d; the same command goes on", t.status.Generation))
			return fmt.Errorf("%w: %s is saved at generation %d; the same command goes on", ErrInterrupted, t.writer.Dir, t.status.Generation)
		}
		if time.Since(t.saved) > checkpointEvery {
			if err := t.save(); err != nil {
				return err
			}
		}
	}
	return t.finish()
}

// step runs a generation and records it.
func (t *training) step() error {
	o, err := t.search.step()
	if err != nil {
		return err
	}
	before := t.status.Progress
	t.status.Generation, t.status.Evaluations, t.status.EnvSteps = o.Generation, o.Evaluations, o.EnvSteps
	t.status.Seconds = time.Since(t.start).Seconds()
	if o.Fitnesses != nil {
		if err := t.log(o); err != nil {
			return err
		}
	}
	if runs.SnapshotDue(t.Budget, before, t.status.Progress) {
		if err := t.snapshot(); err != nil {
			return err
		}
	}
	t.bar.Update(t.Budget.Fraction(t.status.Progress), t.summary())
	return nil
}

// log takes the figures of a repertoire that was measured, and writes a row of metrics.csv.
func (t *training) log(o outcome) error {
	stats := (&runs.Repertoire{Fitnesses: o.Fitnesses, Offset: t.task().QDOffset()}).Stats()
	t.status.MaxFitness, t.status.Coverage, t.status.QDScore = stats.MaxFitness, stats.Coverage, stats.QDScore
	s := t.status
	row := []float64{float64(s.Generation), float64(s.Evaluations), float64(s.EnvSteps), s.Seconds, s.MaxFitness, s.Coverage, s.QDScore, float64(o.Invalid)}
	return t.writer.Log(append(row, o.Extra...)...)
}

// summary is how the run stands.
func (t *training) summary() string {
	s := t.status
	return fmt.Sprintf("generation %d  max fitness %.4g  coverage %.1f %%  QD score %.4g", s.Generation, s.MaxFitness, s.Coverage, s.QDScore)
}

// restoreReplay puts back what a learner's replay buffer held.
func (t *training) restoreReplay() error {
	capacity, width, total := t.search.ReplayShape()
	if capacity == 0 {
		return nil
	}
	if t.noReplay = t.Budget.Done(t.status.Progress); t.noReplay { // there is nothing left to learn
		return nil
	}
	err := t.search.SetReplay(func(put func(from int64, rows []float32) error) error {
		return t.writer.LoadReplay(total, capacity, width, put)
	})
	if !errors.Is(err, runs.ErrNoReplay) {
		return err
	}
	t.bar.Update(t.Budget.Fraction(t.status.Progress), "filling the replay buffer anew")
	episodes, err := t.search.Refill()
	if err == nil {
		fmt.Fprintf(os.Stderr, "qdnb: the replay buffer of %s was dropped when it was finished; it is filled anew with %d episodes of its policies, and the run goes on as another one might have\n",
			t.writer.Name(), episodes)
	}
	return err
}

// save writes a checkpoint.
func (t *training) save() error {
	if capacity, width, total := t.search.ReplayShape(); capacity > 0 && !t.noReplay {
		if err := t.writer.SaveReplay(total, capacity, width, t.search.ReplayRows); err != nil {
			return err
		}
	}
	arrays, err := t.search.Arrays()
	if err != nil {
		return err
	}
	if err := t.writer.SaveCheckpoint(t.status.Generation, arrays, t.status); err != nil {
		return err
	}
	t.saved = time.Now()
	return t.writer.SaveStatus(t.status)
}

func (t *training) snapshot() error {
	repertoire, err := t.repertoire(false)
	if err != nil {
		return err
	}
	return t.writer.SaveSnapshot(runs.Snapshot{Progress: t.status.Progress, Repertoire: *repertoire})
}

// finish writes what a complete run has.
func (t *training) finish() error {
	repertoire, err := t.repertoire(true)
	if err != nil {
		return err
	}
	if err := t.writer.SaveRepertoire(repertoire); err != nil {
		return err
	}
	if s, ok := t.search.(discoveringSearch); ok {
		skills, err := s.skills()
		if err != nil {
			return err
		}
		if err := t.writer.SaveSkills(skills); err != nil {
			return err
		}
	}
	t.status.Finished = true
	if err := t.save(); err != nil {
		return err
	}
	if !t.KeepReplay {
		if err := t.writer.DropReplay(); err != nil {
			return err
		}
	}
	t.bar.Done(t.summary())
	return nil
}

// repertoire is the host's copy of the search's repertoire.
func (t *training) repertoire(genotypes bool) (*runs.Repertoire, error) {
	arrays, err := t.search.Repertoire(genotypes)
	if err != nil {
		return nil, err
	}
	limits := t.env.Spec().Descriptor
	r := &runs.Repertoire{
		Dims: len(limits.Lower), Lower: limits.Lower, Upper: limits.Upper, Offset: t.task().QDOffset(),
	}
	if genotypes {
		r.Params = t.task().Policy.Params()
	}
	for name, into := range map[string]*[]float32{
		"genotypes": &r.Genotypes, "fitnesses": &r.Fitnesses, "descriptors": &r.Descriptors, "centroids": &r.Centroids,
	} {
		if array, ok := arrays[name]; ok {
			if *into, err = array.Float32s(); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// version is the program's, as the build recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
