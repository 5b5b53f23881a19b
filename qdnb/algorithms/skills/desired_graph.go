package skills

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// features returns the features of steps from one state to the next, [n, d], for tasks with
// [Task.Desired]: the state descriptor before the step or, with [Task.Changes], the start of the
// episode plus the change in the step times the length of an episode. The mean of the former is a
// mean descriptor, and a final one if the skill stays where it ends; the mean of the latter is a
// final descriptor. A step that ends an episode changes nothing, because the state after it belongs
// to the next one.
func (t Task) features(before, after envs.State) *Node {
	x := t.descriptor(before)
	if t.Changes {
		change := MulScalar(Sub(after.Descriptor, x), float64(t.Length))
		start := envs.AutoReset(t.Env, t.Length).Start(before)
		x = Add(start, Where(ended(after), ZerosLike(x), change))
	}
	limits := t.Env.Spec().Descriptor
	lower, upper := InsertAxes(Const(x.Graph(), limits.Lower), 0),
		InsertAxes(Const(x.Graph(), limits.Upper), 0)
	return AddScalar(MulScalar(Div(Sub(x, lower), Sub(upper, lower)), 2), -1)
}

// mixed replaces the skills of a share of the sampled transitions [B, width], [Task.Random], by
// random ones.
func (t Task) mixed(rows *Node, key xla.Key) *Node {
	n := int(math.Round(t.Random * float64(rows.Shape().Dimensions[0])))
	if n == 0 {
		return rows
	}
	b := t.layout().Split(rows)
	row := Iota(rows.Graph(), shapes.Make(dtypes.Int32, rows.Shape().Dimensions[0]), 0)
	first := InsertAxes(LessThan(row, ConstAs(row, int32(n))), -1)
	b.More[0] = Where(BroadcastToDims(first, b.More[0].Shape().Dimensions...),
		t.drawn(key.FoldInEach(row)), b.More[0])
	return t.layout().Join(b)
}

// spread returns n points that fill the cube [-1, 1]^d evenly for every n: multiples of the powers
// of 1/x modulo 1, where x is the positive root of x^(d+1) = x + 1 (Roberts 2018, "The unreasonable
// effectiveness of quasirandom sequences").
func spread(n, d int) [][]float32 {
	root := 1.0
	for range 100 {
		root = math.Pow(1+root, 1/float64(d+1))
	}
	points := make([][]float32, n)
	for i := range points {
		step := 1.0
		for range d {
			step /= root
			_, share := math.Modf(0.5 + float64(i+1)*step)
			points[i] = append(points[i], float32(2*share-1))
		}
	}
	return points
}
