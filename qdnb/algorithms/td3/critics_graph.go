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
