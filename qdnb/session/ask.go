package session

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/runs"
)

// Search is an opened run whose genotypes its caller evaluates: [Train], suspended in the
// simulator's Evaluate. It is not safe for concurrent use.
type Search struct {
	simulator *envs.Simulator
	next      func() (genotypes [][]float32, ok bool) // trains until Evaluate is called again
	stop      func()                                  // interrupts the training

	genotypes [][]float32 // of the next generation; nil once the training has ended
	asked     bool        // whether the caller has them
	results   []envs.Result

	// What Train returned. err is set before, too, for a training that panicked.
	run *runs.Run
	err error
}

// Ask opens the run of a spec with a simulator, whose Evaluate is not called. A loop of the user
// must call Evaluate in Step itself, not in another goroutine.
func Ask(ctx context.Context, spec Spec) (*Search, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	t, err := spec.Training(ctx)
	if err != nil {
		return nil, err
	}
	simulator, ok := t.Env.(*envs.Simulator)
	if !ok {
		return nil, errors.New("Ask needs an envs.Simulator as Environment: other environments are evaluated on " +
			"the device, by Train")
	}
	s := &Search{simulator: simulator, err: errors.New("the training panicked")}
	ctx, cancel := context.WithCancel(ctx)
	s.next, s.stop = iter.Pull(func(yield func([][]float32) bool) {
		defer cancel()
		t.Env = hosted(t.Env, func(_ context.Context, genotypes [][]float32) ([]envs.Result, error) {
			if !yield(genotypes) {
				cancel()
				return nil, ctx.Err()
			}
			return s.results, nil
		})
		s.run, s.err = t.run(ctx)
	})
	if s.genotypes, ok = s.next(); !ok && s.run == nil {
		return nil, s.err
	}
	return s, nil
}

// Done reports whether the budget is spent.
func (s *Search) Done() bool { return s.genotypes == nil && s.err == nil }

// ended returns an error if there is no further generation.
func (s *Search) ended() error {
	if s.genotypes != nil {
		return nil
	}
	return cmp.Or(s.err, errors.New("the budget is spent: call Close, or Ask with a larger budget"))
}

// Ask returns the genotypes of the next generation, which may not be changed. Until Tell it returns
// the same ones, also in a process that resumes the run.
func (s *Search) Ask() ([][]float32, error) {
	s.asked = true
	return s.genotypes, s.ended()
}

// Tell ends the generation with the results of the genotypes, in their order, and saves a checkpoint
// if it is due. It can be called again after an error about the results; after any other, the
// search ends at its last checkpoint. When the context of the search is done, it saves a checkpoint
// and returns [ErrInterrupted].
func (s *Search) Tell(results []envs.Result) error {
	if err := s.ended(); err != nil {
		return err
	}
	if !s.asked {
		return errors.New("Tell needs the genotypes of Ask: call it first")
	}
	if err := s.simulator.Check(results, len(s.genotypes)); err != nil {
		return err
	}
	s.results, s.asked, s.genotypes = results, false, nil
	var ok bool
	if s.genotypes, ok = s.next(); ok {
		return nil
	}
	return s.err
}

// Close saves the run if its budget is not spent, so that the same call of Ask resumes it. After an
// error of Tell that ended the search, it saves nothing and returns that error. Further calls
// return the same run.
func (s *Search) Close() (*runs.Run, error) {
	s.genotypes = nil
	s.stop()
	if errors.Is(s.err, ErrInterrupted) {
		return s.run, nil
	}
	return s.run, s.err
}
