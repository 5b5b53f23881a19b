package evolution

import (
	"cmp"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// AuroraArchive is the archive of AURORA (Grillotti and Cully 2022, "Unsupervised behavior
// discovery with quality-diversity optimization"). A sequence auto-encoder learns the descriptor,
// its latent, from what the policies in the archive observed. The archive has no cells; its members
// keep a minimum distance, see [repertoire.Unstructured].
//
// After every loop of Every generations one of these maintenance steps may be due, on the source's
// schedule (train_aurora.py):
//
//   - The auto-encoder is retrained after the loops 2, 5, 9, 14, ... ([repertoire.Retrains]), and
//     trained once before the first loop. All stored sequences are then encoded again, except after
//     that first training, and re-inserted into an empty archive.
//   - Otherwise, after every other loop, the distance threshold is adapted ([repertoire.Threshold])
//     and all members are re-inserted.
//
// Fitness is not evaluated again. Empty slots are ignored. In the source they hold NaN, which
// blocks one cell of its passive repertoire until the archive is full.
type AuroraArchive struct {
	AuroraSettings
	// Features is a custom recorder of the sequences, which replaces the settings Observation,
	// Sampling and MaxObservation.
	Features *envs.Recorder
}

// Observation options of AURORA: the contents of its sequences.
const (
	OnlyDescriptor = "only_sd" // the state descriptors: used where a prior is given
	NoDescriptor   = "no_sd"   // the first features of the observation
	FullState      = "full"    // the state descriptor, then the first features of the observation
)

// slots holds the fields of the archive: a pytree in the order of Fields.
type slots struct {
	Fitnesses, Descriptors *Node // [n], [n, latent]
	Sequences              *Node // [n, L, F]
	Autoencoder            *Node // [1, parameters]
	Mean, Deviation        *Node // [F], mean and standard deviation of the features
	Threshold, Error       *Node // see [repertoire.Threshold]
}

// Fields implements [Archive].
func (AuroraArchive) Fields() []string {
	return []string{"fitnesses", "descriptors", "sequences", "autoencoder", "mean", "deviation",
		"threshold", "threshold_error"}
}

func (AuroraArchive) read(fields []*Node) slots {
	if len(fields) != 8 {
		panic(errors.Errorf("AURORA has 8 fields, not %d", len(fields)))
	}
	return slots{fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6],
		fields[7]}
}

// target is the size of the archive that the threshold aims at.
func (s AuroraSettings) target() int { return cmp.Or(s.Target, s.Capacity) }

// features is the number of features that the sequences hold per step.
func (a AuroraArchive) features(spec envs.Spec) int {
	descriptor, observation := len(spec.Descriptor.Lower), min(spec.Observations, a.MaxObservation)
	switch a.Observation {
	case OnlyDescriptor:
		return descriptor
	case NoDescriptor:
		return observation
	}
	return descriptor + observation
}

// autoencoder is the architecture of the network for sequences [n, L, F].
func (a AuroraArchive) autoencoder(steps, features int) nn.Autoencoder {
	return nn.Autoencoder{Features: features, Hidden: a.Latent, Steps: steps}
}

// Sequence implements [Archive]: the observations and state descriptors before every tenth step,
// with the default Sampling.
func (a AuroraArchive) Sequence(task scoring.Task) (envs.Recorder, bool) {
	if a.Features != nil {
		return *a.Features, true
	}
	features := a.features(task.Env.Spec())
	return envs.Recorder{Every: a.Sampling, Width: features,
		Row: func(before envs.State, _ *Node, _ envs.State) *Node {
			head := Slice(before.Observation, AxisRange(),
				AxisRange(0, min(before.Observation.Shape().Dimensions[1], a.MaxObservation)))
			switch a.Observation {
			case OnlyDescriptor:
				return before.Descriptor
			case NoDescriptor:
				return head
			}
			return Concatenate([]*Node{before.Descriptor, head}, 1)
		}}, true
}

// Empty implements [Archive].
func (a AuroraArchive) Empty(task scoring.Task, key xla.Key) []*Node {
	g, n := key.Hi.Graph(), a.Capacity
	recorder, _ := a.Sequence(task)
	steps, features := recorder.Rows(task.Length), recorder.Width
	zeros := func(dims ...int) *Node { return Zeros(g, shapes.Make(dtypes.Float32, dims...)) }
	return xla.Flatten(slots{
		Fitnesses:   unfilled(g, n),
		Descriptors: zeros(n, a.Latent),
		Sequences:   zeros(n, steps, features),
		Autoencoder: a.autoencoder(steps, features).Init(key),
		Mean:        zeros(features),
		Deviation:   Ones(g, shapes.Make(dtypes.Float32, features)),
		Threshold:   Const(g, float32(a.Threshold)),
		Error:       zeros(),
	})
}

// SameStart implements [Archive]: evaluations differ only in their policies.
func (AuroraArchive) SameStart() bool { return true }

// encode returns the descriptors [m, latent] of sequences [m, L, F].
func (a AuroraArchive) encode(s slots, sequences *Node) *Node {
	dims := sequences.Shape().Dimensions
	normal := nn.Normaliser{Mean: s.Mean, Deviation: s.Deviation}
	return a.autoencoder(dims[1], dims[2]).Encode(s.Autoencoder, normal.Apply(sequences))
}

// Insert implements [Archive].
func (a AuroraArchive) Insert(fields []*Node, found Evaluated) (after []*Node, index, accepted,
	valid *Node) {
	s := a.read(fields)
	batch := repertoire.Batch{Fitness: found.Fitness, Descriptors: a.encode(s, found.Sequences)}
	u := repertoire.Unstructured{Fitness: s.Fitnesses, Descriptors: s.Descriptors}
	index, accepted = u.Winners(s.Threshold, batch)
	u = u.Update(batch, index, accepted)
	s.Fitnesses, s.Descriptors = u.Fitness, u.Descriptors
	entered := Gather(found.Sequences, InsertAxes(index, -1))
	wide := BroadcastToDims(InsertAxes(accepted, -1, -1), s.Sequences.Shape().Dimensions...)
	s.Sequences = Where(wide, entered, s.Sequences)
	return xla.Flatten(s), index, accepted, batch.Valid()
}

// Names of AURORA's maintenance programs.
const (
	trainFirst     = "first training"
	trainAgain     = "retraining"
	adaptThreshold = "threshold"
)

// Maintenance implements [Archive].
func (a AuroraArchive) Maintenance(generation int64) string {
	loop := generation / int64(a.Every)
	switch {
	case generation == 0:
		return trainFirst
	case generation%int64(a.Every) != 0:
		return ""
	case repertoire.Retrains(loop):
		return trainAgain
	case repertoire.Adapts(loop):
		return adaptThreshold
	}
	return ""
}

// Maintain implements [Archive].
func (a AuroraArchive) Maintain(name string, fields []*Node, generation *Node,
	key xla.Key) []*Node {
	s := a.read(fields)
	u := repertoire.Unstructured{Fitness: s.Fitnesses, Descriptors: s.Descriptors}
	switch name {
	case trainFirst:
		s = a.train(s, u.Filled(), generation, key)
		s.Error = repertoire.NewThreshold(a.Threshold, u.Size(), a.target()).Error
		return xla.Flatten(s)
	case trainAgain:
		s = a.train(s, u.Filled(), generation, key)
		u.Descriptors = a.encode(s, s.Sequences)
	case adaptThreshold:
		t := repertoire.Threshold{Length: s.Threshold, Error: s.Error}.Update(u.Size(), a.target())
		s.Threshold, s.Error = t.Length, t.Error
	default:
		panic(errors.Errorf("AURORA has no maintenance step %q", name))
	}
	u = u.Maintain(u.Survivors(s.Threshold))
	s.Fitnesses, s.Descriptors = u.Fitness, u.Descriptors
	return xla.Flatten(s)
}

// train trains the auto-encoder on the sequences of the archive, with more epochs in the first
// hundred loops.
func (a AuroraArchive) train(s slots, filled, generation *Node, key xla.Key) slots {
	dims := s.Sequences.Shape().Dimensions
	loop := Div(generation, ConstAs(generation, int32(a.Every)))
	epochs := Where(LessOrEqual(loop, ConstAs(loop, int32(100))), ConstAs(loop, int32(a.Epochs)),
		ConstAs(loop, int32(a.LateEpochs)))
	training := nn.AutoencoderTraining{Batch: a.TrainingBatch, LearningRate: a.LearningRate}
	trained := training.Train(a.autoencoder(dims[1], dims[2]), s.Autoencoder, s.Sequences, filled,
		epochs, key)
	s.Autoencoder, s.Mean, s.Deviation = trained.Row, trained.Normaliser.Mean,
		trained.Normaliser.Deviation
	return s
}

// PassiveEvery implements [Archive]: the passive repertoire is filled once per loop.
func (a AuroraArchive) PassiveEvery() int { return a.Every }
