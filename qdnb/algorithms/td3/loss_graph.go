package td3

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/critics"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla/nn"
)

// CriticLoss is the error of the critics [2, C] relative to the target, a scalar:
//
//	a' = clip(actor'(s') + clip(policy_noise noise, +-noise_clip), -1, 1)
//	y = reward_scaling r + (1 - done) discount min(Q1', Q2')(s', a')
//	loss = sum over j of mean(((Qj(s, a) - y) (1 - truncation))^2)
//
// Primes denote the target networks. Truncated steps have no bootstrap target, so they are masked
// out, but still count in the mean's denominator (QDax, losses/td3_loss.py). noise [B, actions] is
// standard normal.
func (t TD3) CriticLoss(critic, targetCritic, targetActor *Node, batch replay.Batch,
	noise *Node) *Node {
	target := t.target(t.Critic.Networks(targetCritic), t.Actor.Network(targetActor, 0), batch, noise)
	return critics.Loss(t.Critic.Networks(critic), target, batch)
}

// PolicyLoss is the negative mean value, by the first critic, of the actions of an actor [1, N]:
// the scalar -mean Q1(s, actor(s)).
func (t TD3) PolicyLoss(actor, critic *Node, batch replay.Batch) *Node {
	return policyLoss(t.Actor.Network(actor, 0), t.Critic.Network(critic, 0), batch.Obs)
}

// target returns the critics' target values, [B].
func (t TD3) target(targets []nn.Network, actor nn.Network, batch replay.Batch, noise *Node) *Node {
	disturbance := clip(MulScalar(noise, t.PolicyNoise), t.NoiseClip)
	action := clip(Add(actor.Apply(batch.NextObs), disturbance), 1)
	next := critics.Least(targets, batch.NextObs, action)
	return Add(MulScalar(batch.Reward, t.RewardScaling),
		Mul(MulScalar(OneMinus(batch.Done), t.Discount), next))
}

func policyLoss(actor, critic nn.Network, obs *Node) *Node {
	return Neg(ReduceAllMean(critic.WithFixedInputs(obs).Apply(InsertAxes(actor.Apply(obs), 0))))
}

func clip(x *Node, limit float64) *Node { return MaxScalar(MinScalar(x, limit), -limit) }
