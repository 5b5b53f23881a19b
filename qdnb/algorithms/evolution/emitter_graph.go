package evolution

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla/random"
)

// Emitter makes offspring, and may learn from what became of them. A value holds the settings and,
// after Init, the state: a pytree, see [xla.Flatten]. Its methods build graphs. An emitter that is
// only a function is [Stateless].
//
// Several emitters share a generation by [Mix]. Optional interfaces are [Starter], [Proposer] and
// [Observer].
type Emitter interface {
	// Init returns the emitter before the first generation.
	Init(start Start, key random.Key) Emitter
	// Offspring returns the children of the given numbers, int32 [k], as rows [k, N]. Each child may
	// depend on the parents, on its own number and on its own key, but not on other children: children
	// that enter the archive are made again.
	Offspring(parents Parents, which *Node, keys random.Key) *Node
	// Update returns the emitter after a generation, and losses for metrics.csv.
	Update(g Generation, key random.Key) (Emitter, []Metric)
}

// Start is what an [Emitter] starts from.
type Start struct {
	Task  scoring.Task
	First *Node // first individual of the initial population, [1, N]
	Slots int   // of the archive
	Batch int   // individuals of a generation
	Count int   // individuals of the emitter
}

// Metric is a loss of an emitter. A NaN or infinite one ends the search.
type Metric struct {
	Name  string
	Value *Node // float32 scalar
}

// Starter is an [Emitter] that also makes its share of generation 0, which otherwise consists of
// random policies.
type Starter interface {
	Emitter
	StartsItself()
}

// Proposer is an [Emitter] whose offspring take long to make, and which may learn from every step of
// every evaluation. A program of its own makes its offspring, once, divided among all workers. Its
// state is on the first device only.
type Proposer interface {
	Emitter
	// Capacity is the number of transitions of all evaluations that the replay buffer holds, given
	// the number in a generation; 0 if none are needed.
	Capacity(generation int) int
	// Prepare returns the emitter that makes the offspring of a generation, on all workers: what
	// Offspring reads of the state and of the buffer.
	Prepare(buffer replay.Buffer, key random.Key) Emitter
}

// Observer is a [Proposer] that adds columns to the transitions.
type Observer interface {
	Proposer
	// Columns are the widths of the columns, see [replay.Layout].
	Columns(task scoring.Task) []int
	// Observe returns the columns, [P * T, width] each, of the transitions of a generation. key is the
	// one with which Offspring was called.
	Observe(g Generation, key random.Key) []*Node
}

// actor is an [Emitter] that acts in the environment itself, to learn.
type actor interface {
	Emitter
	// EnvSteps is the number of its control steps per generation.
	EnvSteps(task scoring.Task) int64
}

// Parents is what an emitter makes offspring from: the archive before the generation, a pytree.
type Parents struct {
	Genotypes *Node // [cells, N]
	Cells     repertoire.Cells
	Sampler   repertoire.Sampler
	// Key is the key of the generation, see [Parents.Keys].
	Key   random.Key
	Batch int // individuals of the generation
	Count int // individuals of the emitter
	first int // number of its first individual
}

// newParents prepares an archive for sampling.
func newParents(genotypes *Node, cells repertoire.Cells) Parents {
	return Parents{Genotypes: genotypes, Cells: cells, Sampler: cells.Sampler()}
}

// Sample draws one genotype per key, [keys, N], uniformly from the filled cells with replacement.
func (p Parents) Sample(keys random.Key) *Node {
	return Gather(p.Genotypes, InsertAxes(p.Sampler.Draw(keys), -1))
}

// Keys returns the keys with which an emitter makes its children of the given numbers, int32 [k].
func (p Parents) Keys(which *Node) random.Key {
	return childKeys(p.Key, AddScalar(which, int32(p.first)))
}

// childKeys returns the keys of individuals by their numbers in the generation, int32 [k].
func childKeys(generation random.Key, individuals *Node) random.Key {
	return generation.FoldInEach(individuals).FoldIn(streamEmit)
}

// Generation is what an [Emitter] learns from.
type Generation struct {
	Task   scoring.Task
	Number *Node // int32 scalar; 0 is the initial population
	// Found and Insertion are those of all individuals of the generation, see [Generation.Own].
	Found repertoire.Evaluated
	repertoire.Insertion
	Before repertoire.Cells // of the archive before the insertion
	// Parents are those of the next generation: the archive after the insertion. Their Keys are still
	// those of this generation.
	Parents
	// Given is true if the individuals are those that the run starts from, which no emitter made, bool
	// scalar; nil in runs that start from random policies.
	Given  *Node
	Buffer replay.Buffer // with the transitions of the generation; empty unless there is a [Proposer]
}

// Own selects the emitter's own individuals from a result of all of them, [P, ...].
func (g Generation) Own(x *Node) *Node {
	return Slice(x, AxisRange(g.first, g.first+g.Count))
}

// withOwn replaces the emitter's own rows of a result of all individuals, [P, ...].
func (g Generation) withOwn(all, own *Node) *Node {
	parts := []*Node{own}
	if g.first > 0 {
		parts = []*Node{Slice(all, AxisRange(0, g.first)), own}
	}
	if end := g.first + g.Count; end < all.Shape().Dimensions[0] {
		parts = append(parts, Slice(all, AxisRange(end)))
	}
	return Concatenate(parts, 0)
}

// Stateless is a function as an emitter, for example a variation operator written in a notebook. It
// returns one child per key, [keys, N].
type Stateless func(parents Parents, keys random.Key) *Node

// Init implements [Emitter].
func (f Stateless) Init(Start, random.Key) Emitter { return f }

// Offspring implements [Emitter].
func (f Stateless) Offspring(parents Parents, _ *Node, keys random.Key) *Node {
	return f(parents, keys)
}

// Update implements [Emitter].
func (f Stateless) Update(Generation, random.Key) (Emitter, []Metric) { return f, nil }

// IsoLineEmitter is the Iso+LineDD emitter of MAP-Elites, see [IsoLineDD]. It draws two parents for
// each child.
type IsoLineEmitter struct {
	// IsoSigma is the standard deviation of the isotropic noise on each parameter; paper: 0.005.
	IsoSigma float64 `json:"iso_sigma" limits:"0,1e6"`
	// LineSigma is the standard deviation along the line through two parents; paper: 0.05.
	LineSigma float64 `json:"line_sigma" limits:"0,1e6"`
}

// Init implements [Emitter].
func (e IsoLineEmitter) Init(Start, random.Key) Emitter { return e }

// Update implements [Emitter].
func (e IsoLineEmitter) Update(Generation, random.Key) (Emitter, []Metric) { return e, nil }

// Offspring implements [Emitter].
func (e IsoLineEmitter) Offspring(parents Parents, _ *Node, keys random.Key) *Node {
	x1, x2 := parents.Sample(keys.FoldIn(0)), parents.Sample(keys.FoldIn(1))
	dims := x1.Shape().Dimensions
	return IsoLineDD(x1, x2, keys.FoldIn(2).Normal(dims...), keys.FoldIn(3).Normal(dims[0]), e.IsoSigma, e.LineSigma)
}

// IsoLineDD is the Iso+LineDD variation of pairs of parents (Vassiliades and Mouret 2018, equation
// 1):
//
//	child = x1 + isoSigma * isoNoise + lineSigma * lineNoise * (x2 - x1)
//
// x1, x2 and isoNoise are [P, N]. lineNoise is [P], one number for all parameters of a child. The
// noise is standard normal; it is an input so that tests are exact. Nothing is clipped.
func IsoLineDD(x1, x2, isoNoise, lineNoise *Node, isoSigma, lineSigma float64) *Node {
	line := InsertAxes(MulScalar(lineNoise, lineSigma), -1)
	return Add(Add(x1, MulScalar(isoNoise, isoSigma)), Mul(line, Sub(x2, x1)))
}
