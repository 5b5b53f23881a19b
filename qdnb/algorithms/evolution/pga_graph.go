package evolution

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// PolicyGradient is the learner of PGA-MAP-Elites (Nilsson and Cully 2021, "Policy gradient
// assisted MAP-Elites"): critics and a greedy actor that TD3 trains on the transitions of all
// evaluations. Its last proposal is the greedy actor, unchanged. All others are parents from the
// archive after some gradient steps on the critic's value.
//
// The critics are trained after a generation is evaluated, and all parents of a generation see the
// same transitions. This follows the published code, not the paper's listing.
type PolicyGradient struct{ PolicyGradientSettings }

func (l PolicyGradient) td3(policy nn.MLP) td3.TD3 { return td3.New(l.Config, policy) }

// Proposals implements [Learner]: all offspring outside the share of the Iso+LineDD emitter.
func (l PolicyGradient) Proposals(batch int) int {
	return batch - int(l.IsolineShare*float64(batch))
}

// Capacity implements [Learner].
func (l PolicyGradient) Capacity() int { return l.ReplayBufferSize }

// Fields implements [Learner].
func (PolicyGradient) Fields() []string {
	return []string{
		"critic", "target_critic", "actor", "target_actor",
		"critic_first_moment", "critic_second_moment", "critic_first_weight", "critic_second_weight",
		"actor_first_moment", "actor_second_moment", "actor_first_weight", "actor_second_weight", "step",
	}
}

// leaves returns the tensors of a learner, all float32. The step counter is reduced modulo the
// policy delay, which is all that the updates need.
func (l PolicyGradient) leaves(learner td3.Learner) []*Node {
	learner.Step = ConvertDType(ModScalar(learner.Step, int32(l.PolicyDelay)), dtypes.Float32)
	return xla.Flatten(learner)
}

// learner is the inverse of leaves.
func (PolicyGradient) learner(known []*Node) td3.Learner {
	moments := func(m []*Node) nn.Moments {
		return nn.Moments{First: m[0], Second: m[1], Weight1: m[2], Weight2: m[3]}
	}
	return td3.Learner{
		Critic: known[0], TargetCritic: known[1], Actor: known[2], TargetActor: known[3],
		CriticMoments: moments(known[4:8]), ActorMoments: moments(known[8:12]),
		Step: ConvertDType(known[12], dtypes.Int32),
	}
}

// Start implements [Learner].
func (l PolicyGradient) Start(task scoring.Task, first *Node, key xla.Key) []*Node {
	return l.leaves(l.td3(task.Policy).Start(first, key))
}

// Learn implements [Learner].
func (l PolicyGradient) Learn(task scoring.Task, known []*Node, buffer replay.Buffer,
	key xla.Key) (after, losses []*Node) {
	learner, loss := l.td3(task.Policy).Train(l.learner(known), buffer, key, l.NumCriticTrainingSteps)
	return l.leaves(learner), []*Node{loss.Critic, loss.Actor}
}

// Losses implements [Learner].
func (PolicyGradient) Losses() []string { return []string{"critic_loss", "actor_loss"} }

// Prepare implements [Learner]: the observations for the gradient steps, the critics and the greedy
// actor.
func (l PolicyGradient) Prepare(task scoring.Task, known []*Node, buffer replay.Buffer,
	key xla.Key) []*Node {
	learner := l.learner(known)
	return []*Node{l.td3(task.Policy).DrawObservations(buffer, key.FoldIn(1), l.NumPGTrainingSteps),
		learner.Critic, learner.Actor}
}

// Propose implements [Learner].
func (l PolicyGradient) Propose(task scoring.Task, prepared []*Node, parents Parents, which *Node,
	batch int, key xla.Key) *Node {
	observations, critics, greedy := prepared[0], prepared[1], prepared[2]
	together := td3.Together(xla.KindOf(which.Graph()), l.Proposals(batch))
	children := l.td3(task.Policy).Vary(parents.Sample(key.FoldIn(0).FoldInEach(which)), critics,
		observations, Reshape(Slice(which, AxisRange(0, 1))), together)
	last := BroadcastToDims(InsertAxes(Equal(which, ConstAs(which, int32(l.Proposals(batch)-1))), -1),
		children.Shape().Dimensions...)
	return Where(last, BroadcastToDims(greedy, children.Shape().Dimensions...), children)
}
