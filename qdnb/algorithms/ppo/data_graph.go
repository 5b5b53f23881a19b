package ppo

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// data holds n sequences of T decisions: a pytree.
type data struct {
	Obs        *Node // [n, T+1, observations], before each decision and after the last
	Decision   *Node // int32 [n, T], choices; or [n, T, actions], see gaussian
	LogProb    *Node // [n, T], log-probability under the policy that chose
	Reward     *Node // [n, T]
	Done       *Node // [n, T], 1 where an episode ended in the decision, else 0
	Truncation *Node // [n, T], 1 where it ended only because of its length
	Descriptor *Node // [n, T, components] after each decision, for an [Improver]; else nil
}

// at returns the sequences with the given indices, int32 [m].
func (d data) at(index *Node) data {
	return xla.Map(d, func(x *Node) *Node { return Gather(x, InsertAxes(index, -1)) })
}

// weighted replaces the reward by the weighted sum of reward and descriptor, weights [1 + components].
func (d data) weighted(weights *Node) data {
	gains := Concatenate([]*Node{InsertAxes(d.Reward, -1), d.Descriptor}, -1)
	d.Reward, d.Descriptor = ReduceSum(Mul(gains, Reshape(weights, 1, 1, -1)), -1), nil
	return d
}

// finite replaces what is not finite: a decision with such a reward or observation counts as one
// whose episode was truncated, which contributes no gradient, and an observation is replaced by
// another one. It returns the number of such decisions, an int32 scalar.
func (d data) finite() (data, *Node) {
	n, steps := d.Reward.Shape().Dimensions[0], d.Reward.Shape().Dimensions[1]
	observations := d.Obs.Shape().Dimensions[2]
	flat := Reshape(d.Obs, -1, observations)
	seen := Reshape(xla.FiniteRows(flat), n, steps+1)
	part := func(from, to int) *Node { return Slice(seen, AxisRange(), AxisRange(from, to)) }
	valid := And(xla.Finite(d.Reward), And(part(0, steps), part(1, steps+1)))
	kept, _ := xla.KeepFinite(flat, Zeros(flat.Graph(), shapes.Make(dtypes.Float32, 1, observations)))
	zero, one := ZerosLike(d.Reward), OnesLike(d.Reward)
	d.Obs = Reshape(kept, n, steps+1, observations)
	d.Reward, d.LogProb = Where(valid, d.Reward, zero), Where(valid, d.LogProb, zero)
	d.Done, d.Truncation = Where(valid, d.Done, one), Where(valid, d.Truncation, one)
	if d.Decision.DType().IsFloat() {
		wide := BroadcastToShape(InsertAxes(valid, -1), d.Decision.Shape())
		d.Decision = Where(wide, d.Decision, ZerosLike(d.Decision))
	}
	return d, ReduceAllSum(ConvertDType(LogicalNot(valid), dtypes.Int32))
}

// advantages returns the generalised advantage estimates (Schulman et al., 2016) as in Brax, given
// the values [n, T+1] of the observations. With the scaled reward r, keep = 1 - done (1 -
// truncation) and counts = 1 - truncation:
//
//	error_t     = (r_t + discount keep_t V_t+1 - V_t) counts_t
//	sum_t       = error_t + discount keep_t counts_t lambda sum_t+1
//	target_t    = V_t + sum_t, and V_T after the last
//	advantage_t = (r_t + discount keep_t target_t+1 - V_t) counts_t
//
// So the last step of a truncated episode contributes no gradient.
func (p PPO) advantages(values *Node, d data) (targets, advantages *Node) {
	steps := values.Shape().Dimensions[1] - 1
	columns := func(x *Node, from, to int) *Node { return Slice(x, AxisRange(), AxisRange(from, to)) }
	now, next, last := columns(values, 0, steps), columns(values, 1, steps+1),
		columns(values, steps, steps+1)
	reward, counts := MulScalar(d.Reward, p.RewardScaling), OneMinus(d.Truncation)
	later := MulScalar(OneMinus(Mul(d.Done, counts)), p.Discount)

	errors := Mul(Sub(Add(reward, Mul(later, next)), now), counts)
	sums := discounted(errors, MulScalar(Mul(later, counts), p.GAELambda))
	targets = Add(now, sums)
	following := last
	if steps > 1 {
		following = Concatenate([]*Node{columns(targets, 1, steps), last}, 1)
	}
	return targets, Mul(Sub(Add(reward, Mul(later, following)), now), counts)
}

// discounted returns sum_t = x_t + factor_t sum_t+1 along axis 1 of [n, T]. Each iteration doubles
// the reach of a sum, so log T iterations over whole arrays suffice.
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
