package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// RunOptions say how lines are carried out.
type RunOptions struct {
	Runs    string // folder of the runs; [runs.Folder] if empty
	Backend string // see [xla.Open]; empty for the best there is
	Quiet   bool   // no progress bars; the lines are told all the same
	Scale   Scale  // of experiments that [PrepareIn] plans; [Small] if empty

	Log  io.Writer     // for what is being done, a line at a time; standard error if nil
	Poll time.Duration // between two looks at a folder that another process holds; 0: 10 seconds
}

// ErrFailed is what [Run] returns if lines failed; it told of each.
var ErrFailed = errors.New("failed")

// Run carries out the lines of a plan that are not done, each after the runs that it needs, in one
// process: programs that lines have in common are compiled once. A line that fails does not stop
// the others, except those that need it. Lines that another process works at are left for the end,
// and then waited for, so that any number of processes may work at one plan.
//
// When ctx is done, the run in progress is saved and Run ends with [qdnb.ErrInterrupted]; the same
// call goes on.
func Run(ctx context.Context, lines []sweep.Line, o RunOptions) error {
	e := newExecutor(o, lines)
	if left := sweep.Total(sweep.Inspect(e.Runs, lines)).Left; left.Time > 0 {
		e.say("%d lines%s", len(lines), e.left())
	}
	var rest []int
	for i := range lines {
		rest = append(rest, i)
	}
	var failures []string
	for pass := 0; len(rest) > 0; pass++ {
		var held []int
		for _, i := range rest {
			err := e.line(ctx, i, pass > 0)
			switch {
			case errors.Is(err, qdnb.ErrInterrupted):
				return err
			case errors.Is(err, errHeld):
				held = append(held, i)
			case err != nil:
				e.say("line %d/%d failed: %v", i, len(lines), err)
				failures = append(failures, fmt.Sprintf("line %d, %s: %v", i, lines[i].Name(), err))
			}
		}
		rest = held
	}
	if len(failures) > 0 {
		return fmt.Errorf("%d of %d lines %w: %s", len(failures), len(lines), ErrFailed,
			strings.Join(failures, "; "))
	}
	e.say("all %d lines are done", len(lines))
	return nil
}

// RunIndex carries out one line of a plan, counted from 0, after the runs that it needs: a task of
// a job array. It waits for other processes that work at the same runs.
func RunIndex(ctx context.Context, lines []sweep.Line, index int, o RunOptions) error {
	if _, err := sweep.At(lines, index); err != nil {
		return err
	}
	return newExecutor(o, lines).line(ctx, index, true)
}

// errHeld says that another process holds the folder of a run.
var errHeld = errors.New("another process is at it")

// executor carries out lines.
type executor struct {
	RunOptions
	lines  []sweep.Line
	failed map[string]error // by the names of runs
}

func newExecutor(o RunOptions, lines []sweep.Line) *executor {
	if o.Runs == "" {
		o.Runs = runs.Folder()
	}
	if o.Log == nil {
		o.Log = os.Stderr
	}
	if o.Poll == 0 {
		o.Poll = 10 * time.Second
	}
	return &executor{RunOptions: o, lines: lines, failed: map[string]error{}}
}

func (e *executor) say(format string, args ...any) {
	fmt.Fprintf(e.Log, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// line carries out a line unless it is done. If it may not wait, it ends with errHeld where another
// process is at it.
func (e *executor) line(ctx context.Context, index int, wait bool) error {
	line := e.lines[index]
	if done, err := sweep.IsDone(e.Runs, line.Run, line.Budget); err != nil || done {
		return err
	}
	if err := e.allow(ctx); err != nil {
		return err
	}
	announced := false
	announce := func() {
		if !announced {
			cost := ""
			if line.CPUSeconds > 0 {
				cost = fmt.Sprintf(" (about %s of processor time)", minutes(line.CPUSeconds))
			}
			e.say("line %d/%d: %s%s%s", index, len(e.lines), line.Name(), cost, e.left())
			announced = true
		}
	}
	for _, need := range line.Needs {
		if err := e.failed[need.Run.Name()]; err != nil {
			return fmt.Errorf("it needs %s, which failed", need.Run.Name())
		}
		err := e.free(ctx, need.Run, need.Budget, wait, announce,
			func() error { return e.train(ctx, need.Run, need.Budget) })
		if err != nil {
			return err
		}
	}
	return e.free(ctx, line.Run, line.Budget, wait, announce,
		func() error { return e.execute(ctx, line) })
}

// free does work that makes a run complete, unless it is. While another process holds the run's
// folder it waits, or ends with errHeld.
func (e *executor) free(ctx context.Context, c runs.Config, b runs.Budget, wait bool,
	announce func(), work func() error) error {
	dir := filepath.Join(e.Runs, c.Name())
	told := ""
	for {
		if done, err := sweep.IsDone(e.Runs, c, b); err != nil || done {
			return err
		}
		holder := runs.Holder(dir)
		if holder == "" {
			announce()
			err := work()
			if err == nil || errors.Is(err, qdnb.ErrInterrupted) {
				return err
			}
			if holder = runs.Holder(dir); holder == "" { // else somebody was faster
				e.failed[c.Name()] = err
				return err
			}
		}
		if !wait {
			return errHeld
		}
		if holder != told {
			e.say("%s is at %s; waiting", holder, c.Name())
			told = holder
		}
		select {
		case <-ctx.Done():
			return e.allow(ctx)
		case <-time.After(e.Poll):
		}
	}
}

// allow is the error of having been told to stop.
func (e *executor) allow(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: what was done is saved; the same command goes on", qdnb.ErrInterrupted)
}

// left says how much of the plan there is still to do.
func (e *executor) left() string {
	total := sweep.Total(sweep.Inspect(e.Runs, e.lines))
	text := fmt.Sprintf(", %d done", total.Count[sweep.Done])
	if total.Left.Time > 0 {
		unknown := ""
		if total.Left.Unknown > 0 {
			unknown = fmt.Sprintf(" and %d lines like none before", total.Left.Unknown)
		}
		text += fmt.Sprintf(", about %v%s to go", total.Left.Time, unknown)
	}
	return text
}

// execute does what a line says.
func (e *executor) execute(ctx context.Context, line sweep.Line) error {
	switch line.Run.Algorithm {
	case qdnb.Adaptation:
		return e.adapt(ctx, line)
	case qdnb.HierarchicalControl:
		return e.steer(ctx, line)
	}
	return e.train(ctx, line.Run, line.Budget)
}

// train makes or completes a training run.
func (e *executor) train(ctx context.Context, c runs.Config, b runs.Budget) error {
	spec, err := trainingSpec(c)
	if err != nil {
		return err
	}
	if b == (runs.Budget{}) {
		return fmt.Errorf("%s has no budget", c.Name())
	}
	spec.Budget, spec.Runs, spec.Backend, spec.Quiet = b, e.Runs, e.Backend, e.Quiet
	run, err := qdnb.TrainContext(ctx, spec)
	if paper := results.PaperSteps(c.Algorithm, c.Env); err == nil && b.Timed() && paper > 0 {
		steps := float64(run.Status.EnvSteps)
		e.say("%s took %.3g environment steps, %.2g of the paper's %.3g", c.Name(), steps,
			steps/float64(paper), float64(paper))
	}
	return err
}

// trainingSpec is what trains the run of a configuration.
func trainingSpec(c runs.Config) (qdnb.Spec, error) {
	spec := qdnb.Spec{Algorithm: c.Algorithm, Env: c.Env, Seed: c.Seed}
	fields := map[string]json.RawMessage{}
	if len(c.Hyperparameters) > 0 {
		if err := json.Unmarshal(c.Hyperparameters, &fields); err != nil {
			return spec, err
		}
	}
	spec.Set = assignments(fields)
	resolved, err := spec.Config()
	if err != nil {
		return spec, fmt.Errorf("hyperparameters of %s: %w", c.Algorithm, err)
	}
	return spec, sameRun(c, resolved)
}

// assignments are hyperparameters as [runs.Set] takes them.
func assignments(fields map[string]json.RawMessage) (set []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text := string(fields[name])
		var quoted string
		if json.Unmarshal(fields[name], &quoted) == nil {
			text = quoted
		}
		set = append(set, name+"="+text)
	}
	return set
}

// sameRun tells whether this program would make the run that a plan names.
func sameRun(wanted, made runs.Config) error {
	if wanted.Name() == made.Name() {
		return nil
	}
	return fmt.Errorf("%s would be %s with this version of the program, which has other "+
		"hyperparameters: write the plan again", wanted.Name(), made.Name())
}

// skillsOf opens the run that a line needs.
func (e *executor) skillsOf(line sweep.Line) (*runs.Run, runs.Budget, error) {
	if len(line.Needs) != 1 {
		return nil, runs.Budget{}, fmt.Errorf("it must need one run, whose skills it uses, not %d",
			len(line.Needs))
	}
	need := line.Needs[0]
	run, err := runs.Open(filepath.Join(e.Runs, need.Run.Name()))
	return run, need.Budget, err
}

// adapt evaluates the skills of the run that a line needs.
func (e *executor) adapt(ctx context.Context, line sweep.Line) error {
	skills, budget, err := e.skillsOf(line)
	if err != nil {
		return err
	}
	spec, err := qdnb.AdaptSpecOf(line.Run)
	if err != nil {
		return err
	}
	spec.Skills, spec.SkillsBudget, spec.Runs, spec.Backend, spec.Quiet = skills, budget, e.Runs,
		e.Backend, e.Quiet
	made, err := qdnb.AdaptConfig(skills.Config, budget, spec)
	if err == nil {
		err = sameRun(line.Run, made)
	}
	if err != nil {
		return err
	}
	_, err = qdnb.Adapt(ctx, spec)
	return err
}
