package skills

import (
	"cmp"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
)

// Qdac holds the hyperparameters of QDAC.
type Qdac struct {
	SAC
	// NumSkills is the number of evaluated skills; its publication evaluates 256.
	NumSkills int `json:"num_skills"`
	// DiversityHidden are the units per hidden layer of the successor features and of the multiplier;
	// its publication: 256, 256.
	DiversityHidden []int `json:"diversity_hidden"`
	// SkillDistance is the tolerated distance from a skill; descriptors are scaled to [-1, 1]. Its
	// publication: 0.01.
	SkillDistance float64 `json:"skill_distance"`
	// SmoothDistance is the distance below which the actor's objective is quadratic; its publication:
	// 1e-3.
	SmoothDistance float64 `json:"smooth_distance"`
	// DescriptorChanges predicts changes of the state descriptor instead of the state descriptor, for
	// final positions that observations lack; by environment.
	DescriptorChanges bool `json:"descriptor_changes"`
	// RandomSkills is the share of the transitions of an update whose skill is replaced by a random
	// one; its publication: 0.5.
	RandomSkills float64 `json:"random_skills"`

	env envs.Spec
}

// defaultQdac returns the published hyperparameters. The numbers of environments and of stored
// transitions are those of DIAYN.
func defaultQdac(env envs.Spec) *Qdac {
	q := &Qdac{SAC: *DefaultSAC(env), NumSkills: 256, DiversityHidden: []int{256, 256},
		SkillDistance: 0.01, SmoothDistance: 1e-3, RandomSkills: 0.5,
		DescriptorChanges: env.Name == "ant-omni", env: env}
	q.RewardScaling, q.AlphaInit, q.FixAlpha, q.BatchSize, q.EvaluationStates = 1, 1, false, 512, 1
	return q
}

// Check implements [Hyperparameters].
func (q *Qdac) Check() error {
	if q.DescriptorChanges && q.env.Descriptor.Kind == envs.Mean {
		return errors.Errorf("descriptor_changes must be false for %s, whose descriptor is a mean",
			q.env.Name)
	}
	return cmp.Or(q.SAC.Check(), limits.Int("num_skills", q.NumSkills, 1, maxSkills),
		limits.Layers("diversity_hidden", q.DiversityHidden, 1),
		limits.Positive("skill_distance", q.SkillDistance, 1e6),
		limits.Positive("smooth_distance", q.SmoothDistance, 1e6),
		limits.Number("random_skills", q.RandomSkills, 1))
}

// Options implements [Hyperparameters].
func (*Qdac) Options() []envs.Option { return []envs.Option{envs.WidePositions()} }

// Task implements [Hyperparameters].
func (q *Qdac) Task(env envs.Env) Task {
	return Task{Env: env, Length: q.EpisodeLength, Skills: q.NumSkills,
		Continuous: len(env.Spec().Descriptor.Lower), Desired: true,
		Changes: q.DescriptorChanges, Random: q.RandomSkills}
}

// Method implements [Hyperparameters].
func (q *Qdac) Method() Method {
	return Method{QDAC{LearningRate: q.LearningRate, Discount: q.Discount, Tau: q.Tau,
		Hidden: q.DiversityHidden, Distance: q.SkillDistance, Smooth: q.SmoothDistance,
		Observations: q.env.Observations, Actions: q.env.Actions}, TaskOnly{}}
}
