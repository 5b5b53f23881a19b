package evolution

import (
	"cmp"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// PolicyGradientSettings are the hyperparameters of [PolicyGradient]: those of TD3, and the share
// of offspring per emitter.
type PolicyGradientSettings struct {
	td3.Config
	// IsolineShare is the share of offspring from the Iso+LineDD emitter; paper: 0.5.
	IsolineShare float64 `json:"isoline_share"`
}

// defaultPolicyGradient returns the paper's hyperparameters (table 6).
func defaultPolicyGradient() PolicyGradientSettings {
	return PolicyGradientSettings{td3.Default(), 0.5}
}

// check rejects values that cannot work, for generations of the given batch size and episode
// length.
func (s PolicyGradientSettings) check(batch, length int) error {
	if err := limits.Of(s); err != nil {
		return err
	}
	if !(s.IsolineShare >= 0 && s.IsolineShare < 1) {
		return fmt.Errorf("isoline_share must be at least 0 and below 1, not %g", s.IsolineShare)
	}
	if rows := batch * length; s.ReplayBufferSize < max(rows, s.TransitionsBatchSize) {
		return fmt.Errorf("replay_buffer_size must be at least %d, the transitions of a generation "+
			"(batch times episode_length) and of a training batch, not %d",
			max(rows, s.TransitionsBatchSize), s.ReplayBufferSize)
	}
	return nil
}

// pgaBatch is the paper's batch size for PGA-MAP-Elites and PGA-AURORA.
const pgaBatch = 100

// PGAMapElites are the hyperparameters of PGA-MAP-Elites: MAP-Elites with half of the offspring
// from a policy-gradient emitter.
type PGAMapElites struct {
	MapElites
	PolicyGradientSettings
}

// defaultPGAMapElites returns the paper's hyperparameters for an environment.
func defaultPGAMapElites(env envs.Spec) *PGAMapElites {
	p := &PGAMapElites{*DefaultMapElites(env), defaultPolicyGradient()}
	p.Batch = pgaBatch
	return p
}

// Check implements [algorithms.Algorithm].
func (p *PGAMapElites) Check() error {
	return cmp.Or(p.MapElites.Check(), p.PolicyGradientSettings.check(p.Batch, p.EpisodeLength))
}

// New implements [algorithms.Algorithm].
func (p *PGAMapElites) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(p, platform, env, seed)
}

func (p *PGAMapElites) own() Parts {
	parts := p.MapElites.own()
	parts.Mix = p.emitters(p.isoLine())
	return parts
}

// emitters returns the policy gradient together with another emitter.
func (s PolicyGradientSettings) emitters(other Emitter) Mix {
	return Mix{{PolicyGradient{PolicyGradientSettings: s}, 1 - s.IsolineShare}, {other, s.IsolineShare}}
}

// PGAAurora are the hyperparameters of PGA-AURORA: the emitters of PGA-MAP-Elites with the archive
// of AURORA.
type PGAAurora struct {
	MapElites
	PolicyGradientSettings
	repertoire.AuroraSettings
}

// defaultPGAAurora returns the paper's hyperparameters for an environment.
func defaultPGAAurora(env envs.Spec) *PGAAurora {
	p := &PGAAurora{*DefaultMapElites(env), defaultPolicyGradient(), defaultAuroraSettings(env)}
	p.Batch = pgaBatch
	return p
}

// Check implements [algorithms.Algorithm].
func (p *PGAAurora) Check() error {
	return cmp.Or(p.MapElites.Check(), p.PolicyGradientSettings.check(p.Batch, p.EpisodeLength),
		p.oneStart(), p.AuroraSettings.Check(p.EpisodeLength))
}

// New implements [algorithms.Algorithm].
func (p *PGAAurora) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(p, platform, env, seed)
}

func (p *PGAAurora) own() Parts {
	parts := aurora(p.MapElites.own(), p.AuroraSettings)
	parts.Mix = p.emitters(p.isoLine())
	return parts
}

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
func (e PolicyGradient) Capacity(int) int { return e.ReplayBufferSize }

// Init implements [Emitter].
func (e PolicyGradient) Init(start Start, key random.Key) Emitter {
	e.policy = start.Task.Policy
	e.Learner = e.td3().Start(start.First, key)
	return e
}

// Update implements [Emitter].
func (e PolicyGradient) Update(g Generation, key random.Key) (Emitter, []Loss) {
	e, losses := e.trained(e.td3(), g, key)
	return e, losses
}

// trained trains the learner on the buffer.
func (e PolicyGradient) trained(algorithm td3.TD3, g Generation, key random.Key) (PolicyGradient, []Loss) {
	learner, critic, actor := algorithm.Train(e.Learner, g.Buffer, key, e.NumCriticTrainingSteps)
	e.Learner = learner
	return e, []Loss{{"critic_loss", critic}, {"actor_loss", actor}}
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
	e.Learner = td3.Learner{}
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
