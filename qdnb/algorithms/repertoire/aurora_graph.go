package repertoire

import (
	"cmp"
	"fmt"
	"slices"

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

// EncoderSettings are the hyperparameters of a descriptor that is learned from observations.
type EncoderSettings struct {
	// Observation is the content of the sequences: positions (only_sd), observations (no_sd) or both (full).
	Observation string `json:"observation"`
	// Sampling is the number of control steps between two elements of a sequence; paper: 10.
	Sampling int `json:"sampling"`
	// MaxObservation is the number of leading components of the observation that are kept; paper: 25.
	MaxObservation int `json:"max_observation"`
	Latent         int `json:"latent" limits:"1,64"` // components of the learned descriptor; paper: 5
}

// Check rejects values that cannot work, for episodes of the given length.
func (s EncoderSettings) Check(length int) error {
	known := []string{onlyDescriptor, noDescriptor, fullState}
	if err := cmp.Or(limits.Int("episode_length", length, 2, 1<<20), limits.Int("sampling", s.Sampling, 1, length/2),
		limits.Int("max_observation", s.MaxObservation, 1, 1<<14)); err != nil || slices.Contains(known, s.Observation) {
		return err
	}
	return names.Unknown("observation", s.Observation, known)
}

// Aurora is the archive of AURORA (Grillotti and Cully 2022, "Unsupervised behavior
// discovery with quality-diversity optimization"). A sequence auto-encoder learns the descriptor,
// its latent, from what the policies in the archive observed. The archive has no cells; its
// individuals keep a minimum distance.
//
// After every loop of Every generations one of these maintenance steps may be due, on the source's
// schedule (train_aurora.py):
//
//   - The auto-encoder is retrained after the loops 2, 5, 9, 14, ..., one less than a triangular number,
//     and trained once before the first loop. All stored sequences are then encoded again, except
//     after that first training, and re-inserted into an empty archive.
//   - Otherwise, after every other loop, the distance threshold is adapted to the size of the archive
//     and all individuals are re-inserted.
//
// Fitness is not evaluated again. Empty slots are ignored. In the source they hold NaN, which
// blocks one cell of its passive repertoire until the archive is full.
type Aurora struct {
	// The hyperparameters; sources: train_aurora.py and the paper's appendix.

	Capacity int `json:"capacity" limits:"2,131072"` // slots of the archive; paper: 1024
	// Target is the number of individuals above which the threshold grows; 0, as in the paper's code: the
	// capacity.
	Target int `json:"target,omitzero"`
	EncoderSettings
	// Threshold is the initial distance threshold l between individuals; paper: 0.2.
	Threshold float64 `json:"threshold" limits:"0,1e6"`
	// Every is the number of generations per loop; paper: 10. Maintenance runs after a loop.
	Every int `json:"loop" limits:"1,1048576"`
	// Epochs is the number of epochs per training of the auto-encoder in the first 100 loops; paper:
	// 100.
	Epochs        int `json:"epochs" limits:"1,1048576"`
	LateEpochs    int `json:"late_epochs" limits:"1,1048576"`    // epochs per training in later loops; paper: 25
	TrainingBatch int `json:"training_batch" limits:"1,1048576"` // sequences per gradient step; paper: 128
	// LearningRate is Adam's learning rate for the auto-encoder; paper: 1e-4.
	LearningRate float64 `json:"ae_learning_rate" limits:">0,1e3"`
	// Features is a custom recorder of the sequences, which replaces the settings Observation,
	// Sampling and MaxObservation.
	Features *envs.Recorder

	Population Cells   `checkpoint:"Members"` // without centroids
	Encoded    encoded // of the population
	Distance   threshold
}

// encoded is what the individuals in an archive observed, and the auto-encoder that learns descriptors
// from it: a pytree.
type encoded struct {
	Sequences       *Node // [capacity, L, F]
	Autoencoder     *Node // [1, parameters]
	Mean, Deviation *Node // [F], mean and standard deviation of the features
	Architecture    nn.Autoencoder
}

var (
	_ SequenceRecorder = Aurora{}
	_ Maintainer       = Aurora{}
	_ OneStart         = Aurora{}
	_ Sampled          = Aurora{}
)

// Observation options of AURORA: the contents of its sequences.
const (
	onlyDescriptor = "only_sd" // the state descriptors: used where a prior is given
	noDescriptor   = "no_sd"   // the first features of the observation
	fullState      = "full"    // the state descriptor, then the first features of the observation
)

// threshold is the distance l between individuals under size control (CVC): a pytree. It grows while the
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

// excess is the number of individuals above the target, a float32 scalar.
func (a Aurora) excess() *Node {
	return ConvertDType(AddScalar(a.Population.size(), -cmp.Or(a.Target, a.Capacity)), dtypes.Float32)
}

// features is the number of features that the sequences hold per step.
func (s EncoderSettings) features(spec envs.Spec) int {
	descriptor, observation := len(spec.Descriptor.Lower), min(spec.Observations, s.MaxObservation)
	switch s.Observation {
	case onlyDescriptor:
		return descriptor
	case noDescriptor:
		return observation
	}
	return descriptor + observation
}

// Check rejects values that cannot work, for episodes of the given length.
func (a Aurora) Check(length int) error {
	return cmp.Or(limits.Int("target", a.Target, 0, a.Capacity), a.checkSequences(length, a.Features))
}

// OneStart implements [OneStart].
func (Aurora) OneStart() {}

// MeasureEvery implements [Sampled]: a measurement follows each loop.
func (a Aurora) MeasureEvery() int64 { return int64(a.Every) }

// checkSequences checks what the sequences hold, by custom unless it is nil.
func (s EncoderSettings) checkSequences(length int, custom *envs.Recorder) error {
	if custom == nil {
		return s.Check(length)
	}
	return cmp.Or(limits.Int("Every of Features", custom.Every, 1, length),
		limits.Int("Width of Features", custom.Width, 1, 1<<14))
}

// Record implements [SequenceRecorder]: the observations and state descriptors before every tenth step, with
// the default Sampling.
func (a Aurora) Record(task scoring.Task) envs.Recorder { return a.recorder(task, a.Features) }

// recorder records the sequences, by custom unless it is nil.
func (s EncoderSettings) recorder(task scoring.Task, custom *envs.Recorder) envs.Recorder {
	if custom != nil {
		return *custom
	}
	return envs.Recorder{Every: s.Sampling, Width: s.features(task.Env.Spec()),
		Row: func(before envs.State, _ *Node, _ envs.State) *Node {
			head := Slice(before.Observation, AxisRange(),
				AxisRange(0, min(before.Observation.Shape().Dimensions[1], s.MaxObservation)))
			switch s.Observation {
			case onlyDescriptor:
				return before.Descriptor
			case noDescriptor:
				return head
			}
			return Concatenate([]*Node{before.Descriptor, head}, 1)
		}}
}

// empty returns an untrained auto-encoder and no sequences.
func (s EncoderSettings) empty(recorder envs.Recorder, capacity, length int, key random.Key) encoded {
	autoencoder := nn.Autoencoder{Features: recorder.Width, Hidden: s.Latent, Steps: recorder.Rows(length)}
	zeros := Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32, autoencoder.Features))
	return encoded{Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32, capacity, autoencoder.Steps, autoencoder.Features)),
		autoencoder.Init(key), zeros, OnesLike(zeros), autoencoder}
}

// encode returns the descriptors [m, latent] of sequences [m, L, F].
func (e encoded) encode(sequences *Node) *Node {
	normal := nn.Normaliser{Mean: e.Mean, Deviation: e.Deviation}
	return e.Architecture.Encode(e.Autoencoder, normal.Apply(sequences))
}

// batch returns the individuals with their learned descriptors.
func (e encoded) batch(found Evaluated) Batch {
	// the encoder bounds an infinite feature, which would make the normaliser NaN
	finite := xla.FiniteRows(found.Sequences)
	return Batch{Where(finite, found.Fitness, lowest(found.Fitness)), e.encode(found.Sequences)}
}

// store keeps the sequences of the individuals that enter.
func (e encoded) store(found Evaluated, in Insertion) encoded {
	entered := Gather(found.Sequences, InsertAxes(in.Index, -1))
	wide := BroadcastToDims(InsertAxes(in.Accepted, -1, -1), e.Sequences.Shape().Dimensions...)
	e.Sequences = Where(wide, entered, e.Sequences)
	return e
}

// learn takes over a trained auto-encoder.
func (e encoded) learn(t nn.Trained) encoded {
	e.Autoencoder, e.Mean, e.Deviation = t.Row, t.Normaliser.Mean, t.Normaliser.Deviation
	return e
}

// Empty implements [Archive].
func (a Aurora) Empty(task scoring.Task, key random.Key) Archive {
	g := key.Hi.Graph()
	a.Population = EmptySlots(g, a.Capacity, a.Latent)
	a.Encoded = a.empty(a.Record(task), a.Capacity, task.Length, key)
	a.Distance = threshold{Const(g, float32(a.Threshold)), Zeros(g, shapes.Make(dtypes.Float32))}
	return a
}

// Cells implements [Archive].
func (a Aurora) Cells() Cells { return a.Population }

// Add implements [Archive].
func (a Aurora) Add(found Evaluated) (Archive, Insertion) {
	batch := a.Encoded.batch(found)
	in := Insertion{Valid: batch.Valid()}
	in.Index, in.Accepted = a.Population.winners(a.Distance.Length, batch)
	in.Improvement = batch.improvement(a.Population.occupant(a.Distance.Length, batch))
	a.Population = a.Population.Update(batch, in.Index, in.Accepted)
	a.Encoded = a.Encoded.store(found, in)
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
func retrains(loop int64) bool { return loop > 0 && triangular(loop+1) }

// triangular reports whether n is 0 or the sum of 1, 2, ..., k.
func triangular(n int64) bool {
	for k := int64(1); n > 0; k++ {
		n -= k
	}
	return n == 0
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
		a.Population.Descriptors = a.Encoded.encode(a.Encoded.Sequences)
	case adaptThreshold:
		a.Distance = a.Distance.adapted(a.excess())
	default:
		panic(fmt.Errorf("AURORA has no maintenance step %q", due))
	}
	a.Population = a.Population.keep(a.Population.survivors(a.Distance.Length))
	return a
}

// train trains the auto-encoder on the sequences of the archive, with more epochs in the first
// hundred loops.
func (a Aurora) train(generation *Node, key random.Key) Aurora {
	loop := Div(generation, ConstAs(generation, int32(a.Every)))
	epochs := Where(LessOrEqual(loop, ConstAs(loop, int32(100))), ConstAs(loop, int32(a.Epochs)),
		ConstAs(loop, int32(a.LateEpochs)))
	training := nn.AutoencoderTraining{Batch: a.TrainingBatch, LearningRate: a.LearningRate}
	e := a.Encoded
	a.Encoded = e.learn(training.Train(e.Architecture, e.Autoencoder, e.Sequences, a.Population.filled(), epochs, key))
	return a
}
