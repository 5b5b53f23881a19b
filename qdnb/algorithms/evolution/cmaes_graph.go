package evolution

import (
	"math"

	"github.com/gomlx/compute/dtypes"
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
	return cmaES{d.size, d.sigma0, mean, AddScalar(age, d.sigma0), unit, unit, OnesLike(mean), paths, paths, age}
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
	weights := make([]float32, d.size) // 0 for the worse half
	better, _ := logWeights(d.size)
	copy(weights, better)
	weight := Gather(Const(x.Graph(), weights), InsertAxes(ranks, -1)) // [E, size]
	off := Sub(x, InsertAxes(d.Mean, 1))
	step := ReduceSum(Mul(off, InsertAxes(weight, -1)), 1)
	return d.learn(step, ReduceSum(Mul(square(off), InsertAxes(weight, -1, -1)), 1))
}

// learn returns the strategies after the weighted means of their individuals' steps, [E, n], and of the
// products of all pairs of their components, [E, n, n], and which of them have not converged, bool [E].
func (d cmaES) learn(step, products *Node) (after cmaES, continues *Node) {
	n := float64(d.Mean.Shape().Dimensions[1])
	r := d.rates(n)
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

	d.Path = Add(MulScalar(d.Path, 1-r.cc), Mul(MulScalar(step, math.Sqrt(r.cc*(2-r.cc)*r.mueff)), perRow(moves)))
	forget := MulScalar(AddScalar(MulScalar(OneMinus(moves), -r.cc*(2-r.cc)), 1), r.c1)
	rankOne := MulScalar(square(d.Path), r.c1*r.c1)
	each := func(x *Node) *Node { return InsertAxes(x, -1, -1) }
	d.Covariance = Add(Add(Mul(d.Covariance, each(AddScalar(Neg(forget), 1-r.cmu))), rankOne),
		Mul(products, each(Div(ConstAs(d.Sigma, r.cmu), Square(d.Sigma)))))
	d.Sigma = Mul(d.Sigma, Exp(MinScalar(MulScalar(AddScalar(length, -1), r.cs/r.damping/2), 1)))

	values, basis := eigen(d.Covariance, d.Basis, roundsOf(int(n)))
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

// roundsOf returns the rounds of [eigen] in a generation over n parameters: eight sweeps, which find all
// digits, if there are few, because the matrix then changes a lot. With many it changes little, and a third
// of a sweep follows it as closely as the source does, which decomposes it every few generations. An odd
// number needs whole sweeps.
func roundsOf(n int) int {
	whole := n - 1 + n%2
	switch {
	case n <= 16:
		return 8 * whole
	case n%2 == 1:
		return whole
	}
	return (whole + 2) / 3
}

// eigen returns the eigenvalues, [E, n], and in columns the eigenvectors, [E, n, n], of symmetric
// matrices a [E, n, n], by Jacobi's rotations, beginning with a guess of the eigenvectors. A round rotates
// n/2 disjoint pairs of rows. In a sweep of n - 1 rounds (n, if n is odd) each row meets all others, in the
// order of a tournament (Brent and Luk 1985), and returns to its position; after fewer rounds the eigenvectors
// are in another order, with which the next call continues.
func eigen(a, guess *Node, rounds int) (values, vectors *Node) {
	n := a.Shape().Dimensions[1]
	a = matrices(matrices(TransposeAllAxes(guess, 0, 2, 1), a), guess)
	if n%2 == 1 { // one more row, whose rotations do nothing
		a = Pad(a, ScalarZero(a.Graph(), a.DType()), PadAxis{}, PadAxis{End: 1}, PadAxis{End: 1})
	}
	half := a.Shape().Dimensions[1] / 2
	type state struct{ A, V *Node }
	top, bottom := AxisRange(0, half), AxisRange(half)
	end := xla.For(a.Graph(), rounds, state{a, diagonal(OnesLike(ReduceSum(a, 2)))}, func(_ *Node, s state) state {
		entries := func(rows, columns SliceAxisSpec) *Node { // [E, half]
			block := Slice(s.A, AxisRange(), rows, columns)
			return ReduceSum(Mul(block, diagonal(OnesLike(ReduceSum(block, 2)))), 2)
		}
		// the tangent of the rotation that makes the entry between the rows of a pair 0
		off, between := entries(top, bottom), Sub(entries(bottom, bottom), entries(top, top))
		sign := Where(LessThan(between, ZerosLike(between)), Neg(OnesLike(off)), OnesLike(off))
		root := Add(Abs(between), Sqrt(Add(Square(between), MulScalar(Square(off), 4))))
		tangent := Div(MulScalar(Mul(sign, off), 2), Where(Equal(root, ZerosLike(root)), OnesLike(root), root))
		cosine := Div(OnesLike(tangent), Sqrt(AddScalar(Square(tangent), 1)))
		sine := Mul(tangent, cosine)
		// rotates the columns of each pair, and brings the next pairs together: the first column stays,
		// and the others move round
		rotate := func(x *Node) *Node {
			p, q := Slice(x, AxisRange(), AxisRange(), top), Slice(x, AxisRange(), AxisRange(), bottom)
			c, s := InsertAxes(cosine, 1), InsertAxes(sine, 1)
			p, q = Sub(Mul(c, p), Mul(s, q)), Add(Mul(s, p), Mul(c, q))
			part := func(x *Node, from, to int) *Node { return Slice(x, AxisRange(), AxisRange(), AxisRange(from, to)) }
			if half == 1 {
				return Concatenate([]*Node{p, q}, 2)
			}
			return Concatenate([]*Node{part(p, 0, 1), part(q, 0, 1), part(p, 1, half-1), part(q, 1, half), part(p, half-1, half)}, 2)
		}
		transpose := func(x *Node) *Node { return TransposeAllAxes(x, 0, 2, 1) }
		return state{transpose(rotate(transpose(rotate(s.A)))), rotate(s.V)}
	})
	inside := func(x *Node) *Node { return Slice(x, AxisRange(), AxisRange(0, n), AxisRange(0, n)) }
	values = ReduceSum(Mul(inside(end.A), diagonal(OnesLike(ReduceSum(inside(end.A), 2)))), 2)
	vectors = matrices(guess, inside(end.V))
	// rounding adds up over generations: a step of Newton's method makes the columns orthonormal again
	correction := MulScalar(Sub(MulScalar(diagonal(OnesLike(values)), 3),
		matrices(TransposeAllAxes(vectors, 0, 2, 1), vectors)), 0.5)
	return values, matrices(vectors, correction)
}

// matrices multiplies matrices [E, n, n].
func matrices(a, b *Node) *Node { return Einsum("eij,ejk->eik", a, b) }

// denseCMAES are evolution strategies with a full covariance matrix, which the memory of E n² numbers
// limits to some hundred parameters.
type denseCMAES struct {
	strategy
	State cmaES
}

// maxDense is the largest number of parameters with a full covariance matrix: at 4096 it has 67 MB, and
// its eigenvectors take minutes.
const maxDense = 4096

func (d denseCMAES) start(mean *Node) distributions {
	d.State = cmaES{size: d.size, sigma0: d.Sigma0}.start(mean)
	return d
}

func (d denseCMAES) mean() *Node { return d.State.Mean }

func (d denseCMAES) steps(strategies, noise *Node) *Node {
	return Sub(d.State.sample(strategies, noise), Gather(d.State.Mean, strategies))
}

// noiseOf is the inverse of steps.
func (d denseCMAES) noiseOf(strategies, steps *Node) *Node {
	transposed := TransposeAllAxes(Gather(d.State.Basis, strategies), 0, 2, 1)
	return Div(times(transposed, steps), Gather(Mul(d.State.Scales, perRow(d.State.Sigma)), strategies))
}

func (denseCMAES) second(weighted, noise *Node) *Node {
	return Mul(InsertAxes(weighted, -1), InsertAxes(noise, -2))
}

func (d denseCMAES) update(noise, products *Node) (after distributions, continues *Node) {
	s := d.State
	root := Mul(s.Basis, InsertAxes(Mul(s.Scales, perRow(s.Sigma)), 1)) // of the covariance matrix of steps
	step := times(s.Basis, Mul(noise, Mul(s.Scales, perRow(s.Sigma))))
	d.State, continues = s.learn(step, matrices(matrices(root, products), TransposeAllAxes(root, 0, 2, 1)))
	d.State.Mean = d.within(d.State.Mean)
	return d, continues
}
