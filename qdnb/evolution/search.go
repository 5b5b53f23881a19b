package evolution

import (
	"math"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/npz"
	"example.com/qdnb/qdnb/repertoire"
	"example.com/qdnb/xla"
)

// Settings are what a search needs beside its task and its emitter.
type Settings struct {
	Batch     int       // individuals of a generation
	Slice     int       // policies that are rolled out together; 0: [DefaultSlice]
	Seed      int64     // of everything random
	Centroids npz.Array // float32 [cells, d]
}

// DefaultSlice is the slice size for a backend: on a CPU as many policies as have their weights in the cache of a core, at
// least two, for XLA multiplies a single row slowly; elsewhere the whole batch.
func DefaultSlice(kind xla.Kind, batch, params int) int {
	if kind != xla.CPU {
		return batch
	}
	const cache = 1536 << 10 // bytes of weights; cores have 1 to 2 MB of their own
	slice := 8               // a power of two: the physics fills vectors then
	for slice > 2 && slice*4*params > cache {
		slice /= 2
	}
	return min(batch, slice)
}

// Search is a running neuroevolution. Its state is on the device; the host sees fitness and descriptors.
type Search struct {
	platform   *xla.Platform
	task       Task
	settings   Settings
	program    *xla.Program // of a generation
	genotypes  xla.Value
	scratch    xla.Value
	fitness    xla.Value
	descriptor xla.Value
	fixed      [3]xla.Value // centroids, seed, worker
	generation int64        // the newest; -1 before the initial population
}

// Outcome is what the host learns of a generation.
type Outcome struct {
	Generation int64
	Fitnesses  []float32 // of the repertoire, [cells]; -Inf where empty
	Invalid    int       // evaluations of the generation with a NaN fitness or descriptor: they never enter
	Seconds    float64
}

// New compiles a search. CompileTime says how long that took.
func New(p *xla.Platform, task Task, emitter Emitter, settings Settings) (*Search, error) {
	d := len(task.Env.Spec().Descriptor.Lower)
	if settings.Batch < 1 {
		return nil, errors.Errorf("a generation needs a batch of at least 1, not %d", settings.Batch)
	}
	if len(settings.Centroids.Shape) != 2 || settings.Centroids.Shape[0] < 1 || settings.Centroids.Shape[1] != d {
		return nil, errors.Errorf("centroids of shape %v do not fit descriptors of %d components", settings.Centroids.Shape, d)
	}
	if settings.Slice == 0 {
		settings.Slice = DefaultSlice(p.Kind, settings.Batch, task.Policy.Params())
	}
	cells := settings.Centroids.Shape[0]
	settings.Slice = min(settings.Slice, settings.Batch, cells)
	if settings.Slice < 1 {
		return nil, errors.Errorf("slices need at least 1 policy, not %d", settings.Slice)
	}
	s := &Search{platform: p, task: task, settings: settings, generation: -1}
	rows := int64(cells) + int64(s.scratchRows()) + int64(settings.Slice)
	if err := p.CheckMemory(4 * int64(task.Policy.Params()) * rows); err != nil {
		return nil, err
	}
	var err error
	if s.program, err = s.compile(emitter); err != nil {
		return nil, err
	}
	return s, s.reset()
}

// compile builds the program of a generation.
func (s *Search) compile(emitter Emitter) (*xla.Program, error) {
	cells, d := s.settings.Centroids.Shape[0], s.settings.Centroids.Shape[1]
	params := s.task.Policy.Params()
	gen := generation{s.task, emitter, s.settings.Batch, s.settings.Slice, s.platform.Workers}
	inputs := []xla.Input{
		{Shape: shapes.Make(dtypes.Float32, cells, params), Donate: true},
		{Shape: shapes.Make(dtypes.Float32, s.scratchRows(), params), Donate: true},
		{Shape: shapes.Make(dtypes.Float32, cells), Donate: true},
		{Shape: shapes.Make(dtypes.Float32, cells, d), Donate: true},
		{Shape: shapes.Make(dtypes.Float32, cells, d)},
		{Shape: shapes.Make(dtypes.Uint32, 2)},
		{Shape: shapes.Make(dtypes.Int32)},
		{Shape: shapes.Make(dtypes.Int32)},
	}
	return s.platform.CompileParallel("generation", inputs, func(in []*graph.Node) []*graph.Node {
		before := archive{in[0], in[1], repertoire.Cells{Fitness: in[2], Descriptors: in[3], Centroids: in[4]}}
		key := xla.KeyOf(in[5]).Fold(in[7])
		after, invalid := gen.build(before, key, in[7], in[6])
		return []*graph.Node{after.Genotypes, after.Scratch, after.Cells.Fitness, after.Cells.Descriptors, invalid}
	})
}

func (s *Search) scratchRows() int { return min(s.settings.Centroids.Shape[0], s.settings.Batch) }

// reset empties the repertoire.
func (s *Search) reset() error {
	cells, d := s.settings.Centroids.Shape[0], s.settings.Centroids.Shape[1]
	empty := make([]float32, cells)
	for i := range empty {
		empty[i] = float32(math.Inf(-1))
	}
	return s.load(npz.Of(make([]float32, cells*s.task.Policy.Params()), cells, s.task.Policy.Params()),
		npz.Of(empty, cells), npz.Of(make([]float32, cells*d), cells, d))
}

// load puts a repertoire on the workers.
func (s *Search) load(genotypes, fitnesses, descriptors npz.Array) error {
	centroids, err := s.settings.Centroids.Float32s()
	if err != nil {
		return err
	}
	var failed error
	put := func(a npz.Array) xla.Value {
		flat, err := a.Float32s()
		if err != nil {
			failed = err
			return nil
		}
		return s.platform.Replicated(func() *tensors.Tensor { return tensors.FromFlatDataAndDimensions(flat, a.Shape...) })
	}
	for _, old := range []xla.Value{s.genotypes, s.scratch, s.fitness, s.descriptor, s.fixed[0], s.fixed[1], s.fixed[2]} {
		old.Free()
	}
	s.genotypes, s.fitness, s.descriptor = put(genotypes), put(fitnesses), put(descriptors)
	if failed != nil {
		return failed
	}
	s.scratch = s.platform.Replicated(func() *tensors.Tensor {
		return tensors.FromShape(shapes.Make(dtypes.Float32, s.scratchRows(), s.task.Policy.Params()))
	})
	s.fixed[0] = s.platform.Replicated(func() *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(centroids, s.settings.Centroids.Shape...)
	})
	s.fixed[1] = s.platform.Replicated(func() *tensors.Tensor { return tensors.FromValue(xla.SeedWords(s.settings.Seed)) })
	s.fixed[2] = nil
	for worker := range s.platform.Workers {
		s.fixed[2] = append(s.fixed[2], tensors.FromScalar(int32(worker)))
	}
	return nil
}

// Generation is the newest generation, 0 for the initial population and -1 before it.
func (s *Search) Generation() int64 { return s.generation }

// Slice is the number of policies that are rolled out together.
func (s *Search) Slice() int { return s.settings.Slice }

// CompileTime is what XLA took to compile the search.
func (s *Search) CompileTime() time.Duration { return s.program.CompileTime }

// Step runs the next generation: the first call the initial population.
func (s *Search) Step() (Outcome, error) {
	start := time.Now()
	number := s.platform.Replicated(func() *tensors.Tensor { return tensors.FromScalar(int32(s.generation + 1)) })
	out, err := s.program.Run(s.genotypes, s.scratch, s.fitness, s.descriptor, s.fixed[0], s.fixed[1], s.fixed[2], number)
	if err != nil {
		return Outcome{}, err
	}
	number.Free()
	s.genotypes, s.scratch, s.fitness, s.descriptor = out[0], out[1], out[2], out[3]
	s.generation++
	fitnesses, err := download(s.fitness)
	if err != nil {
		return Outcome{}, err
	}
	invalid := tensors.ToScalar[int32](out[4][0])
	out[4].Free()
	return Outcome{s.generation, fitnesses, int(invalid), time.Since(start).Seconds()}, nil
}

// download copies a value to the host. It reads a copy on the device's side of the tensor, which stays on the device alone.
func download(v xla.Value) ([]float32, error) {
	flat := make([]float32, v[0].Size())
	err := tensors.ConstFlatData(v[0], func(data []float32) { copy(flat, data) })
	return flat, err
}

// Arrays is the state of the search on the host: fitnesses, descriptors, centroids and, if asked for, the genotypes. With them
// it is what [Search.Restore] goes on from, bit for bit.
func (s *Search) Arrays(genotypes bool) (map[string]npz.Array, error) {
	arrays := map[string]npz.Array{"centroids": s.settings.Centroids}
	wanted := map[string]xla.Value{"fitnesses": s.fitness, "descriptors": s.descriptor}
	if genotypes {
		wanted["genotypes"] = s.genotypes
	}
	for name, value := range wanted {
		flat, err := download(value)
		if err != nil {
			return nil, errors.Errorf("%s cannot be read from the device: %v", name, err)
		}
		arrays[name] = npz.Of(flat, slices.Clone(value[0].Shape().Dimensions)...)
	}
	return arrays, nil
}

// Restore puts the search where [Search.Arrays] was taken, after generation.
func (s *Search) Restore(generation int64, arrays map[string]npz.Array) error {
	cells, d := s.settings.Centroids.Shape[0], s.settings.Centroids.Shape[1]
	for name, want := range map[string][]int{
		"genotypes": {cells, s.task.Policy.Params()}, "fitnesses": {cells}, "descriptors": {cells, d}, "centroids": {cells, d},
	} {
		if got, ok := arrays[name]; !ok || !slices.Equal(got.Shape, want) {
			return errors.Errorf("the checkpoint's %s have shape %v, this run needs %v", name, got.Shape, want)
		}
	}
	s.settings.Centroids = arrays["centroids"]
	if err := s.load(arrays["genotypes"], arrays["fitnesses"], arrays["descriptors"]); err != nil {
		return err
	}
	s.generation = generation
	return nil
}

// Close frees the device's memory and the programs.
func (s *Search) Close() {
	for _, v := range []xla.Value{s.genotypes, s.scratch, s.fitness, s.descriptor, s.fixed[0], s.fixed[1], s.fixed[2]} {
		v.Free()
	}
	s.program.Free()
}
