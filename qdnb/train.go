package qdnb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// ErrInterrupted is the error of an interrupted [Train], [Adapt] or [Control]. The run is saved,
// and the same call resumes it.
var ErrInterrupted = session.ErrInterrupted

// TrainSeeds is [Train] for runs of a spec that differ only in their seeds. The limits of the
// budget are for each run, except times, which are for all runs and divided equally. Runs train one
// after the other, and programs are compiled once. If some fail, the others train nevertheless and
// are returned with the error.
func TrainSeeds(ctx context.Context, spec Spec, seeds ...int64) ([]*runs.Run, error) {
	var trainings []session.Training
	for i, seed := range seeds {
		if slices.Contains(seeds[:i], seed) {
			return nil, fmt.Errorf("seed %d is given twice", seed)
		}
		spec.Seed = seed
		t, err := spec.resolve()
		if err != nil {
			return nil, err
		}
		trainings = append(trainings, t)
	}
	return session.TrainSeeds(ctx, trainings)
}

// Train trains the run of a spec, resumes it if it was interrupted, or loads it if it is complete.
// When ctx is done, it saves a checkpoint and returns [ErrInterrupted]. In a cell, ctx is that of
// Interruptible of package nb.
func Train(ctx context.Context, spec Spec) (*runs.Run, error) {
	t, err := spec.resolve()
	if err != nil {
		return nil, err
	}
	return session.Train(ctx, t)
}

// Ask opens the run of a spec whose Environment is an [envs.Simulator] without Evaluate, for a loop
// that evaluates genotypes itself:
//
//	search := nb.Must(qdnb.Ask(ctx, spec))
//	defer search.Close()
//	for !search.Done() {
//		genotypes := nb.Must(search.Ask())
//		nb.Check(search.Tell(evaluate(genotypes))) // a result for each
//	}
//	run, err := search.Close()
//
// It resumes an interrupted run as [Train] does.
func Ask(ctx context.Context, spec Spec) (*session.Search, error) {
	t, err := spec.resolve()
	if err != nil {
		return nil, err
	}
	return session.Ask(ctx, t)
}

// Load returns the run that [Train] returns for a spec, without training. If the run does not
// exist, is not finished, or ended before the spec's budget, the error says what to do.
func Load(spec Spec) (*runs.Run, error) {
	t, err := spec.resolve()
	if err != nil {
		return nil, err
	}
	dir := t.Options.Dir()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		reason := ""
		if changed := session.Changed(t.Options); changed != "" {
			reason = fmt.Sprintf(" (%s)", changed)
		}
		return nil, fmt.Errorf("no run %s in %s%s: train it with the same Spec", filepath.Base(dir),
			t.Options.Root, reason)
	}
	run, err := runs.Open(dir)
	if err != nil {
		return nil, err
	}
	if !run.Status.Finished {
		return nil, fmt.Errorf("%s is not finished: train it with the same Spec to resume it", run.Dir)
	}
	if !run.Status.Completes(t.Options.Budget, 1) {
		return nil, fmt.Errorf("%s ended before the budget of the Spec, %v: train it with the same "+
			"Spec to extend it", run.Dir, t.Options.Budget)
	}
	return run, nil
}
