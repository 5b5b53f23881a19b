package skills

import (
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
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
