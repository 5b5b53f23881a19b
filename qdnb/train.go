package qdnb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/qdnb/qdnb/paper/results"
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
	options, trainings := make([]session.Options, len(seeds)), make([]session.Training, len(seeds))
	for i, seed := range seeds {
		if slices.Contains(seeds[:i], seed) {
			return nil, fmt.Errorf("seed %d is given twice", seed)
		}
		spec.Seed = seed
		p, err := spec.planned(ctx)
		if err != nil {
			return nil, err
		}
		options[i], trainings[i] = p.options, p.training
	}
	return session.TrainSeeds(ctx, options, trainings)
}

// Train trains the run of a spec, resumes it if it was interrupted, or loads it if it is complete.
// When ctx is done, it saves a checkpoint and returns [ErrInterrupted]. In a cell, ctx is that of
// Interruptible of package nb.
func Train(ctx context.Context, spec Spec) (*runs.Run, error) {
	p, err := spec.planned(ctx)
	if err != nil {
		return nil, err
	}
	return session.Train(ctx, p.options, p.training)
}

// planned resolves a spec to train.
func (s Spec) planned(ctx context.Context) (plan, error) {
	p, err := s.resolve()
	if broken := (untraceable{}); errors.As(err, &broken) {
		return p, p.compileError(ctx, broken)
	}
	if err != nil {
		return p, err
	}
	p.announce()
	p.training.PaperSteps = results.PaperSteps(p.config().Algorithm, p.config().Env)
	return p, nil
}
