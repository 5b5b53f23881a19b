package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// kMeans clusters samples, one [n] node per dimension, into k centroids [k, d]: k-means++ (Arthur and Vassilvitskii 2007) for the
// start, then Lloyd's iterations until the centroids move, in sum of squares, by tolerance at most, or maxIterations. A
// centroid that loses all samples stays where it is.
//
// Distances go one centroid at a time over all samples, long vectors without a [k, n] matrix.
func kMeans(key xla.Key, samples []*Node, k, maxIterations int, tolerance float64) *Node {
	g := samples[0].Graph()
	type state struct {
		Samples     []*Node
		Centroids   *Node
		Moved, Step *Node
	}
	start := state{
		Samples:   samples,
		Centroids: plusPlus(key, samples, k),
		Moved:     Const(g, float32(math.MaxFloat32)),
		Step:      Const(g, int32(0)),
	}
	return xla.Loop(start, func(s state) *Node {
		return And(GreaterThan(s.Moved, ConstAs(s.Moved, tolerance)), LessThan(s.Step, ConstAs(s.Step, maxIterations)))
	}, func(s state) state {
		moved := means(s.Samples, assign(s.Samples, s.Centroids), s.Centroids)
		s.Moved = ReduceAllSum(Square(Sub(moved, s.Centroids)))
		s.Centroids, s.Step = moved, AddScalar(s.Step, 1)
		return s
	}).Centroids
}

// assign gives each sample its nearest centroid, int32 [n], the lowest index among equals.
func assign(samples []*Node, centroids *Node) *Node {
	g := centroids.Graph()
	type state struct {
		Samples           []*Node
		Centroids         *Node
		Distance, Nearest *Node
	}
	start := state{samples, centroids, OnesLike(samples[0]), Zeros(g, shapes.Make(dtypes.Int32, samples[0].Shape().Dimensions[0]))}
	start.Distance = MulScalar(start.Distance, math.MaxFloat32)
	return xla.For(g, centroids.Shape().Dimensions[0], start, func(i *Node, s state) state {
		distance := squaredDistance(s.Samples, xla.Rows(s.Centroids, i, 1))
		nearer := LessThan(distance, s.Distance)
		s.Distance = Where(nearer, distance, s.Distance)
		s.Nearest = Where(nearer, BroadcastToDims(i, s.Nearest.Shape().Dimensions...), s.Nearest)
		return s
	}).Nearest
}

// means moves each centroid to the mean of the samples that are nearest to it.
func means(samples []*Node, nearest, centroids *Node) *Node {
	index := InsertAxes(nearest, -1)
	sum := func(x *Node) *Node {
		return Scatter(index, x, shapes.Make(dtypes.Float32, centroids.Shape().Dimensions[0]), false, false)
	}
	count := sum(OnesLike(samples[0]))
	var moved []*Node
	for d, x := range samples {
		mean := Div(sum(x), MaxScalar(count, 1))
		moved = append(moved, Where(GreaterThan(count, ZerosLike(count)), mean, component(centroids, d)))
	}
	return Stack(moved, 1)
}

// plusPlus draws k starting centroids [k, d] among the samples: each with a probability proportional to its squared distance
// from the nearest of those drawn before.
func plusPlus(key xla.Key, samples []*Node, k int) *Node {
	g := samples[0].Graph()
	n := samples[0].Shape().Dimensions[0]
	type state struct {
		Samples  []*Node
		Key      xla.Key
		Chosen   *Node // [k, d]
		Distance *Node // [n], 1 at first: the first centroid is uniform
	}
	start := state{samples, key, Zeros(g, shapes.Make(dtypes.Float32, k, len(samples))), OnesLike(samples[0])}
	return xla.For(g, k, start, func(i *Node, s state) state {
		chosen := choose(s.Distance, s.Key.Fold(i).Uniform(0, 1))
		var row []*Node
		for _, x := range s.Samples {
			row = append(row, Reshape(xla.Rows(x, chosen, 1)))
		}
		centroid := InsertAxes(Stack(row, 0), 0)
		s.Chosen = xla.SetRows(s.Chosen, i, centroid)
		distance := squaredDistance(s.Samples, centroid)
		first := Equal(i, ZerosLike(i))
		s.Distance = Where(BroadcastToDims(first, n), distance, Min(s.Distance, distance))
		return s
	}).Chosen
}

// choose draws an index with probability proportional to weights [n] >= 0 from a uniform number in [0, 1), in two levels
// so that the sums are short.
func choose(weights, uniform *Node) *Node {
	n := weights.Shape().Dimensions[0]
	columns := int(math.Ceil(math.Sqrt(float64(n))))
	rows := (n + columns - 1) / columns
	padded := weights
	if rows*columns > n {
		padded = Concatenate([]*Node{weights, Zeros(weights.Graph(), shapes.Make(dtypes.Float32, rows*columns-n))}, 0)
	}
	table := Reshape(padded, rows, columns)
	pick := func(w, target *Node, size int) *Node { // the first index whose sum exceeds target
		upTo := CumSum(w, 0)
		return MinScalar(ReduceAllSum(ConvertDType(LessOrEqual(upTo, target), dtypes.Int32)), int32(size-1))
	}
	sums := ReduceSum(table, 1)
	target := Mul(uniform, ReduceAllSum(sums))
	row := pick(sums, target, rows)
	before := ReduceAllSum(Where(LessThan(Iota(weights.Graph(), shapes.Make(dtypes.Int32, rows), 0), row), sums, ZerosLike(sums)))
	column := pick(Reshape(xla.Rows(table, row, 1), columns), Sub(target, before), columns)
	return MinScalar(Add(MulScalar(row, int32(columns)), column), int32(n-1))
}

// squaredDistance of each sample from one centroid [1, d].
func squaredDistance(samples []*Node, centroid *Node) *Node {
	var distance *Node
	for d, x := range samples {
		c := Reshape(Slice(centroid, AxisRange(), AxisElem(d)))
		square := Square(Sub(x, c))
		if distance == nil {
			distance = square
		} else {
			distance = Add(distance, square)
		}
	}
	return distance
}
