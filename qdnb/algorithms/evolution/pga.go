package evolution

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// pgaBatch is the paper's batch size for PGA-MAP-Elites and PGA-AURORA.
const pgaBatch = 100

var _ = preset("pga-map-elites", defaultPGAMapElites)

// defaultPGAMapElites returns PGA-MAP-Elites with the paper's hyperparameters (table 6): MAP-Elites with
// half of the offspring from a policy-gradient emitter.
func defaultPGAMapElites(env envs.Spec) *MapElites {
	m := DefaultMapElites(env)
	m.Batch, m.Mix = pgaBatch, Mix{{PolicyGradient{Config: td3.Default()}, Rest}, {defaultIsoLine, 0.5}}
	return m
}

var _ = preset("pga-aurora", defaultPGAAurora)

// defaultPGAAurora returns PGA-AURORA: the emitters of PGA-MAP-Elites with the archive of AURORA.
func defaultPGAAurora(env envs.Spec) *MapElites {
	m := defaultPGAMapElites(env)
	m.Archive = defaultAuroraArchive(env)
	return m
}

// PolicyGradient is the emitter that turns MAP-Elites into PGA-MAP-Elites (Nilsson and Cully 2021,
// "Policy gradient assisted MAP-Elites"): critics and a greedy actor that TD3 trains on the
// transitions of all evaluations. Its last child is the greedy actor, unchanged. All others are
// parents from the archive after some gradient steps on the critic's value.
//
// The critics are trained after a generation is evaluated, and all parents of a generation see the
// same transitions. This follows the published code, not the paper's listing.
type PolicyGradient struct {
	td3.Config
	Learner td3.TrainingState
	// Observations are those that the gradient steps of a generation see, after Prepare.
	Observations *Node

	policy nn.MLP
}

var _ Proposer = PolicyGradient{}

// Check rejects values that cannot work, for generations of a batch of episodes.
func (e PolicyGradient) Check(batch, _, length int) error {
	if rows := batch * length; e.ReplayBufferSize < max(rows, e.TransitionsBatchSize) {
		return fmt.Errorf("replay_buffer_size must be at least %d, the transitions of a generation "+
			"(batch times episode_length) and of a training batch, not %d", max(rows, e.TransitionsBatchSize), e.ReplayBufferSize)
	}
	return nil
}

// td3 is the algorithm for policies of one architecture.
func (e PolicyGradient) td3() td3.TD3 { return e.Config.For(e.policy) }

// Capacity implements [Proposer].
func (e PolicyGradient) Capacity(int) int { return e.ReplayBufferSize }

func (PolicyGradient) fits(task scoring.Task, _ int) error { return task.CheckMLP() }

// Init implements [Emitter].
func (e PolicyGradient) Init(start Start, key random.Key) Emitter {
	e.policy = start.Task.MLP()
	e.Learner = e.td3().Start(start.First, key)
	return e
}

// Update implements [Emitter].
func (e PolicyGradient) Update(g Generation, key random.Key) (Emitter, []Metric) {
	e, losses := e.trained(e.td3(), g, key)
	return e, losses
}

// trained trains the learner on the buffer.
func (e PolicyGradient) trained(algorithm td3.TD3, g Generation, key random.Key) (PolicyGradient, []Metric) {
	learner, critic, actor := algorithm.Train(e.Learner, g.Buffer, key, e.NumCriticTrainingSteps)
	e.Learner = learner
	return e, []Metric{{"critic_loss", critic}, {"actor_loss", actor}}
}

// Prepare implements [Proposer]: the observations for the gradient steps, the critic and the greedy
// actor.
func (e PolicyGradient) Prepare(buffer replay.Buffer, key random.Key) Emitter {
	return e.prepared(e.td3(), buffer, key)
}

// prepared keeps of the learner what Offspring reads.
func (e PolicyGradient) prepared(algorithm td3.TD3, buffer replay.Buffer, key random.Key) PolicyGradient {
	critic, actor := e.Learner.Critic.Params[:1], e.Learner.Actor.Params
	e.Observations = algorithm.DrawObservations(buffer, key, e.NumPGTrainingSteps)
	e.Learner = td3.TrainingState{}
	e.Learner.Critic.Params, e.Learner.Actor.Params = critic, actor
	return e
}

// Offspring implements [Emitter].
func (e PolicyGradient) Offspring(parents Parents, which *Node, keys random.Key) *Node {
	children := e.td3().Vary(parents.Sample(keys), e.Learner.Critic.Params[0], e.Observations,
		Reshape(Slice(which, AxisRange(0, 1))), parents.Count)
	last := wide(Equal(which, ConstAs(which, int32(parents.Count-1))), children)
	return Where(last, BroadcastToDims(e.Learner.Actor.Params.Join(), children.Shape().Dimensions...), children)
}
