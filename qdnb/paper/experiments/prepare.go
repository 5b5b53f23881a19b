package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/internal/progress"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/sweep"
)

// Prepare completes the runs that package paper needs to draw the figures of experiments, and
// prints one line per experiment on standard output. Instead of experiments it also takes IDs of
// [paper.Items], such as "figure-9". The plan and the runs are in [paper.Folder]. If that is the
// folder shipped with qdnb, nothing is run: Prepare checks the folder's files and describes the
// runs. Other folders are completed: experiments in the existing plan at their own scale, others
// planned at scale Small. All experiments at that scale take half an hour or more on two cores.
//
// When ctx is done (an interrupted cell), Prepare saves the current run and returns
// [qdnb.ErrInterrupted]. Call it again to resume.
func Prepare(ctx context.Context, needs ...string) error {
	return PrepareIn(ctx, paper.Folder(needs...), RunOptions{}, needs...)
}

// PrepareIn is [Prepare] for a given experiments folder, logging to o.Log (standard output if nil).
// It ignores o.Runs and uses the folder's own runs.
func PrepareIn(ctx context.Context, dir string, o RunOptions, needs ...string) error {
	experiments := paper.Experiments(needs...)
	if o.Log == nil {
		o.Log = os.Stdout
	}
	if paper.Shipped(dir) {
		data, err := paper.Open(dir)
		if err != nil {
			return err
		}
		_, err = io.WriteString(o.Log, data.Summary(experiments...))
		return err
	}
	lines, err := planOf(dir, cmp.Or(o.Scale, Small), experiments)
	if err != nil {
		return err
	}
	o.Runs = filepath.Join(dir, paper.RunsFolder)
	for _, experiment := range experiments {
		wanted := lists.Where(lines, func(line sweep.Line) bool { return line.Experiment == experiment })
		if err := complete(ctx, experiment, wanted, o); err != nil {
			return fmt.Errorf("experiment %s: %w", experiment, err)
		}
		fmt.Fprintf(o.Log, "%s: all %d runs are complete in %s\n", experiment, len(wanted), shortPath(o.Runs))
	}
	return nil
}

// planOf reads the plan of an experiments folder and adds the experiments that it lacks, at the
// given scale.
func planOf(dir string, scale Scale, experiments []string) ([]sweep.Line, error) {
	path := filepath.Join(dir, paper.PlanFile)
	var lines []sweep.Line
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		if lines, err = sweep.ReadFile(path); err != nil {
			return nil, err
		}
	}
	added := false
	for _, experiment := range experiments {
		if slices.ContainsFunc(lines, func(l sweep.Line) bool { return l.Experiment == experiment }) {
			continue
		}
		more, err := Plan(experiment, Options{Scale: scale})
		if err != nil {
			return nil, err
		}
		lines, added = append(lines, more...), true
	}
	if !added {
		return lines, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return lines, atomicfile.Write(path, func(w io.Writer) error { return sweep.Write(w, lines) })
}

// complete runs the missing lines under one progress bar.
func complete(ctx context.Context, experiment string, lines []sweep.Line, o RunOptions) error {
	missing := 0
	for _, state := range sweep.Inspect(o.Runs, lines) {
		if state.Status != sweep.Done {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	fmt.Fprintf(o.Log, "%s: running the %d missing of %d runs; if interrupted, rerun the cell to resume\n",
		experiment, missing, len(lines))
	bar := progress.NewBar(experiment, o.Quiet)
	o.Quiet = true
	o.Log = lineWriter(func(text string) {
		done := sweep.Total(sweep.Inspect(o.Runs, lines)).Count[sweep.Done]
		bar.Update(float64(done)/float64(len(lines)), text)
	})
	err := Run(ctx, lines, o)
	switch {
	case errors.Is(err, qdnb.ErrInterrupted):
		bar.Done("interrupted")
	case err != nil:
		bar.Done("failed")
	default:
		bar.Done(fmt.Sprintf("%d runs", len(lines)))
	}
	return err
}

// lineWriter forwards an executor's log without the time of day.
type lineWriter func(string)

// Write implements io.Writer. An executor writes one line at a time.
func (w lineWriter) Write(data []byte) (int, error) {
	_, text, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	w(text)
	return len(data), nil
}

// shortPath returns a path relative to the current folder if it is near. Outputs of notebooks
// should not contain a machine's folders.
func shortPath(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(here, path)
	if err != nil || len(relative) > len(path) {
		return path
	}
	return relative
}
