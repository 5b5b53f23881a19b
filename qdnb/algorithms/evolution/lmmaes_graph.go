package evolution

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// lmMAES are evolution strategies whose covariance matrix is made of M direction vectors
// (pyribs, opt/_lm_ma_es.py): M + 2 rows of a genotype each.
type lmMAES struct {
	strategy
	Mean     *Node // [E, N]
	Sigma    *Node // [E], the step size
	StepPath *Node // [E, N], evolution path of the step size
	Vectors  *Node // [E, M, N], the direction vectors, from the fastest to the slowest
	Age      *Node // [E], generations since the last restart
}

func (d lmMAES) start(mean *Node) distributions {
	e, n := mean.Shape().Dimensions[0], mean.Shape().Dimensions[1]
	path, age := ZerosLike(mean), ReduceSum(ZerosLike(mean), 1)
	vectors := BroadcastToDims(InsertAxes(path, 1), e, d.count(), n)
	return lmMAES{d.strategy, mean, AddScalar(age, d.Sigma0), path, vectors, age}
}

func (d lmMAES) mean() *Node { return d.Mean }

// count is M, the number of direction vectors.
func (d lmMAES) count() int {
	if d.strategy.Vectors > 0 {
		return d.strategy.Vectors
	}
	return d.size
}

// perVector returns f of the number of each vector, [M].
func (d lmMAES) perVector(g *Graph, f func(i float64) float64) *Node {
	values := make([]float32, d.count())
	for i := range values {
		values[i] = float32(f(float64(i)))
	}
	return Const(g, values)
}

// steps scales the noise along one direction vector after the other. In its first generations a
// strategy has fewer vectors.
func (d lmMAES) steps(strategies, noise *Node) *Node {
	type state struct{ Vectors, Rates, Age, Strategies, Step *Node }
	g, n := noise.Graph(), float64(noise.Shape().Dimensions[1])
	rates := d.perVector(g, func(i float64) float64 { return 1 / (math.Pow(1.5, i) * n) })
	start := state{d.Vectors, rates, perRow(Gather(d.Age, strategies)), strategies, noise}
	end := xla.For(g, d.count(), start, func(i *Node, s state) state {
		number := BroadcastToShape(i, s.Strategies.Shape())
		vector := Gather(s.Vectors, Concatenate([]*Node{s.Strategies, number}, 1))
		exists := ConvertDType(GreaterThan(s.Age, ConvertDType(number, dtypes.Float32)), dtypes.Float32)
		rate := Mul(exists, xla.Row(s.Rates, i))
		along := perRow(ReduceSum(Mul(vector, s.Step), 1))
		s.Step = Add(Mul(s.Step, OneMinus(rate)), Mul(vector, Mul(along, rate)))
		return s
	})
	return Mul(end.Step, perRow(Gather(d.Sigma, strategies)))
}

// minSigma is the step size below which a strategy has converged (pyribs).
const minSigma = 1e-12

func (d lmMAES) update(noise, _ *Node) (after distributions, continues *Node) {
	g, n, size := noise.Graph(), float64(noise.Shape().Dimensions[1]), float64(d.size)
	_, mueff := logWeights(d.size)
	gain := func(rate float64) float64 { return math.Sqrt(mueff * rate * (2 - rate)) }
	d.Mean = d.within(Add(d.Mean, d.steps(InsertAxes(d.numbers(g), -1), noise)))

	rate := 2 * size / n
	d.StepPath = Add(MulScalar(d.StepPath, 1-rate), MulScalar(noise, gain(rate)))
	rates := func(f func(rate float64) float64) *Node {
		return InsertAxes(d.perVector(g, func(i float64) float64 {
			return f(size / (math.Pow(4, i) * n))
		}), 0, -1)
	}
	d.Vectors = Add(Mul(d.Vectors, rates(func(rate float64) float64 { return 1 - rate })),
		Mul(InsertAxes(noise, 1), rates(gain)))
	length := DivScalar(ReduceSum(Square(d.StepPath), 1), n)
	d.Sigma = Mul(d.Sigma, Exp(MulScalar(AddScalar(length, -1), rate/2)))
	d.Age = AddScalar(d.Age, 1)
	return d, atLeast(d.Sigma, minSigma)
}
