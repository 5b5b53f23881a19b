package session

import (
	"context"
	"errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
)

// asker is a search whose policies the host can evaluate: see [envs.Simulator].
type asker interface {
	// Ask returns the genotypes of the next generation, the same ones until Tell.
	Ask() ([][]float32, error)
	// Tell ends the generation with the results of the genotypes, in their order, in place of Step.
	// After an error, the search must not go on.
	Tell([]envs.Result) (scoring.Outcome, error)
}

// Search is an opened run whose genotypes its caller evaluates.
type Search struct {
	ctx       context.Context
	session   *session
	training  *training
	simulator *envs.Simulator
	results   []envs.Result // of Tell
	asked     int           // genotypes that wait for their results
	complete  *runs.Run     // the run if it was complete already, or after Close
}

// Ask opens the run of a training with a simulator, whose Evaluate is not called.
func Ask(ctx context.Context, t Training) (*Search, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	simulator, ok := t.Env.(*envs.Simulator)
	if !ok {
		return nil, errors.New("Ask needs an envs.Simulator as Environment: other environments are evaluated on " +
			"the device, by Train")
	}
	if found, err := runs.Open(t.Options.Dir()); err == nil && !t.Options.Fresh &&
		found.Status.Completes(t.Options.Budget, 1) {
		return &Search{complete: found}, nil
	}
	s := &Search{ctx: ctx, simulator: simulator}
	told := *simulator
	told.Evaluate = func(context.Context, [][]float32) ([]envs.Result, error) { return s.results, nil }
	t.Env = &told
	s.training = &training{Training: t}
	s.session = &session{Options: t.Options, job: s.training}
	if err := s.session.open(ctx); err != nil {
		s.session.close()
		return nil, err
	}
	return s, nil
}

// Done reports whether the budget is spent.
func (s *Search) Done() bool { return s.complete != nil || s.training.done() }

// Ask returns the genotypes of the next generation, which may not be changed. Until Tell it returns
// the same ones, also in a process that resumes the run.
func (s *Search) Ask() ([][]float32, error) {
	if s.Done() {
		return nil, errors.New("the budget is spent: call Close, or Ask with a larger budget")
	}
	if err := s.session.failed; err != nil {
		return nil, err
	}
	genotypes, err := s.training.search.(asker).Ask()
	s.asked = len(genotypes)
	return genotypes, err
}

// Tell ends the generation with the results of the genotypes, in their order, and saves a checkpoint
// if it is due. It can be called again after an error about the results; after any other, the
// search ends at its last checkpoint. When the context of the search is done, it saves a checkpoint
// and returns [ErrInterrupted].
func (s *Search) Tell(results []envs.Result) error {
	if s.Done() {
		return errors.New("the budget is spent: call Close")
	}
	if err := s.session.failed; err != nil {
		return err
	}
	if s.asked == 0 {
		return errors.New("Tell needs the genotypes of Ask: call it first")
	}
	if err := s.simulator.Check(results, s.asked); err != nil {
		return err
	}
	s.results, s.asked = results, 0
	return s.session.advance(s.ctx)
}

// Close saves the run, and writes its results if the budget is spent. Otherwise the same call of Ask
// resumes it. After an error of Tell that ends the search, it saves nothing and returns that error.
// Further calls return the same run.
func (s *Search) Close() (*runs.Run, error) {
	if s.complete != nil {
		return s.complete, s.complete.Valid()
	}
	defer s.session.close()
	done := s.Done()
	if s.complete = s.session.writer.Run; s.session.failed != nil {
		return s.complete, s.session.failed
	}
	if !done {
		return s.complete, s.session.save()
	}
	if err := s.session.complete(); err != nil {
		return s.complete, err
	}
	return s.session.found()
}
