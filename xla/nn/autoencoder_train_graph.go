package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Normaliser shifts and scales the features of sequences: a pytree.
type Normaliser struct {
	Mean, Deviation *Node // [F]
}

// NewNormaliser computes the mean and the population standard deviation of each feature over the
// filled slots and all their steps: sequences [slots, L, F], filled bool [slots]. The deviation of
// a constant feature is +Inf, which normalises it to 0. The contents of empty slots do not matter.
// Without a filled slot the mean is 0 and the deviation 1.
func NewNormaliser(sequences, filled *Node) Normaliser {
	dims := sequences.Shape().Dimensions
	mask := BroadcastToDims(InsertAxes(filled, -1, -1), dims...)
	count := MulScalar(ReduceSum(ConvertDType(filled, dtypes.Float32)), float64(dims[1]))
	mean := func(x *Node) *Node {
		return Div(ReduceSum(ReduceSum(Where(mask, x, ZerosLike(x)), 0), 0), count)
	}
	wide := func(x *Node) *Node { return Reshape(x, 1, 1, dims[2]) }

	// Distances from one of them are exactly 0 for a constant feature, and lose fewer digits for one that
	// is far from 0.
	one := xla.NthTrue(upTo(filled), Zeros(filled.Graph(), shapes.Make(dtypes.Int32, 1)))
	reference := Reshape(Slice(Gather(sequences, InsertAxes(one, -1)), AxisRange(), AxisElem(0)), dims[2])
	offset := Sub(sequences, wide(reference))
	center := mean(offset)
	deviation := Sqrt(mean(Square(Sub(offset, wide(center)))))
	never := BroadcastToDims(ConstAs(deviation, float32(math.Inf(1))), dims[2])
	some := BroadcastToDims(LogicalAny(filled), dims[2])
	return Normaliser{
		Mean:      Where(some, Add(reference, center), ZerosLike(reference)),
		Deviation: Where(some, Where(Equal(deviation, ZerosLike(deviation)), never, deviation), OnesLike(deviation)),
	}
}

// Apply returns (x - mean) / deviation for x [..., F].
func (n Normaliser) Apply(x *Node) *Node {
	dims := slices.Repeat([]int{1}, x.Rank())
	dims[len(dims)-1] = n.Mean.Shape().Dimensions[0]
	return Div(Sub(x, Reshape(n.Mean, dims...)), Reshape(n.Deviation, dims...))
}

// upTo counts the filled slots up to and including each slot, int32 [slots].
func upTo(filled *Node) *Node { return CumSum(ConvertDType(filled, dtypes.Int32), 0) }

// drawFilled draws slots uniformly with replacement from the filled ones, as many as there are
// slots: int32 [slots].
func drawFilled(key random.Key, filled *Node) *Node {
	slots := filled.Shape().Dimensions[0]
	count := ReduceSum(ConvertDType(filled, dtypes.Float32))
	n := ConvertDType(Mul(key.Uniform(0, 1, slots), count), dtypes.Int32) // of 0 .. count-1
	return xla.NthTrue(upTo(filled), n)
}

// AutoencoderTraining holds the settings for training AURORA's auto-encoder.
type AutoencoderTraining struct {
	Batch        int     // sequences per Adam step; 128 in the paper
	LearningRate float64 // Adam's; 1e-4 in the paper
}

// Trained is the result of a training: a pytree.
type Trained struct {
	Row        *Node // in the shape of the initial row
	Normaliser Normaliser
	// Loss is the mean over the batches of the last epoch, each before its step; NaN without an epoch.
	Loss *Node
}

// Train resumes the training of a row on the sequences of an archive, [slots, L, F], not
// normalised. Only slots that are filled, bool [slots], count; if none is, the row stays the same.
// epochs is an int32 scalar. Adam starts from a fresh state.
//
// As many filled slots as there are slots are drawn once, with replacement; every epoch takes them
// in a new random order (train_seq2seq.py). The published code then picks from the drawn sequences
// by the same numbers a second time, which omits more of the filled slots and overweights others.
// Train does not. [TrainEpochs] takes any order.
func (t AutoencoderTraining) Train(a Autoencoder, row, sequences, filled, epochs *Node, key random.Key) Trained {
	normaliser := NewNormaliser(sequences, filled)
	epochs = Where(LogicalAny(filled), epochs, ZerosLike(epochs))
	row, loss := TrainEpochs(t, a, row, normaliser.Apply(sequences), epochs,
		draws{drawFilled(key.FoldIn(0), filled), key.FoldIn(1)}, shuffled)
	return Trained{row, normaliser, loss}
}

// draws is what the epochs of a training take in a new random order each: a pytree.
type draws struct {
	List *Node // [n, ...]
	Key  random.Key
}

func shuffled(epoch *Node, d draws) *Node {
	order := Shuffle(d.Key.FoldInEach(epoch), d.List.Shape().Dimensions[0])
	return Gather(d.List, InsertAxes(order, -1))
}

// TrainEpochs trains a row on normalised sequences [slots, L, F] in a given order. order returns
// the slots of an epoch, int32 [n], from the epoch's index and source, a pytree. They are cut into
// n / Batch consecutive batches; the remainder is not used. If n is less than Batch, all are one
// batch. The loss is that of [Trained].
func TrainEpochs[T any](t AutoencoderTraining, a Autoencoder, row, sequences, epochs *Node,
	source T, order func(epoch *Node, source T) *Node) (trained, loss *Node) {
	if t.Batch < 1 {
		panic(fmt.Errorf("an auto-encoder cannot be trained with batches of %d sequences", t.Batch))
	}
	type all struct {
		Learner learner
		Source  T
	}
	adam, none := NewAdam(t.LearningRate), ConstAs(sequences, float32(math.NaN()))
	start := learner{Row: row, Loss: none, Adam: adam.Start(row), Sequences: a.withStart(sequences)}
	end := xla.Repeat(epochs, all{start, source}, func(epoch *Node, s all) all {
		s.Learner = s.Learner.epoch(order(epoch, s.Source), t.Batch, adam, func(l learner, slots *Node) (loss, gradient *Node) {
			return a.lossGradient(l.Row, batchLast(Gather(l.Sequences, InsertAxes(slots, -1))))
		})
		return s
	}).Learner
	return end.Row, end.Loss
}

// learner is a row under training: a pytree.
type learner struct {
	Row, Loss *Node
	Adam      Moments
	Sequences *Node // with the decoder's first input
	Order     *Node // of an epoch, [n, ...]; nil outside
	Margin    *Node // of a [Contrast]
}

// epoch takes a step for each of n / batch consecutive parts of an order, or one for all if n is less.
func (l learner) epoch(order *Node, batch int, adam Adam, by func(l learner, part *Node) (loss, gradient *Node)) learner {
	n := order.Shape().Dimensions[0]
	size := min(batch, n)
	l.Order, l.Loss = order, ZerosLike(l.Loss)
	l = xla.For(order.Graph(), n/size, l, func(i *Node, l learner) learner {
		loss, gradient := by(l, xla.Rows(l.Order, MulScalar(i, int32(size)), size))
		l.Row, l.Adam = adam.Update(l.Row, gradient, l.Adam)
		l.Loss = Add(l.Loss, DivScalar(loss, float64(n/size)))
		return l
	})
	l.Order = nil
	return l
}
