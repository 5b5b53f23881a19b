package skills

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
)

// SAC holds the hyperparameters of soft actor-critic.
type SAC struct {
	sac.Config
	// EnvBatchSize is the number of parallel environments; paper: 200.
	EnvBatchSize int `json:"env_batch_size" limits:"1,65536"`
	// GradUpdatesPerStep is the number of updates per transition: 1 makes 200 after each step of 200
	// environments; paper: 1.
	GradUpdatesPerStep float64 `json:"grad_updates_per_step"`
	// ReplayBufferSize is the capacity in transitions; paper: 1 000 000.
	ReplayBufferSize int `json:"replay_buffer_size"`
	EpisodeLength    int `json:"episode_length" limits:"1,1048576"` // control steps of an episode; paper: 250, ant-maze 500
	// WarmupSteps is the number of environment steps with uniformly random actions before the first
	// update; paper: 0. If nearby rewards lead into a dead end, as in pointmaze, the warm-up may provide
	// the only data beyond it.
	WarmupSteps int64 `json:"warmup_steps" limits:"0"`

	// The passive repertoire.

	// EvaluationStates is the number of episodes per skill in an evaluation; paper: 40.
	EvaluationStates int `json:"evaluation_states" limits:"1,1073741824"`
	// EvaluationInterval is the number of environment steps between evaluations; paper: 100 000.
	EvaluationInterval int64 `json:"evaluation_interval" limits:"1"`
	// EarlyInterval is the number of environment steps between evaluations in the first
	// evaluation_interval, so that short runs have results; 0, as in the paper: no extra evaluations.
	EarlyInterval int64 `json:"early_interval" limits:"0"`
	repertoire.CVT
}

// Discovery holds the hyperparameters of all algorithms that learn skills: each is a preset of a diversity
// reward and an objective, whose settings are settings of the algorithm, see package parts.
type Discovery struct {
	SAC
	NumSkills int `json:"num_skills" limits:"1,1024"` // skills that are evaluated; paper: 5
	// DescriptorFullState distinguishes skills by whole observations instead of positions; paper: by
	// environment. A [Conditioner] may choose other features.
	DescriptorFullState bool `json:"descriptor_full_state"`

	Parts `json:"-"`
}

// Parts are what an algorithm is made of. Tuning their settings makes another configuration of the
// algorithm; other parts make a variant, whose run records a hash of its programs.
type Parts struct {
	Diversity Diversity `parts:"diversity"`
	Objective Objective `parts:"objective"`
}

// perEnvironment holds the settings that the paper's scripts choose per environment (qdbenchmark,
// configs).
type perEnvironment struct {
	rewardScaling  float64 // as in the scripts; on walker-uni the paper prints 1
	diversityScale float64
	fullState      bool
	target, margin float64 // median of the best returns of five SAC runs, and a tenth of it
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

// settingsOf returns the published settings of an environment. For other environments rewards are
// not scaled, and skills are distinguished by positions if the descriptor is one.
func settingsOf(env envs.Spec) perEnvironment {
	if p, ok := perEnvironments[env.Name]; ok {
		return p
	}
	return perEnvironment{1, 2, env.Descriptor.Kind != envs.Final, math.NaN(), 0}
}

func defaultSAC(env envs.Spec) *SAC {
	s := SAC{
		Config: sac.Default(), EnvBatchSize: 200, GradUpdatesPerStep: 1, ReplayBufferSize: 1_000_000,
		EpisodeLength:    env.Length,
		EvaluationStates: 40, EvaluationInterval: 100_000, EarlyInterval: 5_000,
		CVT: repertoire.DefaultCVT(),
	}
	s.RewardScaling = settingsOf(env).rewardScaling
	return &s
}

// discovery returns the paper's hyperparameters of an algorithm that learns skills.
func discovery(env envs.Spec, diversity Diversity, objective Objective) *Discovery {
	return &Discovery{SAC: *defaultSAC(env), NumSkills: 5, DescriptorFullState: settingsOf(env).fullState,
		Parts: Parts{diversity, objective}}
}

// Algorithms are the algorithms of this package. The file of each adds it.
var Algorithms = []algorithms.Entry{{Record: records.Record{Name: "sac"},
	Defaults: func(env envs.Spec) algorithms.Algorithm { return defaultSAC(env) }}}

// preset adds an algorithm, for a package-level variable without a name. Observed positions may exceed the
// limits of descriptors in those with an option.
func preset(name string, defaults func(envs.Spec) *Discovery, options ...envs.Option) struct{} {
	Algorithms = append(Algorithms, algorithms.Entry{Record: records.Record{Name: name}, Options: options,
		Defaults: func(env envs.Spec) algorithms.Algorithm { return defaults(env) }})
	return struct{}{}
}

// presets adds a diversity reward with each of the paper's three objectives.
func presets(name string, d Diversity, options ...envs.Option) struct{} {
	add := func(name string, objective func(perEnvironment) Objective) struct{} {
		return preset(name, func(env envs.Spec) *Discovery { return discovery(env, d, objective(settingsOf(env))) }, options...)
	}
	add(name, func(perEnvironment) Objective { return DiversityOnly{} })
	add(name+"-reward", func(p perEnvironment) Objective { return PlusReward{p.diversityScale} })
	return add("smerl-"+name, func(p perEnvironment) Objective { return SMERL{p.target, p.margin, p.diversityScale} })
}

var wide = envs.WidePositions()

// Count is the number of skills: none.
func (SAC) Count() int { return 0 }

// Count is the number of skills.
func (d Discovery) Count() int { return d.NumSkills }

// NeedsObservations reports that the algorithm learns from observations.
func (SAC) NeedsObservations() bool { return true }

// Updates is the number of updates per step of all environments.
func (s SAC) Updates() int {
	return int(math.Round(s.GradUpdatesPerStep * float64(s.EnvBatchSize)))
}

// New implements [algorithms.Algorithm].
func (s *SAC) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return newSearch(p, method{Problem: s.task(env)}, *s, seed)
}

// New implements [algorithms.Algorithm].
func (d *Discovery) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return newSearch(p, d.method(env), d.SAC, seed)
}

func (s SAC) task(env envs.Env) Problem {
	return Problem{Env: env, Length: s.EpisodeLength, Learner: s.Config}
}

// method returns the algorithm in an environment.
func (d Discovery) method(env envs.Env) method {
	task := d.task(env)
	if task.Skills.OneHot = d.NumSkills; !d.DescriptorFullState {
		task.Features = task.Descriptors()
	}
	return newMethod(task, d.Diversity, d.Objective)
}

// maxUpdates is the largest number of updates per step of all environments; a larger one is probably a typo.
const maxUpdates = 1 << 24

// Check implements [algorithms.Algorithm].
func (s SAC) Check() error {
	if err := cmp.Or(limits.Of(s), s.CVT.Check(),
		limits.Int("replay_buffer_size", s.ReplayBufferSize, s.EnvBatchSize, 1<<30)); err != nil {
		return err
	}
	// also rejects NaN
	if !(s.GradUpdatesPerStep >= 0 && s.GradUpdatesPerStep*float64(s.EnvBatchSize) <= maxUpdates) {
		return fmt.Errorf("grad_updates_per_step must be between 0 and %g, not %g",
			maxUpdates/float64(s.EnvBatchSize), s.GradUpdatesPerStep)
	}
	if s.GradUpdatesPerStep > 0 && s.Updates() == 0 {
		return fmt.Errorf("grad_updates_per_step is %g, less than one update for the steps of %d "+
			"environments: set 0, or at least %g", s.GradUpdatesPerStep, s.EnvBatchSize, 1/float64(s.EnvBatchSize))
	}
	if s.ReplayBufferSize%s.EnvBatchSize != 0 {
		return fmt.Errorf("replay_buffer_size must be a multiple of env_batch_size (%d), not %d",
			s.EnvBatchSize, s.ReplayBufferSize)
	}
	return nil
}

// Check implements [algorithms.Algorithm].
func (d Discovery) Check() error {
	if err := cmp.Or(limits.Of(d), d.SAC.Check()); err != nil {
		return err
	}
	if d.Diversity == nil || d.Objective == nil {
		return errors.New("skills need a diversity reward and an objective: set both, or use sac")
	}
	for _, part := range []any{d.Diversity, d.Objective} {
		if c, ok := part.(interface{ Check() error }); ok {
			if err := c.Check(); err != nil {
				return err
			}
		}
	}
	if c, ok := d.Diversity.(interface{ vectors() bool }); !ok || !c.vectors() {
		if d.NumSkills == 1 {
			return errors.New("num_skills must be at least 2, not 1: with one skill the diversity reward is " +
				"always 0; use --algorithm sac for the task reward alone")
		}
		if d.NumSkills > d.EnvBatchSize { // environment k plays skill k mod skills
			return fmt.Errorf("num_skills must be at most env_batch_size (%d), so that each skill is "+
				"played, not %d", d.EnvBatchSize, d.NumSkills)
		}
	}
	if steps := d.ReplayBufferSize / d.EnvBatchSize; d.Objective.NeedsReturns() && steps < d.EpisodeLength {
		return fmt.Errorf("replay_buffer_size must hold whole episodes of all environments, at "+
			"least %d transitions, not %d", d.EnvBatchSize*d.EpisodeLength, d.ReplayBufferSize)
	}
	return nil
}
