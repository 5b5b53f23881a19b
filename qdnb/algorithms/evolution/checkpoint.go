package evolution

import (
	"maps"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla"
)

// jointState lists what is on the device, by the names it has in checkpoints: of the archive as it
// is, of the passive repertoire and of the learner with a prefix. How each is put back: on all
// workers, or on the first device alone.
func (s *Search) held() (values map[string]*xla.Sharded, single map[string]bool) {
	values, single = map[string]*xla.Sharded{}, map[string]bool{}
	for prefix, st := range map[string]*store{"": s.main, "passive_": s.passive} {
		if st == nil {
			continue
		}
		values[prefix+"genotypes"] = &st.genotypes
		for i, name := range st.archive.Fields() {
			values[prefix+name] = &st.fields[i]
		}
	}
	if s.learning != nil {
		for i, name := range s.method.Learner.Fields() {
			values["learner_"+name], single["learner_"+name] = &s.learning.known[i], true
		}
	}
	return values, single
}

// Arrays is the state of the search on the host, without the replay buffer. With them it is what
// [Search.Restore] goes on from, bit for bit.
func (s *Search) Arrays() (map[string]npz.Array, error) {
	values, _ := s.held()
	return arraysOf(values)
}

func arraysOf(values map[string]*xla.Sharded) (map[string]npz.Array, error) {
	arrays := map[string]npz.Array{}
	for name, value := range values {
		flat, err := xla.Floats(*value)
		if err != nil {
			return nil, errors.Errorf("%s cannot be read from the device: %v", name, err)
		}
		arrays[name] = npz.Array{Shape: slices.Clone((*value)[0].Shape().Dimensions), Data: flat}
	}
	return arrays, nil
}

// Repertoire is the repertoire that is measured, on the host: fitnesses, descriptors, centroids
// and, if asked for, the genotypes.
func (s *Search) Repertoire(genotypes bool) (map[string]npz.Array, error) {
	st := s.main
	if s.passive != nil {
		st = s.passive
	}
	values := map[string]*xla.Sharded{}
	for i, name := range (Grid{}).Fields() {
		values[name] = &st.fields[i] // the centroids, too: those of a checkpoint stand
	}
	if genotypes {
		values["genotypes"] = &st.genotypes
	}
	return arraysOf(values)
}

// Restore puts the search where [Search.Arrays] was taken, after generation. A replay buffer is put
// back by itself, see [Search.SetReplay].
func (s *Search) Restore(generation int64, arrays map[string]npz.Array) error {
	values, single := s.held()
	flats := map[string][]float32{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		want := (*values[name])[0].Shape().Dimensions
		got, ok := arrays[name]
		if !ok || !slices.Equal(got.Shape, want) {
			return errors.Errorf("the checkpoint's %s have shape %v, this run needs %v", name, got.Shape,
				want)
		}
		flat, err := got.Float32s()
		if err != nil {
			return errors.Errorf("the checkpoint's %s: %v", name, err)
		}
		flats[name] = flat
	}
	for name, value := range values {
		dims := arrays[name].Shape
		put := func() *tensors.Tensor { return tensors.FromFlatDataAndDimensions(flats[name], dims...) }
		value.Free()
		if single[name] {
			*value = xla.Sharded{put()}
		} else {
			*value = s.platform.Replicated(put)
		}
	}
	s.generation = generation
	return nil
}
