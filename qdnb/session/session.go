// Package session computes runs: training, adaptation and hierarchical control. A reader follows a
// training from its spec to the archive through
//
//	Spec          spec.go     what the caller asks for
//	Spec.Training resolve.go  its environment, algorithm, settings and identity
//	Training.Run  train.go    the loop: open, a generation at a time, results
//	session.open  session.go  the folder: its lock, newest checkpoint, and clock: calls runs.Resume, which
//	                          says in which order; restore reads tensors, restoreReplay (results.go) the rest
//	Search.Step   algorithms  a generation: evaluation, then insertion into the archive
package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/janpfeifer/gonb/gonbui"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/progress"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// ErrInterrupted is the error of an interrupted run. The run is saved, and the same call resumes
// it.
var ErrInterrupted = errors.New("interrupted")

var errNoContext = errors.New("no context: it is nil; use context.Background(), or nb.Interruptible() in a cell")

// CheckpointEnv names the environment variable that sets the time between checkpoints, as in 30s.
const CheckpointEnv = "QDNB_CHECKPOINT_EVERY"

// checkpointEvery is the time between checkpoints if $QDNB_CHECKPOINT_EVERY is not set. A killed
// process loses at most that much work, or more if writing takes long.
const checkpointEvery = "2m"

// session is the time during which this process holds the folder of a training.
type session struct {
	Training
	writer   *runs.Writer
	status   runs.Status
	bar      *progress.Bar
	platform *xla.Platform
	search   algorithms.Search
	table    *adapting       // the search, if its results are rows instead of a repertoire; else nil
	reached  int64           // newest generation, -1 before the first step
	stored   *xla.Checkpoint // what the search lists before its first step
	live     *live           // nil: no figure is drawn
	largest  int             // most members that a population had, at least 2; 0: not known
	noReplay bool            // the replay buffer was not restored, since nothing is left to learn

	// start is set back so that time.Since(start) is the run's time over all sessions.
	start time.Time
	// cpu is subtracted from the process's processor time to give the run's over all sessions.
	cpu float64

	saved time.Time     // when the newest checkpoint was written
	pause time.Duration // between checkpoints, at least
	took  time.Duration // to write the newest one
}

// open starts or resumes the run. After an error the folder is as before.
func (s *session) open(ctx context.Context) (err error) {
	s.start, s.saved = time.Now(), time.Now()
	s.Spec.Budget = s.Spec.Budget.Share(max(1, s.seeds))
	text := cmp.Or(os.Getenv(CheckpointEnv), checkpointEvery)
	if s.pause, err = time.ParseDuration(text); err != nil || s.pause < 0 {
		return names.Wrongf("$%s is %q: use a duration such as 30s or 5m", CheckpointEnv, text)
	}
	aside := "" // where Fresh moves the previous run
	if s.Spec.Fresh {
		if aside, err = runs.SetAside(s.Spec.Runs, s.Config); err != nil {
			return err
		}
	}
	if _, missing := os.Stat(s.Dir()); missing != nil && aside == "" {
		s.announce()
	}
	s.bar = progress.NewBar(s.Config.Name(), s.Spec.Quiet)
	s.bar.Remember(s.said)
	restored := func(w *runs.Writer, from runs.Checkpoint) ([]string, error) {
		if err := s.restore(ctx, w, from); err != nil {
			return nil, err
		}
		return s.columns(), nil
	}
	s.writer, err = runs.Resume(s.Spec.Runs, s.Config, &s.status, restored)
	switch {
	case aside != "" && err == nil:
		fmt.Fprintf(os.Stderr, "qdnb: moved the previous run from %s to %s\n", s.Dir(), aside)
	case aside != "":
		if failed := os.Rename(aside, s.Dir()); failed != nil {
			fmt.Fprintf(os.Stderr, "qdnb: the previous run is in %s (%v)\n", aside, failed)
		}
	}
	return err
}

// announce says about a new run which earlier run its caller may have expected to continue.
func (s *session) announce() {
	if changed := s.changed(); changed != "" { // the settings are those of a run
		fmt.Fprintf(os.Stderr, "qdnb: %s: training a new run, %s\n", changed, s.Config.Name())
	}
	if found := s.imported(); found != "" && !s.Spec.Quiet {
		fmt.Fprintf(os.Stderr, "qdnb: %s is not continued by %s, which starts from random policies: "+
			"--from %s (Spec.Start) starts from it\n", found, s.Config.Name(), found)
	}
}

// restore compiles the search and gives it the state of a checkpoint.
func (s *session) restore(ctx context.Context, w *runs.Writer, from runs.Checkpoint) (err error) {
	s.writer, s.reached = w, from.Generation
	for _, warning := range from.Warnings {
		fmt.Fprintln(os.Stderr, "qdnb:", warning)
	}
	if s.platform, err = xla.Open(ctx, s.Spec.Backend); err != nil {
		return err
	}
	s.bar.Update(s.Spec.Budget.Fraction(s.status.Progress), "compiling")
	if err := s.compile(from.Arrays); err != nil {
		return err
	}
	if state, _ := s.describe(); s.reached >= 0 && !s.Spec.Quiet {
		s.bar.Notice("resuming %s at %s", w.Name(), state)
	}
	use := machineUse(s.platform, from.Generation)
	if use.Programs, err = s.Digest(); err != nil {
		return err
	}
	if len(s.Config.Parts) == 0 && !strings.HasSuffix(use.Commit, ", modified") {
		use.Numbers = numbersOf(cmp.Or(s.Base, s.Config.Algorithm), s.Config.Env)
	}
	if s.status.UseMachine(use) {
		s.bar.Notice("%s was computed on another backend before; resuming on %s, so the run is not bit-identical",
			w.Name(), use.Backend)
	}
	s.resumeClock()
	s.status.Budget, s.status.Seeds, s.status.Finished = s.Spec.Budget, s.seeds, false
	s.status.Version, _ = Build()
	s.status.Evaluate = s.evaluate
	if w.Status.Finished { // its results are no longer those of the continued run
		if err := w.SaveStatus(s.status); err != nil {
			return err
		}
	}
	// compilation counts towards a time budget
	progress := s.status.Progress
	progress.Seconds = time.Since(s.start).Seconds()
	// the bar extrapolates the remaining time from the progress made from here
	s.bar.Begin(s.Spec.Budget.Fraction(progress))
	return nil
}

// compile makes the search and restores the arrays of a checkpoint, if there is one.
func (s *session) compile(arrays map[string]npz.Array) (err error) {
	s.writer.TensorBoard, s.writer.KeepGenotypes = s.Spec.TensorBoard, s.Spec.KeepGenotypes
	if slow := slowCompilation(s.Env); slow != "" && !s.Spec.Quiet {
		s.bar.Notice("%s", slow)
	}
	if simulator, ok := s.Env.(*envs.Simulator); ok && simulator.Evaluate == nil {
		return fmt.Errorf("%s has no function Evaluate: set it, or evaluate genotypes yourself with qdnb.Ask",
			simulator.Facts.Name)
	}
	if s.search, err = s.Training.search(s.platform); err != nil {
		return err
	}
	if s.stored = s.search.State(); s.stored == nil {
		return fmt.Errorf("State of the search of %s returned nil: return a checkpoint, such as xla.Stored()", s.Config.Algorithm)
	}
	var ok bool
	if s.table, ok = s.search.(*adapting); ok {
		s.Spec.Budget.Evaluations, s.table.watch = s.table.total(), s.watch
	} else if gonbui.IsNotebook && !s.Spec.Quiet && !s.Spec.Still {
		s.live = &live{id: cell.Live(), drawn: time.Now(), took: 50 * time.Millisecond}
	}
	if err := s.correctable(); err != nil {
		return err
	}
	if s.reached >= 0 {
		if err := policies.SameChoices(s.writer.Name(), s.status, s.Env); err != nil {
			return err
		}
		if err := s.stored.Restore(arrays); err != nil {
			return err
		}
		if err := s.restoreReplay(); err != nil {
			return err
		}
	}
	if err := s.saveSource(); err != nil {
		return err
	}
	if s.status.Finished && !s.measured() {
		// the snapshots of the end show the state after conclude
		if err := s.untimed(s.snapshots); err != nil {
			return err
		}
	}
	spec := s.Env.Spec()
	s.status.Descriptor, s.status.Base = spec.Descriptor.Components, s.Base
	s.status.Lower, s.status.Upper = spec.Descriptor.Lower, spec.Descriptor.Upper
	s.status.Observations, s.status.Actions = spec.Observations, spec.Actions
	s.status.Choices = policies.Choices(s.Env)
	s.status.CompileSeconds += s.search.CompileTime().Seconds()
	return nil
}

// slowCompilation says that a robot takes long to compile: one of MuJoCo's engine that is large, or a long chain of
// bodies, on two cores 37 s for 30 bodies, 144 s for 60. It is empty for other environments.
func slowCompilation(env envs.Env) string {
	r, ok := envs.Inner(env).(*envs.Rigid)
	if !ok {
		return ""
	}
	switch system := r.System.(type) {
	case *mujoco.System:
		if system.Large() {
			return fmt.Sprintf("compiling a robot with %d bodies and %d pairs of geoms that may touch, which can take a minute",
				len(system.BodyNames())-1, len(system.Pairs()))
		}
	case *physics.System:
		if depth := system.Depth(); depth >= 16 {
			return fmt.Sprintf("compiling a chain of %d bodies, which takes about %d s the first time; the time grows with "+
				"the square of the length", depth, depth*depth/25)
		}
	}
	return ""
}

// saveSource stores the source of what the user supplies, if it belongs to the run's identity, and a robot.
func (s *session) saveSource() error {
	if robot, ok := envs.Robot(s.Env); ok {
		text, err := json.Marshal(robot)
		if err == nil {
			err = s.writer.SaveRobot(text)
		}
		if err != nil {
			return err
		}
	}
	for part := range s.Config.Parts {
		if text := xla.Source(s.Algorithm, s.Env); part != startPart && text != "" {
			return s.writer.SaveSource(text)
		}
	}
	return nil
}

// Columns are the columns of metrics.csv that all algorithms share.
var Columns = []string{"generation", "evaluations", "env_steps", "seconds", "max_fitness",
	"coverage", "qd_score", "invalid"}

// columns are those of metrics.csv.
func (s *session) columns() []string {
	if s.table != nil {
		return s.table.Columns()
	}
	own := names.Columns(s.search.Columns(), append([]string{runs.FinalColumn}, Columns...)...)
	return slices.Concat(Columns, own, []string{runs.FinalColumn})
}

// save writes a checkpoint, or only the status before the first generation.
func (s *session) save() error {
	start := time.Now()
	if s.reached >= 0 {
		arrays, err := s.checkpoint()
		if err == nil {
			err = s.writer.SaveCheckpoint(s.status.Generation, arrays, s.status)
		}
		if err != nil {
			return err
		}
		s.saved, s.took = time.Now(), time.Since(start)
	}
	return s.writer.SaveStatus(s.status)
}

// checkpoint returns the arrays of the search, and saves its replay buffer.
func (s *session) checkpoint() (arrays map[string]npz.Array, err error) {
	state := s.search.State()
	if arrays, err = state.Arrays(); err == nil {
		err = s.stored.Unknown(arrays)
	}
	if name := state.NaN(arrays); err == nil && name != "" {
		err = s.explained(scoring.Outcome{Generation: s.reached}.NaN(name))
	}
	if err == nil {
		err = s.saveReplay()
	}
	return arrays, err
}

// clock updates the run's wall-clock and processor time, which is the whole process's.
func (s *session) clock() {
	s.status.Seconds = time.Since(s.start).Seconds()
	s.status.CPUSeconds = max(s.status.CPUSeconds, processorSeconds()-s.cpu)
}

// resumeClock makes the next clock count from the end of earlier sessions, and from the start of
// this one, whose compilation takes no processor time of the run.
func (s *session) resumeClock() {
	s.start = s.start.Add(-time.Duration(s.status.Seconds * float64(time.Second)))
	s.cpu = processorSeconds() - s.status.CPUSeconds
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
	if s.search != nil {
		s.search.Close()
	}
	if s.writer != nil {
		_ = s.writer.Close()
	}
}
