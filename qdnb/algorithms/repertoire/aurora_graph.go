package repertoire

import (
	"cmp"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// AuroraSettings are the hyperparameters of [Aurora] (source: train_aurora.py and the
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
		Capacity: 1024, Observation: noDescriptor, Sampling: 10, MaxObservation: 25, Latent: 5,
		Threshold: 0.2,
		Every:     10, Epochs: 100, LateEpochs: 25, TrainingBatch: 128, LearningRate: 1e-4,
	}
	if env.Descriptor.Kind == envs.Final {
		s.Observation = onlyDescriptor
	}
	return s
}

// Check rejects values that cannot work, for episodes of the given length.
func (s AuroraSettings) Check(length int) error {
	if err := cmp.Or(
		limits.Int("capacity", s.Capacity, 2, maxCapacity),
		limits.Int("target", s.Target, 0, s.Capacity),
		limits.Int("episode_length", length, 2, maxLength),
		limits.Int("sampling", s.Sampling, 1, length/2),
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
	case onlyDescriptor, noDescriptor, fullState:
	default:
		return names.Unknown("observation", s.Observation,
			[]string{onlyDescriptor, noDescriptor, fullState})
	}
	if !(s.Threshold >= 0 && s.Threshold < 1e6) || !(s.LearningRate > 0 && s.LearningRate < 1e3) {
		return fmt.Errorf("threshold must be at least 0 and ae_learning_rate above 0, not %g and %g",
			s.Threshold, s.LearningRate)
	}
	return nil
}

// Aurora is the archive of AURORA (Grillotti and Cully 2022, "Unsupervised behavior
// discovery with quality-diversity optimization"). A sequence auto-encoder learns the descriptor,
// its latent, from what the policies in the archive observed. The archive has no cells; its members
// keep a minimum distance.
//
// After every loop of Every generations one of these maintenance steps may be due, on the source's
// schedule (train_aurora.py):
//
//   - The auto-encoder is retrained after the loops 2, 5, 9, 14, ..., one less than a triangular number,
//     and trained once before the first loop. All stored sequences are then encoded again, except
//     after that first training, and re-inserted into an empty archive.
//   - Otherwise, after every other loop, the distance threshold is adapted to the size of the archive
//     and all members are re-inserted.
//
// Fitness is not evaluated again. Empty slots are ignored. In the source they hold NaN, which
// blocks one cell of its passive repertoire until the archive is full.
type Aurora struct {
	AuroraSettings
	// Features is a custom recorder of the sequences, which replaces the settings Observation,
	// Sampling and MaxObservation.
	Features *envs.Recorder

	Members         unstructured
	Sequences       *Node // [capacity, L, F]
	Autoencoder     *Node // [1, parameters]
	Mean, Deviation *Node // [F], mean and standard deviation of the features
	Distance        threshold
}

var (
	_ Recorder   = Aurora{}
	_ Maintainer = Aurora{}
)

// Observation options of AURORA: the contents of its sequences.
const (
	onlyDescriptor = "only_sd" // the state descriptors: used where a prior is given
	noDescriptor   = "no_sd"   // the first features of the observation
	fullState      = "full"    // the state descriptor, then the first features of the observation
)

// threshold is the distance l between members under size control (CVC): a pytree. It grows while the
// archive holds more than the target size, and shrinks while it holds less. Nothing keeps l above 0:
// an archive that stays far below its target ends up accepting everything.
type threshold struct {
	Length *Node // l, a float32 scalar, in descriptor units
	Error  *Node // size - target at the last update, a float32 scalar
}

// thresholdGain is the change of the threshold per solution above or below the target.
const thresholdGain = 1e-5

// adapted adapts l to e, the excess of the archive over its target (QDBenchmark, train_aurora.py):
//
//	l = l + 1e-5 e + 1e-5 (e - previous e)
func (t threshold) adapted(e *Node) threshold {
	step := Add(MulScalar(e, thresholdGain), MulScalar(Sub(e, t.Error), thresholdGain))
	return threshold{Add(t.Length, step), e}
}

// excess is the number of members above the target, a float32 scalar.
func (a Aurora) excess() *Node {
	return ConvertDType(AddScalar(a.Members.size(), -cmp.Or(a.Target, a.Capacity)), dtypes.Float32)
}

// features is the number of features that the sequences hold per step.
func (a Aurora) features(spec envs.Spec) int {
	descriptor, observation := len(spec.Descriptor.Lower), min(spec.Observations, a.MaxObservation)
	switch a.Observation {
	case onlyDescriptor:
		return descriptor
	case noDescriptor:
		return observation
	}
	return descriptor + observation
}

// autoencoder is the architecture of the network for sequences [n, L, F].
func (a Aurora) autoencoder(steps, features int) nn.Autoencoder {
	return nn.Autoencoder{Features: features, Hidden: a.Latent, Steps: steps}
}

// Record implements [Recorder]: the observations and state descriptors before every tenth step, with
// the default Sampling.
func (a Aurora) Record(task scoring.Task) envs.Recorder {
	if a.Features != nil {
		return *a.Features
	}
	features := a.features(task.Env.Spec())
	return envs.Recorder{Every: a.Sampling, Width: features,
		Row: func(before envs.State, _ *Node, _ envs.State) *Node {
			head := Slice(before.Observation, AxisRange(),
				AxisRange(0, min(before.Observation.Shape().Dimensions[1], a.MaxObservation)))
			switch a.Observation {
			case onlyDescriptor:
				return before.Descriptor
			case noDescriptor:
				return head
			}
			return Concatenate([]*Node{before.Descriptor, head}, 1)
		}}
}

// Empty implements [Archive].
func (a Aurora) Empty(task scoring.Task, key random.Key) Archive {
	g, n := key.Hi.Graph(), a.Capacity
	recorder := a.Record(task)
	steps, features := recorder.Rows(task.Length), recorder.Width
	zeros := func(dims ...int) *Node { return Zeros(g, shapes.Make(dtypes.Float32, dims...)) }
	a.Members = unstructured{unfilled(g, n), zeros(n, a.Latent)}
	a.Sequences = zeros(n, steps, features)
	a.Autoencoder = a.autoencoder(steps, features).Init(key)
	a.Mean, a.Deviation = zeros(features), Ones(g, shapes.Make(dtypes.Float32, features))
	a.Distance = threshold{Const(g, float32(a.Threshold)), zeros()}
	return a
}

// Cells implements [Archive]: slots without centroids.
func (a Aurora) Cells() Cells {
	return Cells{Fitness: a.Members.Fitness, Descriptors: a.Members.Descriptors}
}

// encode returns the descriptors [m, latent] of sequences [m, L, F].
func (a Aurora) encode(sequences *Node) *Node {
	dims := sequences.Shape().Dimensions
	normal := nn.Normaliser{Mean: a.Mean, Deviation: a.Deviation}
	return a.autoencoder(dims[1], dims[2]).Encode(a.Autoencoder, normal.Apply(sequences))
}

// Add implements [Archive].
func (a Aurora) Add(found Evaluated) (Archive, Insertion) {
	batch := Batch{Fitness: found.Fitness, Descriptors: a.encode(found.Sequences)}
	// the encoder bounds an infinite feature, which would make the normaliser NaN
	finite := xla.FiniteRows(found.Sequences)
	batch.Fitness = Where(finite, batch.Fitness, lowest(batch.Fitness))
	in := Insertion{Valid: batch.Valid()}
	in.Index, in.Accepted = a.Members.winners(a.Distance.Length, batch)
	in.Improvement = batch.improvement(a.Members.occupant(a.Distance.Length, batch))
	a.Members = a.Members.update(batch, in.Index, in.Accepted)
	entered := Gather(found.Sequences, InsertAxes(in.Index, -1))
	wide := BroadcastToDims(InsertAxes(in.Accepted, -1, -1), a.Sequences.Shape().Dimensions...)
	a.Sequences = Where(wide, entered, a.Sequences)
	return a, in
}

// Names of AURORA's maintenance programs.
const (
	trainFirst     = "first training"
	trainAgain     = "retraining"
	adaptThreshold = "threshold"
)

// Due implements [Maintainer].
func (a Aurora) Due(generation int64) string {
	loop := generation / int64(a.Every)
	switch {
	case generation == 0:
		return trainFirst
	case generation%int64(a.Every) != 0:
		return ""
	case retrains(loop):
		return trainAgain
	case loop%2 == 0:
		return adaptThreshold
	}
	return ""
}

// retrains reports whether loop+1, counted from 2, is a triangular number.
func retrains(loop int64) bool {
	for k := int64(2); ; k++ {
		if last := k*(k+1)/2 - 1; last >= loop {
			return last == loop
		}
	}
}

// Maintain implements [Maintainer].
func (a Aurora) Maintain(due string, generation *Node, key random.Key) Archive {
	switch due {
	case trainFirst:
		a = a.train(generation, key)
		a.Distance = threshold{ConstAs(a.Distance.Length, a.Threshold), a.excess()}
		return a
	case trainAgain:
		a = a.train(generation, key)
		a.Members.Descriptors = a.encode(a.Sequences)
	case adaptThreshold:
		a.Distance = a.Distance.adapted(a.excess())
	default:
		panic(fmt.Errorf("AURORA has no maintenance step %q", due))
	}
	a.Members = a.Members.keep(a.Members.survivors(a.Distance.Length))
	return a
}

// train trains the auto-encoder on the sequences of the archive, with more epochs in the first
// hundred loops.
func (a Aurora) train(generation *Node, key random.Key) Aurora {
	dims := a.Sequences.Shape().Dimensions
	loop := Div(generation, ConstAs(generation, int32(a.Every)))
	epochs := Where(LessOrEqual(loop, ConstAs(loop, int32(100))), ConstAs(loop, int32(a.Epochs)),
		ConstAs(loop, int32(a.LateEpochs)))
	training := nn.AutoencoderTraining{Batch: a.TrainingBatch, LearningRate: a.LearningRate}
	trained := training.Train(a.autoencoder(dims[1], dims[2]), a.Autoencoder, a.Sequences,
		a.Members.filled(), epochs, key)
	a.Autoencoder, a.Mean, a.Deviation = trained.Row, trained.Normaliser.Mean,
		trained.Normaliser.Deviation
	return a
}
