package hierarchy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Contents of checkpoints: the networks and Adam's moments, by their field names; the environment
// states, with the environments on the first axis; and the host's counters.
const (
	learnerPrefix = "learner."
	statesPrefix  = "worlds."
	// countersName is the array of: evaluation episodes, best return, iterations since the last
	// evaluation, and sums of their losses.
	countersName = "counters"
	skillsName   = "skills_checksum"
)

// checksum identifies skills: the CRC-32 of their bits.
func checksum(rows []float32) npz.Array {
	sum, word := crc32.NewIEEE(), make([]byte, 4)
	for _, x := range rows {
		binary.LittleEndian.PutUint32(word, math.Float32bits(x))
		_, _ = sum.Write(word) // never fails
	}
	return npz.Scalar(int64(sum.Sum32()))
}

// matches returns an error if arrays of a checkpoint or a [Policy] belong to skills with another
// checksum.
func matches(arrays map[string]npz.Array, skills npz.Array) error {
	had, err := arrays[skillsName].Int64s()
	if want, _ := skills.Int64s(); err != nil || !slices.Equal(had, want) {
		return errors.New("this meta-controller was trained with other skills: restore these, or " +
			"move its folder away and retrain")
	}
	return nil
}

// checkpoint lists the state on the devices.
func (s *Search) checkpoint() *xla.Checkpoint {
	c := &xla.Checkpoint{}
	c.Add(&s.learner, 1, learnerPrefix)
	c.AddSliced(&s.states, s.collecting.shared, statesPrefix, s.collecting.stateNames()...)
	return c
}

// Arrays returns the state of the search on the host. [Search.Restore] restores it bit for bit,
// with any number of workers.
func (s *Search) Arrays() (map[string]npz.Array, error) {
	arrays, err := s.checkpoint().Arrays()
	if err != nil {
		return nil, err
	}
	arrays[countersName] = npz.Of(append([]float64{float64(s.evaluations), s.best, s.means.Count},
		s.means.Sums...))
	arrays[skillsName] = s.checksum
	return arrays, nil
}

// Restore sets the search to the state that [Search.Arrays] returned after the given iteration.
func (s *Search) Restore(iteration int64, arrays map[string]npz.Array) error {
	if err := matches(arrays, s.checksum); err != nil {
		return err
	}
	counters, err := arrays[countersName].Float64s()
	if want := 3 + len(s.means.Sums); err != nil || len(counters) != want {
		return fmt.Errorf("the checkpoint has %d counters, but this run needs %d", len(counters), want)
	}
	if err := s.checkpoint().Restore(arrays); err != nil {
		return err
	}
	s.iteration, s.evaluations, s.best = iteration, int64(counters[0]), counters[1]
	s.means = scoring.Means{Count: counters[2], Sums: slices.Clone(counters[3:])}
	return s.spread()
}
