package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// RunOptions configure [Run] and [RunIndex].
type RunOptions struct {
	Runs      string // folder of the runs; default [runs.Folder]
	Backend   string // see xla.Open; default: the best available
	Quiet     bool   // no progress bars; lines are still logged
	Corrected int    // of training runs, see [qdnb.Spec]
	By        runs.Average
	Scale     Scale // of experiments that [PrepareIn] plans; default [Small]

	Log  io.Writer     // log of the lines being run; default standard error
	Poll time.Duration // interval between checks of a folder held by another process; default 10 s
}

// ErrFailed is returned by [Run] if lines failed. Each failure has been logged.
var ErrFailed = errors.New("failed")

// Run runs the unfinished lines of a plan in one process, each after the runs that it needs.
// Programs that lines share are compiled once. If a line fails, the others still run, except those
// that need it. Lines held by another process are left for the end and then waited for, so any
// number of processes can share a plan.
//
// When ctx is done, the current run is saved and Run returns [qdnb.ErrInterrupted]. Call it again
// to resume.
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
		return fmt.Errorf("%d of %d lines %w: %s", len(failures), len(lines), ErrFailed, strings.Join(failures, "; "))
	}
	e.say("all %d lines are done", len(lines))
	return nil
}

// RunIndex runs one line of a plan, counted from 0, after the runs that it needs, as a task of a
// job array. It waits for other processes that hold the same runs.
func RunIndex(ctx context.Context, lines []sweep.Line, index int, o RunOptions) error {
	if index < 0 || index >= len(lines) {
		return names.Wrongf("index %d is out of range: the plan has %d lines, 0 to %d", index, len(lines), len(lines)-1)
	}
	return newExecutor(o, lines).line(ctx, index, true)
}

// errHeld means that another process holds a run's folder.
var errHeld = errors.New("another process holds the run")

type executor struct {
	RunOptions
	lines  []sweep.Line
	failed map[string]error // by run name
}

func newExecutor(o RunOptions, lines []sweep.Line) *executor {
	o.Runs, o.Poll = cmp.Or(o.Runs, runs.Folder()), cmp.Or(o.Poll, 10*time.Second)
	if o.Log == nil {
		o.Log = os.Stderr
	}
	return &executor{RunOptions: o, lines: lines, failed: map[string]error{}}
}

func (e *executor) say(format string, args ...any) {
	fmt.Fprintf(e.Log, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// line runs a line unless it is done. If another process holds the run, it waits or, if wait is
// false, returns errHeld.
func (e *executor) line(ctx context.Context, index int, wait bool) error {
	line := e.lines[index]
	if done, err := sweep.IsDone(e.Runs, line.Run, line.Budget); err != nil || done {
		return err
	}
	if err := e.stopped(ctx); err != nil {
		return err
	}
	if err := e.failed[line.Run.Name()]; err != nil { // in a line of another experiment
		return err
	}
	announce := sync.OnceFunc(func() {
		cost := ""
		if line.CPUSeconds > 0 {
			cost = fmt.Sprintf(" (about %s of processor time)", tables.Duration(line.CPUSeconds))
		}
		e.say("line %d/%d: %s%s%s", index, len(e.lines), line.Name(), cost, e.left())
	})
	for _, need := range line.Needs {
		if err := e.failed[need.Run.Name()]; err != nil {
			return fmt.Errorf("needs %s, which failed", need.Run.Name())
		}
		err := e.ensure(ctx, need.Run, need.Budget, wait, announce, func() error { return e.train(ctx, need.Run, need.Budget) })
		if err != nil {
			return err
		}
	}
	return e.ensure(ctx, line.Run, line.Budget, wait, announce, func() error { return e.execute(ctx, line) })
}

// ensure calls work to complete a run unless it is already complete. If another process holds the
// run's folder, it waits or, if wait is false, returns errHeld.
func (e *executor) ensure(ctx context.Context, c runs.Config, b runs.Budget, wait bool,
	announce func(), work func() error) error {
	dir := filepath.Join(e.Runs, c.Name())
	reported := ""
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
			var held runs.HeldError // by another process that was faster
			if !errors.As(err, &held) {
				e.failed[c.Name()] = err
				return err
			}
			holder = held.Holder
		}
		if !wait {
			return errHeld
		}
		if holder != reported {
			e.say("waiting for %s, which holds %s", holder, c.Name())
			reported = holder
		}
		select {
		case <-ctx.Done():
			return e.stopped(ctx)
		case <-time.After(e.Poll):
		}
	}
}

// stopped returns an error if the executor is to stop.
func (e *executor) stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: progress is saved; %s", qdnb.ErrInterrupted, cell.Rerun())
}

// left describes the work that remains in the plan.
func (e *executor) left() string {
	total := sweep.Total(sweep.Inspect(e.Runs, e.lines))
	text := fmt.Sprintf(", %d done", total.Count[sweep.Done])
	if total.Left.Time > 0 {
		text += fmt.Sprintf(", about %v to go", total.Left)
	}
	return text
}

func (e *executor) execute(ctx context.Context, line sweep.Line) error {
	uses := map[string]func(context.Context, sweep.Line, *runs.Run, runs.Budget) error{
		records.Adaptation: e.adapt, records.HierarchicalControl: e.trainController,
	}[line.Run.Algorithm]
	if uses == nil {
		return e.train(ctx, line.Run, line.Budget)
	}
	if len(line.Needs) != 1 {
		return fmt.Errorf("the line must need one run, whose skills it uses, not %d", len(line.Needs))
	}
	need := line.Needs[0]
	skills, err := runs.Open(filepath.Join(e.Runs, need.Run.Name()))
	if err != nil {
		return err
	}
	return uses(ctx, line, skills, need.Budget)
}

// train starts or resumes a training run.
func (e *executor) train(ctx context.Context, c runs.Config, b runs.Budget) error {
	spec, err := session.SpecOf(c)
	if err != nil {
		return err
	}
	if b == (runs.Budget{}) {
		return fmt.Errorf("%s has no budget", c.Name())
	}
	spec.Budget, spec.Runs, spec.Backend, spec.Quiet = b, e.Runs, e.Backend, e.Quiet
	spec.Corrected, spec.CorrectedBy = e.Corrected, e.By
	run, err := qdnb.Train(ctx, spec)
	if paper := results.PaperSteps(c.Algorithm, c.Env); err == nil && b.Time+b.CPU > 0 && paper > 0 {
		steps := float64(run.Status.EnvSteps)
		e.say("%s ran %.3g environment steps, %.2g of the paper's %.3g", c.Name(), steps, steps/float64(paper), float64(paper))
	}
	return err
}

// adapt evaluates the skills of the run that a line needs in perturbed environments.
func (e *executor) adapt(ctx context.Context, line sweep.Line, skills *runs.Run, budget runs.Budget) error {
	var a session.Adaptation
	if err := line.Run.Settings(&a); err != nil {
		return err
	}
	spec := qdnb.AdaptSpec{Skills: skills, SkillsBudget: budget, Perturbation: a.Perturbation, Values: a.Values,
		Episodes: a.Episodes, Seed: a.StatesSeed, Runs: e.Runs, Backend: e.Backend, Quiet: e.Quiet}
	made, err := spec.Config(skills.Config, budget)
	if err = cmp.Or(err, session.SameRun(line.Run, made)); err != nil {
		return err
	}
	_, err = qdnb.Adapt(ctx, spec)
	return err
}

// trainController trains a meta-controller on the skills of the run that a line needs.
func (e *executor) trainController(ctx context.Context, line sweep.Line, skills *runs.Run, trained runs.Budget) error {
	set, err := line.Run.Assignments("skills", "skills_budget")
	if err != nil {
		return err
	}
	spec := qdnb.ControlSpec{Skills: skills, SkillsBudget: trained, Budget: line.Budget,
		Tune: runs.Assign(set...), Runs: e.Runs, Backend: e.Backend, Quiet: e.Quiet}
	made, err := spec.Config(skills.Config, trained)
	if err = cmp.Or(err, session.SameRun(line.Run, made)); err != nil {
		return err
	}
	_, err = qdnb.Control(ctx, spec)
	return err
}
