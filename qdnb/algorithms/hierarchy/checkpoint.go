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

// What checkpoints hold: the networks and what Adam remembers, by the names of their fields; the
// environments' states, the environments on their first axis; and what the host counts.
const (
	learnerPrefix = "learner."
	worldsPrefix  = "worlds."
	// episodes of evaluations, best return, iterations since the last evaluation, sums of their
	// losses
	countersName = "counters"
	skillsName   = "skills_checksum"
)

// checksum tells other skills from these: CRC-32 of their bits.
func checksum(rows []float32) npz.Array {
	sum, word := crc32.NewIEEE(), make([]byte, 4)
	for _, x := range rows {
		binary.LittleEndian.PutUint32(word, math.Float32bits(x))
		_, _ = sum.Write(word) // it never fails
	}
	return npz.Scalar(int64(sum.Sum32()))
}

// matches tells whether arrays that a search kept, a checkpoint or a [Policy], belong to skills of
// a checksum.
func matches(arrays map[string]npz.Array, skills npz.Array) error {
	had, err := arrays[skillsName].Int64s()
	if want, _ := skills.Int64s(); err != nil || !slices.Equal(had, want) {
		return errors.New("the skills are not those that this meta-controller was trained with: " +
			"restore them, or move its folder away to train it anew")
	}
	return nil
}

// Arrays is the state of the search on the host. [Search.Restore] goes on from it, bit for bit,
// with any number of workers.
func (s *Search) Arrays() (map[string]npz.Array, error) {
	arrays := map[string]npz.Array{}
	for i, name := range xla.Names(s.collecting.form) {
		array, err := xla.Download(s.known[i])
		if err != nil {
			return nil, errors.Errorf("%s cannot be read from the device: %v", name, err)
		}
		arrays[learnerPrefix+name] = array
	}
	for i, name := range s.worldNames {
		array, err := s.world(i)
		if err != nil {
			return nil, errors.Errorf("%s cannot be read from the devices: %v", name, err)
		}
		arrays[name] = array
	}
	arrays[countersName] = npz.Of(append([]float64{float64(s.evaluations), s.best, s.summed},
		s.sums...))
	arrays[skillsName] = s.checksum
	return arrays, nil
}

// world is a part of the environments' states, in their order: [environments, ...].
func (s *Search) world(i int) (npz.Array, error) {
	sh := s.collecting.shared
	var parts [][]float32
	for worker := range s.worlds[i] {
		array, err := xla.Download(s.worlds[i][worker : worker+1])
		if err != nil {
			return npz.Array{}, err
		}
		flat, err := array.Float32s()
		if err != nil {
			return npz.Array{}, err
		}
		parts = append(parts, flat)
	}
	dims := s.worlds[i][0].Shape().Dimensions
	width := s.worlds[i][0].Size() / (dims[0] * dims[1])
	flat := make([]float32, 0, sh.n*width)
	for number := range sh.n {
		worker, row := sh.index(number)
		flat = append(flat, parts[worker][row*width:(row+1)*width]...)
	}
	return npz.Of(flat, append([]int{sh.n}, dims[2:]...)...), nil
}

// setWorld is the inverse of world, as new tensors. Environments beyond the last repeat others.
func (s *Search) setWorld(i int, array npz.Array) (xla.Sharded, error) {
	sh := s.collecting.shared
	dims := s.worlds[i][0].Shape().Dimensions
	want := append([]int{sh.n}, dims[2:]...)
	flat, err := array.Float32s()
	if err != nil || !slices.Equal(array.Shape, want) {
		return nil, errors.Errorf("the checkpoint's %s have shape %v, this run needs %v", s.worldNames[i],
			array.Shape, want)
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

// Restore puts the search where [Search.Arrays] was taken, after an iteration.
func (s *Search) Restore(iteration int64, arrays map[string]npz.Array) error {
	if err := matches(arrays, s.checksum); err != nil {
		return err
	}
	counters, err := arrays[countersName].Float64s()
	if err != nil || len(counters) != 3+len(s.sums) {
		return errors.Errorf("the checkpoint has %d counters, this run needs %d", len(counters),
			3+len(s.sums))
	}
	var known, worlds []xla.Sharded
	fail := func(err error) error {
		freeAll(append(known, worlds...))
		return err
	}
	for i, name := range xla.Names(s.collecting.form) {
		want, got := s.known[i][0].Shape(), arrays[learnerPrefix+name]
		if !slices.Equal(got.Shape, want.Dimensions) {
			return fail(errors.Errorf("the checkpoint's %s have shape %v, this run needs %v", name,
				got.Shape, want.Dimensions))
		}
		tensor, err := xla.Upload(got)
		if err != nil {
			return fail(errors.Errorf("the checkpoint's %s: %v", name, err))
		}
		known = append(known, xla.Sharded{tensor})
		if tensor.DType() != want.DType {
			return fail(errors.Errorf("the checkpoint's %s are of %s, this run needs %s", name,
				tensor.DType(), want.DType))
		}
	}
	for i, name := range s.worldNames {
		value, err := s.setWorld(i, arrays[name])
		if err != nil {
			return fail(err)
		}
		worlds = append(worlds, value)
	}
	freeAll(append(slices.Clone(s.known), s.worlds...))
	s.known, s.worlds = known, worlds
	s.iteration, s.evaluations, s.best, s.summed, s.sums = iteration, int64(counters[0]), counters[1],
		counters[2], slices.Clone(counters[3:])
	return s.spread()
}
