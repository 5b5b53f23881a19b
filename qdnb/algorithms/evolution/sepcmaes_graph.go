package evolution

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// sepCMAES are evolution strategies with a diagonal covariance matrix (pyribs,
// opt/_sep_cma_es.py): four rows of a genotype each.
type sepCMAES struct {
	strategy
	Mean     *Node // [E, N]
	Sigma    *Node // [E], the step size
	Variance *Node // [E, N], the diagonal of the covariance matrix
	Path     *Node // [E, N], evolution path of the covariance matrix
	StepPath *Node // [E, N], evolution path of the step size
	Age      *Node // [E], generations since the last restart
}

func (d sepCMAES) start(mean *Node) distributions {
	paths, age := ZerosLike(mean), ReduceSum(ZerosLike(mean), 1)
	return sepCMAES{d.strategy, mean, AddScalar(age, d.Sigma0), OnesLike(mean), paths, paths, age}
}

func (d sepCMAES) mean() *Node { return d.Mean }

func (d sepCMAES) steps(strategies, noise *Node) *Node {
	// The root is taken before the rows are gathered: XLA:CPU vectorised the root of gathered rows, with
	// the noise in one kernel, to NaN (60 individuals of 3 strategies over 100 parameters).
	return Mul(noise, Gather(Mul(perRow(d.Sigma), Sqrt(d.Variance)), strategies))
}

// sepRates are the constants of a strategy over n parameters. Names are those of pyribs.
type sepRates struct{ mueff, cc, cs, c1, cmu, damping float64 }

func (d sepCMAES) rates(n float64) (r sepRates) {
	_, r.mueff = logWeights(d.size)
	r.cc = (1 + 1/n + r.mueff/n) / (math.Sqrt(n) + 1/n + 2*r.mueff/n)
	r.cs = (r.mueff + 2) / (n + r.mueff + 5)
	r.c1 = 2 / ((n+1.3)*(n+1.3) + r.mueff) / (n + 2*math.Sqrt(n) + r.mueff/n)
	r.cmu = min(1-r.c1, (r.mueff+1/r.mueff-2)/(n+4*math.Sqrt(n)+r.mueff/2))
	r.damping = 1 + 2*max(0, math.Sqrt((r.mueff-1)/(n+1))-1) + r.cs
	return r
}

// The limits beyond which a strategy has converged (pyribs).
const (
	maxCondition = 1e14
	minStep      = 1e-11
)

func (d sepCMAES) update(noise, squares *Node) (after distributions, continues *Node) {
	n := float64(noise.Shape().Dimensions[1])
	r := d.rates(n)
	step := d.steps(InsertAxes(d.numbers(noise.Graph()), -1), noise)
	d.Age = AddScalar(d.Age, 1)
	d.Mean = Add(d.Mean, step)
	d.StepPath = Add(MulScalar(d.StepPath, 1-r.cs), MulScalar(noise, math.Sqrt(r.cs*(2-r.cs)*r.mueff)))
	length := DivScalar(ReduceSum(Square(d.StepPath), 1), n)
	// the path is shorter in the first generations
	expected := OneMinus(Exp(MulScalar(d.Age, 2*math.Log1p(-r.cs))))
	stalled := GreaterOrEqual(Div(length, expected), ConstAs(length, 2+4/(n+1)))
	moves := perRow(ConvertDType(LogicalNot(stalled), dtypes.Float32))

	d.Path = Add(MulScalar(d.Path, 1-r.cc), Mul(MulScalar(step, math.Sqrt(r.cc*(2-r.cc)*r.mueff)), moves))
	forget := MulScalar(AddScalar(MulScalar(OneMinus(moves), -r.cc*(2-r.cc)), 1), r.c1)
	rankOne := MulScalar(Square(d.Path), r.c1*r.c1)
	rankMu := MulScalar(squares, r.cmu) // in units of the variance
	d.Variance = Add(Mul(d.Variance, Add(AddScalar(Neg(forget), 1-r.cmu), rankMu)), rankOne)
	d.Sigma = Mul(d.Sigma, Exp(MinScalar(MulScalar(AddScalar(length, -1), r.cs/r.damping/2), 1)))

	widest := ReduceMax(d.Variance, 1)
	condition := Div(widest, ReduceMin(d.Variance, 1))
	return d, And(LessOrEqual(condition, ConstAs(condition, maxCondition)), atLeast(Mul(d.Sigma, Sqrt(widest)), minStep))
}
