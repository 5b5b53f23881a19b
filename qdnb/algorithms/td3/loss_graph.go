package td3

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla/nn"
)

// Twin are two critics. Soft actor-critic has them, too.
type Twin []nn.Network

// Min returns the smaller of the values that the critics estimate, [B].
func (critics Twin) Min(obs, action *Node) *Node {
	return Min(values(critics[0], obs, action), values(critics[1], obs, action))
}

// Loss is the sum over both critics of their squared error relative to the target, mean over the
// batch. Truncated steps have no bootstrap target, so they are masked out, but still count in the
// mean's denominator.
func (critics Twin) Loss(target *Node, batch replay.Transitions) *Node {
	counts := OneMinus(batch.Truncation)
	loss := func(critic nn.Network) *Node {
		return ReduceAllMean(Square(Mul(Sub(values(critic, batch.Obs, batch.Action), target), counts)))
	}
	return Add(loss(critics[0]), loss(critics[1]))
}

// values returns a critic's values, [B].
func values(critic nn.Network, obs, action *Node) *Node {
	return Reshape(critic.Apply(obs, action), obs.Shape().Dimensions[0])
}

// The loss of the critics is [Twin.Loss] relative to the target values, [B]:
//
//	a' = clip(actor'(s') + clip(policy_noise noise, +-noise_clip), -1, 1)
//	y = reward_scaling r + (1 - done) discount min(Q1', Q2')(s', a')
//	loss = sum over j of mean(((Qj(s, a) - y) (1 - truncation))^2)
//
// Primes denote the target networks (QDax, losses/td3_loss.py). noise [B, actions] is standard
// normal.
func (t TD3) target(targets Twin, actor nn.Network, batch replay.Transitions, noise *Node) *Node {
	disturbance := clip(MulScalar(noise, t.PolicyNoise), t.NoiseClip)
	action := clip(Add(actor.Apply(batch.NextObs), disturbance), 1)
	next := targets.Min(batch.NextObs, action)
	return Add(MulScalar(batch.Reward, t.RewardScaling), Mul(MulScalar(OneMinus(batch.Done), t.Discount), next))
}

// policyLoss is the negative mean value, by a critic, of the actions of an actor: the scalar
// -mean Q(s, actor(s)).
func policyLoss(actor, critic nn.Network, obs *Node) *Node {
	return Neg(ReduceAllMean(critic.WithFixedInputs(obs).Apply(InsertAxes(actor.Apply(obs), 0))))
}

func clip(x *Node, limit float64) *Node { return MaxScalar(MinScalar(x, limit), -limit) }
