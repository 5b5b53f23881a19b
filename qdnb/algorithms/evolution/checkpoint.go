package evolution

import (
	"maps"
	"slices"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla"
)

// originsKey names the origins of the individuals in checkpoints and repertoires.
const originsKey = "origins"

// scratchKey is no name: the scratch matrix is not stored.
const scratchKey = ""

// checkpoint lists the state on the device by its names in checkpoints. Those of the passive
// repertoire and of the learner have a prefix.
func (s *Search) checkpoint() *xla.Checkpoint {
	c := &xla.Checkpoint{}
	for prefix, st := range map[string]*store{"": s.main, "passive_": s.passive} {
		if st != nil {
			names := append([]string{"genotypes", scratchKey, originsKey}, st.archive.Fields()...)
			if strategy, ok := s.method.Emitter.(Strategy); ok && st == s.main {
				for _, name := range strategy.Fields() {
					names = append(names, "strategy_"+name)
				}
			}
			c.Add(&st.contents, s.programs.Copies(), prefix, names...)
			c.Sparse(prefix+"genotypes", prefix+"fitnesses")
		}
	}
	if s.learning != nil {
		c.Add(&s.learning.known, 1, "learner_", s.method.Learner.Fields()...)
	}
	return c
}

// Arrays returns the state of the search on the host, without the replay buffer. From both,
// [Search.Restore] and [replay.Store.Set] restore the search bit for bit.
func (s *Search) Arrays() (map[string]npz.Array, error) { return s.checkpoint().Arrays() }

// Repertoire returns the measured repertoire on the host: its fields, such as fitnesses,
// descriptors and centroids, and, on request, the genotypes.
func (s *Search) Repertoire(genotypes bool) (map[string]npz.Array, error) {
	st := s.main
	if s.passive != nil {
		st = s.passive
	}
	// centroids, too: a checkpoint's centroids take precedence
	names := append([]string{"", "", ""}, st.archive.Fields()...)
	if genotypes {
		names[0] = "genotypes"
		if s.passive == nil { // those of a passive repertoire are not kept
			names[2] = originsKey
		}
	}
	c := &xla.Checkpoint{}
	c.Add(&st.contents, s.programs.Copies(), "", names...)
	c.Sparse("genotypes", "fitnesses")
	return c.Arrays()
}

// Restore sets the search to the state that [Search.Arrays] returned after the given generation.
// The replay buffer is restored separately, see [Search.Replay].
func (s *Search) Restore(generation int64, arrays map[string]npz.Array) error {
	arrays = maps.Clone(arrays)
	for prefix, st := range map[string]*store{"": s.main, "passive_": s.passive} {
		if _, ok := arrays[prefix+originsKey]; !ok && st != nil { // older checkpoints have none
			arrays[prefix+originsKey] = npz.Of(slices.Repeat([]int32{noOrigin}, 2*st.cells()), st.cells(), 2)
		}
	}
	if err := s.checkpoint().Restore(arrays); err != nil {
		return err
	}
	s.generation = generation
	return nil
}
