package evolution

import (
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/td3"
)

// PolicyGradientSettings are the hyperparameters of [PolicyGradient]: those of TD3, and how the
// offspring are shared.
type PolicyGradientSettings struct {
	td3.Config
	// of the offspring that the isoline emitter makes; paper: 0.5
	IsolineShare float64 `json:"isoline_share"`
}

// DefaultPolicyGradient are the paper's (table 6).
func DefaultPolicyGradient() PolicyGradientSettings {
	return PolicyGradientSettings{td3.Default(), 0.5}
}

// check finds values that cannot work, for generations of so many offspring of so many steps.
func (s PolicyGradientSettings) check(batch, length int) error {
	if err := s.Config.Check(); err != nil {
		return err
	}
	if !(s.IsolineShare >= 0 && s.IsolineShare < 1) {
		return errors.Errorf("isoline_share must be from 0 to below 1, not %g", s.IsolineShare)
	}
	if rows := batch * length; s.ReplayBufferSize < max(rows, s.TransitionsBatchSize) {
		return errors.Errorf("replay_buffer_size must be at least %d, the transitions of a generation "+
			"(batch times episode_length) and of a training batch, not %d",
			max(rows, s.TransitionsBatchSize), s.ReplayBufferSize)
	}
	return nil
}

// pgaBatch is how many policies a generation of PGA-MAP-Elites and PGA-AURORA has in the paper.
const pgaBatch = 100

// PGAMapElites are the hyperparameters of PGA-MAP-Elites: MAP-Elites, half of whose offspring a
// policy gradient makes.
type PGAMapElites struct {
	MapElites
	PolicyGradientSettings
}

var _ Hyperparameters = (*PGAMapElites)(nil)

// DefaultPGAMapElites are the paper's hyperparameters for an environment.
func DefaultPGAMapElites(env envs.Spec) *PGAMapElites {
	p := &PGAMapElites{*DefaultMapElites(env), DefaultPolicyGradient()}
	p.Batch = pgaBatch
	return p
}

// Check implements [Hyperparameters].
func (p *PGAMapElites) Check() error {
	if err := p.MapElites.Check(); err != nil {
		return err
	}
	return p.PolicyGradientSettings.check(p.Batch, p.EpisodeLength)
}

// Method implements [Hyperparameters]: that of MAP-Elites with a learner.
func (p *PGAMapElites) Method(centroids npz.Array) Method {
	method := p.MapElites.Method(centroids)
	method.Learner = PolicyGradient{p.PolicyGradientSettings}
	return method
}

// PGAAurora are the hyperparameters of PGA-AURORA: the emitters of PGA-MAP-Elites with the archive
// of AURORA.
type PGAAurora struct {
	MapElites
	PolicyGradientSettings
	AuroraSettings
}

var _ Hyperparameters = (*PGAAurora)(nil)

// DefaultPGAAurora are the paper's hyperparameters for an environment.
func DefaultPGAAurora(env envs.Spec) *PGAAurora {
	p := &PGAAurora{*DefaultMapElites(env), DefaultPolicyGradient(), DefaultAuroraSettings(env)}
	p.Batch = pgaBatch
	return p
}

// Check implements [Hyperparameters].
func (p *PGAAurora) Check() error {
	if err := p.MapElites.Check(); err != nil {
		return err
	}
	if err := p.PolicyGradientSettings.check(p.Batch, p.EpisodeLength); err != nil {
		return err
	}
	return p.AuroraSettings.check(p.EpisodeLength)
}

// Method implements [Hyperparameters]: the two put together.
func (p *PGAAurora) Method(centroids npz.Array) Method {
	method := p.MapElites.Method(centroids)
	method.Learner = PolicyGradient{p.PolicyGradientSettings}
	method.Archive = AuroraArchive{AuroraSettings: p.AuroraSettings}
	return method
}
