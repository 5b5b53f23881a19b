package ppo

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Data are n sequences of T decisions: a tree.
type Data struct {
	Obs        *Node // [n, T+1, observations], before each decision and after the last
	Choice     *Node // int32 [n, T]
	LogProb    *Node // [n, T], of the choice under the policy that made it
	Reward     *Node // [n, T], of the decision
	Done       *Node // [n, T], 1 where an episode ended in it, else 0
	Truncation *Node // [n, T], 1 where it ended for its length alone
}

// At are the sequences of some numbers, int32 [m].
func (d Data) At(index *Node) Data {
	return xla.Map(d, func(x *Node) *Node { return Gather(x, InsertAxes(index, -1)) })
}

// Advantages are the generalised advantage estimates (Schulman et al., 2016) as in Brax, from the
// values [n, T+1] of the observations. With r the scaled reward, keep = 1 - done (1 - truncation)
// and counts = 1 - truncation:
//
//	error_t     = (r_t + discount keep_t V_t+1 - V_t) counts_t
//	sum_t       = error_t + discount keep_t counts_t lambda sum_t+1
//	target_t    = V_t + sum_t, and V_T after the last
//	advantage_t = (r_t + discount keep_t target_t+1 - V_t) counts_t
//
// So the last step of an episode that was cut off for its length teaches nothing.
func (c Config) Advantages(values *Node, d Data) (targets, advantages *Node) {
	steps := values.Shape().Dimensions[1] - 1
	columns := func(x *Node, from, to int) *Node { return Slice(x, AxisRange(), AxisRange(from, to)) }
	now, next, last := columns(values, 0, steps), columns(values, 1, steps+1),
		columns(values, steps, steps+1)
	reward, counts := MulScalar(d.Reward, c.RewardScaling), OneMinus(d.Truncation)
	later := MulScalar(OneMinus(Mul(d.Done, counts)), c.Discount)

	errors := Mul(Sub(Add(reward, Mul(later, next)), now), counts)
	sums := discounted(errors, MulScalar(Mul(later, counts), c.GAELambda))
	targets = Add(now, sums)
	following := last
	if steps > 1 {
		following = Concatenate([]*Node{columns(targets, 1, steps), last}, 1)
	}
	return targets, Mul(Sub(Add(reward, Mul(later, following)), now), counts)
}

// discounted gives sum_t = x_t + factor_t sum_t+1 along axis 1 of [n, T]. Each turn doubles how far
// a sum reaches, so there are log T of them, all over whole arrays.
func discounted(x, factor *Node) *Node {
	n, steps := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	for reach := 1; reach < steps; reach *= 2 {
		ahead := func(x *Node) *Node {
			zeros := Zeros(x.Graph(), shapes.Make(dtypes.Float32, n, reach))
			return Concatenate([]*Node{Slice(x, AxisRange(), AxisRange(reach)), zeros}, 1)
		}
		x, factor = Add(x, Mul(factor, ahead(x))), Mul(factor, ahead(factor))
	}
	return x
}

// permutation is a random order of n numbers, int32 [n]: that of as many random words, the first of
// equals before the others.
func permutation(key xla.Key, n int) *Node {
	g := key.Hi.Graph()
	word, order := key.Bits(n), Iota(g, shapes.Make(dtypes.Int32, n), 0)
	if xla.KindOf(g) != xla.Go { // which cannot sort
		number := ConvertDType(order, dtypes.Uint64)
		sorted := Sort(BitwiseOr(BitwiseShiftLeftScalar(ConvertDType(word, dtypes.Uint64), uint64(32)),
			number), 0, true)
		return ConvertDType(BitwiseAnd(sorted, ConstAs(sorted, uint64(math.MaxUint32))), dtypes.Int32)
	}
	// The rank of each word, of which all pairs are compared.
	row, column := func(x *Node) *Node { return InsertAxes(x, 0) },
		func(x *Node) *Node { return InsertAxes(x, 1) }
	before := Or(LessThan(column(word), row(word)),
		And(Equal(column(word), row(word)), LessThan(column(order), row(order))))
	rank := ReduceSum(ConvertDType(before, dtypes.Int32), 0)
	return Scatter(InsertAxes(rank, -1), order, shapes.Make(dtypes.Int32, n), false, true)
}
