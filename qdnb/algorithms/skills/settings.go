package skills

import (
	"math"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/sac"
)

// SAC are the hyperparameters of soft actor-critic alone. A zero value is not useful; see
// [DefaultSAC].
type SAC struct {
	sac.Config
	// environments that act side by side; paper: 200
	EnvBatchSize int `json:"env_batch_size"`
	// updates for each transition; paper: 1, so 200 after every step of all
	GradUpdatesPerStep float64 `json:"grad_updates_per_step"`
	// transitions that are kept; paper: 1 000 000
	ReplayBufferSize int `json:"replay_buffer_size"`
	EpisodeLength    int `json:"episode_length"` // control steps; paper: 250, ant-maze 500
	// WarmupSteps is how many environment steps are taken with uniformly random actions before the
	// first update. Where near rewards lead into a dead end, as in pointmaze, what they stumble
	// upon is all that is ever seen of the rest. Paper: 0.
	WarmupSteps int64 `json:"warmup_steps"`

	// The passive repertoire.
	// episodes of each skill in an evaluation; paper: 40
	EvaluationStates int `json:"evaluation_states"`
	// environment steps between two; paper: 100 000
	EvaluationInterval int64 `json:"evaluation_interval"`
	// EarlyInterval is the same before the first EvaluationInterval, so that short runs have
	// something to show; 0, as in the paper: none in between.
	EarlyInterval int64 `json:"early_interval"`
	Cells         int   `json:"cells"`       // of the repertoire; paper: 1024
	CVTSamples    int   `json:"cvt_samples"` // points that the tessellation clusters; paper: 50 000
	CVTSeed       int64 `json:"cvt_seed"`    // of the tessellation: one for all runs of an environment
}

// Discovery are the hyperparameters of DIAYN and DADS without a task.
type Discovery struct {
	SAC
	NumSkills int `json:"num_skills"` // paper: 5
	// tell skills apart by observations, not by descriptors; paper: by environment
	DescriptorFullState bool `json:"descriptor_full_state"`
	// units of the hidden layers of discriminator or dynamics; paper: 256, 256
	DiversityHidden []int `json:"diversity_hidden"`
}

// Rewarded are the hyperparameters of DIAYN+REWARD and DADS+REWARD.
type Rewarded struct {
	Discovery
	// weight of the diversity reward beside the task's; paper: 2 to 4 by environment
	DiversityRewardScale float64 `json:"diversity_reward_scale"`
}

// Selective are the hyperparameters of SMERL(DIAYN) and SMERL(DADS).
type Selective struct {
	Rewarded
	// return of a policy that solves the task; paper: by environment
	SMERLTarget float64 `json:"smerl_target"`
	// how much less still counts; paper: a tenth of the target's size
	SMERLMargin float64 `json:"smerl_margin"`
}

// Hyperparameters are the settings of an algorithm: a pointer to one of [SAC], or what
// [DefaultDiscovery] and its like give.
type Hyperparameters interface {
	// Base gives those that all algorithms have.
	Base() SAC
	// Check finds values that cannot work, before anything is compiled.
	Check() error
	// Options are those that the algorithm trains an environment with.
	Options() []envs.Option
	// Task and Method make the algorithm.
	Task(env envs.Env) Task
	Method() Method
}

// perEnvironment is what the paper's scripts set by environment (qdbenchmark, configs).
type perEnvironment struct {
	rewardScaling  float64 // as the scripts have it; see [Printed]
	diversityScale float64
	fullState      bool
	target, margin float64 // median of the best returns of five runs of SAC, and a tenth of it
}

var perEnvironments = map[string]perEnvironment{
	"pointmaze":       {1, 2, false, -66, 6.6},
	"ant-uni":         {10, 2, true, 1700, 170},
	"ant-omni":        {1, 4, false, 249, 24.9},
	"ant-trap":        {1, 2, false, 450, 45},
	"ant-maze":        {1, 3, false, -6820, 682},
	"walker-uni":      {10, 2, true, 1180, 118},
	"halfcheetah-uni": {5, 2, true, 2050, 205},
}

// Printed are the assignments, as [runs.Set] takes them, that replace hyperparameters of an
// environment which the published scripts have by what the paper prints: on walker-uni a reward
// scaling of 1, not 10. Everywhere else the two agree.
func Printed(env string) []string {
	if env == "walker-uni" {
		return []string{"reward_scaling=1"}
	}
	return nil
}

// of is what is published for an environment; for another one, rewards as they are, and skills told
// apart by positions where the descriptor is one.
func of(env envs.Spec) perEnvironment {
	if p, ok := perEnvironments[env.Name]; ok {
		return p
	}
	return perEnvironment{1, 2, env.Descriptor.Kind != envs.Final, math.NaN(), 0}
}

// DefaultSAC are the paper's hyperparameters for an environment.
func DefaultSAC(env envs.Spec) *SAC {
	s := SAC{
		Config: sac.Default(), EnvBatchSize: 200, GradUpdatesPerStep: 1, ReplayBufferSize: 1_000_000,
		EpisodeLength:    env.Length,
		EvaluationStates: 40, EvaluationInterval: 100_000, EarlyInterval: 5_000,
	}
	grid := evolution.DefaultMapElites(env)
	s.Cells, s.CVTSamples, s.CVTSeed = grid.Cells, grid.CVTSamples, grid.CVTSeed
	s.RewardScaling = of(env).rewardScaling
	return &s
}

func defaultDiscovery(env envs.Spec) Discovery {
	return Discovery{SAC: *DefaultSAC(env), NumSkills: 5, DescriptorFullState: of(env).fullState,
		DiversityHidden: []int{256, 256}}
}

func defaultRewarded(env envs.Spec) Rewarded {
	return Rewarded{Discovery: defaultDiscovery(env), DiversityRewardScale: of(env).diversityScale}
}

func defaultSelective(env envs.Spec) Selective {
	p := of(env)
	return Selective{Rewarded: defaultRewarded(env), SMERLTarget: p.target, SMERLMargin: p.margin}
}

// factor is which diversity reward an algorithm has. It is no setting: the algorithm's name tells.
type factor interface {
	diversity(Discovery) Diversity
	options() []envs.Option
}

type diayn struct{}

func (diayn) diversity(d Discovery) Diversity {
	return DIAYN{LearningRate: d.LearningRate, Hidden: d.DiversityHidden}
}

func (diayn) options() []envs.Option { return nil }

type dads struct{}

func (dads) diversity(d Discovery) Diversity {
	return DADS{LearningRate: d.LearningRate, Hidden: d.DiversityHidden, Components: 4}
}

func (dads) options() []envs.Option { return []envs.Option{envs.WidePositions()} }

// The algorithms of the family: settings beside a factor.
type (
	alone[F factor]     struct{ Discovery }
	rewarded[F factor]  struct{ Rewarded }
	selective[F factor] struct{ Selective }
)

// DefaultDIAYN are the paper's hyperparameters of DIAYN for an environment.
func DefaultDIAYN(env envs.Spec) Hyperparameters { return &alone[diayn]{defaultDiscovery(env)} }

// DefaultDADS are the paper's hyperparameters of DADS for an environment.
func DefaultDADS(env envs.Spec) Hyperparameters { return &alone[dads]{defaultDiscovery(env)} }

// DefaultDIAYNReward are the paper's hyperparameters of DIAYN+REWARD for an environment.
func DefaultDIAYNReward(env envs.Spec) Hyperparameters {
	return &rewarded[diayn]{defaultRewarded(env)}
}

// DefaultDADSReward are the paper's hyperparameters of DADS+REWARD for an environment.
func DefaultDADSReward(env envs.Spec) Hyperparameters {
	return &rewarded[dads]{defaultRewarded(env)}
}

// DefaultSMERLDIAYN are the paper's hyperparameters of SMERL(DIAYN) for an environment.
func DefaultSMERLDIAYN(env envs.Spec) Hyperparameters {
	return &selective[diayn]{defaultSelective(env)}
}

// DefaultSMERLDADS are the paper's hyperparameters of SMERL(DADS) for an environment.
func DefaultSMERLDADS(env envs.Spec) Hyperparameters {
	return &selective[dads]{defaultSelective(env)}
}

// Base implements [Hyperparameters].
func (s SAC) Base() SAC { return s }

// Updates is how many updates follow a step of all environments.
func (s SAC) Updates() int {
	return int(math.Round(s.GradUpdatesPerStep * float64(s.EnvBatchSize)))
}

// Options implements [Hyperparameters]: none.
func (s SAC) Options() []envs.Option { return nil }

// Task implements [Hyperparameters].
func (s SAC) Task(env envs.Env) Task { return Task{Env: env, Length: s.EpisodeLength} }

// Method implements [Hyperparameters]: nothing but the task.
func (s SAC) Method() Method { return Method{} }

// Task implements [Hyperparameters].
func (d Discovery) Task(env envs.Env) Task {
	return Task{Env: env, Length: d.EpisodeLength, Skills: d.NumSkills,
		FullState: d.DescriptorFullState}
}

// Options implements [Hyperparameters].
func (a *alone[F]) Options() []envs.Option {
	var f F
	return f.options()
}

// Method implements [Hyperparameters].
func (a *alone[F]) Method() Method {
	var f F
	return Method{f.diversity(a.Discovery), DiversityOnly{}}
}

// Options implements [Hyperparameters].
func (r *rewarded[F]) Options() []envs.Option {
	var f F
	return f.options()
}

// Method implements [Hyperparameters].
func (r *rewarded[F]) Method() Method {
	var f F
	return Method{f.diversity(r.Discovery), PlusReward{r.DiversityRewardScale}}
}

// Options implements [Hyperparameters].
func (s *selective[F]) Options() []envs.Option {
	var f F
	return f.options()
}

// Method implements [Hyperparameters].
func (s *selective[F]) Method() Method {
	var f F
	return Method{f.diversity(s.Discovery), SMERL{s.SMERLTarget, s.SMERLMargin,
		s.DiversityRewardScale}}
}

// Limits of the sizes: beyond them it is a slip of the pen rather than an experiment, and memory
// would end first.
const (
	maxEnvironments = 1 << 16
	maxUpdates      = 1 << 24
	maxRows         = 1 << 30
	maxCells        = 1 << 17
	maxSamples      = 1 << 24
	maxLength       = 1 << 20
	maxSkills       = 1 << 10
)

// Check implements [Hyperparameters].
func (s SAC) Check() error {
	if err := s.Config.Check(); err != nil {
		return err
	}
	if err := limits.Counts(
		limits.Count{Name: "env_batch_size", Value: int64(s.EnvBatchSize), Min: 1, Max: maxEnvironments},
		limits.Count{Name: "replay_buffer_size", Value: int64(s.ReplayBufferSize),
			Min: int64(s.EnvBatchSize), Max: maxRows},
		limits.Count{Name: "episode_length", Value: int64(s.EpisodeLength), Min: 1, Max: maxLength},
		limits.Count{Name: "warmup_steps", Value: s.WarmupSteps, Min: 0, Max: math.MaxInt64},
		limits.Count{Name: "evaluation_states", Value: int64(s.EvaluationStates), Min: 1, Max: maxRows},
		limits.Count{Name: "evaluation_interval", Value: s.EvaluationInterval, Min: 1,
			Max: math.MaxInt64},
		limits.Count{Name: "early_interval", Value: s.EarlyInterval, Min: 0, Max: math.MaxInt64},
		limits.Count{Name: "cells", Value: int64(s.Cells), Min: 1, Max: maxCells},
		limits.Count{Name: "cvt_samples", Value: int64(s.CVTSamples), Min: int64(s.Cells),
			Max: maxSamples},
	); err != nil {
		return err
	}
	// NaN is neither
	if !(s.GradUpdatesPerStep >= 0 && s.GradUpdatesPerStep*float64(s.EnvBatchSize) <= maxUpdates) {
		return errors.Errorf("grad_updates_per_step must be a number from 0 on, not %g",
			s.GradUpdatesPerStep)
	}
	if s.ReplayBufferSize%s.EnvBatchSize != 0 {
		return errors.Errorf("replay_buffer_size must be a multiple of env_batch_size, %d is not of %d",
			s.ReplayBufferSize, s.EnvBatchSize)
	}
	return nil
}

// Check implements [Hyperparameters].
func (d Discovery) Check() error {
	if err := d.SAC.Check(); err != nil {
		return err
	}
	if err := limits.Counts(limits.Count{Name: "num_skills", Value: int64(d.NumSkills), Min: 1,
		Max: maxSkills}); err != nil {
		return err
	}
	if d.NumSkills > d.EnvBatchSize { // environment k plays skill k mod skills
		return errors.Errorf("num_skills must be at most env_batch_size, %d, for each to be played, "+
			"not %d", d.EnvBatchSize, d.NumSkills)
	}
	return limits.Layers("diversity_hidden", d.DiversityHidden, 1)
}

// Check implements [Hyperparameters].
func (r Rewarded) Check() error {
	if err := r.Discovery.Check(); err != nil {
		return err
	}
	return limits.Factor("diversity_reward_scale", r.DiversityRewardScale)
}

// Check implements [Hyperparameters].
func (s Selective) Check() error {
	if err := s.Rewarded.Check(); err != nil {
		return err
	}
	if math.IsNaN(s.SMERLTarget) {
		return errors.New("smerl_target is not known for this environment: set it to the return of a " +
			"policy that solves the task, as `qdnb train --algorithm sac` finds one")
	}
	if math.IsNaN(s.SMERLMargin) || s.SMERLMargin < 0 {
		return errors.Errorf("smerl_margin must be a number from 0 on, not %g", s.SMERLMargin)
	}
	if steps := s.ReplayBufferSize / s.EnvBatchSize; steps < s.EpisodeLength {
		return errors.Errorf("replay_buffer_size must hold whole episodes of all environments, at "+
			"least %d transitions, not %d",
			s.EnvBatchSize*s.EpisodeLength, s.ReplayBufferSize)
	}
	return nil
}
