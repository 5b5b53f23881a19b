package evolution

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// cmaES are evolution strategies with a full covariance matrix, in few dimensions n (pyribs,
// opt/_cma_es.py): a pytree.
type cmaES struct {
	size   int // individuals of each strategy
	sigma0 float64

	Mean       *Node // [E, n]
	Sigma      *Node // [E], the step size
	Covariance *Node // [E, n, n]
	Basis      *Node // [E, n, n], the eigenvectors of the covariance matrix, in columns
	Scales     *Node // [E, n], the roots of its eigenvalues
	Path       *Node // [E, n], evolution path of the covariance matrix
	StepPath   *Node // [E, n], evolution path of the step size
	Age        *Node // [E], generations since the last restart
}

func (d cmaES) start(mean *Node) cmaES {
	paths, age := ZerosLike(mean), ReduceSum(ZerosLike(mean), 1)
	unit := diagonal(OnesLike(mean))
	return cmaES{d.size, d.sigma0, mean, AddScalar(age, d.sigma0), unit, unit, OnesLike(mean), paths,
		paths, age}
}

// sample turns standard normal noise [k, n] into individuals of the strategies of these numbers, int32
// [k, 1].
func (d cmaES) sample(strategies, noise *Node) *Node {
	// Products are sums over few numbers: a sum in the order of a matrix product would depend on the
	// number of rows.
	step := times(Gather(d.Basis, strategies), Mul(noise, Gather(d.Scales, strategies)))
	return Add(Gather(d.Mean, strategies), Mul(step, perRow(Gather(d.Sigma, strategies))))
}

// rates returns the constants of a strategy in n dimensions.
func (d cmaES) rates(n float64) (r sepRates) {
	_, r.mueff = logWeights(d.size)
	r.cc = (4 + r.mueff/n) / (n + 4 + 2*r.mueff/n)
	r.cs = (r.mueff + 2) / (n + r.mueff + 5)
	r.c1 = 2 / ((n+1.3)*(n+1.3) + r.mueff)
	r.cmu = min(1-r.c1, 2*(r.mueff-2+1/r.mueff)/((n+2)*(n+2)+r.mueff))
	r.damping = 1 + 2*max(0, math.Sqrt((r.mueff-1)/(n+1))-1) + r.cs
	return r
}

// update returns the strategies after their individuals x, [E, size, n], whose ranks are int32 [E,
// size], and which of them have not converged, bool [E].
func (d cmaES) update(x, ranks *Node) (after cmaES, continues *Node) {
	n := float64(d.Mean.Shape().Dimensions[1])
	r := d.rates(n)
	weights := make([]float32, d.size) // 0 for the worse half
	better, _ := logWeights(d.size)
	copy(weights, better)
	weight := Gather(Const(x.Graph(), weights), InsertAxes(ranks, -1)) // [E, size]
	off := Sub(x, InsertAxes(d.Mean, 1))
	step := ReduceSum(Mul(off, InsertAxes(weight, -1)), 1)
	white := times(d.Basis, Div(times(TransposeAllAxes(d.Basis, 0, 2, 1), step), d.Scales))

	d.Age = AddScalar(d.Age, 1)
	d.Mean = Add(d.Mean, step)
	d.StepPath = Add(MulScalar(d.StepPath, 1-r.cs),
		Mul(white, perRow(Div(ConstAs(d.Sigma, math.Sqrt(r.cs*(2-r.cs)*r.mueff)), d.Sigma))))
	length := DivScalar(ReduceSum(Square(d.StepPath), 1), n)
	// the path is shorter in the first generations
	expected := OneMinus(Exp(MulScalar(d.Age, 2*math.Log1p(-r.cs))))
	stalled := GreaterOrEqual(Div(length, expected), ConstAs(length, 2+4/(n+1)))
	moves := ConvertDType(LogicalNot(stalled), dtypes.Float32)

	d.Path = Add(MulScalar(d.Path, 1-r.cc),
		Mul(MulScalar(step, math.Sqrt(r.cc*(2-r.cc)*r.mueff)), perRow(moves)))
	forget := MulScalar(AddScalar(MulScalar(OneMinus(moves), -r.cc*(2-r.cc)), 1), r.c1)
	rankOne := MulScalar(square(d.Path), r.c1*r.c1)
	rankMu := ReduceSum(Mul(square(off), InsertAxes(weight, -1, -1)), 1)
	each := func(x *Node) *Node { return InsertAxes(x, -1, -1) }
	d.Covariance = Add(Add(Mul(d.Covariance, each(AddScalar(Neg(forget), 1-r.cmu))), rankOne),
		Mul(rankMu, each(Div(ConstAs(d.Sigma, r.cmu), Square(d.Sigma)))))
	d.Sigma = Mul(d.Sigma, Exp(MinScalar(MulScalar(AddScalar(length, -1), r.cs/r.damping/2), 1)))

	values, basis := eigen(d.Covariance)
	values = Abs(values)
	d.Basis, d.Scales = basis, Sqrt(values)
	condition := Div(ReduceMax(values, 1), ReduceMin(values, 1))
	return d, And(LessOrEqual(condition, ConstAs(condition, maxCondition)),
		atLeast(Mul(d.Sigma, ReduceMax(d.Scales, 1)), minStep))
}

// times multiplies matrices [..., n, n] by vectors [..., n].
func times(matrix, vector *Node) *Node {
	return ReduceSum(Mul(matrix, InsertAxes(vector, -2)), -1)
}

// square returns the products of all pairs of components of vectors [..., n], [..., n, n].
func square(x *Node) *Node { return Mul(InsertAxes(x, -1), InsertAxes(x, -2)) }

// diagonal returns diagonal matrices [E, n, n] of vectors [E, n].
func diagonal(x *Node) *Node {
	n := x.Shape().Dimensions[1]
	return Mul(InsertAxes(x, -1), ConvertDType(InsertAxes(Diagonal(x.Graph(), n), 0), dtypes.Float32))
}

// sweeps of [eigen], each of which squares what is left off the diagonal in the end.
const sweeps = 8

// eigen returns the eigenvalues, [E, n], and in columns the eigenvectors, [E, n, n], of symmetric
// matrices [E, n, n], by Jacobi's cyclic rotations.
func eigen(a *Node) (values, vectors *Node) {
	type state struct{ A, V, P, Q *Node }
	g, n := a.Graph(), a.Shape().Dimensions[1]
	var p, q []int32
	for i := range n {
		for j := i + 1; j < n; j++ {
			p, q = append(p, int32(i)), append(q, int32(j))
		}
	}
	unit := diagonal(OnesLike(ReduceSum(a, 2)))
	end := xla.For(g, sweeps*len(p), state{a, unit, Const(g, p), Const(g, q)},
		func(turn *Node, s state) state {
			pair := Mod(turn, ConstAs(turn, int32(len(p))))
			axis := Iota(turn.Graph(), shapes.Make(dtypes.Int32, 1, n), 1)
			at := func(i *Node) *Node { return ConvertDType(Equal(axis, i), dtypes.Float32) } // [1, n]
			ep, eq := at(xla.Row(s.P, pair)), at(xla.Row(s.Q, pair))
			entry := func(row, column *Node) *Node { // [E, 1]
				return perRow(ReduceSum(Mul(times(s.A, BroadcastToDims(column, a.Shape().Dimensions[0], n)), row), 1))
			}
			// the tangent of the rotation that makes the entry (p, q) 0
			off, between := entry(ep, eq), Sub(entry(eq, eq), entry(ep, ep))
			sign := Where(LessThan(between, ZerosLike(between)), Neg(OnesLike(off)), OnesLike(off))
			root := Add(Abs(between), Sqrt(Add(Square(between), MulScalar(Square(off), 4))))
			tangent := Div(MulScalar(Mul(sign, off), 2), Where(Equal(root, ZerosLike(root)), OnesLike(root), root))
			cosine := Div(OnesLike(tangent), Sqrt(AddScalar(Square(tangent), 1)))
			sine := Mul(tangent, cosine)
			rest := AddScalar(cosine, -1)
			rotate := func(x *Node) *Node { // the columns p and q
				column := func(e *Node) *Node { return InsertAxes(ReduceSum(Mul(x, InsertAxes(e, 0)), 2), -1) }
				first := Add(Mul(rest, ep), Mul(sine, eq)) // [E, n]
				second := Sub(Mul(rest, eq), Mul(sine, ep))
				return Add(x, Add(Mul(column(ep), InsertAxes(first, 1)), Mul(column(eq), InsertAxes(second, 1))))
			}
			transpose := func(x *Node) *Node { return TransposeAllAxes(x, 0, 2, 1) }
			s.A, s.V = transpose(rotate(transpose(rotate(s.A)))), rotate(s.V)
			return s
		})
	return ReduceSum(Mul(end.A, unit), 2), end.V
}
