package repertoire

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// Random batches with ties, NaN and infinities give the oracle's result on every backend.
func TestInsertionIsTheOraclesInsertion(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, size := range []struct{ cells, batch, dims, rounds int }{{1, 5, 2, 3}, {7, 40, 2, 3},
			{50, 8, 1, 3}, {33, 33, 4, 3}, {6, 1, 2, 3}} {
			rng := rand.New(rand.NewPCG(uint64(size.cells), uint64(size.batch)))
			centroids := make([]float32, size.cells*size.dims)
			for i := range centroids {
				centroids[i] = float32(rng.IntN(9)) / 4 // some centroids coincide, and distances are exact
			}
			now := emptyContents(centroids, size.dims)
			for round := range size.rounds {
				batch := candidates{}
				for i := range size.batch {
					fitness := float32(rng.IntN(6)) - 3 // ties
					switch rng.IntN(12) {
					case 0:
						fitness = float32(math.NaN())
					case 1:
						fitness = float32(math.Inf(-1))
					}
					batch.fitnesses = append(batch.fitnesses, fitness)
					batch.identities = append(batch.identities, float32(1+round*size.batch+i))
					for range size.dims {
						x := float32(rng.IntN(17))/8 - 0.25
						if rng.IntN(30) == 0 {
							x = float32(math.NaN())
						}
						batch.descriptors = append(batch.descriptors, x)
					}
				}
				want := now.insert(batch, false)
				got, _ := now.insertOn(t, p, batch)
				same(t, fmt.Sprintf("%+v, round %d", size, round), got, want, nil)
				now = want
			}
		}
	})
}

func TestEquallyNearCentroidsGiveTheFirst(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{Cells{Centroids: in[0]}.cellOf(in[1])} },
			xlatest.Tensor([]float32{1, 0, -1, 0, -1, 0, 0, 1}, 4, 2),
			xlatest.Tensor([]float32{0, -1, -7, 0, 0, 0, 0.2, 100, 3, 0}, 5, 2))
		if got := xlatest.Flat[int32](t, out[0]); !slices.Equal(got, []int32{0, 1, 0, 3, 0}) {
			t.Errorf("cells %v", got)
		}
	})
}

// Evenly spread behaviours fill all cells, whatever the units of their components: the tessellation is made
// in the unit cube, and cells are assigned there if one range is more than twice another. Then they are the
// same cells.
func TestCellsOfUnequalScale(t *testing.T) {
	const side, cells = 40, 256
	cvt := CVT{Cells: cells, CVTSamples: 20_000, CVTSeed: 4}
	var reference []int32
	for _, upper := range [][]float32{{1, 1}, {1, 16}, {1024, 1}, {1, 1000}, {1, 10}} {
		centroids := must.Get(must.Get(cvt.Centroids([]float32{0, 0}, upper)).Float32s())
		var points []float32
		for i := range side * side {
			points = append(points, (float32(i%side)+0.5)/side*upper[0], (float32(i/side)+0.5)/side*upper[1])
		}
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
			return []*Node{Cells{Centroids: in[0], Scale: limits.Scale([]float32{0, 0}, upper)}.cellOf(in[1])}
		}, xlatest.Tensor(centroids, cells, 2), xlatest.Tensor(points, side*side, 2))
		got, filled := xlatest.Flat[int32](t, out[0]), map[int32]bool{}
		for _, cell := range got {
			filled[cell] = true
		}
		if reference == nil {
			reference = got
		}
		if len(filled) != cells {
			t.Errorf("upper limits %v: %d of %d cells are filled", upper, len(filled), cells)
		}
		differ := 0
		for i, cell := range got {
			if cell != reference[i] {
				differ++
			}
		}
		if differ > 3 { // rounding
			t.Errorf("upper limits %v: %d behaviours are in other cells than in the unit square", upper, differ)
		}
	}
}

// Every filled cell is drawn equally often, and no other: the statistic of Pearson's test is below
// its 99.99 % quantile.
func TestSamplerIsUniformOverFilledCells(t *testing.T) {
	const draws = 100_000
	fitness := make([]float32, 40)
	filled := 0
	for i := range fitness {
		fitness[i] = float32(math.Inf(-1))
		if i%3 == 1 {
			fitness[i] = float32(-i)
			filled++
		}
	}
	out := xlatest.Run(t, xlatest.Best(t), func(in []*Node) []*Node {
		return []*Node{Cells{Fitness: in[0]}.Sampler().Draw(keysOf(in[0].Graph(), 1, draws))}
	}, xlatest.Tensor(fitness, len(fitness)))
	counts := make([]int, len(fitness))
	for _, cell := range xlatest.Flat[int32](t, out[0]) {
		counts[cell]++
	}
	expected, statistic := float64(draws)/float64(filled), 0.0
	for cell, count := range counts {
		if cell%3 != 1 {
			if count > 0 {
				t.Errorf("cell %d is empty and was drawn %d times", cell, count)
			}
			continue
		}
		statistic += (float64(count) - expected) * (float64(count) - expected) / expected
	}
	const quantile = 38 // of chi-squared with 12 degrees of freedom
	if filled != 13 || statistic > quantile {
		t.Errorf("chi-squared %g with %d filled cells", statistic, filled)
	}
}

func TestSamplerOfFewCells(t *testing.T) {
	empty := float32(math.Inf(-1))
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, c := range []struct {
			fitness []float32
			want    int32
		}{{[]float32{1}, 0}, {[]float32{empty, empty, 3, empty}, 2}, {[]float32{empty, empty, empty}, 2},
			{[]float32{empty}, 0}} {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				return []*Node{Cells{Fitness: in[0]}.Sampler().Draw(keysOf(in[0].Graph(), 5, 9))}
			}, xlatest.Tensor(c.fitness, len(c.fitness)))
			for _, cell := range xlatest.Flat[int32](t, out[0]) {
				if cell != c.want {
					t.Errorf("with fitnesses %v, cell %d was drawn, want %d", c.fitness, cell, c.want)
				}
			}
		}
	})
}

// Evolution strategies rank solutions by their improvement: those that fill an empty cell first, then
// those that are better than an occupant, whatever the sign of the fitness.
func TestImprovementRanksNewCellsFirst(t *testing.T) {
	none := float32(math.Inf(-1))
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		elites := Cells{Fitness: in[0], Descriptors: in[1], Centroids: in[1]}
		_, grid := Grid{Elites: elites}.Add(Evaluated{Batch: Batch{in[2], in[3]}})
		return []*Node{grid.Improvement}
	}, xlatest.Tensor([]float32{10, none, none, 5}, 4), xlatest.Tensor([]float32{0, 1, 2, 3}, 4, 1),
		xlatest.Tensor([]float32{-40, 30, -50, 3, float32(math.NaN()), -45}, 6),
		xlatest.Tensor([]float32{1, 0, 2, 3, 1, 1}, 6, 1))
	xlatest.Close(t, "improvement", xlatest.Flat[float32](t, out[0]),
		[]float32{31, 20, 21, -2, none, 26}, 0)
}
