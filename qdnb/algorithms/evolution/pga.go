package evolution

import (
	"cmp"
	"fmt"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
)

// PolicyGradientSettings are the hyperparameters of [PolicyGradient]: those of TD3, and the share
// of offspring per emitter.
type PolicyGradientSettings struct {
	td3.Config
	// IsolineShare is the share of offspring from the Iso+LineDD emitter; paper: 0.5.
	IsolineShare float64 `json:"isoline_share"`
}

// DefaultPolicyGradient returns the paper's hyperparameters (table 6).
func DefaultPolicyGradient() PolicyGradientSettings {
	return PolicyGradientSettings{td3.Default(), 0.5}
}

// check rejects values that cannot work, for generations of the given batch size and episode
// length.
func (s PolicyGradientSettings) check(batch, length int) error {
	if err := s.Config.Check(); err != nil {
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

// DefaultPGAMapElites returns the paper's hyperparameters for an environment.
func DefaultPGAMapElites(env envs.Spec) *PGAMapElites {
	p := &PGAMapElites{*DefaultMapElites(env), DefaultPolicyGradient()}
	p.Batch = pgaBatch
	return p
}

// Check implements [Hyperparameters].
func (p *PGAMapElites) Check() error {
	return cmp.Or(p.MapElites.Check(), p.PolicyGradientSettings.check(p.Batch, p.EpisodeLength))
}

// New implements [algorithms.Algorithm].
func (p *PGAMapElites) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(p, platform, env, seed)
}

// Method implements [Hyperparameters]: MAP-Elites with two emitters.
func (p *PGAMapElites) Method() Method {
	method := p.MapElites.Method()
	method.Emitters = p.emitters(p.isoLine())
	return method
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

// DefaultPGAAurora returns the paper's hyperparameters for an environment.
func DefaultPGAAurora(env envs.Spec) *PGAAurora {
	p := &PGAAurora{*DefaultMapElites(env), DefaultPolicyGradient(), repertoire.DefaultAuroraSettings(env)}
	p.Batch = pgaBatch
	return p
}

// Check implements [Hyperparameters].
func (p *PGAAurora) Check() error {
	return cmp.Or(p.MapElites.Check(), p.PolicyGradientSettings.check(p.Batch, p.EpisodeLength),
		p.oneStart(), p.AuroraSettings.Check(p.EpisodeLength))
}

// New implements [algorithms.Algorithm].
func (p *PGAAurora) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(p, platform, env, seed)
}

// Method implements [Hyperparameters]: MAP-Elites with a learner and AURORA's archive.
func (p *PGAAurora) Method() Method {
	method := aurora(p.MapElites.Method(), p.AuroraSettings)
	method.Emitters = p.emitters(p.isoLine())
	return method
}
