package td3

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla/nn"
)

// rows returns the networks of a learner as rows: critics, their targets, the actor and its target.
func (ts TrainingState) rows() []*Node {
	return []*Node{nn.JoinNetworks(ts.Critic.Params), nn.JoinNetworks(ts.Critic.Target), ts.Actor.Params.Join(),
		ts.Actor.Target.Join()}
}

// criticLoss is the loss of the critics [2, C].
func (t TD3) criticLoss(critic, targetCritic, targetActor *Node, batch replay.Transitions,
	noise *Node) *Node {
	target := t.target(t.Critic.Networks(targetCritic), t.Actor.Network(targetActor, 0), batch, noise)
	return Twin(t.Critic.Networks(critic)).Loss(target, batch)
}

// policyLoss is the loss of an actor [1, N] by the first critic.
func (t TD3) policyLoss(actor, critic *Node, batch replay.Transitions) *Node {
	return policyLoss(t.Actor.Network(actor, 0), t.Critic.Network(critic, 0), batch.Obs)
}

// step is one step of [TD3.Train] on a batch, with standard normal noise [B, actions].
func (t TD3) step(ts TrainingState, batch replay.Transitions, noise *Node) (after TrainingState, critic, actor *Node) {
	after, sums := t.update(ts, none(noise.Graph()), batch, noise)
	critic, actor = sums.mean(after)
	return after, critic, actor
}
