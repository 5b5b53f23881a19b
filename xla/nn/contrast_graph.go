package nn

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Contrast trains the encoder of an [Autoencoder] with triplets (AURORA-XCon,
// ae_utils/model_train.py): sequences of similar fitness get descriptors near each other. The decoder
// stays as it is.
type Contrast struct {
	Batch        int     // triplets per Adam step; its publication: 128
	LearningRate float64 // Adam's; its publication: 0.01
	Epochs       int     // at most; its publication: 200
	// MinDelta is the decrease of the loss that counts as progress; its publication: 5e-4.
	MinDelta float64
}

// patience is the number of successive epochs without progress after which one more ends a training.
const patience = 10

// Train resumes the training of a row on the sequences of an archive, as [AutoencoderTraining.Train]
// does. A constant feature has the deviation 1. margin is the scalar of [TrainContrast].
func (c Contrast) Train(a Autoencoder, row, sequences, fitness, filled, margin *Node, key random.Key) Trained {
	drawn := drawFilled(key.FoldIn(0), filled)
	return TrainContrast(c, a, row, sequences, filled, margin,
		draws{triplets(fitness, drawn, key.FoldIn(1)), key.FoldIn(2)}, shuffled)
}

// Reconstruct is [Contrast.Train] on the error of the decoder, as [AutoencoderTraining.Train] has it: it
// ends as early. If no slot is filled, the row stays the same.
func (c Contrast) Reconstruct(a Autoencoder, row, sequences, filled *Node, key random.Key) Trained {
	d := draws{drawFilled(key.FoldIn(0), filled), key.FoldIn(1)}
	return trainEarly(c, a, row, sequences, filled, ScalarZero(row.Graph(), dtypes.Float32), d, shuffled,
		func(l learner, slots *Node) (loss, gradient *Node) {
			loss, gradient = a.lossGradient(l.Row, batchLast(Gather(l.Sequences, InsertAxes(slots, -1))))
			some := xla.Finite(l.Margin)
			return Where(some, loss, ZerosLike(loss)),
				Where(BroadcastToShape(some, gradient.Shape()), gradient, ZerosLike(gradient))
		})
}

// triplets makes each of the drawn slots, int32 [n], the anchor of a triplet: slots of anchor,
// positive and negative, int32 [n, 3]. Of two others with another fitness, drawn without replacement,
// the positive is the one whose fitness is nearer to the anchor's. Where fewer than two have another
// fitness, others take their place.
func triplets(fitness, drawn *Node, key random.Key) *Node {
	n := drawn.Shape().Dimensions[0]
	at := Gather(fitness, InsertAxes(drawn, -1))
	distance := Abs(Sub(InsertAxes(at, 1), InsertAxes(at, 0)))
	column := Iota(at.Graph(), shapes.Make(dtypes.Int32, n, n), 1)
	rank := Where(Equal(distance, ZerosLike(distance)), ConstAs(distance, float32(1)), key.Uniform(0, 1, n, n))
	draw := func() (slot, apart *Node) {
		first := InsertAxes(xla.Argmin(rank, 1), -1)
		taken := Equal(column, first)
		rank = Where(taken, ConstAs(rank, float32(2)), rank)
		return Gather(drawn, first), ReduceSum(Where(taken, distance, ZerosLike(distance)), 1)
	}
	one, nearness := draw()
	other, apart := draw()
	return Stack([]*Node{drawn, Where(LessThan(apart, nearness), other, one),
		Where(GreaterThan(apart, nearness), other, one)}, 1)
}

// TrainContrast is [Contrast.Train] with given triplets: order returns those of an epoch, slots int32
// [n, 3], from the epoch's index and source, a pytree. The remainder of n over Batch is not used; if n
// is less than Batch, all are one batch. A margin of -Inf changes nothing but the normaliser.
func TrainContrast[T any](c Contrast, a Autoencoder, row, sequences, filled, margin *Node, source T,
	order func(epoch *Node, source T) *Node) Trained {
	return trainEarly(c, a, row, sequences, filled, margin, source, order,
		func(l learner, triplets *Node) (loss, gradient *Node) {
			slots := Reshape(Transpose(triplets, 0, 1), -1, 1)
			return a.contrastGradient(l.Row, batchLast(Gather(l.Sequences, slots)), l.Margin)
		})
}

// trainEarly trains a row by the loss and the gradient of parts of an epoch's order, and ends after
// Epochs or without progress. The learner's margin is -Inf if no slot is filled.
func trainEarly[T any](c Contrast, a Autoencoder, row, sequences, filled, margin *Node, source T,
	order func(epoch *Node, source T) *Node, by func(l learner, part *Node) (loss, gradient *Node)) Trained {
	type all struct {
		Epoch   *Node // int32
		Learner learner
		Source  T
		Best    *Node // least loss
		Idle    *Node // int32, epochs since the last progress
	}
	normaliser := NewNormaliser(sequences, filled)
	normaliser.Deviation = Where(xla.Finite(normaliser.Deviation), normaliser.Deviation, OnesLike(normaliser.Deviation))
	margin = Where(LogicalAny(filled), margin, ConstAs(margin, math.Inf(-1)))
	zero, adam := ScalarZero(row.Graph(), dtypes.Int32), NewAdam(c.LearningRate)
	start := all{Epoch: zero, Learner: learner{Row: row, Loss: ConstAs(margin, math.NaN()), Margin: margin,
		Adam: adam.Start(row), Sequences: a.withStart(normaliser.Apply(sequences))}, Source: source,
		Best: ConstAs(margin, math.Inf(1)), Idle: zero}
	end := xla.Loop(start, func(s all) *Node {
		return And(LessThan(s.Epoch, ConstAs(s.Epoch, int32(c.Epochs))), LessOrEqual(s.Idle, ConstAs(s.Idle, int32(patience))))
	}, func(s all) all {
		s.Learner = s.Learner.epoch(order(s.Epoch, s.Source), c.Batch, adam, by)
		progress := GreaterThan(Sub(s.Best, s.Learner.Loss), ConstAs(s.Best, c.MinDelta))
		s.Best = Where(progress, s.Learner.Loss, s.Best)
		s.Idle = Where(progress, ZerosLike(s.Idle), AddScalar(s.Idle, 1))
		s.Epoch = AddScalar(s.Epoch, 1)
		return s
	}).Learner
	return Trained{end.Row, normaliser, end.Loss}
}

// contrastGradient returns the triplet loss of the descriptors a, p and n of anchors, positives and
// negatives,
//
//	sum max(0, |a - p|^4 - |a - n|^4 + margin),
//
// and its gradient with respect to the row, in the row's shape. inputs are the decoder's for
// normalised sequences: all anchors, then all positives, then all negatives.
func (a Autoencoder) contrastGradient(row, inputs, margin *Node) (loss, gradient *Node) {
	c, triplets := a.view(row), inputs.Shape().Dimensions[2]/3
	memory, encoding := c.encode(inputs, true)
	of := func(k int) *Node {
		return Slice(memory.Cell, AxisRange(), AxisRange(k*triplets, (k+1)*triplets))
	}
	toPositive, toNegative := Sub(of(0), of(1)), Sub(of(0), of(2))
	near, far := ReduceSum(Square(toPositive), 0), ReduceSum(Square(toNegative), 0)
	excess := Add(Sub(Square(near), Square(far)), margin)
	counts := GreaterThan(excess, ZerosLike(excess))
	scaled := func(by, x *Node) *Node {
		return MulScalar(Mul(InsertAxes(Where(counts, by, ZerosLike(by)), 0), x), 4)
	}
	byPositive, byNegative := scaled(near, toPositive), scaled(far, toNegative)
	byCell := Concatenate([]*Node{Sub(byPositive, byNegative), Neg(byPositive), byNegative}, 1)

	last := Memory{byCell, ZerosLike(byCell)}
	by := coder{ZerosLike(c.Bias), ZerosLike(c.Kernel), xla.Map(c.Decoder, ZerosLike), Cell{}}
	byZ, _ := c.Encoder.back(encoding, last, nil)
	by.Encoder = c.Encoder.gradient(inputs, 1, encoding, byZ)
	loss = ReduceAllSum(Where(counts, excess, ZerosLike(excess)))
	return loss, Reshape(by.row(), row.Shape().Dimensions...)
}
