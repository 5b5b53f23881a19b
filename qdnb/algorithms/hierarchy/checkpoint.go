package hierarchy

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
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

// Arrays returns the state of the search on the host. [Search.Restore] restores it bit for bit,
// with any number of workers.
func (s *Search) Arrays() (map[string]npz.Array, error) {
	arrays := map[string]npz.Array{}
	for i, name := range xla.Names(s.collecting.form) {
		array, err := xla.Download(s.known[i])
		if err != nil {
			return nil, errors.Errorf("cannot read %s from the device: %v", name, err)
		}
		arrays[learnerPrefix+name] = array
	}
	for i, name := range s.stateNames {
		array, err := s.stateArray(i)
		if err != nil {
			return nil, errors.Errorf("cannot read %s from the devices: %v", name, err)
		}
		arrays[name] = array
	}
	arrays[countersName] = npz.Of(append([]float64{float64(s.evaluations), s.best, s.summed},
		s.sums...))
	arrays[skillsName] = s.checksum
	return arrays, nil
}

// stateArray returns leaf i of the environment states, ordered by environment: [environments, ...].
func (s *Search) stateArray(i int) (npz.Array, error) {
	sh := s.collecting.shared
	var parts [][]float32
	for worker := range s.states[i] {
		array, err := xla.Download(s.states[i][worker : worker+1])
		if err != nil {
			return npz.Array{}, err
		}
		flat, err := array.Float32s()
		if err != nil {
			return npz.Array{}, err
		}
		parts = append(parts, flat)
	}
	dims := s.states[i][0].Shape().Dimensions
	width := s.states[i][0].Size() / (dims[0] * dims[1])
	flat := make([]float32, 0, sh.n*width)
	for number := range sh.n {
		worker, row := sh.index(number)
		flat = append(flat, parts[worker][row*width:(row+1)*width]...)
	}
	return npz.Of(flat, append([]int{sh.n}, dims[2:]...)...), nil
}

// setStateArray is the inverse of stateArray and returns new tensors. The padding beyond the last
// environment repeats others.
func (s *Search) setStateArray(i int, array npz.Array) (xla.Sharded, error) {
	sh := s.collecting.shared
	dims := s.states[i][0].Shape().Dimensions
	want := append([]int{sh.n}, dims[2:]...)
	flat, err := array.Float32s()
	if err != nil || !slices.Equal(array.Shape, want) {
		return nil, errors.Errorf("the checkpoint's %s has shape %v, but this run needs %v",
			s.stateNames[i], array.Shape, want)
	}
	width := len(flat) / sh.n
	parts := make([][]float32, sh.workers)
	for worker := range parts {
		parts[worker] = make([]float32, dims[0]*dims[1]*width)
	}
	for number := range sh.turns() * sh.workers * sh.slice {
		worker, row := sh.index(number)
		from := number % sh.n * width
		copy(parts[worker][row*width:(row+1)*width], flat[from:from+width])
	}
	var value xla.Sharded
	for _, part := range parts {
		value = append(value, tensors.FromFlatDataAndDimensions(part, dims...))
	}
	return value, nil
}

// Restore sets the search to the state that [Search.Arrays] returned after the given iteration.
func (s *Search) Restore(iteration int64, arrays map[string]npz.Array) error {
	if err := matches(arrays, s.checksum); err != nil {
		return err
	}
	counters, err := arrays[countersName].Float64s()
	if err != nil || len(counters) != 3+len(s.sums) {
		return errors.Errorf("the checkpoint has %d counters, but this run needs %d",
			len(counters), 3+len(s.sums))
	}
	var known, states []xla.Sharded
	fail := func(err error) error {
		freeAll(append(known, states...))
		return err
	}
	for i, name := range xla.Names(s.collecting.form) {
		want, got := s.known[i][0].Shape(), arrays[learnerPrefix+name]
		if !slices.Equal(got.Shape, want.Dimensions) {
			return fail(errors.Errorf("the checkpoint's %s has shape %v, but this run needs %v", name,
				got.Shape, want.Dimensions))
		}
		tensor, err := xla.Upload(got)
		if err != nil {
			return fail(errors.Errorf("the checkpoint's %s: %v", name, err))
		}
		known = append(known, xla.Sharded{tensor})
		if tensor.DType() != want.DType {
			return fail(errors.Errorf("the checkpoint's %s has type %s, but this run needs %s", name,
				tensor.DType(), want.DType))
		}
	}
	for i, name := range s.stateNames {
		value, err := s.setStateArray(i, arrays[name])
		if err != nil {
			return fail(err)
		}
		states = append(states, value)
	}
	freeAll(append(slices.Clone(s.known), s.states...))
	s.known, s.states = known, states
	s.iteration, s.evaluations, s.best, s.summed, s.sums = iteration, int64(counters[0]), counters[1],
		counters[2], slices.Clone(counters[3:])
	return s.spread()
}
