package ppo

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Losses are scalars, computed with the networks before an update: a pytree.
type Losses struct {
	Total   *Node // Policy + Value - entropy_cost Entropy, which is minimised
	Policy  *Node
	Value   *Node
	Entropy *Node // mean entropy of the policy
}

// Loss is the loss of the networks on sequences (Brax, ppo.py, compute_ppo_loss), with normalised
// observations if normalisation is enabled:
//
//	rho    = pi(choice) / probability of the choice under the policy that chose
//	policy = -mean min(rho A, clip(rho, 1 - epsilon, 1 + epsilon) A)
//	value  = 1/4 mean (target - V)^2
//
// Advantages A and targets are those of [Config.Advantages] with the same networks, and gradients
// do not flow through them.
func (p PPO) Loss(nets Nets[nn.Network], d Data) Losses {
	n, steps, observations := d.Choice.Shape().Dimensions[0], d.Choice.Shape().Dimensions[1],
		p.Policy.Sizes[0]
	values := Reshape(nets.Value.Apply(Reshape(d.Obs, n*(steps+1), observations)), n, steps+1)
	targets, advantages := p.Advantages(StopGradient(values), d)
	targets, advantages = StopGradient(targets), StopGradient(advantages)

	before := Reshape(Slice(d.Obs, AxisRange(), AxisRange(0, steps)), n*steps, observations)
	policy := NewCategorical(nets.Policy.Apply(before))
	ratio := Exp(Sub(policy.LogProb(Reshape(d.Choice, n*steps)), Reshape(d.LogProb, n*steps)))
	advantages = Reshape(advantages, n*steps)
	free, held := Mul(ratio, advantages), Mul(nn.Bounded(ratio, 1-p.ClipEpsilon, 1+p.ClipEpsilon),
		advantages)

	l := Losses{
		Policy: Neg(ReduceAllMean(Where(LessOrEqual(free, held), free, held))),
		Value: MulScalar(ReduceAllMean(Square(Sub(targets,
			Slice(values, AxisRange(), AxisRange(0, steps))))), 0.25),
		Entropy: ReduceAllMean(policy.Entropy()),
	}
	l.Total = Sub(Add(l.Policy, l.Value), MulScalar(l.Entropy, p.EntropyCost))
	return l
}

// Update is one step of Adam on the loss.
func (p PPO) Update(l Learning, d Data) (Learning, Losses) {
	losses := p.Loss(l.Nets, d)
	gradient := Gradient(losses.Total, xla.Flatten(l.Nets)...)
	l.Nets, l.Moments = nn.UpdateTree(nn.NewAdam(p.LearningRate), l.Nets, gradient, l.Moments)
	return l, losses
}

// Epoch uses each sequence once, in the order of a permutation int32 [n]: num_minibatches updates
// with n / num_minibatches sequences each. The losses are sums over the updates.
func (p PPO) Epoch(l Learning, d Data, order *Node) (Learning, Losses) {
	type state struct {
		Learning Learning
		Data     Data
		Order    *Node
		Sums     Losses
	}
	g, size := order.Graph(), order.Shape().Dimensions[0]/p.NumMinibatches
	end := xla.ForUnfused(g, p.NumMinibatches, state{l, d, order, noLosses(g)},
		func(step *Node, s state) state {
			var losses Losses
			index := xla.Rows(s.Order, MulScalar(step, int32(size)), size)
			s.Learning, losses = p.Update(s.Learning, s.Data.At(index))
			s.Sums = xla.Map2(s.Sums, losses, Add)
			return s
		})
	return end.Learning, end.Sums
}

// Train learns from sequences for update_epochs epochs, each in a new random order. With
// normalisation, the statistics are updated first, as in Brax. The losses are means. A NaN loss
// means that the learner is no longer usable.
func (p PPO) Train(l Learner, d Data, key random.Key) (Learner, Losses) {
	n, steps, observations := d.Choice.Shape().Dimensions[0], d.Choice.Shape().Dimensions[1],
		p.Policy.Sizes[0]
	if l.Statistics != nil {
		seen := l.Statistics.Update(Reshape(Slice(d.Obs, AxisRange(), AxisRange(0, steps)), n*steps,
			observations))
		l.Statistics = &seen
		d.Obs = normalised(l.Statistics, d.Obs)
	}
	type state struct {
		Learning Learning
		Data     Data
		Key      random.Key
		Sums     Losses
	}
	g := key.Hi.Graph()
	end := xla.ForUnfused(g, p.UpdateEpochs, state{p.Cut(l), d, key, noLosses(g)},
		func(epoch *Node, s state) state {
			var losses Losses
			s.Learning, losses = p.Epoch(s.Learning, s.Data, permutation(s.Key.FoldInEach(epoch), n))
			s.Sums = xla.Map2(s.Sums, losses, Add)
			return s
		})
	l = l.Join(end.Learning)
	means := xla.Map(end.Sums, func(x *Node) *Node {
		return DivScalar(x, float64(p.UpdateEpochs*p.NumMinibatches))
	})
	return l, means.of(l)
}

func noLosses(g *Graph) Losses {
	zero := Zeros(g, shapes.Make(dtypes.Float32))
	return Losses{zero, zero, zero, zero}
}

// of makes a loss NaN if its network contains NaN.
func (l Losses) of(after Learner) Losses {
	l.Policy, l.Value = nn.PropagateNaN(l.Policy, after.Nets.Policy),
		nn.PropagateNaN(l.Value, after.Nets.Value)
	return l
}
