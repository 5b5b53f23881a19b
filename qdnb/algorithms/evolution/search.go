package evolution

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// settings are the options of a search that belong neither to its task nor to its parts.
type settings struct {
	Batch     int       // individuals per generation
	Slice     int       // policies rolled out together; 0: [scoring.Task.DefaultSlice]
	Seed      int64     // seed of all random numbers
	Starts    Starts    // initial states of the evaluations
	Centroids npz.Array // float32 [cells, d], centroids of the measured repertoire
}

// search is a running neuroevolution. Its state is on the device; the host sees only fitnesses and
// descriptors.
type search struct {
	compiled
	programs *xla.Scope
	task     scoring.Task
	parts    Parts
	settings settings
	assigned []assignment // the emitters, without state
	gen      generation
	contents xla.State[archiveState] // the archive
	passive  *passive                // measures the archive; nil if it is measured itself
	// projection puts the population on the task's cells; nil without one or if it learns descriptors
	projection   *xla.Program[projectionIn, xla.Array]
	proposing    *proposing // nil without a [Proposer]
	maintenance  map[string]*xla.Program[maintainIn, xla.State[repertoire.Archive]]
	seed, worker xla.Array
	given        xla.Array // rows that the run starts from, [P, N], of the generation chunk
	chunk        int64
	generation   int64 // latest generation; -1 before the initial population
}

// maintainIn are the inputs of an archive's maintenance.
type maintainIn struct {
	Seed, Number xla.Array
	Archive      xla.State[repertoire.Archive]
}

// newSearch compiles a search. It reuses programs that are already compiled, for example those of a
// search that differs only in its seed.
func newSearch(p *xla.Platform, task scoring.Task, parts Parts, settings settings) (*search, error) {
	settings.Slice = min(settings.Batch, cmp.Or(settings.Slice, task.DefaultSlice(p.Kind, settings.Batch)))
	task.Centroids = settings.Centroids
	parts.Archive = cmp.Or[repertoire.Archive](parts.Archive, repertoire.Grid{})
	s := &search{programs: &xla.Scope{Platform: p}, task: task, parts: parts, settings: settings,
		maintenance: map[string]*xla.Program[maintainIn, xla.State[repertoire.Archive]]{}, generation: -1}
	var err error
	if s.assigned, err = parts.Mix.assign(settings.Batch); err != nil {
		return nil, err
	}
	if err := cmp.Or(s.checkObservers(), fit(s.assigned, task)); err != nil {
		return nil, err
	}
	if err := s.build(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// checkObservers rejects emitters that cannot share a replay buffer.
func (s *search) checkObservers() error {
	learners := 0
	for _, a := range s.assigned {
		if p, ok := a.Emitter.(Proposer); ok && p.Capacity(s.replayStep()) > 0 {
			learners++
		}
	}
	if a := observer(s.assigned); a != nil && learners > 1 {
		return fmt.Errorf("%T adds columns to the transitions, so no other emitter can learn from them: "+
			"use it with emitters that do not", a.Emitter)
	}
	return nil
}

// axes names the axis sizes of the search.
func (s *search) axes() []xla.Axis {
	cells := s.settings.Centroids.Shape[0]
	if len(s.contents.Leaves()) > 0 {
		cells = s.slots()
	}
	return s.task.Axes(s.settings.Batch, s.settings.Slice, cells)
}

// build compiles the programs and initialises the state.
func (s *search) build() (err error) {
	p := s.programs.Platform
	s.seed, s.worker = p.Seed(s.settings.Seed), xla.Value(p.WorkerNumbers())
	if err = s.empty(); err != nil {
		return err
	}
	// offspring that enter are emitted again in whole slices, into at most that many rows
	s.settings.Slice = min(s.settings.Slice, s.slots())
	if len(s.parts.Initial) > 0 {
		s.given, s.chunk = s.individuals(), -1
	}
	s.gen = newGeneration(s.task, s.parts.Archive, s.capacity() > 0, s.settings.Starts,
		xla.Slices{N: s.settings.Batch, Size: s.settings.Slice, Workers: p.Workers})
	if slices.ContainsFunc(s.assigned, func(a assignment) bool { return a.table >= 0 }) {
		if s.proposing, err = s.newProposing(); err != nil {
			return err
		}
	}
	if err = s.compile(); err != nil {
		return err
	}
	if s.proposing != nil {
		if err = s.proposing.compileUpdate(s); err != nil {
			return err
		}
	}
	if s.cells().Centroids != nil {
		return nil
	}
	if s.passive, err = s.newPassive(); err != nil {
		return err
	}
	descriptors := xla.Part(s.contents, func(c archiveState) *graph.Node { return c.Archive.Cells().Descriptors })
	_, learns := s.parts.Archive.(repertoire.SequenceRecorder)
	if !learns && descriptors.Dims()[1] == len(s.task.Env.Spec().Descriptor.Lower) {
		s.projection, err = xla.Compile(s.programs, "projection of the population", s.projected(), s.project, s.axes()...)
	}
	return err
}

// oneStart reports whether all evaluations of a run start in one state.
func (s *search) oneStart() bool {
	_, ok := s.parts.Archive.(repertoire.OneStart)
	return ok
}

// measureEvery is the number of generations between measurements of an archive without centroids.
func (s *search) measureEvery() int64 {
	if archive, ok := s.parts.Archive.(repertoire.Sampled); ok {
		return archive.MeasureEvery()
	}
	return 10
}

// emitters returns all emitters of a generation: the stateful ones of all workers, and proposers
// without their Emitter.
func (s *search) emitters(stateful []assignment) (list []assignment) {
	for _, a := range s.assigned {
		if a.table >= 0 {
			a.Emitter = nil
		} else {
			a, stateful = stateful[0], stateful[1:]
		}
		list = append(list, a)
	}
	return list
}

// proposed is the number of offspring of all proposers.
func (s *search) proposed() (n int) {
	for _, a := range s.assigned {
		if a.table >= 0 {
			n += a.count
		}
	}
	return n
}

// proposals declares the offspring of all proposers, if there are any.
func (s *search) proposals() xla.Array {
	if s.proposed() == 0 {
		return xla.Array{}
	}
	return xla.Declare(dtypes.Float32, s.proposed(), s.task.Policy.Params())
}

// Task implements [algorithms.Search].
func (s *search) Task() scoring.Task { return s.task }

// CompileTime implements [algorithms.Search].
func (s *search) CompileTime() time.Duration { return s.programs.CompileTime() }

// Step implements [algorithms.Search]. An [envs.Simulator] evaluates the offspring on the host.
func (s *search) Step() (outcome scoring.Outcome, err error) {
	number, err := s.next()
	if err != nil {
		return outcome, err
	}
	defer number.Free()
	var out insertionOut
	if simulator := s.simulator(); simulator != nil {
		out, err = s.simulate(simulator, number)
	} else {
		out, err = s.run(number)
	}
	if err != nil {
		return outcome, err
	}
	return s.learn(number, out)
}

// learn updates everything else after the insertion of a generation.
func (s *search) learn(number xla.Array, out insertionOut) (outcome scoring.Outcome, err error) {
	defer out.Feedback.Free()
	counts, err := out.Counts.Floats()
	out.Counts.Free()
	if err != nil {
		return outcome, err
	}
	s.generation++
	evaluations := (s.generation + 1) * int64(s.settings.Batch) // also of the initial population
	outcome = scoring.Outcome{Generation: s.generation, Evaluations: evaluations,
		EnvSteps: evaluations * int64(s.task.Length), Extra: out.Losses.Scalars()}
	outcome.Tally(counts, s.task)
	for _, a := range s.assigned {
		if actor, ok := a.Emitter.(actor); ok {
			outcome.EnvSteps += (s.generation + 1) * actor.EnvSteps(s.task)
		}
	}
	if s.proposing != nil {
		losses, err := s.proposing.learn(s, number, out.Feedback)
		if err != nil {
			return outcome, err
		}
		outcome.Extra = append(outcome.Extra, losses...)
	}
	if err := outcome.Finite(s.losses()); err != nil {
		return outcome, fmt.Errorf("%w in generation %d: lower a learning rate or the scale of the rewards", err, s.generation)
	}
	if err := s.maintain(number); err != nil {
		return outcome, err
	}
	if s.passive != nil && s.Measured() {
		if err := s.passive.fill(s); err != nil {
			return outcome, err
		}
	}
	return outcome, s.measure(&outcome)
}

// Measured reports whether the measured repertoire is up to date with the latest generation. A passive
// repertoire is filled at intervals.
func (s *search) Measured() bool {
	return s.passive == nil || s.generation%s.measureEvery() == 0
}

// Conclude fills the passive repertoire from the latest generation and returns the fitnesses of its
// cells and the number of evaluations. The search must not continue: its next generations would differ.
func (s *search) Conclude() (outcome scoring.Outcome, err error) {
	if err := s.passive.fill(s); err != nil {
		return outcome, err
	}
	if s.passive.evaluator != nil {
		outcome.Evaluated = s.slots()
	}
	outcome.Fitnesses, err = s.passive.Fitnesses()
	return outcome, err
}

// measure adds the fitnesses of the measured repertoire to the outcome of a generation.
func (s *search) measure(outcome *scoring.Outcome) (err error) {
	measured, slots := func() ([]float32, error) { return s.fitnesses().Floats() }, 1
	if s.passive != nil {
		measured = s.passive.Fitnesses
		extra, err := s.population()
		if err != nil {
			return err
		}
		outcome.Extra = append(outcome.Extra, extra...)
	}
	if archive, ok := s.parts.Archive.(repertoire.Measurer); ok {
		objectives, err := xla.Download(xla.Part(s.contents, func(c archiveState) *graph.Node {
			return c.Archive.Cells().Objectives
		}).Value())
		if err != nil {
			return err
		}
		extra, err := archive.Measure(s.task, objectives)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(extra, math.IsNaN); i >= 0 {
			return outcome.NaN(fmt.Sprintf("%s of %T", archive.Columns()[i], archive))
		}
		outcome.Extra = append(outcome.Extra, extra...)
		if s.passive == nil {
			slots = archive.Slots()
		}
	}
	all, err := measured()
	if err == nil && s.passive == nil {
		err = s.defined(all)
	}
	for cell := range slices.Chunk(all, slots) {
		outcome.Fitnesses = append(outcome.Fitnesses, slices.Max(cell))
	}
	return err
}

// defined returns an error if fitnesses of the archive have a NaN.
func (s *search) defined(fitnesses []float32) error {
	if slices.ContainsFunc(fitnesses, func(x float32) bool { return x != x }) {
		return scoring.Outcome{Generation: s.generation}.NaN(fmt.Sprintf("fitnesses of %T", s.parts.Archive))
	}
	return nil
}

// losses names the losses of the emitters.
func (s *search) losses() (names []string) {
	names = slices.Clone(s.reported)
	if s.proposing != nil {
		names = append(names, s.proposing.losses...)
	}
	return names
}

// Columns names the numbers in [scoring.Outcome].Extra: the losses of the emitters, the metrics of a
// [repertoire.Measurer], and those of a population that a passive repertoire measures: its size,
// maximum fitness and [records.EvaluationSteps]. Unless its archive learns descriptors, they
// include coverage and QD score of the population on the task's cells.
func (s *search) Columns() []string {
	names := s.losses()
	if s.passive != nil {
		names = append(names, "archive_size", "archive_max_fitness", records.EvaluationSteps)
	}
	if s.projection != nil {
		names = append(names, "archive_coverage", "archive_qd_score")
	}
	if archive, ok := s.parts.Archive.(repertoire.Measurer); ok {
		names = append(names, archive.Columns()...)
	}
	return names
}

// maintain runs the archive's maintenance if it is due. It runs on one device, because the result
// is the same on all.
func (s *search) maintain(number xla.Array) error {
	archive, ok := s.parts.Archive.(repertoire.Maintainer)
	if !ok {
		return nil
	}
	due := archive.Due(s.generation)
	if due == "" {
		return nil
	}
	part := func(c archiveState) repertoire.Archive { return c.Archive }
	in := maintainIn{s.seed.First(), number.First(), xla.Part(s.contents, part).First()}
	program, ok := s.maintenance[due]
	if !ok {
		var err error
		program, err = xla.Compile(s.programs, due, in, func(in maintainIn) xla.State[repertoire.Archive] {
			key := random.KeyOf(in.Seed.Tree).FoldIn(streamMaintain).FoldInEach(in.Number.Tree)
			after := in.Archive.Tree.(repertoire.Maintainer).Maintain(due, in.Number.Tree, key)
			xla.CheckSame[repertoire.Archive](archive, "Maintain", after)
			xla.CheckLike(archive, "Maintain", "the archive", xla.Flatten(after), xla.Flatten(in.Archive.Tree))
			return xla.Out(after)
		}, s.axes()...)
		if err != nil {
			return err
		}
		s.maintenance[due] = program
	}
	out, err := program.Run(in)
	if err == nil {
		out, err = out.Spread(s.programs.Platform)
	}
	if err == nil {
		xla.Set(&s.contents, part, out)
	}
	return err
}

// Close implements [algorithms.Search].
func (s *search) Close() {
	if s.contents.Free(); s.passive != nil && s.passive.Collection != nil {
		s.passive.Free()
	}
	if s.proposing != nil {
		xla.Free(&s.proposing.state, &s.proposing.buffer.State)
	}
	xla.Free(&s.seed, &s.worker, &s.given)
	s.programs.Free()
}

// State implements [algorithms.Search]. Names of the passive repertoire have a prefix.
func (s *search) State() *xla.Checkpoint {
	c := &xla.Checkpoint{}
	s.store(c, s.names()...)
	if s.passive != nil {
		s.passive.Store(c, "passive_")
	}
	if s.proposing != nil {
		c.Add(&s.proposing.state, 1, "proposing_")
	}
	c.Host("generation", &s.generation)
	return c
}

// Names of tensors in checkpoints and repertoires; those of archives and emitters are [xla.Names].
const (
	genotypesName = "genotypes"
	originsName   = "origins"
	fitnessesName = "fitnesses"
)

// names returns the names of the archive's tensors in files, in the order of [xla.Flatten]. The
// scratch matrix has none.
func (s *search) names() []string {
	tree, cells := s.contents.Tree, s.cells()
	named := map[*graph.Node]string{tree.Genotypes: genotypesName, tree.Origins: originsName,
		tree.Scratch: "", cells.Fitness: fitnessesName, cells.Descriptors: "descriptors",
		cells.Centroids: "centroids", cells.Objectives: "objectives"}
	names := xla.Names(tree)
	for i, node := range xla.Flatten(tree) {
		if name, ok := named[node]; ok {
			names[i] = name
		}
	}
	return names
}

// store lists the archive in a checkpoint, without tensors whose name is "".
func (s *search) store(c *xla.Checkpoint, names ...string) {
	c.Add(&s.contents, s.programs.Copies(), "", names...)
	c.Sparse(genotypesName, fitnessesName)
}

// Repertoire returns the measured repertoire on the host: fitnesses, descriptors, centroids,
// objectives if there are several and, on request, the genotypes and origins of an archive that is
// measured itself.
func (s *search) Repertoire(genotypes bool) (map[string]npz.Array, error) {
	if s.passive != nil {
		return s.passive.Arrays(genotypes)
	}
	names := s.names()
	for i, name := range names {
		switch name {
		case fitnessesName, "descriptors", "centroids", "objectives":
		case genotypesName, originsName:
			if !genotypes {
				names[i] = ""
			}
		default:
			names[i] = ""
		}
	}
	c := &xla.Checkpoint{}
	s.store(c, names...)
	return c.Arrays()
}
