package evolution

import (
	"cmp"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
)

// AuroraSettings are the hyperparameters of AURORA's archive (source: train_aurora.py and the
// paper's appendix).
type AuroraSettings struct {
	Capacity int `json:"capacity"` // slots of the archive; paper: 1024
	// Target is the number of members above which the threshold grows; 0: the capacity, as in the
	// paper's code.
	Target      int    `json:"target,omitzero"`
	Observation string `json:"observation"` // contents of the sequences: only_sd, no_sd or full
	// Sampling is the number of control steps between two elements of a sequence; paper: 10.
	Sampling int `json:"sampling"`
	// MaxObservation is the number of leading observation features that are kept; paper: 25.
	MaxObservation int `json:"max_observation"`
	Latent         int `json:"latent"` // dimensions of the learned descriptor; paper: 5
	// Threshold is the initial distance threshold l between members; paper: 0.2.
	Threshold float64 `json:"threshold"`
	// Every is the number of generations per loop, after which maintenance runs; paper: 10.
	Every int `json:"loop"`
	// Epochs is the number of epochs per training of the auto-encoder in the first 100 loops; paper:
	// 100.
	Epochs        int `json:"epochs"`
	LateEpochs    int `json:"late_epochs"`    // epochs per training in later loops; paper: 25
	TrainingBatch int `json:"training_batch"` // sequences per gradient step; paper: 128
	// learning rate of the auto-encoder; paper: 1e-4
	LearningRate float64 `json:"ae_learning_rate"`
}

// DefaultAuroraSettings returns the paper's hyperparameters for an environment. The sequences hold
// positions if the descriptor is a position. They hold observations if the descriptor measures
// contacts, which gives no prior.
func DefaultAuroraSettings(env envs.Spec) AuroraSettings {
	s := AuroraSettings{
		Capacity: 1024, Observation: NoDescriptor, Sampling: 10, MaxObservation: 25, Latent: 5,
		Threshold: 0.2,
		Every:     10, Epochs: 100, LateEpochs: 25, TrainingBatch: 128, LearningRate: 1e-4,
	}
	if env.Descriptor.Kind == envs.Final {
		s.Observation = OnlyDescriptor
	}
	return s
}

// check rejects values that cannot work, given the other settings.
func (s AuroraSettings) check(base MapElites) error {
	if base.Starts != 0 {
		return errOneStart
	}
	if err := cmp.Or(
		limits.Int("capacity", s.Capacity, 2, maxCapacity),
		limits.Int("target", s.Target, 0, s.Capacity),
		limits.Int("episode_length", base.EpisodeLength, 2, maxLength),
		limits.Int("sampling", s.Sampling, 1, base.EpisodeLength/2),
		limits.Int("max_observation", s.MaxObservation, 1, maxFeatures),
		limits.Int("latent", s.Latent, 1, maxLatent),
		limits.Int("loop", s.Every, 1, maxLength),
		limits.Int("epochs", s.Epochs, 1, maxLength),
		limits.Int("late_epochs", s.LateEpochs, 1, maxLength),
		limits.Int("training_batch", s.TrainingBatch, 1, maxBatch),
	); err != nil {
		return err
	}
	switch s.Observation {
	case OnlyDescriptor, NoDescriptor, FullState:
	default:
		return names.Unknown("observation", s.Observation,
			[]string{OnlyDescriptor, NoDescriptor, FullState})
	}
	if !(s.Threshold >= 0 && s.Threshold < 1e6) || !(s.LearningRate > 0 && s.LearningRate < 1e3) {
		return errors.Errorf("threshold must be at least 0 and ae_learning_rate above 0, not %g and %g",
			s.Threshold, s.LearningRate)
	}
	return nil
}

// Aurora are the hyperparameters of AURORA: MAP-Elites with an archive that learns its descriptors.
type Aurora struct {
	MapElites
	AuroraSettings
}

// DefaultAurora returns the paper's hyperparameters for an environment.
func DefaultAurora(env envs.Spec) *Aurora {
	return &Aurora{*DefaultMapElites(env), DefaultAuroraSettings(env)}
}

// Check implements [Hyperparameters].
func (a *Aurora) Check() error {
	return cmp.Or(a.MapElites.Check(), a.AuroraSettings.check(a.MapElites))
}

// Method implements [Hyperparameters]: MAP-Elites with AURORA's archive.
func (a *Aurora) Method(centroids npz.Array) Method {
	method := a.MapElites.Method(centroids)
	method.Archive = AuroraArchive{AuroraSettings: a.AuroraSettings}
	return method
}
