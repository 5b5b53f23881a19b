package evolution

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Strategy is an [Emitter] that adapts to the results of each generation, such as an evolution
// strategy. It makes all offspring, those of generation 0, too. Its state is a list of tensors that
// all workers hold and update alike; Offspring reads it in [Parents]. Its archive must be an
// [Improver]. Its methods build graphs, except Fields.
type Strategy interface {
	Emitter
	// Fields names the tensors of the state, for checkpoints.
	Fields() []string
	// Start returns the state before generation 0.
	Start(task scoring.Task, key xla.Key) []*Node
	// Adapt returns the state after a generation.
	Adapt(g Adaptation) []*Node
}

// Adaptation is what a [Strategy] adapts to.
type Adaptation struct {
	Parents     Parents // from which the generation was made, with the state before it
	Key         xla.Key // of the generation: see [ChildKeys]
	Improvement *Node   // [P], see [Improver]
	Archive     Parents // after the generation
}

// Improver is an [Archive] that reports by how much individuals improve it.
type Improver interface {
	Archive
	// Improvement returns the improvement by each individual, [P], given the fields before the
	// insertion, by which strategies rank them: -Inf if its results are not valid. It may be above 0
	// for an individual that does not enter.
	Improvement(fields []*Node, found Evaluated) *Node
}

// ChildKeys returns the keys with which an [Emitter] made individuals, by their numbers, int32 [k].
func ChildKeys(generation xla.Key, individuals *Node) xla.Key {
	return generation.FoldInEach(individuals).FoldIn(streamEmit)
}

// startStrategy returns the initial state of an emitter, nil if it has none.
func startStrategy(emitter Emitter, task scoring.Task, key xla.Key) []*Node {
	strategy, ok := emitter.(Strategy)
	if !ok {
		return nil
	}
	state, names := strategy.Start(task, key), strategy.Fields()
	xla.CheckCount(strategy, "Start", fmt.Sprintf("the fields %v", names), state, len(names))
	return state
}

// adapt returns the emitter's state after a generation, nil if it has none.
func (gen generation) adapt(from source, fields []*Node, found Evaluated, after contents) []*Node {
	strategy, ok := gen.emitter.(Strategy)
	if !ok {
		return nil
	}
	improver, ok := gen.archive.(Improver)
	if !ok {
		panic(errors.Errorf("%T adapts to improvements, which %T does not report: use an archive that "+
			"is an Improver, such as AnnealedGrid", gen.emitter, gen.archive))
	}
	state := strategy.Adapt(Adaptation{Parents: from.Parents, Key: from.Key,
		Improvement: improver.Improvement(fields, found),
		Archive:     NewParents(after.Genotypes, cellsOf(gen.archive, after.Fields))})
	xla.CheckLike(strategy, "Adapt", "the state", state, from.Parents.State)
	return state
}
