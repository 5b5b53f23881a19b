package skills

import (
	"fmt"
	"slices"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// checkpoint lists the state on the first device except the replay buffer, by its names in
// checkpoints.
func (s *Search) checkpoint() *xla.Checkpoint {
	c := &xla.Checkpoint{}
	c.Add(&s.state, 1, "")
	c.Add(&s.measuring.passive, 1, "passive_", repertoireNames...)
	c.Sparse("passive_genotypes", "passive_fitnesses")
	return c
}

// Arrays returns the state of the search on the host, without the replay buffer. [Search.Restore]
// resumes from it and the replay buffer, bit for bit.
func (s *Search) Arrays() (map[string]npz.Array, error) {
	arrays, err := s.checkpoint().Arrays()
	if err != nil {
		return nil, err
	}
	arrays[evaluationsName] = npz.Scalar(s.evaluations)
	arrays[sumsName] = npz.Of(append(slices.Clone(s.means.Sums), s.means.Count, s.dropped))
	return arrays, nil
}

// Host counters in checkpoints: the evaluation episodes, and the sums of the metrics since the last
// evaluation, with their number and that of the transitions that were not finite.
const (
	evaluationsName = "passive_evaluations"
	sumsName        = "figures"
)

// Restore restores the state that [Search.Arrays] returned after an iteration. The replay buffer is
// restored separately; see [Search.Replay].
func (s *Search) Restore(iteration int64, arrays map[string]npz.Array) error {
	evaluations, err := arrays[evaluationsName].Int64s()
	if err != nil || len(evaluations) != 1 {
		return fmt.Errorf("the checkpoint lacks the number of evaluations")
	}
	sums, err := arrays[sumsName].Float64s()
	n := len(s.means.Sums)
	if err != nil || len(sums) != n+2 {
		return fmt.Errorf("the checkpoint has %d metric sums, but this run needs %d", len(sums), n+2)
	}
	if err := s.checkpoint().Restore(arrays); err != nil {
		return err
	}
	s.iteration, s.evaluations = iteration, evaluations[0]
	s.means = scoring.Means{Sums: slices.Clone(sums[:n]), Count: sums[n]}
	s.dropped = sums[n+1]
	return nil
}

// Diversity returns the state of the diversity reward by the names of its pytree.
func (s *Search) Diversity() (map[string]npz.Array, error) {
	c, part := &xla.Checkpoint{}, xla.Part(s.state, func(s state) Diversity { return s.Diversity })
	c.Add(&part, 1, "")
	return c.Arrays()
}

// Replay returns the replay buffer and the number of rows written so far.
func (s *Search) Replay() (buffer *replay.Store, total int64) {
	return &s.buffer, s.envSteps(s.iteration)
}

// Refill refills a lost replay buffer with steps of the current actor, to the fill level of the
// newest iteration. It returns the number of episodes, assuming that none ends early. Later
// learning differs from that of an uninterrupted search.
func (s *Search) Refill() (episodes int64, err error) {
	act, err := s.compile(s.programs.Platform, "steps for the replay buffer",
		func(st state, buffer replay.Buffer, key xla.Key) (state, replay.Buffer, metrics) {
			st, buffer, _, acted := s.it.act(st, buffer, key.FoldIn(streamRefill))
			return st, buffer, acted
		})
	if err != nil {
		return 0, err
	}
	defer act.Free()
	total := s.envSteps(s.iteration)
	capacity, _ := s.buffer.Shape()
	n := int64(s.config.EnvBatchSize)
	steps := min(total, capacity) / n
	start := (total - steps*n) % capacity
	s.buffer.Count(start)
	if s.it.needsReturns() {
		xla.Set(&s.state, func(s state) *replay.Returns { return s.Returns },
			replay.EmptyReturns(int(capacity/n), int(n), start/n))
	}
	for k := range steps {
		if _, err := s.run(act, s.iteration-steps+1+k); err != nil {
			return 0, err
		}
	}
	s.buffer.Count(total)
	return steps * n / int64(s.it.Length), nil
}
