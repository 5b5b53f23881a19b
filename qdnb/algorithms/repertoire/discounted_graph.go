package repertoire

import (
	"cmp"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Discounted is the archive of Discount Model Search (Tjanaka, Chen, Fontaine and Nikolaidis 2026; pyribs,
// archives/_discount_archive.py and discount_models.py): a [Grid] whose acceptance thresholds are a
// network of the descriptor, so that solutions of one cell are distinguished. After each generation the
// network learns thresholds that are raised as in CMA-MAE, and ThresholdMin at empty cells.
type Discounted struct {
	Grid
	// The model.

	DiscountHidden       []int   `json:"discount_hidden" limits:"1"`             // units of the hidden layers of the discount
	DiscountLearningRate float64 `json:"discount_learning_rate" limits:">0,1e3"` // Adam's learning rate for the discount
	DiscountEpochs       int     `json:"discount_epochs" limits:"1,1048576"`     // epochs after a generation, at most
	DiscountBatch        int     `json:"discount_batch" limits:"1,1048576"`      // descriptors per Adam step
	DiscountCutoff       float64 `json:"discount_cutoff" limits:"0,1e6"`         // mean squared error that ends a training
	EmptyPoints          int     `json:"empty_points" limits:"1,1048576"`        // empty cells drawn after a generation, at most
	// DiscountRange is the fitness above threshold_min that the discount returns as 1; 0: the size of
	// threshold_min, at least 1.
	DiscountRange float64 `json:"discount_range" limits:"0,1e30"`
	// Rate is the share alpha by which accepted solutions move the threshold of their cell.
	Rate float64 `json:"archive_learning_rate" limits:"0,1"`
	// ThresholdMin is the threshold of empty cells; NaN: minus the QD offset of an episode.
	ThresholdMin float64 `json:"threshold_min" limits:"-1e30,1e30"`

	Model nn.Trainable[nn.Network]
	Key   random.Key // of the next training

	lower, upper []float32 // limits of the descriptor, which the model sees as -1 and 1
}

// initialPoints is the number of empty cells of the training before the first generation.
const initialPoints = 1000

// Empty implements [Archive].
func (d Discounted) Empty(task scoring.Task, key random.Key) Archive {
	d.Grid = d.Grid.Empty(task, key).(Grid)
	spec := task.Env.Spec()
	d.lower, d.upper = spec.Descriptor.Lower, spec.Descriptor.Upper
	d.DiscountRange = cmp.Or(d.DiscountRange, max(1, math.Abs(d.ThresholdMin)))
	model := nn.NewMLP(len(d.lower), d.DiscountHidden, 1)
	d.Model = nn.NewTrainable(model.New(key.FoldIn(0)), d.DiscountLearningRate)
	points, weights := d.empty(initialPoints, key.FoldIn(1))
	d = d.train(points, d.minimum(weights), weights, key.FoldIn(2))
	d.Key = key.FoldIn(3)
	return d
}

// Add implements [Archive].
func (d Discounted) Add(found Evaluated) (Archive, Insertion) {
	grid, in := d.Grid.Add(found)
	d.Grid = grid.(Grid)
	// the model sees 0 for descriptors that are not valid, and does not learn from them
	seen := Where(BroadcastToShape(InsertAxes(in.Valid, -1), found.Descriptors.Shape()),
		found.Descriptors, ZerosLike(found.Descriptors))
	discount := d.discount(seen)
	in.Improvement = Where(in.Valid, Sub(found.Fitness, discount), lowest(found.Fitness))
	points, weights := d.empty(d.EmptyPoints, d.Key.FoldIn(0))
	join := func(a, b *Node) *Node { return Concatenate([]*Node{a, b}, 0) }
	d = d.train(join(seen, points), join(d.targets(discount, in.Improvement), d.minimum(weights)),
		join(ConvertDType(in.Valid, dtypes.Float32), weights), d.Key.FoldIn(1))
	d.Key = d.Key.FoldIn(2)
	return d, in
}

// discount returns the thresholds at descriptors [P, d], [P].
func (d Discounted) discount(descriptors *Node) *Node {
	out := Squeeze(d.Model.Params.Apply(d.normalised(descriptors)), 1)
	return AddScalar(MulScalar(out, d.DiscountRange), d.ThresholdMin)
}

// normalised scales descriptors from their limits to -1 and 1.
func (d Discounted) normalised(x *Node) *Node {
	row := func(x []float32, g *Graph) *Node { return InsertAxes(Const(g, x), 0) }
	lower, upper := row(d.lower, x.Graph()), row(d.upper, x.Graph())
	return AddScalar(Div(MulScalar(Sub(x, lower), 2), Sub(upper, lower)), -1)
}

// targets returns what the thresholds of solutions become. Those that are not accepted keep theirs.
func (d Discounted) targets(discount, improvement *Node) *Node {
	return Add(discount, MulScalar(MaxScalar(improvement, 0), d.Rate))
}

// minimum returns the lowest threshold, as many times as x has numbers.
func (d Discounted) minimum(x *Node) *Node {
	return BroadcastToShape(ConstAs(x, d.ThresholdMin), x.Shape())
}

// empty draws n centroids of empty cells without replacement, [n, d], with weights of 1, [n]; of fewer
// cells all. If there are fewer than n, the other points have weights of 0.
func (d Discounted) empty(n int, key random.Key) (points, weights *Node) {
	cells := d.Elites.Fitness.Shape().Dimensions[0]
	order := InsertAxes(nn.Permutation(key, cells), -1)
	free := Equal(Gather(d.Elites.Fitness, order), lowest(d.Elites.Fitness))
	first, count := xla.Nonzero(free)
	drawn := InsertAxes(Slice(first, AxisRange(0, min(n, cells))), -1)
	points = Gather(d.Elites.Centroids, Gather(order, drawn))
	return points, upTo(count, drawn)
}

// upTo returns weights of 1 for the first count of as many numbers as x has rows, and 0 for the others.
func upTo(count, x *Node) *Node {
	number := Iota(x.Graph(), shapes.Make(dtypes.Int32, x.Shape().Dimensions[0]), 0)
	return ConvertDType(LessThan(number, count), dtypes.Float32)
}

// training is the state of [Discounted.train]: a pytree.
type training struct {
	Model                    nn.Trainable[nn.Network]
	Points, Targets, Weights *Node // a multiple of the batch
	Order                    *Node
	Key                      random.Key
	Count                    *Node // rows with a weight
	Steps                    *Node // of the epoch
	Epoch                    *Node // sum of the weighted errors
	Loss                     *Node // of the last epoch
}

// train fits the model to targets [n] at those descriptors [n, d] whose weights [n] are 1 and not 0.
// Each epoch takes them in a new random order. Training ends after an epoch whose loss is at most
// DiscountCutoff.
func (d Discounted) train(points, targets, weights *Node, key random.Key) Discounted {
	g, n, size := points.Graph(), points.Shape().Dimensions[0], d.DiscountBatch
	size = min(size, n)
	steps := (n + size - 1) / size
	pad := func(x *Node) *Node { // with weights of 0
		dims := x.Shape().Clone().Dimensions
		if dims[0] = steps*size - n; dims[0] == 0 {
			return x
		}
		return Concatenate([]*Node{x, Zeros(g, shapes.Make(x.DType(), dims...))}, 0)
	}
	scaled := DivScalar(AddScalar(targets, -d.ThresholdMin), d.DiscountRange)
	none := Zeros(g, shapes.Make(dtypes.Float32))
	count := ConvertDType(ReduceAllSum(weights), dtypes.Int32)
	start := training{Model: d.Model, Points: pad(d.normalised(points)), Targets: pad(scaled),
		Weights: pad(weights), Order: Iota(g, shapes.Make(dtypes.Int32, steps*size), 0), Key: key,
		Count: count, Steps: ZerosLike(count), Epoch: none, Loss: AddScalar(none, math.MaxFloat32)}
	d.Model = xla.ForUnfused(g, d.DiscountEpochs, start, func(epoch *Node, s training) training {
		// the rows that have a weight come first
		order := InsertAxes(nn.Shuffle(s.Key.FoldInEach(epoch), steps*size), -1)
		weights := Gather(s.Weights, order)
		first, _ := xla.Nonzero(GreaterThan(weights, ZerosLike(weights)))
		s.Order, s.Epoch = Gather(Squeeze(order, -1), InsertAxes(first, -1)), ZerosLike(s.Epoch)
		learns := ConvertDType(GreaterThan(s.Loss, ConstAs(s.Loss, d.DiscountCutoff)), dtypes.Int32)
		s.Steps = Mul(learns, Div(AddScalar(s.Count, size-1), ConstAs(s.Count, int32(size))))
		turns := xla.Turns(s.Steps, steps)
		all := turns != s.Steps // also those that must change nothing
		s = xla.RepeatUnfused(turns, s, func(turn *Node, s training) training {
			from := MulScalar(turn, size)
			rows := InsertAxes(xla.Rows(s.Order, from, size), -1)
			weight := upTo(Sub(s.Count, from), rows)
			off := Sub(Squeeze(s.Model.Params.Apply(Gather(s.Points, rows)), 1), Gather(s.Targets, rows))
			sum := ReduceAllSum(Mul(Square(off), weight))
			next := s
			next.Model = s.Model.Step(Div(sum, MaxScalar(ReduceAllSum(weight), 1)))
			next.Epoch = Add(s.Epoch, sum)
			if !all {
				return next
			}
			due := LessThan(turn, s.Steps)
			return xla.Map2(next, s, func(next, s *Node) *Node {
				return Where(BroadcastToShape(due, next.Shape()), next, s)
			})
		})
		s.Loss = Div(s.Epoch, ConvertDType(MaxScalar(s.Count, 1), dtypes.Float32))
		return s
	}).Model
	return d
}
