package skills

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
)

// SAC holds the hyperparameters of soft actor-critic.
type SAC struct {
	sac.Config
	// EnvBatchSize is the number of parallel environments; paper: 200.
	EnvBatchSize int `json:"env_batch_size" limits:"1,65536"`
	// GradUpdatesPerStep is the number of updates per transition; paper: 1, so 200 per step of all
	// environments.
	GradUpdatesPerStep float64 `json:"grad_updates_per_step"`
	// ReplayBufferSize is the capacity in transitions; paper: 1 000 000.
	ReplayBufferSize int `json:"replay_buffer_size"`
	EpisodeLength    int `json:"episode_length" limits:"1,1048576"` // control steps; paper: 250, ant-maze 500
	// WarmupSteps is the number of environment steps with uniformly random actions before the first
	// update. If nearby rewards lead into a dead end, as in pointmaze, the warm-up may provide the
	// only data beyond it. Paper: 0.
	WarmupSteps int64 `json:"warmup_steps" limits:"0"`

	// The passive repertoire.

	// EvaluationStates is the number of episodes per skill in an evaluation; paper: 40.
	EvaluationStates int `json:"evaluation_states" limits:"1,1073741824"`
	// EvaluationInterval is the number of environment steps between evaluations; paper: 100 000.
	EvaluationInterval int64 `json:"evaluation_interval" limits:"1"`
	// EarlyInterval replaces EvaluationInterval during the first such interval, so that short runs
	// have results. 0, as in the paper: no extra evaluations.
	EarlyInterval int64 `json:"early_interval" limits:"0"`
	repertoire.CVT
}

// Discovery holds the hyperparameters of DIAYN and DADS without a task reward.
type Discovery struct {
	SAC
	NumSkills int `json:"num_skills" limits:"1,1024"` // paper: 5
	// DescriptorFullState distinguishes skills by observations instead of descriptors; paper: by
	// environment.
	DescriptorFullState bool `json:"descriptor_full_state"`
	// DiversityHidden are the units per hidden layer of the discriminator or dynamics; paper: 256,
	// 256.
	DiversityHidden []int `json:"diversity_hidden" limits:"1"`

	Parts

	diversity func(Discovery) Diversity // that of the algorithm's name
}

// Parts replace the diversity reward and the objective of an algorithm; nil keeps its own.
type Parts struct {
	Diversity Diversity `json:"-"`
	Objective Objective `json:"-"`
}

// method returns a method of its own parts, unless they are replaced.
func (p Parts) method(task Task, diversity Diversity, objective Objective) method {
	return newMethod(task, cmp.Or(p.Diversity, diversity), cmp.Or(p.Objective, objective))
}

// Rewarded holds the hyperparameters of DIAYN+REWARD and DADS+REWARD.
type Rewarded struct {
	Discovery
	// DiversityRewardScale weights the diversity reward against the task's; paper: 2 to 4 by
	// environment.
	DiversityRewardScale float64 `json:"diversity_reward_scale" limits:"-1e6,1e6"`
}

// Selective holds the hyperparameters of SMERL(DIAYN) and SMERL(DADS).
type Selective struct {
	Rewarded
	// SMERLTarget is the return of a policy that solves the task; paper: by environment.
	SMERLTarget float64 `json:"smerl_target"`
	// SMERLMargin is the tolerated shortfall; paper: a tenth of the target's absolute value.
	SMERLMargin float64 `json:"smerl_margin" limits:"0"`
}

// hyperparameters are those of an algorithm of this package.
type hyperparameters interface {
	algorithms.Algorithm
	Base() SAC
	// methodIn returns the algorithm in an environment.
	methodIn(env envs.Env) method
}

// searchFor compiles the search of an algorithm.
func searchFor(h hyperparameters, p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	base, spec := h.Base(), env.Spec()
	centroids, err := base.Centroids(spec.Descriptor.Lower, spec.Descriptor.Upper)
	if err != nil {
		return nil, err
	}
	s, err := newSearch(p, h.methodIn(env), config{SAC: base, Seed: seed, Centroids: centroids})
	if err != nil {
		return nil, err // a nil *search is a Search
	}
	return s, nil
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

func discovery(of func(Discovery) Diversity) func(envs.Spec) *Discovery {
	return func(env envs.Spec) *Discovery {
		return &Discovery{SAC: *defaultSAC(env), NumSkills: 5, DiversityHidden: []int{256, 256},
			DescriptorFullState: settingsOf(env).fullState, diversity: of}
	}
}

func rewarded(of func(Discovery) Diversity) func(envs.Spec) *Rewarded {
	return func(env envs.Spec) *Rewarded {
		return &Rewarded{Discovery: *discovery(of)(env),
			DiversityRewardScale: settingsOf(env).diversityScale}
	}
}

func selective(of func(Discovery) Diversity) func(envs.Spec) *Selective {
	return func(env envs.Spec) *Selective {
		p := settingsOf(env)
		return &Selective{*rewarded(of)(env), p.target, p.margin}
	}
}

// Algorithms are the algorithms of this package: those of the paper, later ones, and SAC, on which
// they build. Observed positions may exceed the limits of descriptors in those with an option.
var Algorithms = []algorithms.Entry{
	{Name: "diayn", Defaults: algorithms.Defaults(discovery(diayn)), Observes: true},
	{Name: "dads", Defaults: algorithms.Defaults(discovery(dads)), Observes: true, Options: wide},
	{Name: "diayn-reward", Defaults: algorithms.Defaults(rewarded(diayn)), Observes: true},
	{Name: "dads-reward", Defaults: algorithms.Defaults(rewarded(dads)), Observes: true, Options: wide},
	{Name: "smerl-diayn", Defaults: algorithms.Defaults(selective(diayn)), Observes: true},
	{Name: "smerl-dads", Defaults: algorithms.Defaults(selective(dads)), Observes: true, Options: wide},
	{Name: "metra", Defaults: algorithms.Defaults(defaultMetra), Observes: true, Options: wide,
		Smoke: smokeMetra},
	{Name: "csf", Defaults: algorithms.Defaults(defaultCSF), Observes: true, Options: wide,
		Smoke: append(slices.Clone(smokeMetra), "negative_skills=16")},
	{Name: "qdac", Defaults: algorithms.Defaults(defaultQdac), Observes: true, Options: wide},
	{Name: "sac", Defaults: algorithms.Defaults(defaultSAC), Observes: true},
}

// smokeMetra are settings of METRA for short runs of few environments, which its schedule would leave
// without updates.
var smokeMetra = []string{"num_skills=5", "warmup_steps=0", "grad_updates_per_step=0.25"}

var wide = []envs.Option{envs.WidePositions()}

func diayn(d Discovery) Diversity {
	return DIAYN{LearningRate: d.LearningRate, Hidden: d.DiversityHidden}
}

func dads(d Discovery) Diversity {
	return DADS{LearningRate: d.LearningRate, Hidden: d.DiversityHidden, Components: 4}
}

// Base returns the settings that all algorithms of this package share.
func (s SAC) Base() SAC { return s }

// Count is the number of skills: none.
func (s SAC) Count() int { return 0 }

// Count is the number of skills.
func (d Discovery) Count() int { return d.NumSkills }

// Updates is the number of updates per step of all environments.
func (s SAC) Updates() int {
	return int(math.Round(s.GradUpdatesPerStep * float64(s.EnvBatchSize)))
}

func (s SAC) methodIn(env envs.Env) method {
	return method{Task: Task{Env: env, Length: s.EpisodeLength}}
}

// Replaced names the parts that are replaced. Their code belongs to the identity of a run.
func (p Parts) Replaced() (names []string) {
	if p.Diversity != nil {
		names = append(names, "Diversity")
	}
	if p.Objective != nil {
		names = append(names, "Objective")
	}
	return names
}

// Recorded returns the settings of an algorithm of this package in an environment that a run records;
// see [algorithms.Recorded]. They are nil for another algorithm.
func Recorded(a algorithms.Algorithm, env envs.Env) (map[string]json.RawMessage, error) {
	h, ok := a.(hyperparameters)
	if !ok {
		return nil, nil
	}
	return algorithms.Recorded(h, func(h hyperparameters) ([]algorithms.Part, any) {
		own := reflect.New(reflect.TypeOf(h).Elem())
		own.Elem().Set(reflect.ValueOf(h).Elem())
		parts := own.Elem().FieldByName("Parts").Addr().Interface().(*Parts)
		by := *parts
		*parts = Parts{}
		m := own.Interface().(hyperparameters).methodIn(env)
		return []algorithms.Part{{Own: m.Diversity, By: by.Diversity}, {Own: m.Objective, By: by.Objective}}, h.Base()
	})
}

// New implements [algorithms.Algorithm].
func (s *SAC) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(s, p, env, seed)
}

// New implements [algorithms.Algorithm].
func (d *Discovery) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(d, p, env, seed)
}

// New implements [algorithms.Algorithm].
func (r *Rewarded) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(r, p, env, seed)
}

// New implements [algorithms.Algorithm].
func (s *Selective) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(s, p, env, seed)
}

func (d Discovery) methodIn(env envs.Env) method {
	return d.method(env, d.diversity(d), DiversityOnly{})
}

func (d Discovery) method(env envs.Env, diversity Diversity, objective Objective) method {
	task := Task{Env: env, Length: d.EpisodeLength, Skills: Skills{OneHot: d.NumSkills}}
	if !d.DescriptorFullState {
		task.Features = task.Descriptors()
	}
	return d.Parts.method(task, diversity, objective)
}

func (r Rewarded) methodIn(env envs.Env) method {
	return r.method(env, r.diversity(r.Discovery), PlusReward{r.DiversityRewardScale})
}

func (s Selective) methodIn(env envs.Env) method {
	return s.method(env, s.diversity(s.Discovery),
		SMERL{s.SMERLTarget, s.SMERLMargin, s.DiversityRewardScale})
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
			"environments: set 0, or at least %g", s.GradUpdatesPerStep, s.EnvBatchSize,
			1/float64(s.EnvBatchSize))
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
	if d.NumSkills == 1 {
		return errors.New("num_skills must be at least 2, not 1: with one skill the diversity reward is " +
			"always 0; use --algorithm sac for the task reward alone")
	}
	if d.NumSkills > d.EnvBatchSize { // environment k plays skill k mod skills
		return fmt.Errorf("num_skills must be at most env_batch_size (%d), so that each skill is "+
			"played, not %d", d.EnvBatchSize, d.NumSkills)
	}
	return nil
}

// Check implements [algorithms.Algorithm].
func (s Selective) Check() error {
	if err := cmp.Or(limits.Of(s), s.Discovery.Check()); err != nil {
		return err
	}
	if math.IsNaN(s.SMERLTarget) {
		return errors.New("smerl_target is unknown for this environment; set it to the return of a " +
			"policy that solves the task, such as one trained by `qdnb train --algorithm sac`")
	}
	if steps := s.ReplayBufferSize / s.EnvBatchSize; steps < s.EpisodeLength {
		return fmt.Errorf("replay_buffer_size must hold whole episodes of all environments, at "+
			"least %d transitions, not %d", s.EnvBatchSize*s.EpisodeLength, s.ReplayBufferSize)
	}
	return nil
}
