package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
)

// results writes the repertoire and the skills of a finished run, and the snapshots of its end.
func (s *session) results() error {
	if err := s.untimed(s.snapshots); err != nil {
		return err
	}
	repertoire, err := s.repertoire(true)
	if err != nil {
		return err
	}
	if err := s.writer.StageRepertoire(repertoire); err != nil {
		return err
	}
	if search, ok := s.search.(skilled); ok {
		skills, err := skillsOf(search)
		if err != nil {
			return err
		}
		if err := s.writer.SaveSkills(skills); err != nil {
			return err
		}
	}
	s.drawLive(true)
	return nil
}

// snapshots saves the snapshots of the end of the budget.
func (s *session) snapshots() error {
	if err := s.snapshot(); err != nil {
		return err
	}
	return s.correct()
}

func (s *session) snapshot() error {
	repertoire, err := s.repertoire(s.Spec.KeepGenotypes)
	if err != nil {
		return err
	}
	return s.writer.SaveSnapshot(runs.Snapshot{Progress: s.status.Progress, Repertoire: *repertoire})
}

// correct evaluates the policies of the repertoire again, and saves the result. An interruption
// takes effect after it: a resumed run passes its point of the budget only once.
func (s *session) correct() error {
	if s.Spec.Corrected == 0 {
		return nil
	}
	s.bar.Update(s.Spec.Budget.Fraction(s.status.Progress), "evaluating the repertoire again")
	archived, err := s.repertoire(true)
	if err != nil {
		return err
	}
	corrected, err := policies.Correct(context.Background(), s.platform, s.writer.Run, runs.Snapshot{
		Progress: s.status.Progress, Repertoire: *archived,
		Correction: runs.Correction{Episodes: int64(s.Spec.Corrected), By: s.Spec.CorrectedBy}}, s.Env, s.policy(), s.Config.Seed)
	if err != nil {
		return err
	}
	return s.writer.SaveSnapshot(corrected.Snapshot)
}

// correctable returns an error unless the run's settings describe the policies that Corrected
// evaluates.
func (s *session) correctable() error {
	if s.Spec.Corrected == 0 {
		return nil
	}
	got, err := policies.TaskOf(s.writer.Run, s.Env, s.policy())
	if err != nil {
		return err
	}
	want := s.search.Task()
	if is, needed := fmt.Sprint(got.Policy), fmt.Sprint(want.Policy); is != needed || got.Length != want.Length {
		return fmt.Errorf("Corrected needs %s and the episodes of %d steps of %s in its struct, as hidden and "+
			"episode_length in JSON; these are %s and %d", needed, want.Length, s.Config.Algorithm, is, got.Length)
	}
	return nil
}

// isCorrected returns an error if a complete run lacks the corrected repertoire of its end that the
// training asks for.
func (t Training) isCorrected(run *runs.Run) error {
	if t.Spec.Corrected == 0 {
		return nil
	}
	want := runs.Correction{Episodes: int64(t.Spec.Corrected), By: cmp.Or(t.Spec.CorrectedBy, runs.ByMean)}
	made, err := run.Corrected()
	if err == nil && !slices.ContainsFunc(made, func(s runs.Snapshot) bool {
		return s.Generation == run.Status.Generation && s.Correction.String() == want.String()
	}) {
		err = fmt.Errorf("%s is complete without the %s of each policy: `qdnb eval %s --corrected --by %s --episodes %d "+
			"--save` adds those of its end; --fresh (Spec.Fresh) trains it again", run.Dir, want, run.Dir, want.By, want.Episodes)
	}
	return err
}

// policy is the architecture of policies with code of the user, else nil.
func (s *session) policy() nn.Architecture {
	if m, ok := s.Algorithm.(*evolution.MapElites); ok {
		return m.Policy
	}
	return nil
}

// repertoire copies the measured repertoire to the host.
func (s *session) repertoire(genotypes bool) (*runs.Repertoire, error) {
	arrays, err := s.search.Repertoire(genotypes)
	if err != nil {
		return nil, err
	}
	floats := func(name string) (x []float32) {
		if a, ok := arrays[name]; ok && err == nil {
			x, err = a.Float32s()
		}
		return x
	}
	limits := s.Env.Spec().Descriptor
	r := &runs.Repertoire{
		Dims: len(limits.Lower), Lower: limits.Lower, Upper: limits.Upper, Offset: s.search.Task().QDOffset(),
		Genotypes: floats("genotypes"), Fitnesses: floats("fitnesses"), Descriptors: floats("descriptors"),
		Centroids: floats("centroids"),
	}
	if genotypes {
		r.Params = s.search.Task().Policy.Params()
	}
	if array, ok := arrays["origins"]; ok && err == nil {
		r.Origins, err = array.Int32s()
	}
	if err != nil {
		return nil, err
	}
	if r.Objectives = arrays["objectives"]; r.Objectives.Data != nil {
		r.Reference = lists.Convert[float32](s.Env.Spec().ReferencePoint(s.search.Task().Length))
	}
	r.KeepFittest(len(r.Centroids) / r.Dims)
	return r, nil
}

// skilled is a search that trains one policy of several skills.
type skilled interface {
	algorithms.Search
	Skills() int // 0 if the policy is not conditioned on a skill
	// Evaluate returns the policy and the results of its skills: of episodes i of skill i mod
	// skills, and perhaps a record of the positions at each step.
	Evaluate() (policy []float32, found scoring.Results, err error)
	// Diversity returns the state of the diversity reward by the names of its pytree.
	Diversity() (map[string]npz.Array, error)
}

// skillsOf returns the current policy of a search and an evaluation of its skills.
func skillsOf(s skilled) (*runs.Skills, error) {
	policy, found, err := s.Evaluate()
	if err != nil {
		return nil, err
	}
	spec, sizes := s.Task().Env.Spec(), s.Task().MLP().Sizes
	out := &runs.Skills{
		Observations: spec.Observations, Actions: spec.Actions, Count: s.Skills(),
		Hidden:    sizes[1 : len(sizes)-1],
		Fitnesses: found.Fitnesses, Descriptors: found.Descriptors, Policy: policy,
	}
	if len(found.Records) > 0 {
		out.Trajectories = found.Records[0]
	}
	if out.Extra, err = s.Diversity(); err != nil {
		return nil, err
	}
	for i := range found.Fitnesses {
		out.Which = append(out.Which, i%max(1, s.Skills()))
	}
	return out, nil
}

// replayer is a search with a replay buffer, which is stored apart from the rest of the state.
type replayer interface {
	// Replay returns the buffer, nil if this search has none, and the number of rows written so far.
	Replay() (buffer *replay.Store, total int64)
}

// replay returns the search's replay buffer, nil without one, and the number of rows written so
// far.
func (s *session) replay() (*replay.Store, int64) {
	if search, ok := s.search.(replayer); ok {
		return search.Replay()
	}
	return nil, 0
}

// restoreReplay restores a learner's replay buffer.
func (s *session) restoreReplay() error {
	buffer, total := s.replay()
	if buffer == nil {
		return nil
	}
	if s.noReplay = s.Spec.Budget.Done(s.status.Progress); s.noReplay { // nothing is left to learn
		return nil
	}
	capacity, width := buffer.Shape()
	err := buffer.Set(total, func(put func(from int64, rows []float32) error) error {
		return s.writer.LoadReplay(total, capacity, width, put)
	})
	if lost := errors.Is(err, runs.ErrNoReplay) || errors.Is(err, runs.ErrIncompleteReplay); lost && s.status.Finished {
		return fmt.Errorf("%s is finished, and its replay buffer was not kept, so it cannot be extended: --fresh "+
			"(Spec.Fresh) trains it again, and --keep-replay (Spec.KeepReplay) keeps the buffer", s.writer.Dir)
	}
	return err
}

// saveReplay saves the rows of the replay buffer that are not on disk yet.
func (s *session) saveReplay() error {
	buffer, total := s.replay()
	if buffer == nil || s.noReplay {
		return nil
	}
	capacity, width := buffer.Shape()
	return s.writer.SaveReplay(total, capacity, width, func(from, to int64) ([]float32, error) {
		return buffer.Rows(total, from, to)
	})
}
