package skills

import (
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
)

// held lists the state on the first device except the replay buffer, by its names in checkpoints.
func (s *Search) held() (names []string, values []*xla.Sharded) {
	add := func(name string, value *xla.Sharded) {
		names, values = append(names, name),
			append(values, value)
	}
	for i, name := range xla.Names(s.form) {
		add(name, &s.known[i])
	}
	add("passive_genotypes", &s.measuring.genotypes)
	for i, name := range []string{"passive_fitnesses", "passive_descriptors", "passive_centroids"} {
		add(name, &s.measuring.fields[i])
	}
	return names, values
}

// Arrays returns the state of the search on the host, without the replay buffer. [Search.Restore]
// resumes from it and the replay buffer, bit for bit.
func (s *Search) Arrays() (map[string]npz.Array, error) {
	names, values := s.held()
	arrays := map[string]npz.Array{}
	for i, name := range names {
		array, err := xla.Download(*values[i])
		if err != nil {
			return nil, errors.Errorf("cannot read %s from the device: %v", name, err)
		}
		arrays[name] = array
	}
	arrays[evaluationsName] = npz.Scalar(s.evaluations)
	arrays[sumsName] = npz.Of(append(slices.Clone(s.sums), s.summed))
	return arrays, nil
}

// Host counters in checkpoints: the evaluation episodes, and the sums of the metrics since the last
// evaluation.
const (
	evaluationsName = "passive_evaluations"
	sumsName        = "figures"
)

// Restore restores the state that [Search.Arrays] returned after an iteration. The replay buffer is
// restored separately; see [Search.SetReplay].
func (s *Search) Restore(iteration int64, arrays map[string]npz.Array) error {
	evaluations, err := arrays[evaluationsName].Int64s()
	if err != nil || len(evaluations) != 1 {
		return errors.Errorf("the checkpoint lacks the number of evaluations")
	}
	sums, err := arrays[sumsName].Float64s()
	if err != nil || len(sums) != len(s.sums)+1 {
		return errors.Errorf("the checkpoint has %d metric sums, but this run needs %d", len(sums),
			len(s.sums)+1)
	}
	names, values := s.held()
	restored := make([]xla.Sharded, len(names))
	for i, name := range names {
		want := (*values[i])[0].Shape()
		got, ok := arrays[name]
		if !ok || !slices.Equal(got.Shape, want.Dimensions) {
			return errors.Errorf("%s in the checkpoint has shape %v, but this run needs %v", name, got.Shape,
				want.Dimensions)
		}
		tensor, err := xla.Upload(got)
		if err != nil {
			return errors.Errorf("%s in the checkpoint: %v", name, err)
		}
		if tensor.DType() != want.DType {
			return errors.Errorf("%s in the checkpoint is %s, but this run needs %s", name, tensor.DType(),
				want.DType)
		}
		restored[i] = xla.Sharded{tensor}
	}
	for i, value := range values {
		value.Free()
		*value = restored[i]
	}
	s.iteration, s.evaluations = iteration, evaluations[0]
	s.sums, s.summed = slices.Clone(sums[:len(s.sums)]), sums[len(s.sums)]
	return nil
}

// Params returns the results of a finished run: the actor's row, and the state of the diversity
// reward by name.
func (s *Search) Params() (actor []float32, known map[string]npz.Array, err error) {
	array, err := xla.Download(s.actor())
	if err != nil {
		return nil, nil, err
	}
	actor, known = array.Data.([]float32), map[string]npz.Array{}
	if s.it.method.Diversity == nil {
		return actor, known, nil
	}
	first := slices.Index(xla.Names(s.form), "Known.0")
	for i, name := range s.it.method.Diversity.Fields() {
		if known[name], err = xla.Download(s.known[first+i]); err != nil {
			return nil, nil, err
		}
	}
	return actor, known, nil
}

// ReplayShape returns the replay buffer's capacity in rows, the width of a row, and the total
// number of rows written so far.
func (s *Search) ReplayShape() (capacity int64, width int, total int64) {
	capacity, width = s.buffer.Shape()
	return capacity, width, s.envSteps(s.iteration)
}

// ReplayRows reads rows of the replay buffer; see [replay.Store.Rows].
func (s *Search) ReplayRows(from, to int64) ([]float32, error) {
	return s.buffer.Rows(s.envSteps(s.iteration), from, to)
}

// SetReplay restores the replay buffer as of the newest iteration; see [replay.Store.Set].
func (s *Search) SetReplay(read func(put func(from int64, rows []float32) error) error) error {
	return s.buffer.Set(s.envSteps(s.iteration), read)
}

// Refill refills a lost replay buffer with steps of the current actor, to the fill level of the
// newest iteration. It returns the number of episodes, assuming that none ends early. Later
// learning differs from that of an uninterrupted search.
func (s *Search) Refill() (episodes int64, err error) {
	act, err := s.compile("steps for the replay buffer",
		func(st state, buffer replay.Buffer, _ []*graph.Node, key xla.Key) (state, replay.Buffer,
			metrics) {
			st, buffer, _ = s.it.act(st, buffer, key.FoldIn(streamRefill))
			return st, buffer, metrics{Task: graph.ReduceAllMean(st.Worlds.Reward)}
		})
	if err != nil {
		return 0, err
	}
	defer act.Free()
	total := s.envSteps(s.iteration)
	capacity, _ := s.buffer.Shape()
	s.buffer.Clear()
	n := int64(s.config.Environments)
	steps := min(total, capacity) / n
	start := (total - steps*n) % capacity
	s.buffer.Count(start)
	s.forgetReturns(start / n)
	for k := range steps {
		if _, err := s.run(act, s.iteration-steps+1+k); err != nil {
			return 0, err
		}
	}
	s.buffer.Count(total)
	return steps * n / int64(s.it.task.Length), nil
}

// forgetReturns resets the returns to those of an empty buffer whose next step is stored at a row.
func (s *Search) forgetReturns(row int64) {
	for i, name := range xla.Names(s.form) {
		v := s.known[i]
		var tensor *tensors.Tensor
		switch name {
		case "Returns.Rows":
			none := make([]float32, v[0].Size())
			for k := range none {
				none[k] = float32(math.Inf(-1))
			}
			tensor = tensors.FromFlatDataAndDimensions(none, v[0].Shape().Dimensions...)
		case "Returns.Running", "Returns.Age":
			tensor = tensors.FromShape(v[0].Shape().Clone())
		case "Returns.Position":
			tensor = tensors.FromScalar(int32(row))
		default:
			continue
		}
		v.Free()
		s.known[i] = xla.Sharded{tensor}
	}
}
