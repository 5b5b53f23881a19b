package evolution

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// Parents is the repertoire before the generation, from which an emitter draws.
type Parents struct {
	Genotypes *Node // [cells, N]
	Cells     repertoire.Cells
	Sampler   repertoire.Sampler
	// Of a [Strategy]: its state, the numbers of the children, int32 [keys], and the key of their
	// generation, see [ChildKeys].
	State       []*Node
	Individuals *Node
	Generation  xla.Key
}

// NewParents prepares a repertoire for sampling.
func NewParents(genotypes *Node, cells repertoire.Cells) Parents {
	return Parents{Genotypes: genotypes, Cells: cells, Sampler: cells.Sampler()}
}

// Sample draws one genotype per key, [keys, N], uniformly from the filled cells with replacement.
func (p Parents) Sample(keys xla.Key) *Node {
	return Gather(p.Genotypes, InsertAxes(p.Sampler.Draw(keys), -1))
}

// Emitter proposes offspring. It must be a pure function, individual by individual: each child may
// depend on the parents and on its own key, but not on the other keys of the call. The emitter's
// parameters are constants of the compiled program. If it is an [xla.Parametric] of Emitter, like
// [IsoLineEmitter], searches that differ only in these parameters share one compilation.
type Emitter interface {
	// Offspring returns one child per key, [keys, N].
	Offspring(parents Parents, keys xla.Key) *Node
}

// EmitterFunc is a function as an emitter, for example a variation operator written in a notebook.
type EmitterFunc func(parents Parents, keys xla.Key) *Node

// Offspring implements [Emitter].
func (f EmitterFunc) Offspring(parents Parents, keys xla.Key) *Node { return f(parents, keys) }

// IsoLineEmitter is the Iso+LineDD emitter of MAP-Elites, see [IsoLineDD]. It draws two parents for
// each child.
type IsoLineEmitter struct {
	IsoSigma  float64 // standard deviation of the isotropic noise; paper: 0.005
	LineSigma float64 // standard deviation along the line through the parents; paper: 0.05
}

var _ xla.Parametric[Emitter] = IsoLineEmitter{}

// Offspring implements [Emitter].
func (e IsoLineEmitter) Offspring(parents Parents, keys xla.Key) *Node {
	return e.Bind(xla.ParamsOf[Emitter](e).Constants(parents.Genotypes)).Offspring(parents, keys)
}

// Params implements [xla.Parametric].
func (e IsoLineEmitter) Params() []float64 { return []float64{e.IsoSigma, e.LineSigma} }

// Bind implements [xla.Parametric].
func (IsoLineEmitter) Bind(numbers []*Node) Emitter {
	return EmitterFunc(func(parents Parents, keys xla.Key) *Node {
		x1, x2 := parents.Sample(keys.FoldIn(0)), parents.Sample(keys.FoldIn(1))
		dims := x1.Shape().Dimensions
		return isoLine(x1, x2, keys.FoldIn(2).Normal(dims...), keys.FoldIn(3).Normal(dims[0]), numbers[0],
			numbers[1])
	})
}

// IsoLineDD is the Iso+LineDD variation of pairs of parents (Vassiliades and Mouret 2018, equation
// 1):
//
//	child = x1 + isoSigma * isoNoise + lineSigma * lineNoise * (x2 - x1)
//
// x1, x2 and isoNoise are [P, N]. lineNoise is [P], one number for all parameters of a child. The
// noise is standard normal; it is an input so that tests are exact. Nothing is clipped.
func IsoLineDD(x1, x2, isoNoise, lineNoise *Node, isoSigma, lineSigma float64) *Node {
	sigmas := xla.Params{isoSigma, lineSigma}.Constants(x1)
	return isoLine(x1, x2, isoNoise, lineNoise, sigmas[0], sigmas[1])
}

// isoLine is [IsoLineDD] with scalar nodes as sigmas.
func isoLine(x1, x2, isoNoise, lineNoise, isoSigma, lineSigma *Node) *Node {
	line := InsertAxes(Mul(lineNoise, lineSigma), -1)
	return Add(Add(x1, Mul(isoNoise, isoSigma)), Mul(line, Sub(x2, x1)))
}
