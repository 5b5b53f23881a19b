package evolution

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// PolicyGradient is the emitter that makes PGA-MAP-Elites of MAP-Elites (Nilsson and Cully 2021,
// "Policy gradient assisted MAP-Elites"): critics and a greedy actor that TD3 trains on the
// transitions of all evaluations. Its last child is the greedy actor, unchanged. All others are
// parents from the archive after some gradient steps on the critic's value.
//
// The critics are trained after a generation is evaluated, and all parents of a generation see the
// same transitions. This follows the published code, not the paper's listing.
type PolicyGradient struct {
	PolicyGradientSettings
	Learner td3.Learner
	// Observations are those that the gradient steps of a generation see, after Prepare.
	Observations *Node

	policy nn.MLP
}

var _ Proposer = PolicyGradient{}

// td3 is the algorithm for policies of one architecture.
func (e PolicyGradient) td3() td3.TD3 { return td3.New(e.Config, e.policy) }

// Capacity implements [Proposer].
func (e PolicyGradient) Capacity() int { return e.ReplayBufferSize }

// Init implements [Emitter].
func (e PolicyGradient) Init(start Start, key random.Key) Emitter {
	e.policy = start.Task.Policy
	e.Learner = e.td3().Start(start.First, key)
	return e
}

// Update implements [Emitter].
func (e PolicyGradient) Update(g Generation, key random.Key) (Emitter, []Loss) {
	learner, loss := e.td3().Train(e.Learner, g.Buffer, key, e.NumCriticTrainingSteps)
	e.Learner = learner
	return e, tdLosses(loss)
}

// tdLosses names the losses of TD3.
func tdLosses(l td3.Losses) []Loss { return []Loss{{"critic_loss", l.Critic}, {"actor_loss", l.Actor}} }

// Prepare implements [Proposer]: the observations for the gradient steps, the critics and the greedy
// actor.
func (e PolicyGradient) Prepare(buffer replay.Buffer, key random.Key) Emitter {
	e.Observations = e.td3().DrawObservations(buffer, key, e.NumPGTrainingSteps)
	e.Learner = td3.Learner{Critic: e.Learner.Critic, Actor: e.Learner.Actor}
	return e
}

// Offspring implements [Emitter].
func (e PolicyGradient) Offspring(parents Parents, which *Node, keys random.Key) *Node {
	together := td3.Together(xla.KindOf(which.Graph()), parents.Count)
	children := e.td3().Vary(parents.Sample(keys), e.Learner.Critic, e.Observations,
		Reshape(Slice(which, AxisRange(0, 1))), together)
	last := wide(Equal(which, ConstAs(which, int32(parents.Count-1))), children)
	return Where(last, BroadcastToDims(e.Learner.Actor, children.Shape().Dimensions...), children)
}
