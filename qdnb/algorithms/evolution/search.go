package evolution

import (
	"math"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Method is the set of parts that make up an algorithm.
type Method struct {
	Emitter Emitter // emits offspring from parents
	Learner Learner // emits the first offspring of a generation; nil if there is none
	Archive Archive // decides which offspring are kept
}

// Settings are the options of a search that belong neither to its task nor to its method.
type Settings struct {
	Batch     int       // individuals per generation
	Slice     int       // policies rolled out together; 0: [scoring.DefaultSlice]
	Seed      int64     // seed of all random numbers
	Starts    Starts    // initial states of the evaluations
	Together  int       // searches that will share a program, see [StepTogether]; 0: 1
	Centroids npz.Array // float32 [cells, d], centroids of the measured repertoire
}

// Search is a running neuroevolution. Its state is on the device; the host sees only fitnesses and
// descriptors.
type Search struct {
	programs     *xla.Scope
	task         scoring.Task
	method       Method
	settings     Settings
	main         *store    // the method's archive
	passive      *store    // the passive repertoire, which is measured; nil if the archive itself is
	learning     *learning // nil without a learner
	maintenance  map[string]*xla.Program[maintainIn, xla.State[[]*graph.Node]]
	seed, worker xla.Array
	tuning       xla.Array // parameters of the emitter
	generation   int64     // latest generation; -1 before the initial population
}

// maintainIn are the inputs of an archive's maintenance.
type maintainIn struct {
	Seed, Number xla.Array
	Fields       xla.State[[]*graph.Node]
}

// New compiles a search. It reuses programs that are already compiled, for example those of a
// search that differs only in its seed and the parameters of its emitter. [Search.CompileTime]
// reports the compile time.
func New(p *xla.Platform, task scoring.Task, method Method, settings Settings) (*Search, error) {
	d := len(task.Env.Spec().Descriptor.Lower)
	if settings.Batch < 1 {
		return nil, errors.Errorf("batch must be at least 1, not %d", settings.Batch)
	}
	if len(settings.Centroids.Shape) != 2 || settings.Centroids.Shape[0] <
		1 || settings.Centroids.Shape[1] != d {
		return nil, errors.Errorf("centroids of shape %v do not fit descriptors of %d components",
			settings.Centroids.Shape, d)
	}
	if settings.Slice == 0 {
		settings.Slice = task.DefaultSlice(p.Kind, settings.Batch)
	}
	settings.Slice = min(settings.Slice, settings.Batch)
	if settings.Slice < 1 {
		return nil, errors.Errorf("slice must be at least 0, not %d", settings.Slice)
	}
	if method.Archive == nil {
		method.Archive = Grid{Centroids: settings.Centroids}
	}
	if a := method.Archive; a.PassiveEvery() == 0 && !slices.Contains(a.Fields(), "centroids") {
		return nil, errors.Errorf("%T has no field \"centroids\" for the repertoire: add it, or let "+
			"PassiveEvery return how often a passive repertoire is filled", a)
	}
	if settings.Starts != 0 && method.Archive.SameStart() {
		return nil, errOneStart
	}
	s := &Search{programs: &xla.Scope{Platform: p}, task: task, method: method, settings: settings,
		maintenance: map[string]*xla.Program[maintainIn, xla.State[[]*graph.Node]]{}, generation: -1}
	shared, perWorker, err := s.memory()
	if err == nil {
		err = p.CheckMemory(shared, perWorker)
	}
	if err != nil {
		return nil, err
	}
	if err := s.build(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// memory returns the bytes that the workers share and those that each of them needs.
func (s *Search) memory() (shared, perWorker int64, err error) {
	fields, err := xla.TraceGraph(xla.NewTrace(), seed, func(seed xla.Array) arrays {
		return xla.Out(empty(s.method.Archive, s.task, xla.KeyOf(seed.Tree)))
	})
	if err != nil {
		return 0, 0, nil // compiling the archive gives a better error
	}
	cells, slots := s.settings.Centroids.Shape[0], fields.Leaves()[0].Dims()[0]
	rows, params := int64(slots)+int64(min(slots, s.settings.Batch)), s.task.Policy.Params()
	if s.method.Archive.PassiveEvery() > 0 {
		rows += int64(cells) + int64(min(cells, slots))
	}
	shared, perWorker = 4*int64(params)*rows, 4*int64(params)*int64(s.settings.Slice)
	// the learner's buffer, and a generation's rows, recorded and gathered
	if l := s.method.Learner; records(l) {
		width := rowLayout(l, s.task).Width()
		shared += 4 * int64(l.Capacity()) * int64(replay.StoredWidth(s.programs.Kind, width))
		perWorker += 4 * int64(width) * 3 * int64(s.settings.Batch) * int64(s.task.Length)
	}
	if _, ok := s.method.Emitter.(Strategy); ok {
		state, err := xla.TraceGraph(xla.NewTrace(), seed, func(seed xla.Array) arrays {
			return xla.Out(startStrategy(s.method.Emitter, s.task, xla.KeyOf(seed.Tree)))
		})
		if err != nil {
			return 0, 0, err
		}
		for _, leaf := range state.Leaves() {
			shared += 4 * int64(shapes.Make(dtypes.Float32, leaf.Dims()...).Size())
		}
	}
	return shared, perWorker, nil
}

// axes names the axis sizes of the search.
func (s *Search) axes() []xla.Axis {
	cells := s.settings.Centroids.Shape[0]
	if s.main != nil {
		cells = s.main.cells()
	}
	return s.task.Axes(s.settings.Batch, s.settings.Slice, cells)
}

// build compiles the programs and initialises the state.
func (s *Search) build() error {
	p := s.programs.Platform
	s.seed, s.worker = p.Seed(s.settings.Seed), xla.Value(p.WorkerNumbers())
	s.tuning = xla.ParamsOf(s.method.Emitter).Array(p.Workers)
	var err error
	if s.main, err = s.newStore(s.method.Archive, s.method.Emitter, s.settings.Batch); err != nil {
		return err
	}
	// offspring that enter are emitted again in whole slices, into at most that many rows
	s.settings.Slice = min(s.settings.Slice, s.main.cells())
	if s.method.Learner != nil {
		if s.learning, err = s.newLearning(); err != nil {
			return err
		}
	}
	s.main.name = "generation"
	s.main.gen = generation{s.task, s.method.Emitter, s.method.Archive, s.method.Archive,
		records(s.method.Learner),
		xla.Slices{N: s.settings.Batch, Size: s.settings.Slice, Workers: p.Workers}, s.settings.Starts}
	if s.main.learner = s.method.Learner; s.main.learner != nil {
		s.main.proposed = s.main.learner.Proposals(s.settings.Batch)
	}
	together := 1
	if s.Shares() {
		together = max(1, s.settings.Together)
	}
	programs, err := s.main.compile(s, together)
	if err == nil && s.learning != nil {
		err = s.learning.compile(s, seenBy(programs.out(), 0))
	}
	if err != nil || s.method.Archive.PassiveEvery() == 0 {
		return err
	}
	grid := Grid{Centroids: s.settings.Centroids}
	members := s.main.cells()
	if s.passive, err = s.newStore(grid, nil, members); err != nil {
		return err
	}
	s.passive.name, s.passive.members = "passive repertoire", s.main
	s.passive.gen = generation{s.task, nil, grid, nil, false,
		xla.Slices{N: members, Size: min(s.settings.Slice, s.passive.cells()), Workers: p.Workers}, 0}
	_, err = s.passive.compile(s, together)
	return err
}

// fixedStarts reports whether evaluations start in states that the run's seed alone draws.
func (s *Search) fixedStarts() bool {
	return s.method.Archive.SameStart() || s.settings.Starts > 0
}

// Generation is the latest generation: 0 for the initial population, -1 before it.
func (s *Search) Generation() int64 { return s.generation }

// Slice is the number of policies rolled out together.
func (s *Search) Slice() int { return s.settings.Slice }

// CompileTime is the time that XLA has spent compiling the search so far.
func (s *Search) CompileTime() time.Duration { return s.programs.CompileTime() }

// Step runs the next generation. The first call runs the initial population.
func (s *Search) Step() (scoring.Outcome, error) {
	outcomes, err := StepTogether(s)
	if err != nil {
		return scoring.Outcome{}, err
	}
	return outcomes[0], nil
}

// Shares reports whether [StepTogether] pays. On XLA:CPU it does not, and may round differently:
// slices are sized for the cache of a core.
func (s *Search) Shares() bool { return s.programs.Kind != xla.CPU }

// StepTogether is [Search.Step] for searches on one platform that differ only in their seeds and
// are at the same generation. They share a program, which rolls out the offspring of all of them at
// once. Selection, variation and insertion stay per search; learners learn one after the other.
func StepTogether(searches ...*Search) ([]scoring.Outcome, error) {
	number := searches[0].programs.Number(searches[0].generation + 1)
	defer number.Free()
	all := make([]*running, len(searches))
	for i, s := range searches {
		all[i] = &running{Search: s, store: s.main}
		if s.learning != nil {
			var err error
			if all[i].proposed, err = s.learning.propose(s, number); err != nil {
				return nil, err
			}
			defer all[i].proposed.Free()
		}
	}
	if err := run(all, number); err != nil {
		return nil, err
	}
	outcomes, err := learnAll(all, number)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		m.store = m.passive
	}
	if s := searches[0]; s.passive != nil && s.Measured() {
		if err := run(all, number); err != nil {
			return nil, err
		}
	}
	for i, s := range searches {
		if err := s.measure(&outcomes[i]); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// Measured reports whether the measured repertoire is that of the latest generation. A passive
// repertoire is filled at intervals.
func (s *Search) Measured() bool {
	return s.passive == nil || s.generation%int64(s.method.Archive.PassiveEvery()) == 0
}

// Conclude fills the passive repertoire from the latest generation and returns the fitnesses of its
// cells. The search must not go on: its next generations would differ.
func (s *Search) Conclude() (outcome scoring.Outcome, err error) {
	number := s.programs.Number(s.generation)
	defer number.Free()
	if err := run([]*running{{Search: s, store: s.passive}}, number); err != nil {
		return outcome, err
	}
	outcome.Fitnesses, err = s.passive.fitnesses().Floats()
	return outcome, err
}

// learnAll completes a generation of searches one after the other, and frees what they saw.
func learnAll(all []*running, number xla.Array) ([]scoring.Outcome, error) {
	outcomes := make([]scoring.Outcome, len(all))
	for i, m := range all {
		var err error
		if outcomes[i], err = m.learn(number); err != nil {
			for _, m := range all[i+1:] {
				m.seen.Free()
			}
			return nil, err
		}
	}
	return outcomes, nil
}

// learn completes a generation whose program has run: the learner learns from it, and the archive
// is maintained.
func (m *running) learn(number xla.Array) (outcome scoring.Outcome, err error) {
	s := m.Search
	s.generation++
	evaluations := (s.generation + 1) * int64(s.settings.Batch) // also of the initial population
	outcome = scoring.Outcome{Generation: s.generation, Evaluations: evaluations,
		EnvSteps: evaluations * int64(s.task.Length), Tally: m.tally}
	if s.learning != nil {
		outcome.Extra, err = s.learning.learn(s, number, m.proposed, m.seen)
		m.seen.Free()
		if err != nil {
			return outcome, err
		}
	}
	return outcome, s.maintain(number)
}

// measure adds the fitnesses of the measured repertoire to the outcome of a generation.
func (s *Search) measure(outcome *scoring.Outcome) (err error) {
	measured := s.main
	if s.passive != nil {
		measured = s.passive
		extra, err := s.main.metrics()
		if err != nil {
			return err
		}
		outcome.Extra = append(outcome.Extra, extra...)
	}
	slots := 1 // of each cell
	if archive, ok := s.method.Archive.(MultiObjective); ok {
		extra, err := s.main.measure(archive, s.task)
		if err != nil {
			return err
		}
		outcome.Extra = append(outcome.Extra, extra...)
		if s.passive == nil {
			slots = archive.Slots()
		}
	}
	all, err := measured.fitnesses().Floats()
	for cell := range slices.Chunk(all, slots) {
		outcome.Fitnesses = append(outcome.Fitnesses, slices.Max(cell))
	}
	return err
}

// Columns names the numbers in [scoring.Outcome].Extra: the losses of the learner, the size and
// maximum fitness of an archive that is not measured itself, and the metrics of a [MultiObjective]
// one.
func (s *Search) Columns() []string {
	var names []string
	if s.method.Learner != nil {
		names = append(names, s.method.Learner.Losses()...)
	}
	if s.method.Archive.PassiveEvery() > 0 {
		names = append(names, "archive_size", "archive_max_fitness")
	}
	if archive, ok := s.method.Archive.(MultiObjective); ok {
		names = append(names, archive.Columns()...)
	}
	return names
}

// maintain runs the archive's maintenance if it is due. It runs on one device, because the result
// is the same on all.
func (s *Search) maintain(number xla.Array) error {
	name := s.method.Archive.Maintenance(s.generation)
	if name == "" {
		return nil
	}
	fields := func(c contents) []*graph.Node { return c.Fields }
	in := maintainIn{s.seed.First(), number.First(), xla.Part(s.main.contents, fields).First()}
	program, ok := s.maintenance[name]
	if !ok {
		var err error
		program, err = xla.Compile(s.programs, name, in, func(in maintainIn) xla.State[[]*graph.Node] {
			key := xla.KeyOf(in.Seed.Tree).FoldIn(streamMaintain).FoldInEach(in.Number.Tree)
			after := s.method.Archive.Maintain(name, in.Fields.Tree, in.Number.Tree, key)
			checkFields(s.method.Archive, "Maintain", after, in.Fields.Tree)
			return xla.Out(after)
		}, s.axes()...)
		if err != nil {
			return err
		}
		s.maintenance[name] = program
	}
	out, err := program.Run(in)
	if err == nil {
		out, err = out.Spread(s.programs.Platform)
	}
	if err == nil {
		xla.Set(&s.main.contents, fields, out)
	}
	return err
}

// metrics returns the size and the maximum fitness of an archive that is not measured itself.
func (st *store) metrics() ([]float64, error) {
	fitnesses, err := st.fitnesses().Floats()
	if err != nil {
		return nil, err
	}
	size, best := 0.0, math.Inf(-1)
	for _, f := range fitnesses {
		if !math.IsInf(float64(f), -1) {
			size, best = size+1, max(best, float64(f))
		}
	}
	return []float64{size, best}, nil
}

// measure returns the metrics of an archive of several objectives.
func (st *store) measure(archive MultiObjective, task scoring.Task) ([]float64, error) {
	c := &xla.Checkpoint{}
	c.Add(&st.contents, 1, "", append([]string{"", "", ""}, archive.Fields()...)...)
	fields, err := c.Arrays()
	if err != nil {
		return nil, err
	}
	return archive.Measure(task, fields)
}

// Close frees the device memory and the programs.
func (s *Search) Close() {
	for _, st := range []*store{s.main, s.passive} {
		if st != nil {
			st.contents.Free()
		}
	}
	if s.learning != nil {
		xla.Free(&s.learning.known, &s.learning.buffer.State)
	}
	xla.Free(&s.seed, &s.worker, &s.tuning)
	s.programs.Free()
}
