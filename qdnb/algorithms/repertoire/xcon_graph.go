package repertoire

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// XCon is the archive of AURORA-XCon (Coiffard et al. 2025): [DominatedNovelty] with learned
// descriptors. The encoder of [Aurora] learns from triplets, which makes descriptors similar
// where fitness is; and from time to time most of the population dies out, so that early solutions
// do not decide what descriptors tell apart.
//
// An extinction follows the first generation after ExtinctionEvery of them, not the last of these as
// in the source: so a passive repertoire sees the population before.
type XCon struct {
	// The hyperparameters; sources: configs/pga_aurora.yaml and aurora.yaml of the published code.

	Capacity int `json:"capacity" limits:"2,16384"` // slots of the archive; its publication: 1024
	K        int `json:"k" limits:"1,64"`           // nearest fitter solutions that count; its publication: 3
	EncoderSettings
	// Every is the number of generations per loop; its publication: 10. The encoder is trained after loops
	// 1, 3, 6, 10, ...
	Every         int `json:"loop" limits:"1,1048576"`
	Epochs        int `json:"epochs" limits:"1,1048576"`         // epochs per training, at most; its publication: 200
	TrainingBatch int `json:"training_batch" limits:"1,1048576"` // triplets per gradient step; its publication: 128
	// LearningRate is Adam's learning rate for the encoder; its publication: 0.01.
	LearningRate float64 `json:"encoder_learning_rate" limits:">0,1e3"`
	// MinDelta is the decrease of the loss that counts as progress; its publication: 5e-4.
	MinDelta float64 `json:"min_delta" limits:"0,1e6"`
	// Loss is what the encoder minimises: triplet, or mse, the error of a decoder as in AURORA; its publication:
	// triplet, and mse without extinctions for its baseline.
	Loss string `json:"loss"` // "" is triplet
	// ExtinctionEvery is the number of generations between extinctions, 0 for none; its publication: 50.
	ExtinctionEvery int            `json:"extinction_every" limits:"0,1048576"`
	Remaining       float64        `json:"remaining" limits:"0,1"` // share of the slots that survive; its publication: 0.05
	Features        *envs.Recorder // custom recorder of the sequences, as in [Aurora]

	Population Cells
	Encoded    encoded // of the population
	// MinNovelty is the least dominated novelty of a full population, -Inf of others: a float32 scalar.
	MinNovelty *Node `checkpoint:"Least"`
}

var (
	_ SequenceRecorder = XCon{}
	_ Maintainer       = XCon{}
	_ OneStart         = XCon{}
)

// Losses of the encoder.
const (
	tripletLoss = "triplet"
	mseLoss     = "mse"
)

// Check rejects values that cannot work, for episodes of the given length.
func (a XCon) Check(length int) error {
	if losses := []string{tripletLoss, mseLoss}; a.Loss != "" && !slices.Contains(losses, a.Loss) {
		return names.Unknown("loss", a.Loss, losses)
	}
	return a.checkSequences(length, a.Features)
}

// OneStart implements [OneStart].
func (XCon) OneStart() {}

// Record implements [SequenceRecorder].
func (a XCon) Record(task scoring.Task) envs.Recorder { return a.recorder(task, a.Features) }

// Empty implements [Archive].
func (a XCon) Empty(task scoring.Task, key random.Key) Archive {
	a.Population = EmptySlots(key.Hi.Graph(), a.Capacity, a.Latent)
	a.Encoded = a.empty(a.Record(task), a.Capacity, task.Length, key)
	a.MinNovelty = unfilled(key.Hi.Graph())
	return a
}

// Cells implements [Archive].
func (a XCon) Cells() Cells { return a.Population }

// Add implements [Archive].
func (a XCon) Add(found Evaluated) (Archive, Insertion) {
	a, in := a.insert(a.Encoded.batch(found))
	a.Encoded = a.Encoded.store(found, in)
	return a, in
}

func (a XCon) insert(batch Batch) (XCon, Insertion) {
	in := Insertion{Valid: batch.Valid()}
	var novelty *Node
	in.Index, in.Accepted, novelty = DominatedNovelty{K: a.K, Population: a.Population}.winners(batch)
	in.Improvement = Slice(novelty, AxisRange(a.Capacity))
	entered := Gather(in.Improvement, InsertAxes(in.Index, -1))
	a.MinNovelty = ReduceAllMin(Where(in.Accepted, entered, Slice(novelty, AxisRange(0, a.Capacity))))
	a.Population = a.Population.Update(batch, in.Index, in.Accepted)
	return a, in
}

// Names of AURORA-XCon's maintenance programs.
const (
	trainEncoder = "training"
	extinction   = "extinction"
	trainBefore  = trainEncoder + " and " + extinction
)

// Due implements [Maintainer].
func (a XCon) Due(generation int64) string {
	loop, every := generation/int64(a.Every), int64(a.ExtinctionEvery)
	trains := generation%int64(a.Every) == 0 && triangular(loop)
	dies := every > 0 && generation > 1 && (generation-1)%every == 0
	switch {
	case trains && dies:
		return trainBefore
	case trains:
		return trainEncoder
	case dies:
		return extinction
	}
	return ""
}

// Maintain implements [Maintainer].
func (a XCon) Maintain(due string, _ *Node, key random.Key) Archive {
	if due != extinction {
		a = a.train(key)
	}
	if due != trainEncoder {
		a = a.extinguish(key)
	}
	return a
}

// train trains the encoder, with the margin latent * MinNovelty of its triplets, and encodes the population again.
func (a XCon) train(key random.Key) XCon {
	e, filled := a.Encoded, a.Population.filled()
	c := nn.Contrast{Batch: a.TrainingBatch, LearningRate: a.LearningRate, Epochs: a.Epochs, MinDelta: a.MinDelta}
	if a.Loss == mseLoss {
		a.Encoded = e.learn(c.Reconstruct(e.Architecture, e.Autoencoder, e.Sequences, filled, key.FoldIn(0)))
	} else {
		a.Encoded = e.learn(c.Train(e.Architecture, e.Autoencoder, e.Sequences, a.Population.Fitness, filled,
			MulScalar(a.MinNovelty, float64(a.Latent)), key.FoldIn(0)))
	}
	a.Population.Descriptors = a.Encoded.encode(a.Encoded.Sequences)
	a.Population = a.Population.keep(filled)
	return a
}

// extinguish empties all slots but the fittest solution's and some that are drawn, among them empty
// ones: capacity * Remaining in all, at least one (adaptive_archive.py).
func (a XCon) extinguish(key random.Key) XCon {
	n, fitness := a.Capacity, a.Population.Fitness
	best := xla.FirstTrue(Equal(fitness, ReduceAllMax(fitness)), 0)
	turn := Where(Equal(Iota(best.Graph(), shapes.Make(dtypes.Int32, n), 0), best),
		ConstAs(fitness, float32(1)), key.FoldIn(1).Uniform(0, 1, n))
	rank := xla.Ranks(turn)
	a.Population = a.Population.keep(LessThan(rank, ConstAs(rank, int32(max(1, float64(n)*a.Remaining)))))
	return a
}
