package qdnb

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// ErrInterrupted is the error of an interrupted [Train]. The run is saved, and the same call
// resumes it.
var ErrInterrupted = errors.New("interrupted")

// Interruptible returns a context that SIGINT or SIGTERM (an interrupted cell) cancels. Passed to
// [TrainContext], [Adapt] and [Control], it makes them save a checkpoint and return. A second
// signal ends the process at once. stop restores the default handling of signals.
func Interruptible() (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal finds no handler
	return ctx, stop
}

// CheckpointEnv names the environment variable that sets the time between checkpoints, as in 30s.
const CheckpointEnv = "QDNB_CHECKPOINT_EVERY"

// checkpointEvery is the time between checkpoints if $QDNB_CHECKPOINT_EVERY is not set.
const checkpointEvery = 2 * time.Minute

// checkpointPause returns the time between checkpoints. A killed process loses at most that much
// work; writing a checkpoint takes as long as the disk needs for its bytes.
func checkpointPause() (time.Duration, error) {
	text := os.Getenv(CheckpointEnv)
	if text == "" {
		return checkpointEvery, nil
	}
	pause, err := time.ParseDuration(text)
	if err != nil || pause < 0 {
		return 0, errors.Errorf("$%s is %q: use a duration such as 30s or 5m", CheckpointEnv, text)
	}
	return pause, nil
}

// session is the time during which this process holds a run folder. Training, adaptation and
// control share it. It opens the folder, resumes from the newest checkpoint, writes new ones, and
// says how to resume when it is interrupted.
type session struct {
	writer *runs.Writer
	status runs.Status
	bar    *runs.Bar
	from   int64 // generation of the checkpoint it resumed from, -1 without one

	// start is set back so that time.Since(start) is the run's time over all sessions.
	start time.Time
	// cpu is subtracted from the process's processor time to give the run's over all sessions.
	cpu float64

	saved time.Time     // when the newest checkpoint was written
	pause time.Duration // between checkpoints
}

// open takes a run folder and returns the arrays of its newest checkpoint, nil without one.
func (s *session) open(root string, c runs.Config, quiet bool) (arrays map[string]npz.Array,
	err error) {
	s.start, s.saved = time.Now(), time.Now()
	if s.pause, err = checkpointPause(); err != nil {
		return nil, err
	}
	if s.writer, err = runs.Create(root, c); err != nil {
		return nil, err
	}
	s.bar = runs.NewBar(c.Name(), quiet)
	s.status = s.writer.Status
	arrays, generation, warnings, err := s.writer.LoadCheckpoint(&s.status)
	if err != nil {
		return nil, err
	}
	for _, warning := range warnings {
		fmt.Fprintln(os.Stderr, "qdnb:", warning)
	}
	if s.from = generation; generation < 0 {
		s.status = runs.Status{MaxFitness: math.Inf(-1)}
	}
	return arrays, nil
}

// use records the session's backend, and warns if another one computed the run before.
func (s *session) use(platform *xla.Platform) {
	if s.status.UseBackend(platform.Name(), s.from) {
		fmt.Fprintf(os.Stderr,
			"qdnb: %s was computed on another backend before; resuming on %s, so the run is not "+
				"bit-identical\n",
			s.writer.Name(), platform.Name())
	}
}

// begin starts the session's clock and log after compiling and restoring. The progress bar
// extrapolates the remaining time from the progress made after it.
func (s *session) begin(budget runs.Budget, compileSeconds float64, columns ...string) error {
	s.status.CompileSeconds += compileSeconds
	s.start = s.start.Add(-time.Duration(s.status.Seconds * float64(time.Second)))
	s.cpu = processorSeconds() - s.status.CPUSeconds
	s.status.Budget, s.status.Finished, s.status.Version = budget, false, version()
	progress := s.status.Progress
	progress.Seconds = time.Since(s.start).Seconds() // compilation counts towards a time budget
	s.bar.Begin(budget.Fraction(progress))
	return s.writer.Begin(s.from, columns...)
}

// clock updates the run's wall-clock and processor time. The processor time is the whole process's,
// so runs trained side by side in one process count each other's.
func (s *session) clock() {
	s.status.Seconds = time.Since(s.start).Seconds()
	s.status.CPUSeconds = max(s.status.CPUSeconds, processorSeconds()-s.cpu)
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

// due reports whether it is time for a checkpoint.
func (s *session) due() bool { return time.Since(s.saved) > s.pause }

// checkpoint saves the state at a generation.
func (s *session) checkpoint(generation int64, arrays map[string]npz.Array) error {
	if err := s.writer.SaveCheckpoint(generation, arrays, s.status); err != nil {
		return err
	}
	s.saved = time.Now()
	return s.writer.SaveStatus(s.status)
}

// interrupted returns the error of an interrupted session that has saved its state, which is named
// as in "generation 5".
func (s *session) interrupted(state string) error {
	s.bar.Done(fmt.Sprintf("stopped at %s; rerun the same command to resume", state))
	return fmt.Errorf("%w: %s is saved at %s; rerun the same command to resume", ErrInterrupted,
		s.writer.Dir, state)
}

// abandon releases the folder after a failed open or begin, and removes it if nothing was
// trained in it.
func (s *session) abandon() {
	if s.writer != nil {
		_ = s.writer.Discard()
		s.writer = nil
	}
}

// close releases the folder. Everything has been written before.
func (s *session) close() {
	if s.writer != nil {
		_ = s.writer.Close()
	}
}
