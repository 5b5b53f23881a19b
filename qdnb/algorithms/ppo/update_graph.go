package ppo

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// losses are scalars, computed with the networks before an update: a pytree.
type losses struct {
	Total   *Node // Policy + Value - entropy_cost Entropy, which is minimised
	Policy  *Node
	Value   *Node
	Entropy *Node // mean entropy of the policy
}

// maxLogRatio bounds the logarithm of rho. Infinity times the advantage 0 of a decision that does
// not count, or times the gradient 0 of a ratio that is clipped, is NaN.
const maxLogRatio = 64

// loss is the loss of the networks on sequences (Brax, ppo.py, compute_ppo_loss), with normalised
// observations if normalisation is enabled:
//
//	rho    = pi(decision) / probability of the decision under the policy that made it
//	policy = -mean min(rho A, clip(rho, 1 - epsilon, 1 + epsilon) A)
//	value  = 1/4 mean (target - V)^2
//
// Advantages A and targets are those of PPO.advantages with the same networks, and gradients
// do not flow through them. With normalize_advantages, A are those less their mean, divided by their
// standard deviation (brax/training/agents/ppo/losses.py).
func (a agent) loss(nets nets, d data) losses {
	n, steps, observations := d.Reward.Shape().Dimensions[0], d.Reward.Shape().Dimensions[1],
		a.policy.Sizes[0]
	values := Reshape(nets.Value.Apply(Reshape(d.Obs, n*(steps+1), observations)), n, steps+1)
	targets, advantages := a.advantages(StopGradient(values), d)
	targets, advantages = StopGradient(targets), StopGradient(advantages)

	before := Reshape(Slice(d.Obs, AxisRange(), AxisRange(0, steps)), n*steps, observations)
	decision := Reshape(d.Decision, append([]int{n * steps}, d.Decision.Shape().Dimensions[2:]...)...)
	policy := a.distribution(nets.Policy.Apply(before))
	gain := Sub(policy.logProb(decision), Reshape(d.LogProb, n*steps))
	most := ConstAs(gain, maxLogRatio)
	ratio := Exp(Where(GreaterThan(gain, most), most, gain))
	if advantages = Reshape(advantages, n*steps); a.NormalizeAdvantages {
		advantages = standardised(advantages)
	}
	unclipped, clipped := Mul(ratio, advantages), Mul(nn.Bounded(ratio, 1-a.ClipEpsilon, 1+a.ClipEpsilon), advantages)

	l := losses{
		Policy:  Neg(ReduceAllMean(Where(LessOrEqual(unclipped, clipped), unclipped, clipped))),
		Value:   MulScalar(ReduceAllMean(Square(Sub(targets, Slice(values, AxisRange(), AxisRange(0, steps))))), 0.25),
		Entropy: ReduceAllMean(policy.entropy()),
	}
	l.Total = Sub(Add(l.Policy, l.Value), MulScalar(l.Entropy, a.EntropyCost))
	return l
}

// standardised returns numbers [n] less their mean, divided by their standard deviation.
func standardised(x *Node) *Node {
	x = Sub(x, ReduceAllMean(x))
	return Div(x, AddScalar(Sqrt(ReduceAllMean(Square(x))), 1e-8))
}

// epoch uses each sequence once, in the order of a permutation int32 [n]: num_minibatches updates
// with n / num_minibatches sequences each. The losses are sums over the updates.
func (a agent) epoch(l nn.Trainable[nets], d data, order *Node) (nn.Trainable[nets], losses) {
	type state struct {
		Nets  nn.Trainable[nets]
		Data  data
		Order *Node
		Sums  losses
	}
	g, size := order.Graph(), order.Shape().Dimensions[0]/a.NumMinibatches
	end := xla.ForUnfused(g, a.NumMinibatches, state{l, d, order, noLosses(g)}, func(step *Node, s state) state {
		index := xla.Rows(s.Order, MulScalar(step, int32(size)), size)
		now := a.loss(s.Nets.Params, s.Data.at(index))
		s.Nets = s.Nets.Step(now.Total)
		s.Sums = xla.Map2(s.Sums, now, Add)
		return s
	})
	return end.Nets, end.Sums
}

// train learns from sequences for update_epochs epochs, each in a new random order. With
// normalisation, the statistics are updated first, as in Brax. The losses are means. A NaN loss
// means that the learner is no longer usable.
func (a agent) train(l learner, d data, key random.Key) (learner, losses) {
	n, steps, observations := d.Reward.Shape().Dimensions[0], d.Reward.Shape().Dimensions[1],
		a.policy.Sizes[0]
	if l.Statistics != nil {
		seen := l.Statistics.Update(Reshape(Slice(d.Obs, AxisRange(), AxisRange(0, steps)), n*steps, observations))
		l.Statistics = &seen
		d.Obs = normalised(l.Statistics, d.Obs)
	}
	type state struct {
		Nets nn.Trainable[nets]
		Data data
		Key  random.Key
		Sums losses
	}
	g := key.Hi.Graph()
	end := xla.ForUnfused(g, a.UpdateEpochs, state{l.Nets, d, key, noLosses(g)}, func(epoch *Node, s state) state {
		var now losses
		s.Nets, now = a.epoch(s.Nets, s.Data, nn.Permutation(s.Key.FoldInEach(epoch), n))
		s.Sums = xla.Map2(s.Sums, now, Add)
		return s
	})
	l.Nets = end.Nets
	means := xla.Map(end.Sums, func(x *Node) *Node {
		return DivScalar(x, float64(a.UpdateEpochs*a.NumMinibatches))
	})
	// a loss is NaN if its network contains NaN
	means.Policy = nn.PropagateNaN(means.Policy, xla.Flatten(l.Nets.Params.Policy)...)
	means.Value = nn.PropagateNaN(means.Value, xla.Flatten(l.Nets.Params.Value)...)
	return l, means
}

func noLosses(g *Graph) losses {
	zero := Zeros(g, shapes.Make(dtypes.Float32))
	return losses{zero, zero, zero, zero}
}
