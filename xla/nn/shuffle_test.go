package nn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// A permutation has each number once; all are equally likely.
func TestShuffle(t *testing.T) {
	const n, draws = 4, 1200
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		type state struct {
			Key    random.Key
			Orders *Node
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			start := state{key, Zeros(in[0].Graph(), shapes.Make(dtypes.Int32, draws, n))}
			orders := xla.For(in[0].Graph(), draws, start, func(i *Node, s state) state {
				s.Orders = xla.SetRows(s.Orders, i, InsertAxes(nn.Shuffle(s.Key.FoldInEach(i), n), 0))
				return s
			}).Orders
			return []*Node{orders, nn.Shuffle(key.FoldIn(-1), 1024)}
		}, tensors.FromValue(random.SeedWords(5)))
		counts := map[[n]int32]int{}
		for order := range slices.Chunk(xlatest.Flat[int32](t, out[0]), n) {
			counts[[n]int32(order)]++
		}
		const orders = 24
		chi := 0.0
		for order, count := range counts {
			sorted := order
			slices.Sort(sorted[:])
			if sorted != [n]int32{0, 1, 2, 3} {
				t.Fatalf("%v is no permutation", order)
			}
			chi += math.Pow(float64(count)-draws/orders, 2) / (draws / orders)
		}
		// Chi squared of 23 degrees of freedom exceeds 69 with a probability of 2e-6.
		if len(counts) != orders || chi > 69 {
			t.Errorf("%d orders, chi squared %g: %v", len(counts), chi, counts)
		}
		long := xlatest.Flat[int32](t, out[1])
		slices.Sort(long)
		for i, x := range long {
			if x != int32(i) {
				t.Fatalf("sorted, the permutation has a %d at %d", x, i)
			}
		}
	})
}

// A permutation contains every number once. Different keys give different permutations, and all
// backends give the same.
func TestPermutation(t *testing.T) {
	const n = 1000
	var everywhere []int32
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			same := random.Key{Hi: key.Hi, Lo: key.Lo}
			return []*Node{nn.Permutation(key.FoldIn(0), n), nn.Permutation(key.FoldIn(1), n),
				nn.Permutation(same.FoldIn(0), n)}
		}, xlatest.Tensor(random.SeedWords(3), 2))
		var orders [][]int32
		for _, x := range out {
			order := xlatest.Flat[int32](t, x)
			orders = append(orders, order)
			for i, x := range slices.Sorted(slices.Values(order)) {
				if int(x) != i {
					t.Fatalf("%d does not occur exactly once in the permutation", i)
				}
			}
		}
		if everywhere == nil {
			everywhere = orders[0]
		}
		if !slices.Equal(orders[0], everywhere) {
			t.Error("backends differ")
		}
		if slices.Equal(orders[0], orders[1]) || !slices.Equal(orders[0],
			orders[2]) || slices.IsSorted(orders[0]) {
			t.Error("permutations are not a function of their keys")
		}
		moved := 0.0 // the expected mean displacement is n / 3
		for i, x := range orders[0] {
			moved += math.Abs(float64(i)-float64(x)) / n
		}
		if moved < 0.3*n || moved > 0.37*n {
			t.Errorf("numbers moved by %v on average", moved)
		}
	})
}
