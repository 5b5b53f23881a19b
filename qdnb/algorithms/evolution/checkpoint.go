package evolution

import (
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla"
)

// originsKey names the origins of the individuals in checkpoints and repertoires.
const originsKey = "origins"

// unknownOrigins are those of an archive whose individuals were stored without.
func unknownOrigins(cells int) npz.Array {
	flat := make([]int32, 2*cells)
	for i := range flat {
		flat[i] = noOrigin
	}
	return npz.Of(flat, cells, 2)
}

// deviceState lists the arrays on the device by their names in checkpoints: those of the archive
// without a prefix, those of the passive repertoire and of the learner with one. single is true for
// arrays that are restored on the first device only, not on all workers.
func (s *Search) deviceState() (values map[string]*xla.Sharded, single map[string]bool) {
	values, single = map[string]*xla.Sharded{}, map[string]bool{}
	for prefix, st := range map[string]*store{"": s.main, "passive_": s.passive} {
		if st == nil {
			continue
		}
		values[prefix+"genotypes"] = &st.genotypes
		values[prefix+originsKey] = &st.origins
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

// Arrays returns the state of the search on the host, without the replay buffer. From both,
// [Search.Restore] and [Search.SetReplay] restore the search bit for bit.
func (s *Search) Arrays() (map[string]npz.Array, error) {
	values, _ := s.deviceState()
	return arraysOf(values)
}

func arraysOf(values map[string]*xla.Sharded) (map[string]npz.Array, error) {
	arrays := map[string]npz.Array{}
	for name, value := range values {
		array, err := xla.Download(*value)
		if err != nil {
			return nil, errors.Errorf("cannot read %s from the device: %v", name, err)
		}
		arrays[name] = array
	}
	return arrays, nil
}

// Repertoire returns the measured repertoire on the host: fitnesses, descriptors, centroids and, on
// request, the genotypes.
func (s *Search) Repertoire(genotypes bool) (map[string]npz.Array, error) {
	st := s.main
	if s.passive != nil {
		st = s.passive
	}
	values := map[string]*xla.Sharded{}
	for i, name := range (Grid{}).Fields() {
		values[name] = &st.fields[i] // centroids, too: a checkpoint's centroids take precedence
	}
	if genotypes {
		values["genotypes"] = &st.genotypes
		if s.passive == nil { // members of a passive repertoire share their initial state
			values[originsKey] = &st.origins
		}
	}
	return arraysOf(values)
}

// Restore sets the search to the state that [Search.Arrays] returned after the given generation.
// The replay buffer is restored separately, see [Search.SetReplay].
func (s *Search) Restore(generation int64, arrays map[string]npz.Array) error {
	values, single := s.deviceState()
	arrays = maps.Clone(arrays)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		want := (*values[name])[0].Shape()
		got, ok := arrays[name]
		if !ok && strings.HasSuffix(name, originsKey) { // older checkpoints have none
			got, ok = unknownOrigins(want.Dimensions[0]), true
			arrays[name] = got
		}
		if !ok || !slices.Equal(got.Shape, want.Dimensions) {
			return errors.Errorf("the checkpoint's %s has shape %v, but this run needs %v", name, got.Shape,
				want.Dimensions)
		}
		if kind := strings.ToLower(want.DType.String()); got.DType() != kind {
			return errors.Errorf("the checkpoint's %s has type %s, but this run needs %s", name,
				got.DType(), kind)
		}
	}
	for name, value := range values {
		devices := s.platform.Workers
		if single[name] {
			devices = 1
		}
		restored, err := xla.Uploads(arrays[name], devices)
		if err != nil {
			return errors.Errorf("the checkpoint's %s: %v", name, err)
		}
		value.Free()
		*value = restored
	}
	s.generation = generation
	return nil
}
