package evolution

import (
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
)

// AuroraSettings are the hyperparameters of AURORA's archive (reference: train_aurora.py; appendix
// of the paper).
type AuroraSettings struct {
	Capacity    int    `json:"capacity"`    // slots of the archive; paper: 1024
	Observation string `json:"observation"` // what the sequences hold: only_sd, no_sd or full
	// control steps from one element of a sequence to the next; paper: 10
	Sampling int `json:"sampling"`
	// features of the observation that are kept: the first ones; paper: 25
	MaxObservation int `json:"max_observation"`
	Latent         int `json:"latent"` // components of the learned descriptor; paper: 5
	// the distance l between members at first; paper: 0.2
	Threshold float64 `json:"threshold"`
	// generations of a loop, after which there is upkeep; paper: 10
	Every int `json:"loop"`
	// of a training of the auto-encoder in the first 100 loops; paper: 100
	Epochs        int     `json:"epochs"`
	LateEpochs    int     `json:"late_epochs"`      // of a later one; paper: 25
	TrainingBatch int     `json:"training_batch"`   // sequences of a gradient step; paper: 128
	LearningRate  float64 `json:"ae_learning_rate"` // of the auto-encoder; paper: 1e-4
}

// DefaultAuroraSettings are the paper's, for an environment: the sequences hold positions where the
// descriptor is a position, and observations where it tells of contacts, which is no prior.
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

// check finds values that cannot work, for episodes of so many steps.
func (s AuroraSettings) check(length int) error {
	if err := limits.Counts(
		limits.Count{Name: "capacity", Value: int64(s.Capacity), Min: 2, Max: maxCells},
		limits.Count{Name: "sampling", Value: int64(s.Sampling), Min: 1, Max: int64(max(1, length/2))},
		limits.Count{Name: "max_observation", Value: int64(s.MaxObservation), Min: 1, Max: maxFeatures},
		limits.Count{Name: "latent", Value: int64(s.Latent), Min: 1, Max: maxLatent},
		limits.Count{Name: "loop", Value: int64(s.Every), Min: 1, Max: maxLength},
		limits.Count{Name: "epochs", Value: int64(s.Epochs), Min: 1, Max: maxLength},
		limits.Count{Name: "late_epochs", Value: int64(s.LateEpochs), Min: 1, Max: maxLength},
		limits.Count{Name: "training_batch", Value: int64(s.TrainingBatch), Min: 1, Max: maxBatch},
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
		return errors.Errorf("threshold must be from 0 on and ae_learning_rate above 0, not %g and %g",
			s.Threshold, s.LearningRate)
	}
	return nil
}

// Aurora are the hyperparameters of AURORA: MAP-Elites with an archive that learns what tells
// behaviours apart.
type Aurora struct {
	MapElites
	AuroraSettings
}

var _ Hyperparameters = (*Aurora)(nil)

// DefaultAurora are the paper's hyperparameters for an environment.
func DefaultAurora(env envs.Spec) *Aurora {
	return &Aurora{*DefaultMapElites(env), DefaultAuroraSettings(env)}
}

// Check implements [Hyperparameters].
func (a *Aurora) Check() error {
	if err := a.MapElites.Check(); err != nil {
		return err
	}
	return a.AuroraSettings.check(a.EpisodeLength)
}

// Method implements [Hyperparameters]: that of MAP-Elites with another archive.
func (a *Aurora) Method(centroids npz.Array) Method {
	method := a.MapElites.Method(centroids)
	method.Archive = AuroraArchive{AuroraSettings: a.AuroraSettings}
	return method
}
