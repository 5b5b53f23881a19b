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

// ErrInterrupted is what [Train] returns when it was told to stop: the run is saved, and the same
// call goes on.
var ErrInterrupted = errors.New("interrupted")

// Interruptible is a context for [TrainContext], [Adapt] and [Control] that is done when SIGINT or
// SIGTERM comes (an interrupted cell), so that they save what they have; a second signal ends the
// process at once. stop gives signals back.
func Interruptible() (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal finds no handler
	return ctx, stop
}

// CheckpointEnv names the environment variable that says how long it is from one checkpoint to the
// next, as in 30s.
const CheckpointEnv = "QDNB_CHECKPOINT_EVERY"

// checkpointEvery is the time between two checkpoints where $QDNB_CHECKPOINT_EVERY says nothing.
const checkpointEvery = 2 * time.Minute

// checkpointPause is the time between two checkpoints. What is lost when a process is killed is no
// older; a checkpoint takes as long as its bytes need to the disk.
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

// session is the time for which this process holds the folder of a run: what training, adaptation
// and control have in common. It opens the folder, goes on from the newest checkpoint, writes
// others, and says how to go on when it is told to stop.
type session struct {
	writer *runs.Writer
	status runs.Status
	bar    *runs.Bar
	from   int64     // generation of the checkpoint that it goes on from, -1 without one
	start  time.Time // such that the time since it is what the run took over all sessions
	// such that the processor time of the process less it is what the run took over all sessions
	cpu   float64
	saved time.Time     // when the newest checkpoint was
	pause time.Duration // between two checkpoints
}

// open takes the folder of a run and returns what its newest checkpoint holds, nil without one.
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

// use notes the backend that goes on with the run.
func (s *session) use(platform *xla.Platform) {
	if s.status.UseBackend(platform.Name(), s.from) {
		fmt.Fprintf(os.Stderr,
			"qdnb: another backend computed %s before: going on with %s, the result is not exact to the "+
				"bit\n",
			s.writer.Name(), platform.Name())
	}
}

// begin starts the session proper, once all is compiled and restored. The time that the bar says is
// left is extrapolated from what is done after it.
func (s *session) begin(budget runs.Budget, compileSeconds float64, columns ...string) error {
	s.status.CompileSeconds += compileSeconds
	s.start = s.start.Add(-time.Duration(s.status.Seconds * float64(time.Second)))
	s.cpu = processorSeconds() - s.status.CPUSeconds
	s.status.Budget, s.status.Finished, s.status.Version = budget, false, version()
	progress := s.status.Progress
	progress.Seconds = time.Since(s.start).Seconds() // a budget of time has spent some on compilation
	s.bar.Begin(budget.Fraction(progress))
	return s.writer.Begin(s.from, columns...)
}

// clock notes the times that the run took so far. The processor time is the whole process's: runs
// that it trains side by side count each other's.
func (s *session) clock() {
	s.status.Seconds = time.Since(s.start).Seconds()
	s.status.CPUSeconds = max(s.status.CPUSeconds, processorSeconds()-s.cpu)
}

// processorSeconds is the processor time of this process, user and system.
func processorSeconds() float64 {
	var usage syscall.Rusage
	// it cannot fail for this process
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// due tells whether it is time for a checkpoint.
func (s *session) due() bool { return time.Since(s.saved) > s.pause }

// checkpoint keeps the state at a generation.
func (s *session) checkpoint(generation int64, arrays map[string]npz.Array) error {
	if err := s.writer.SaveCheckpoint(generation, arrays, s.status); err != nil {
		return err
	}
	s.saved = time.Now()
	return s.writer.SaveStatus(s.status)
}

// interrupted is the error of a session that was told to stop and has saved its state, which is
// called such as "generation 5".
func (s *session) interrupted(state string) error {
	s.bar.Done(fmt.Sprintf("stopped at %s; the same command goes on", state))
	return fmt.Errorf("%w: %s is saved at %s; the same command goes on", ErrInterrupted, s.writer.Dir,
		state)
}

// abandon gives the folder back after an open or begin that failed: the folder of a run that cannot
// begin is of no use.
func (s *session) abandon() {
	if s.writer != nil {
		_ = s.writer.Discard()
		s.writer = nil
	}
}

// close gives the folder back. What had to be written was.
func (s *session) close() {
	if s.writer != nil {
		_ = s.writer.Close()
	}
}
