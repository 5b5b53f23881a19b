// Package session computes runs: training, adaptation and hierarchical control. They share one
// loop, which opens the run's folder, resumes from the newest checkpoint, computes until the budget
// is spent, and saves.
package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/progress"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// ErrInterrupted is the error of an interrupted run. The run is saved, and the same call resumes
// it.
var ErrInterrupted = errors.New("interrupted")

var errNoContext = errors.New("no context: it is nil; use context.Background(), or nb.Interruptible() in a cell")

// CheckpointEnv names the environment variable that sets the time between checkpoints, as in 30s.
const CheckpointEnv = "QDNB_CHECKPOINT_EVERY"

// checkpointEvery is the time between checkpoints if $QDNB_CHECKPOINT_EVERY is not set.
const checkpointEvery = 2 * time.Minute

// checkpointPause returns the time between checkpoints. A killed process loses at most that much
// work, or more if writing takes long.
func checkpointPause() (time.Duration, error) {
	text := os.Getenv(CheckpointEnv)
	if text == "" {
		return checkpointEvery, nil
	}
	pause, err := time.ParseDuration(text)
	if err != nil || pause < 0 {
		return 0, fmt.Errorf("$%s is %q: use a duration such as 30s or 5m", CheckpointEnv, text)
	}
	return pause, nil
}

// Options say where and for how long a run computes.
type Options struct {
	Root    string      // folder of the runs
	Config  runs.Config // names the run's folder in Root
	Own     []string    // fields of a spec that hold code of the user
	Budget  runs.Budget // ends the run at its first limit
	Backend string      // see [xla.Open]
	Quiet   bool        // no progress bar, and no figure
	Still   bool        // no figure below a notebook cell during training
	Fresh   bool        // moves an existing folder to the folder set-aside and starts again

	// see [TrainSeeds]
	seeds int             // runs that share the budget's time limits
	said  map[string]bool // what those runs said once
}

// Dir returns the folder of the run.
func (o Options) Dir() string { return filepath.Join(o.Root, o.Config.Name()) }

// job is what a session computes.
type job interface {
	// open compiles the programs, whose time it adds to the status, and restores the arrays of a
	// checkpoint, if s.from is not negative.
	open(s *session, platform *xla.Platform, arrays map[string]npz.Array) error
	digest() (string, error) // of its programs, see [Training.Digest]
	columns() []string       // of metrics.csv
	// fraction returns the fraction of the work that is done, from 0 to 1.
	fraction(runs.Progress) float64
	done() bool
	// step computes the next generation, logs it and updates the status. If ctx is done, it may
	// return the context's error and leave everything as it was.
	step(ctx context.Context) error
	// state names the state that a checkpoint saves, as in "generation 5".
	state() string
	// checkpoint returns the arrays to save. ok is false before the first generation.
	checkpoint() (arrays map[string]npz.Array, ok bool, err error)
	// conclude measures the final state, for the results, unless the last step did. The checkpoint of
	// a finished run is that of the state before it.
	conclude() error
	// finish writes the results and returns a summary.
	finish() (summary string, err error)
	// clean deletes what a finished run does not need.
	clean() error
	close()
}

// session is the time during which this process holds a run folder.
type session struct {
	Options
	job    job
	aside  string // where Fresh moved the previous run; empty if there was none
	writer *runs.Writer
	status runs.Status
	bar    *progress.Bar
	from   int64 // generation of the checkpoint it resumed from, -1 without one

	failed error // of a step, after which the job's state is not to be saved

	// start is set back so that time.Since(start) is the run's time over all sessions.
	start time.Time
	// cpu is subtracted from the process's processor time to give the run's over all sessions.
	cpu float64

	saved time.Time     // when the newest checkpoint was written
	pause time.Duration // between checkpoints, at least
	took  time.Duration // to write the newest one
}

// run computes a job to the end of its budget, or loads its run if it is complete. When ctx is
// done, it saves a checkpoint and returns [ErrInterrupted]. skills is the run whose skills the job
// uses, which must be finished; nil if it uses none.
func run(ctx context.Context, o Options, j job, skills *runs.Run) (*runs.Run, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	if found, err := runs.Open(o.Dir()); err == nil && !o.Fresh && found.Status.Completes(o.Budget, o.seeds) {
		if _, trains := j.(*training); trains && !found.HasRepertoire() {
			return nil, fmt.Errorf("%s is finished, but lacks its repertoire.npz: restore that, or --fresh sets the run "+
				"aside and starts again", found.Dir)
		}
		return found, found.Valid()
	}
	if skills != nil && !skills.Status.Finished {
		return nil, fmt.Errorf("%s is not finished: train it to the end first", skills.Dir)
	}
	s := &session{Options: o, job: j}
	defer s.close()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if err := s.loop(ctx); err != nil {
		return s.writer.Run, err
	}
	return s.found()
}

func (s *session) found() (*runs.Run, error) {
	found, err := runs.Open(s.writer.Dir)
	if err == nil {
		err = found.Valid()
	}
	return found, err
}

// explained adds to the error of a search that cannot learn further what is left of the run.
func (s *session) explained(err error) error {
	if diverged := (*scoring.Diverged)(nil); !errors.As(err, &diverged) {
		return err
	}
	return fmt.Errorf("%w, which makes another run; this one ends here again, because all transitions "+
		"were finite; %s", err, s.writer.Newest())
}

// open starts or resumes the run. After an error the folder is as before.
func (s *session) open(ctx context.Context) error {
	err := s.take()
	if err == nil {
		err = s.restore(ctx)
	}
	if err != nil {
		if s.writer != nil { // removes a folder in which nothing was trained
			_ = s.writer.Discard()
			s.writer = nil
		}
		if s.aside != "" {
			if err := os.Rename(s.aside, s.Dir()); err != nil {
				fmt.Fprintf(os.Stderr, "qdnb: the previous run is in %s (%v)\n", s.aside, err)
			}
		}
	} else if s.aside != "" {
		fmt.Fprintf(os.Stderr, "qdnb: moved the previous run from %s to %s\n", s.Dir(), s.aside)
	}
	return err
}

func (s *session) take() (err error) {
	s.start, s.saved = time.Now(), time.Now()
	s.Budget = s.Budget.Share(max(1, s.seeds))
	if s.pause, err = checkpointPause(); err != nil {
		return err
	}
	if s.Fresh {
		if s.aside, err = runs.SetAside(s.Root, s.Config); err != nil {
			return err
		}
	}
	if _, missing := os.Stat(s.Dir()); missing != nil && s.aside == "" {
		if changed := Changed(s.Options); changed != "" { // the settings are those of a run
			fmt.Fprintf(os.Stderr, "qdnb: %s: training a new run, %s\n", changed, s.Config.Name())
		}
		if found := imported(s.Options); found != "" && !s.Quiet {
			fmt.Fprintf(os.Stderr, "qdnb: %s is not continued by %s, which starts from random policies: "+
				"--from %s (Spec.Start) starts from it\n", found, s.Config.Name(), found)
		}
	}
	s.writer, err = runs.Create(s.Root, s.Config)
	return err
}

func (s *session) restore(ctx context.Context) error {
	s.bar = progress.NewBar(s.Config.Name(), s.Quiet)
	s.bar.Remember(s.said)
	arrays, generation, warnings, err := s.writer.LoadCheckpoint(&s.status)
	if err != nil {
		return err
	}
	if lost := s.writer.Lost(generation, warnings); lost != "" {
		return fmt.Errorf("%s %s: restore that, or --fresh sets the run aside and starts again, as does moving its "+
			"folder away", s.writer.Dir, lost)
	}
	for _, warning := range warnings {
		fmt.Fprintln(os.Stderr, "qdnb:", warning)
	}
	if s.from = generation; generation < 0 {
		s.status = runs.Status{MaxFitness: math.Inf(-1)}
	}
	platform, err := xla.Open(ctx, s.Backend)
	if err != nil {
		return err
	}
	if s.status.UseBackend(platform.Name(), s.from) {
		fmt.Fprintf(os.Stderr,
			"qdnb: %s was computed on another backend before; resuming on %s, so the run is not "+
				"bit-identical\n", s.writer.Name(), platform.Name())
	}
	s.bar.Update(s.Budget.Fraction(s.status.Progress), "compiling")
	if err := s.job.open(s, platform, arrays); err != nil {
		return err
	}
	use := machineUse(platform, s.from)
	if use.Programs, err = s.job.digest(); err != nil {
		return err
	}
	s.status.UseMachine(use)
	s.charge(time.Since(s.start).Seconds(), 0)
	s.status.Budget, s.status.Seeds, s.status.Finished = s.Budget, s.seeds, false
	s.status.Version, _ = Build()
	if s.writer.Status.Finished { // its results are no longer those of the continued run
		if err := s.writer.SaveStatus(s.status); err != nil {
			return err
		}
	}
	progress := s.status.Progress
	progress.Seconds = time.Since(s.start).Seconds() // compilation counts towards a time budget
	// the bar extrapolates the remaining time from the progress made from here
	s.bar.Begin(s.job.fraction(progress))
	return s.writer.Begin(s.from, s.job.columns()...)
}

func (s *session) loop(ctx context.Context) error {
	for !s.job.done() {
		if err := s.advance(ctx); err != nil {
			return err
		}
	}
	return s.complete()
}

// advance computes a step, and saves a checkpoint if it is due or ctx is done.
func (s *session) advance(ctx context.Context) error {
	err := s.job.step(ctx)
	stopped := ctx.Err() != nil
	if err != nil && !(stopped && errors.Is(err, ctx.Err())) {
		s.failed = s.explained(err)
		return s.failed
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
	state := s.job.state()
	s.bar.Done(fmt.Sprintf("stopped at %s; %s", state, cell.Rerun()))
	return fmt.Errorf("%w: %s is saved at %s; %s", ErrInterrupted, s.writer.Dir, state, cell.Rerun())
}

// complete writes the results of a job that is done. They show the final state, which methods that
// measure at intervals measure for that purpose only: the last checkpoint holds the state before,
// so that an extended run equals one that never ended here.
func (s *session) complete() error {
	s.status.Finished = true
	before := s.status
	arrays, _, err := s.job.checkpoint()
	if err != nil {
		return err
	}
	if err := s.untimed(s.job.conclude); err != nil {
		return err
	}
	summary, err := s.job.finish()
	if err != nil {
		return err
	}
	if err := s.writer.SaveCheckpoint(before.Generation, arrays, before); err != nil {
		return err
	}
	if err := s.writer.SaveStatus(s.status); err != nil {
		return err
	}
	if err := s.job.clean(); err != nil {
		return err
	}
	s.bar.Done(summary)
	return nil
}

// save writes a checkpoint, or only the status before the first generation.
func (s *session) save() error {
	start := time.Now()
	arrays, ok, err := s.job.checkpoint()
	if err != nil {
		return err
	}
	if ok {
		if err := s.writer.SaveCheckpoint(s.status.Generation, arrays, s.status); err != nil {
			return err
		}
		s.saved, s.took = time.Now(), time.Since(start)
	}
	return s.writer.SaveStatus(s.status)
}

// fraction is the spent fraction of the budget, for jobs without another measure of progress.
func (s *session) fraction(p runs.Progress) float64 { return s.Budget.Fraction(p) }

// conclude does nothing, for jobs that measure at each step.
func (s *session) conclude() error { return nil }

// clean deletes nothing, for jobs whose finished runs need all files.
func (s *session) clean() error { return nil }

// clock updates the run's wall-clock and processor time, which is the whole process's.
func (s *session) clock() {
	s.status.Seconds = time.Since(s.start).Seconds()
	s.status.CPUSeconds = max(s.status.CPUSeconds, processorSeconds()-s.cpu)
}

// charge makes the next clock add wall-clock and processor time, in seconds, to the run's.
func (s *session) charge(seconds, cpu float64) {
	s.start = time.Now().Add(-time.Duration((s.status.Seconds + seconds) * float64(time.Second)))
	s.cpu = processorSeconds() - s.status.CPUSeconds - cpu
}

// untimed calls a function whose time does not count towards the run's.
func (s *session) untimed(f func() error) error {
	start, cpu := time.Now(), processorSeconds()
	err := f()
	s.start = s.start.Add(time.Since(start))
	s.cpu += processorSeconds() - cpu
	return err
}

// processorSeconds returns the processor time of this process, user and system.
func processorSeconds() float64 {
	var usage syscall.Rusage
	// Getrusage cannot fail for the calling process.
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// close frees the programs and releases the folder. Everything has been written before.
func (s *session) close() {
	if s.bar != nil {
		s.bar.Close()
	}
	s.job.close()
	if s.writer != nil {
		_ = s.writer.Close()
	}
}
