package qdnb

import (
	"context"

	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// ErrInterrupted is the error of an interrupted [Train], [Adapt] or [Control]. The run is saved,
// and the same call resumes it.
var ErrInterrupted = session.ErrInterrupted

// Train trains the run of a spec, resumes it if it was interrupted, or loads it if it is complete.
// When ctx is done, it saves a checkpoint and returns [ErrInterrupted]. In a cell, ctx is that of
// Interruptible of package nb.
func Train(ctx context.Context, spec Spec) (*runs.Run, error) {
	p, err := spec.resolve()
	if broken := (untraceable{}); errors.As(err, &broken) {
		return nil, p.compileError(ctx, broken)
	}
	if err != nil {
		return nil, err
	}
	p.announce()
	p.training.PaperSteps = results.PaperSteps(p.config().Algorithm, p.config().Env)
	return session.Train(ctx, p.options, p.training)
}
