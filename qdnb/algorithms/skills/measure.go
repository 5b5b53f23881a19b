package skills

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Evaluation is the result of evaluating skills without noise, in one episode from each initial
// state. Episode i is that of skill i mod skills.
type Evaluation struct {
	Genotypes   xla.Sharded // [skills, params] on all workers, see [Task.Genotypes]; of the search
	Fitnesses   []float32   // [episodes]
	Descriptors []float32   // [episodes * d]
	// Positions are the state descriptors before each step, [episodes * steps * 2]; nil if they are
	// not positions in a plane.
	Positions []float32
}

// invalid counts the episodes with a NaN or infinite fitness or a NaN descriptor.
func (e Evaluation) invalid() int {
	count, d := 0, len(e.Descriptors)/max(1, len(e.Fitnesses))
	for i, fitness := range e.Fitnesses {
		bad := math.IsInf(float64(fitness), 0) || math.IsNaN(float64(fitness))
		for _, x := range e.Descriptors[i*d : (i+1)*d] {
			bad = bad || x != x
		}
		if bad {
			count++
		}
	}
	return count
}

// measuring evaluates skills and holds the passive repertoire.
type measuring struct {
	search    *Search
	episodes  int
	evaluator *scoring.Evaluator
	skills    *xla.Executable // actor to genotypes
	inserting *xla.Executable
	genotypes xla.Sharded   // [cells, params]
	fields    []xla.Sharded // leaves of [repertoire.Cells]
	current   xla.Sharded   // genotypes of the skills evaluated last
}

func (s *Search) newMeasuring() (*measuring, error) {
	task, passive := s.it.task, s.config.Passive
	m := &measuring{search: s, episodes: max(1, task.Skills) * passive.States}
	evaluated := scoring.Task{Env: task.Env, Policy: task.policy(s.config.SAC.Hidden),
		Length: task.Length}
	var recorders []envs.Recorder
	if d := task.Env.Spec().Descriptor; d.Kind == envs.Final && len(d.Lower) == 2 {
		recorders = append(recorders, envs.Recorder{Every: 1, Width: 2,
			Row: func(before envs.State, _ *graph.Node, _ envs.State) *graph.Node {
				return before.Descriptor
			}})
	}
	var err error
	if m.evaluator, err = scoring.NewRepeatedEvaluator(s.platform, evaluated, max(1, task.Skills),
		m.episodes, 0, recorders...); err != nil {
		return nil, err
	}
	m.skills, err = s.platform.Compile("skills", []xla.Input{{Shape: s.actor()[0].Shape()}},
		func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{task.Genotypes(s.it.sac, in[0])}
		})
	if err != nil {
		return m, err
	}
	return m, m.empty(evaluated.Policy.Params())
}

// actor returns the actor's row on the device.
func (s *Search) actor() xla.Sharded {
	return s.known[slices.Index(xla.Names(s.form), "Learner.Actor")]
}

// empty creates the empty passive repertoire and the program that inserts into it.
func (m *measuring) empty(params int) error {
	cells, d := m.search.config.Centroids.Shape[0], m.search.config.Centroids.Shape[1]
	centroids, err := m.search.config.Centroids.Float32s()
	if err != nil {
		return err
	}
	none := make([]float32, cells)
	for i := range none {
		none[i] = float32(math.Inf(-1))
	}
	m.genotypes = xla.Sharded{tensors.FromShape(shapes.Make(dtypes.Float32, cells, params))}
	m.fields = []xla.Sharded{
		{tensors.FromFlatDataAndDimensions(none, cells)},
		{tensors.FromShape(shapes.Make(dtypes.Float32, cells, d))},
		{tensors.FromFlatDataAndDimensions(centroids, cells, d)},
	}
	float := func(dims ...int) xla.Input {
		return xla.Input{Shape: shapes.Make(dtypes.Float32,
			dims...)}
	}
	inputs := []xla.Input{{Shape: m.genotypes[0].Shape(), Donate: true}}
	for _, field := range m.fields {
		inputs = append(inputs, xla.Input{Shape: field[0].Shape(), Donate: true})
	}
	skills := max(1, m.search.it.task.Skills)
	inputs = append(inputs, float(skills, params), float(m.episodes), float(m.episodes, d))
	m.inserting, err = m.search.platform.Compile("passive repertoire", inputs,
		func(in []*graph.Node) []*graph.Node {
			cells := repertoire.Cells{Fitness: in[1], Descriptors: in[2], Centroids: in[3]}
			batch := repertoire.Batch{Fitness: in[5], Descriptors: in[6]}
			index, accepted := repertoire.Winners(cells, batch)
			where, count := repertoire.Compact(accepted)
			winners := graph.ModScalar(graph.Gather(index, graph.InsertAxes(where, -1)), int32(skills))
			genotypes := repertoire.SetGenotypes(in[0], in[4], winners, where, count)
			return append([]*graph.Node{genotypes}, xla.Flatten(cells.Update(batch, index, accepted))...)
		})
	return err
}

// Evaluate rolls out the current skills. It does not change the search.
func (s *Search) Evaluate() (Evaluation, error) {
	m := s.measuring
	out, err := m.skills.Run(s.actor())
	if err != nil {
		return Evaluation{}, err
	}
	array, err := xla.Download(out[0])
	out[0].Free()
	if err != nil {
		return Evaluation{}, err
	}
	flat := array.Data.([]float32)
	m.current.Free()
	m.current = s.platform.Replicated(func() *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(flat, array.Shape...)
	})
	e := Evaluation{Genotypes: m.current}
	var records [][]float32
	e.Fitnesses, e.Descriptors, records, err = m.evaluator.Record(m.current, s.config.Seed)
	if len(records) > 0 {
		e.Positions = records[0]
	}
	return e, err
}

// insert inserts the episodes of an evaluation into the passive repertoire and returns the
// fitnesses of its cells.
func (m *measuring) insert(e Evaluation) ([]float32, error) {
	d := m.search.config.Centroids.Shape[1]
	found := []xla.Sharded{
		{tensors.FromFlatDataAndDimensions(e.Fitnesses, m.episodes)},
		{tensors.FromFlatDataAndDimensions(e.Descriptors, m.episodes, d)},
	}
	inputs := slices.Concat([]xla.Sharded{m.genotypes}, m.fields, []xla.Sharded{e.Genotypes[:1]},
		found)
	out, err := m.inserting.Run(inputs...)
	for _, v := range found {
		v.Free()
	}
	if err != nil {
		return nil, err
	}
	m.genotypes, m.fields = out[0], out[1:]
	array, err := xla.Download(m.fields[0])
	if err != nil {
		return nil, err
	}
	return array.Data.([]float32), nil
}

// Repertoire downloads the passive repertoire: fitnesses, descriptors, centroids and, on request,
// genotypes.
func (s *Search) Repertoire(genotypes bool) (map[string]npz.Array, error) {
	arrays := map[string]npz.Array{}
	var err error
	for i, name := range []string{"fitnesses", "descriptors", "centroids"} {
		if arrays[name], err = xla.Download(s.measuring.fields[i]); err != nil {
			return nil, err
		}
	}
	if genotypes {
		arrays["genotypes"], err = xla.Download(s.measuring.genotypes)
	}
	return arrays, err
}

func (m *measuring) programs() []*xla.Executable {
	programs := []*xla.Executable{m.skills, m.inserting}
	if m.evaluator != nil {
		programs = append(programs, m.evaluator.Program)
	}
	return programs
}

func (m *measuring) free() {
	for _, v := range append([]xla.Sharded{m.genotypes, m.current}, m.fields...) {
		v.Free()
	}
}
