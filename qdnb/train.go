package qdnb

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// columns are the columns of metrics.csv that all algorithms share.
var columns = []string{"generation", "evaluations", "env_steps", "seconds", "max_fitness",
	"coverage", "qd_score", "invalid"}

// Train trains the run of a spec, resumes it if it was interrupted, or loads it if it is complete.
// On SIGINT or SIGTERM (an interrupted cell) it saves a checkpoint and returns [ErrInterrupted]; a
// second signal ends the process at once.
func Train(spec Spec) (*runs.Run, error) {
	ctx, stop := Interruptible()
	defer stop()
	return TrainContext(ctx, spec)
}

// TrainContext is [Train] that stops when ctx is done and does not handle signals.
func TrainContext(ctx context.Context, spec Spec) (*runs.Run, error) {
	p, err := spec.resolve()
	if broken := (untraceable{}); errors.As(err, &broken) {
		return nil, p.compileError(broken)
	}
	if err != nil {
		return nil, err
	}
	if _, err := xla.Canonical(p.Backend); err != nil { // checked even if nothing is left to compute
		return nil, err
	}
	if run, err := runs.Open(p.dir()); err == nil && !p.Fresh && run.Status.Finished && p.Budget.Done(
		run.Status.Progress) {
		return run, nil
	}
	p.announce()
	t, err := begin(p)
	if err != nil {
		return nil, err
	}
	defer t.close()
	t.printPaperBudget()
	if err := t.train(ctx); err != nil {
		return t.writer.Run, err
	}
	return runs.Open(t.writer.Dir)
}

// training is a session of [Train].
type training struct {
	plan
	session
	search search

	first     runs.Progress // after the first step of this session
	projected bool          // the projection of the budget was printed

	noReplay bool // the replay buffer was not restored, since nothing is left to learn
}

// begin takes the folder, opens the backend, and restores the newest checkpoint. If that fails, it
// moves a run that was set aside back.
func begin(p plan) (*training, error) {
	t := &training{plan: p}
	aside := ""
	if p.Fresh {
		var err error
		if aside, err = runs.SetAside(p.Runs, p.config); err != nil {
			return nil, err
		}
	}
	if err := t.open(); err != nil {
		t.abandon()
		t.close()
		if aside != "" {
			_ = os.Rename(aside, p.dir())
		}
		return nil, err
	}
	if aside != "" {
		fmt.Fprintf(os.Stderr, "qdnb: moved the previous run from %s to %s\n", p.dir(), aside)
	}
	return t, nil
}

func (t *training) open() error {
	arrays, err := t.session.open(t.Runs, t.config, t.Quiet)
	if err != nil {
		return err
	}
	t.bar.Update(t.Budget.Fraction(t.status.Progress), "compiling")
	platform, err := xla.Open(t.Backend)
	if err != nil {
		return err
	}
	t.use(platform)
	if t.search, err = t.plan.search(platform); err != nil {
		return err
	}
	if t.from >= 0 {
		if err := t.search.Restore(t.from, arrays); err != nil {
			return err
		}
		if err := t.restoreReplay(); err != nil {
			return err
		}
	}
	t.status.Descriptor = t.env.Spec().Descriptor.Components
	return t.begin(t.Budget, t.search.compileSeconds(),
		append(slices.Clone(columns), t.search.Columns()...)...)
}

func (t *training) close() {
	if t.search != nil {
		t.search.Close()
	}
	t.session.close()
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
			return t.interrupted(fmt.Sprintf("generation %d", t.status.Generation))
		}
		if t.due() {
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
	t.status.Generation, t.status.Evaluations, t.status.EnvSteps = o.Generation, o.Evaluations,
		o.EnvSteps
	t.clock()
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
	t.printProjection()
	t.bar.Update(t.Budget.Fraction(t.status.Progress), t.metrics()...)
	return nil
}

// paperSteps returns the environment steps of the paper's runs of the algorithm on the environment,
// 0 if the paper has none.
func (p plan) paperSteps() int64 { return results.PaperSteps(p.config.Algorithm, p.config.Env) }

// printPaperBudget prints how many environment steps a time budget bought in the paper. On other
// hardware the same time gives another number of steps.
func (t *training) printPaperBudget() {
	if paper := t.paperSteps(); paper > 0 && t.Budget.Timed() && !t.Quiet && !t.Budget.Done(
		t.status.Progress) {
		fmt.Fprintf(os.Stderr,
			"qdnb: %s: the paper's run took %.3g environment steps in 2h on a GPU; the steps expected in "+
				"%v here are printed once the rate is known\n",
			t.config.Name(), float64(paper), t.Budget)
	}
}

// printProjection prints once how many environment steps fit into a time budget at the rate of this
// session, and what fraction of the paper's that is.
func (t *training) printProjection() {
	paper := t.paperSteps()
	if paper == 0 || !t.Budget.Timed() || t.Quiet || t.projected {
		return
	}
	if t.first == (runs.Progress{}) {
		t.first = t.status.Progress // the time before is mostly compilation
		return
	}
	steps, ok := projection(t.first, t.status.Progress, t.Budget)
	if t.projected = ok; ok {
		fmt.Fprintf(os.Stderr,
			"qdnb: about %.2g environment steps fit into %v here, %.2g of the paper's %.3g\n",
			steps, t.Budget, steps/float64(paper), float64(paper))
	}
}

// projection extrapolates how many environment steps fit into a budget from the rate between two
// points. ok is false until a hundredth of the budget and two generations lie between them.
func projection(from, now runs.Progress, b runs.Budget) (steps float64, ok bool) {
	spent := b.Fraction(now) - b.Fraction(from)
	if spent < 0.01 || now.Generation < from.Generation+2 {
		return 0, false
	}
	return float64(now.EnvSteps) + float64(now.EnvSteps-from.EnvSteps)/spent*(1-b.Fraction(now)), true
}

// log updates the status with the metrics of the measured repertoire and writes a row of
// metrics.csv.
func (t *training) log(o outcome) error {
	stats := (&runs.Repertoire{Fitnesses: o.Fitnesses, Offset: t.task().QDOffset()}).Stats()
	t.status.MaxFitness, t.status.Coverage, t.status.QDScore = stats.MaxFitness, stats.Coverage,
		stats.QDScore
	s := t.status
	row := []float64{float64(s.Generation), float64(s.Evaluations), float64(s.EnvSteps), s.Seconds,
		s.MaxFitness, s.Coverage, s.QDScore, float64(o.Invalid)}
	return t.writer.Log(append(row, o.Extra...)...)
}

// metrics returns the metrics for the progress bar, the most important first.
func (t *training) metrics() []string {
	s := t.status
	if math.IsInf(s.MaxFitness, -1) {
		return []string{"nothing evaluated yet"}
	}
	return []string{fmt.Sprintf("max fitness %.4g", s.MaxFitness),
		fmt.Sprintf("coverage %.1f %%", s.Coverage), fmt.Sprintf("QD score %.4g", s.QDScore)}
}

// summary returns the generation and the newest metrics.
func (t *training) summary() string {
	return strings.Join(append([]string{fmt.Sprintf("generation %d", t.status.Generation)},
		t.metrics()...), "  ")
}

// restoreReplay restores a learner's replay buffer, or refills it if it was deleted.
func (t *training) restoreReplay() error {
	capacity, width, total := t.search.ReplayShape()
	if capacity == 0 {
		return nil
	}
	if t.noReplay = t.Budget.Done(t.status.Progress); t.noReplay { // nothing is left to learn
		return nil
	}
	err := t.search.SetReplay(func(put func(from int64, rows []float32) error) error {
		return t.writer.LoadReplay(total, capacity, width, put)
	})
	if !errors.Is(err, runs.ErrNoReplay) {
		return err
	}
	t.bar.Update(t.Budget.Fraction(t.status.Progress), "refilling the replay buffer")
	episodes, err := t.search.Refill()
	if err == nil {
		fmt.Fprintf(os.Stderr,
			"qdnb: the replay buffer of %s was deleted when the run finished; it is refilled with %d "+
				"episodes of its policies, so the resumed run is not bit-identical\n",
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
	return t.checkpoint(t.status.Generation, arrays)
}

func (t *training) snapshot() error {
	repertoire, err := t.repertoire(false)
	if err != nil {
		return err
	}
	return t.writer.SaveSnapshot(runs.Snapshot{Progress: t.status.Progress, Repertoire: *repertoire})
}

// finish writes the final repertoire and skills, and marks the run as finished.
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
	summary := t.summary()
	if paper := t.paperSteps(); paper > 0 {
		summary += fmt.Sprintf("  %.2g of the paper's environment steps",
			float64(t.status.EnvSteps)/float64(paper))
	}
	t.bar.Done(summary)
	return nil
}

// repertoire copies the search's repertoire to the host.
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
		"genotypes": &r.Genotypes, "fitnesses": &r.Fitnesses, "descriptors": &r.Descriptors,
		"centroids": &r.Centroids,
	} {
		if array, ok := arrays[name]; ok {
			if *into, err = array.Float32s(); err != nil {
				return nil, err
			}
		}
	}
	if array, ok := arrays["origins"]; ok {
		r.Origins, err = array.Int32s()
	}
	return r, err
}

// version returns the program's version as recorded by the build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
