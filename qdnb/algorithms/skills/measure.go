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
	"example.com/qdnb/xla/nn"
)

// Evaluation is the result of evaluating skills without noise, in one episode from each initial
// state. Episode i is that of skill i mod skills.
type Evaluation struct {
	Genotypes   xla.Sharded // [skills, params] on all workers, see [Task.Genotypes]; of the search
	Policy      []float32   // row of the actor, see [Task.Numbered]
	Fitnesses   []float32   // [episodes]
	Descriptors []float32   // [episodes * d]
	// Positions are the state descriptors before each step, [episodes * steps * 2]; nil if they are
	// not positions in a plane.
	Positions []float32
}

// measuring evaluates skills and holds the passive repertoire.
type measuring struct {
	episodes  int
	evaluator *scoring.Evaluator
	skills    *xla.Program[xla.State[nn.Network], policies]
	inserting *xla.Program[insertIn, insertOut]
	passive   xla.State[passive]
	current   xla.Array // genotypes of the skills evaluated last, on all workers
}

// policies are an actor's skills as separate policies, and its row.
type policies struct{ Genotypes, Policy xla.Array }

// passive is the passive repertoire: a pytree.
type passive struct {
	Genotypes *graph.Node // [cells, params]
	Cells     repertoire.Cells
}

// repertoireNames are the names of its tensors in files.
var repertoireNames = []string{"genotypes", "fitnesses", "descriptors", "centroids"}

// insertIn are the inputs of the insertion of an evaluation's episodes.
type insertIn struct {
	Passive              xla.State[passive] `xla:"donate"`
	Skills               xla.Array          // [skills, params]
	Fitness, Descriptors xla.Array          // [episodes], [episodes, d]
}

// insertOut are its outputs.
type insertOut struct {
	Passive xla.State[passive]
	Counts  xla.Array // see [scoring.Count]
}

// Task implements [algorithms.Search].
func (s *Search) Task() scoring.Task {
	task := s.it.Task
	return scoring.Task{Env: task.Env, Policy: task.policy(s.config.Hidden), Length: task.Length}
}

func (s *Search) newMeasuring() (*measuring, error) {
	task := s.it.Task
	m := &measuring{episodes: max(1, task.Skills.Count()) * s.config.EvaluationStates}
	evaluated := s.Task()
	var recorders []envs.Recorder
	if d := task.Env.Spec().Descriptor; d.Kind == envs.Final && len(d.Lower) == 2 {
		recorders = append(recorders, envs.Recorder{Every: 1, Width: 2,
			Row: func(before envs.State, _ *graph.Node, _ envs.State) *graph.Node {
				return before.Descriptor
			}})
	}
	var err error
	if m.evaluator, err = scoring.NewEvaluator(s.programs.Platform, evaluated, scoring.Plan{
		Policies: max(1, task.Skills.Count()), Episodes: m.episodes, Recorders: recorders}); err != nil {
		return nil, err
	}
	s.programs.Own(m.evaluator)
	m.skills, err = xla.Compile(s.programs, "skills", s.actor(),
		func(actor xla.State[nn.Network]) policies {
			numbered := task.Numbered(actor.Tree)
			return policies{xla.Out(task.Genotypes(numbered)), xla.Out(numbered.Join())}
		})
	if err != nil {
		return m, err
	}
	return m, m.empty(s, evaluated.Policy.Params())
}

// actor returns the actor on the device.
func (s *Search) actor() xla.State[nn.Network] {
	return xla.Part(s.state, func(s state) nn.Network { return s.Learner.Actor.Params })
}

// empty creates the empty passive repertoire and the program that inserts into it.
func (m *measuring) empty(s *Search, params int) error {
	cells, d := s.config.Centroids.Shape[0], s.config.Centroids.Shape[1]
	centroids, err := s.config.Centroids.Float32s()
	if err != nil {
		return err
	}
	none := slices.Repeat([]float32{float32(math.Inf(-1))}, cells)
	m.passive = xla.Pack(func(in []*graph.Node) passive {
		return passive{in[0], repertoire.Cells{Fitness: in[1], Descriptors: in[2], Centroids: in[3]}}
	}, xla.Single(tensors.FromShape(shapes.Make(dtypes.Float32, cells, params))),
		xla.Single(tensors.FromFlatDataAndDimensions(none, cells)),
		xla.Single(tensors.FromShape(shapes.Make(dtypes.Float32, cells, d))),
		xla.Single(tensors.FromFlatDataAndDimensions(centroids, cells, d)))
	skills := max(1, s.it.Skills.Count())
	in := insertIn{m.passive, xla.Declare(dtypes.Float32, skills, params),
		xla.Declare(dtypes.Float32, m.episodes), xla.Declare(dtypes.Float32, m.episodes, d)}
	m.inserting, err = xla.Compile(s.programs, "passive repertoire", in,
		func(in insertIn) insertOut {
			held := in.Passive.Tree
			batch := repertoire.Batch{Fitness: in.Fitness.Tree, Descriptors: in.Descriptors.Tree}
			index, accepted := repertoire.Winners(held.Cells, batch)
			where, count := repertoire.Compact(accepted)
			winners := graph.ModScalar(graph.Gather(index, graph.InsertAxes(where, -1)), int32(skills))
			held.Genotypes = repertoire.SetGenotypes(held.Genotypes, in.Skills.Tree, winners, where, count)
			held.Cells = held.Cells.Update(batch, index, accepted)
			return insertOut{xla.Out(held), xla.Out(scoring.Count(s.it.Env.Spec(), batch.Fitness,
				batch.Descriptors, nil, batch.Valid()))}
		})
	return err
}

// Evaluate rolls out the current skills. It does not change the search.
func (s *Search) Evaluate() (Evaluation, error) {
	m := s.measuring
	m.current.Free()
	out, err := m.skills.Run(s.actor())
	if err != nil {
		return Evaluation{}, err
	}
	defer out.Policy.Free()
	if m.current, err = out.Genotypes.Spread(s.programs.Platform); err != nil {
		return Evaluation{}, err
	}
	policy, err := out.Policy.Floats()
	if err != nil {
		return Evaluation{}, err
	}
	genotypes := m.current.Value()
	found, err := m.evaluator.Evaluate(genotypes, s.config.Seed, nil)
	e := Evaluation{Genotypes: genotypes, Policy: policy, Fitnesses: found.Fitnesses, Descriptors: found.Descriptors}
	if len(found.Records) > 0 {
		e.Positions = found.Records[0]
	}
	return e, err
}

// insert inserts the episodes of an evaluation into the passive repertoire, and adds the fitnesses
// of its cells and the tally to the outcome.
func (m *measuring) insert(e Evaluation, o *scoring.Outcome) error {
	d := len(e.Descriptors) / m.episodes
	in := insertIn{m.passive, xla.Value(e.Genotypes).First(),
		xla.Single(tensors.FromFlatDataAndDimensions(e.Fitnesses, m.episodes)),
		xla.Single(tensors.FromFlatDataAndDimensions(e.Descriptors, m.episodes, d))}
	out, err := m.inserting.Run(in)
	xla.Free(&in.Fitness, &in.Descriptors)
	if err != nil {
		return err
	}
	m.passive = out.Passive
	counts, err := out.Counts.Floats()
	out.Counts.Free()
	if err != nil {
		return err
	}
	o.Tally = scoring.TallyOf(counts)
	fitness := func(p passive) *graph.Node { return p.Cells.Fitness }
	o.Fitnesses, err = xla.Part(m.passive, fitness).Floats()
	return err
}

// Repertoire downloads the passive repertoire: fitnesses, descriptors, centroids and, on request,
// genotypes.
func (s *Search) Repertoire(genotypes bool) (map[string]npz.Array, error) {
	names := slices.Clone(repertoireNames)
	if !genotypes {
		names[0] = ""
	}
	c := &xla.Checkpoint{}
	c.Add(&s.measuring.passive, 1, "", names...)
	c.Sparse("genotypes", "fitnesses")
	return c.Arrays()
}
