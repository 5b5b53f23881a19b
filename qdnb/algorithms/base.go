package algorithms

import (
	"time"

	"example.com/qdnb/internal/collection"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Base is what most custom loops share: programs, the count of generations, the evaluation of a
// population, and a repertoire of all that was evaluated. A search that embeds it only adds Step and
// State.
type Base struct {
	Programs   *xla.Scope // compiles the programs of the search
	Seed       xla.Array  // of the run, on the first device, see [random.KeyOf]
	Generation int64      // the newest one, -1 before the first

	task      scoring.Task
	seed      int64
	plan      scoring.Plan
	evaluator *scoring.Evaluator
	found     *collection.Collection
}

// NewBase compiles the evaluation of populations of a size in a task, and their insertion into cells,
// whose centroids [Base.Task] has.
func NewBase(p *xla.Platform, task scoring.Task, cells repertoire.CVT, size int, seed int64) (*Base, error) {
	return newBase(p, task, cells, scoring.Plan{Policies: size, Episodes: size}, seed)
}

func newBase(p *xla.Platform, task scoring.Task, cells repertoire.CVT, plan scoring.Plan, seed int64) (b *Base, err error) {
	limits := task.Env.Spec().Descriptor
	if task.Centroids, err = cells.Centroids(limits.Lower, limits.Upper); err != nil {
		return nil, err
	}
	b = &Base{Programs: &xla.Scope{Platform: p}, Seed: p.Seed(seed).First(), Generation: -1, task: task,
		seed: seed, plan: plan}
	if b.evaluator, err = task.Evaluator(p, plan); err == nil {
		b.Programs.Own(b.evaluator)
		b.found, err = collection.New(b.Programs, task, plan.Policies, plan.Episodes)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// streamStates names the stream of initial states. It is far from the numbers of generations, which
// loops fold into the seed for their own streams.
const streamStates = 0x73746174

// Number returns the number of the next generation as an int32 scalar on the first device.
func (b *Base) Number() xla.Array { return b.Programs.Number(b.Generation + 1).First() }

// Evaluate evaluates the next generation, genotypes [size, N] on the first device, each from an initial
// state of its own, and adds it to the repertoire. It returns the outcome for Step.
func (b *Base) Evaluate(genotypes xla.Array) (found scoring.Results, o scoring.Outcome, err error) {
	next := b.Generation + 1
	states := random.NewStream(b.seed).FoldIn(streamStates).FoldIn(int(next)).Seed()
	if found, err = b.evaluator.Evaluate(genotypes.Value(), states, nil); err != nil {
		return found, o, err
	}
	o = scoring.Outcome{Generation: next, Evaluations: (next + 1) * int64(b.plan.Episodes)}
	o.EnvSteps = o.Evaluations * int64(b.task.Length)
	if err = b.found.Add(genotypes, found, &o); err == nil {
		b.Generation = next
	}
	return found, o, err
}

// Stored lists the state of a search in a checkpoint: its own, see [xla.Stored], and the base's.
func (b *Base) Stored(own ...any) *xla.Checkpoint {
	c := xla.Stored(append(own, &b.Generation)...)
	b.found.Store(c, "")
	return c
}

// Task implements [Search].
func (b *Base) Task() scoring.Task { return b.task }

// Repertoire implements [Search].
func (b *Base) Repertoire(genotypes bool) (map[string]npz.Array, error) {
	return b.found.Arrays(genotypes)
}

// Columns implements [Search]: none.
func (b *Base) Columns() []string { return nil }

// CompileTime implements [Search].
func (b *Base) CompileTime() time.Duration { return b.Programs.CompileTime() }

// Close implements [Search].
func (b *Base) Close() {
	b.Seed.Free()
	if b.found != nil {
		b.found.Free()
	}
	if b.evaluator != nil {
		b.evaluator.Choices.Free()
	}
	b.Programs.Free()
}
