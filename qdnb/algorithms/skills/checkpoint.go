package skills

import (
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// State implements [algorithms.Search].
func (s *search) State() *xla.Checkpoint {
	c := &xla.Checkpoint{}
	c.Add(&s.state, 1, "")
	s.Store(c)
	return c
}

// Diversity returns the state of the diversity reward by the names of its pytree.
func (s *search) Diversity() (map[string]npz.Array, error) {
	c, part := &xla.Checkpoint{}, xla.Part(s.state, func(s state) Diversity { return s.Diversity })
	c.Add(&part, 1, "")
	return c.Arrays()
}

// Replay returns the replay buffer and the number of rows written so far.
func (s *search) Replay() (buffer *replay.Store, total int64) {
	return &s.buffer, s.EnvSteps(s.Generation)
}

// Refill refills a lost replay buffer with steps of the current actor, to the fill level of the
// newest iteration. It returns the number of episodes, assuming that none ends early. Later
// learning differs from that of an uninterrupted search.
func (s *search) Refill() (episodes int64, err error) {
	act, err := s.compile(s.Programs.Platform, "steps for the replay buffer",
		func(st state, buffer replay.Buffer, key random.Key) (state, replay.Buffer, metrics) {
			st, buffer, _, acted := s.it.act(st, buffer, key.FoldIn(streamRefill))
			return st, buffer, acted
		})
	if err != nil {
		return 0, err
	}
	defer act.Free()
	total := s.EnvSteps(s.Generation)
	capacity, _ := s.buffer.Shape()
	n := int64(s.it.environments)
	steps := min(total, capacity) / n
	start := (total - steps*n) % capacity
	s.buffer.Count(start)
	if s.it.needsReturns() {
		xla.Set(&s.state, func(s state) *ringReturns { return s.Returns },
			emptyReturns(int(capacity/n), int(n), start/n))
	}
	for k := range steps {
		if _, err := s.run(act, s.Generation-steps+1+k); err != nil {
			return 0, err
		}
	}
	s.buffer.Count(total)
	return steps * n / int64(s.it.Length), nil
}
