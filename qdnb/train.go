package qdnb

import (
	"context"
	"fmt"
	"slices"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// ErrInterrupted is the error of an interrupted [Train], [Adapt] or [Control]. The run is saved,
// and the same call resumes it.
var ErrInterrupted = session.ErrInterrupted

// TrainSeeds is [Train] for runs of a spec that differ only in their seeds. The limits of the
// budget are for each run, except times, which are for all runs and divided equally. Runs train one
// after the other, and programs are compiled once.
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
		announce(t.Options)
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
	announce(t.Options)
	return session.Train(ctx, t)
}
