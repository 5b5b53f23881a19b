package repertoire

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// 01_repertoire_cvt.npz: batches that QDax inserted one after the other, starting with an empty repertoire.
func TestGoldenRepertoire(t *testing.T) {
	data := golden.Read(t, "01_repertoire_cvt.npz")
	dims := data.Shape("centroids")[1]
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		now := emptyContents(data.Float32s("centroids"), dims)
		for k := 0; data.Has(fmt.Sprint("in_ids_", k)); k++ {
			array := func(name string) []float32 { return data.Float32s(fmt.Sprintf("%s_%d", name, k)) }
			what := fmt.Sprintf("batch %d", k)
			want := contents{dims, now.centroids, array("fitnesses"), array("descriptors"), array("ids")}
			got, cells := now.insertOn(t, p, candidates{array("in_fitnesses"), array("in_descriptors"), array("in_ids")})
			errtest.Equal(t, what+": cells", cells, data.Int32s(fmt.Sprint("cells_", k)))
			ambiguous := data.Int32s(fmt.Sprint("ambiguous_", k))
			same(t, what, got, want, ambiguous)

			s := (&runs.Repertoire{Fitnesses: got.fitnesses, Offset: data.Number("const.qd_offset")}).Stats()
			metrics := data.Float64s(fmt.Sprint("metrics_", k)) // QDax sums in float32
			for i, value := range []float64{s.MaxFitness, s.Coverage, s.QDScore} {
				if math.Abs(value-metrics[i]) > 1e-5*max(1, math.Abs(metrics[i])) {
					t.Errorf("%s: %s is %v, want %v", what, []string{"max fitness", "coverage", "QD score"}[i], value, metrics[i])
				}
			}
			// so that the order of equals, which depends on the backend there, does not affect later batches
			now = want
		}
	})
}

// contents is a repertoire on the host whose genotypes are one number each.
type contents struct {
	dims                               int
	centroids                          []float32 // [cells, dims]
	fitnesses, descriptors, identities []float32 // [cells], [cells, dims], [cells]
}

// candidates is a batch for insertion on the host.
type candidates struct{ fitnesses, descriptors, identities []float32 }

func emptyContents(centroids []float32, dims int) contents {
	cells := len(centroids) / dims
	c := contents{dims, centroids, make([]float32, cells), make([]float32, cells*dims), make([]float32, cells)}
	for i := range c.fitnesses {
		c.fitnesses[i] = float32(math.Inf(-1))
	}
	return c
}

func (c contents) clone() contents {
	c.fitnesses, c.descriptors, c.identities = slices.Clone(c.fitnesses), slices.Clone(c.descriptors),
		slices.Clone(c.identities)
	return c
}

// cellOf is [cellOf] in plain Go, also in float32.
func (c contents) cellOf(descriptor []float32) int {
	best, nearest := float32(math.Inf(1)), 0
	for cell := range c.fitnesses {
		var distance float32
		for k, x := range descriptor {
			difference := c.centroids[cell*c.dims+k] - x
			distance += float32(difference * difference)
		}
		if distance < best {
			best, nearest = distance, cell
		}
	}
	return nearest
}

// insert is the insertion in plain Go: one candidate after the other, and only a strictly fitter
// one enters a cell. A candidate with NaN is skipped, where in the published code a NaN fitness keeps
// its whole batch out of its cell.
func (c contents) insert(batch candidates) contents {
	c = c.clone()
	for i, fitness := range batch.fitnesses {
		descriptor := batch.descriptors[i*c.dims : (i+1)*c.dims]
		hasNaN := slices.ContainsFunc(descriptor, func(x float32) bool { return x != x })
		if cell := c.cellOf(descriptor); !hasNaN && fitness > c.fitnesses[cell] {
			c.fitnesses[cell], c.identities[cell] = fitness, batch.identities[i]
			copy(c.descriptors[cell*c.dims:], descriptor)
		}
	}
	return c
}

// insertOn is the insertion on a backend, as in a generation of package evolution. It also returns
// the cells of the candidates.
func (c contents) insertOn(t *testing.T, p *xla.Platform, batch candidates) (after contents, cells []int32) {
	t.Helper()
	n, m := len(c.fitnesses), len(batch.fitnesses)
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		before := Cells{Fitness: in[0], Descriptors: in[1], Centroids: in[2]}
		batch := Batch{Fitness: in[4], Descriptors: in[5]}
		archive, entering := Grid{before}.Add(Evaluated{Batch: batch})
		after := archive.Cells()
		compact, count := xla.Nonzero(entering.Accepted)
		winners := Gather(entering.Index, InsertAxes(compact, -1))
		genotypes := xla.SetRowsAt(in[3], in[6], winners, compact, count)
		return []*Node{after.Fitness, after.Descriptors, genotypes, before.cellOf(batch.Descriptors)}
	}, xlatest.Tensor(c.fitnesses, n), xlatest.Tensor(c.descriptors, n, c.dims),
		xlatest.Tensor(c.centroids, n, c.dims), xlatest.Tensor(c.identities, n, 1),
		xlatest.Tensor(batch.fitnesses, m), xlatest.Tensor(batch.descriptors, m, c.dims), xlatest.Tensor(batch.identities, m, 1))
	after = contents{c.dims, c.centroids, xlatest.Flat[float32](t, out[0]),
		xlatest.Flat[float32](t, out[1]), xlatest.Flat[float32](t, out[2])}
	return after, xlatest.Flat[int32](t, out[3])
}

// same compares the fitnesses of all cells, and the identities and descriptors of all but the excluded cells.
func same(t *testing.T, what string, got, want contents, leftOut []int32) {
	t.Helper()
	for cell := range want.fitnesses {
		errtest.Equal(t, fmt.Sprintf("%s: the fitness of cell %d", what, cell), got.fitnesses[cell], want.fitnesses[cell])
		if leftOut != nil && leftOut[cell] != 0 {
			continue
		}
		errtest.Equal(t, fmt.Sprintf("%s: cell %d is held by", what, cell), got.identities[cell], want.identities[cell])
		if at, end := cell*want.dims, (cell+1)*want.dims; !slices.Equal(got.descriptors[at:end], want.descriptors[at:end]) {
			t.Errorf("%s: the descriptor of cell %d is %g, want %g", what, cell, got.descriptors[at:end], want.descriptors[at:end])
		}
	}
}

// keysOf returns n keys from a seed.
func keysOf(g *Graph, seed int64, n int) random.Key {
	return random.NewKey(g, seed).FoldInEach(Iota(g, shapes.Make(dtypes.Int32, n), 0))
}

// Random batches with ties, NaN and infinities give the oracle's result on every backend.
func TestInsertionIsTheOraclesInsertion(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for i, size := range []struct{ cells, batch, dims int }{{7, 40, 2}, {33, 33, 4}, {50, 8, 1}, {1, 5, 2}, {6, 1, 2}} {
			if i > 1 && p.Kind != backend.Go {
				break // XLA takes seconds to compile each
			}
			rng := rand.New(rand.NewPCG(uint64(size.cells), uint64(size.batch)))
			centroids := make([]float32, size.cells*size.dims)
			for i := range centroids {
				centroids[i] = float32(rng.IntN(9)) / 4 // some centroids coincide, and distances are exact
			}
			now := emptyContents(centroids, size.dims)
			for round := range 3 {
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
				want := now.insert(batch)
				got, _ := now.insertOn(t, p, batch)
				same(t, fmt.Sprintf("%+v, round %d", size, round), got, want, nil)
				now = want
			}
		}
	})
}

// Evenly spread behaviours fill all cells, whatever the units of their components: the tessellation is made in the unit
// cube, and cells are assigned there if one range is more than twice another. Then they are the same cells.
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
		errtest.Equal(t, fmt.Sprintf("upper limits %v: filled cells", upper), len(filled), cells)
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
				errtest.Equal(t, fmt.Sprintf("the cell drawn with fitnesses %v", c.fitness), cell, c.want)
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
	xlatest.Close(t, "improvement", xlatest.Flat[float32](t, out[0]), []float32{31, 20, 21, -2, none, 26}, 0)
}

// 14_cma_mae_archive.npz: batches that pyribs 0.12's CVTArchive added one after the other, with ties, four learning
// rates and lowest thresholds (tools/peer/cma_mae.py). The status of a solution is above 0 if it was accepted.
func TestGoldenAnnealed(t *testing.T) {
	data := golden.Read(t, "14_cma_mae_archive.npz")
	shape := data.Shape("archive.centroids")
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, name := range []string{"slow", "fast", "greedy", "fixed"} {
			rule := data.Float32s("archive." + name)
			thresholds := make([]float32, shape[0])
			for i := range thresholds {
				thresholds[i] = rule[1]
			}
			for step := 0; data.Has(fmt.Sprintf("archive.%s.fitness_%d", name, step)); step++ {
				stored := func(part string) []float32 {
					return data.Float32s(fmt.Sprintf("archive.%s.%s_%d", name, part, step))
				}
				n := len(stored("fitness"))
				out := xlatest.Run(t, p, func(in []*Node) []*Node {
					a, batch := annealed(in[0], in[1], float64(rule[0])), Batch{in[2], in[3]}
					return []*Node{a.improvement(batch), a.update(batch)}
				}, xlatest.Tensor(data.Float32s("archive.centroids"), shape...),
					xlatest.Tensor(thresholds, shape[0]), xlatest.Tensor(stored("fitness"), n),
					xlatest.Tensor(stored("descriptors"), n, shape[1]))
				what := fmt.Sprint(name, " ", step)
				improvement := xlatest.Flat[float32](t, out[0])
				xlatest.Close(t, what+": improvement", improvement, stored("value"), 1e-5)
				for i, status := range stored("status") {
					errtest.Equal(t, fmt.Sprintf("%s: solution %d has a status", what, i), status > 0, improvement[i] > 0)
				}
				thresholds = xlatest.Flat[float32](t, out[1])
				xlatest.Close(t, what+": thresholds", thresholds, stored("thresholds"), 1e-5)
			}
		}
	})
}

// Results that are not valid neither count as improvements nor move thresholds.
func TestAnnealedIgnoresInvalid(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		a, batch := annealed(in[0], in[1], 0.5), Batch{in[2], in[3]}
		return []*Node{a.improvement(batch), a.update(batch)}
	}, xlatest.Tensor([]float32{0, 1}, 2, 1), xlatest.Tensor([]float32{2, 3}, 2),
		xlatest.Tensor([]float32{nan, inf, 9, 4}, 4), xlatest.Tensor([]float32{0, 0, nan, 0}, 4, 1))
	xlatest.Close(t, "improvement", xlatest.Flat[float32](t, out[0]), []float32{inf, inf, inf, 2}, 0)
	xlatest.Close(t, "thresholds", xlatest.Flat[float32](t, out[1]), []float32{3, 3}, 1e-6)
}

func annealed(centroids, thresholds *Node, rate float64) Annealed {
	return Annealed{Grid: Grid{Cells{Centroids: centroids}}, LearningRate: rate, Thresholds: thresholds}
}

// 19_dms.npz: three trainings of pyribs 0.12's DiscountArchive, one after the other, on batches that
// are the whole data (tools/peer/dms.py).
func TestGoldenDiscountModel(t *testing.T) {
	data, names := golden.Read(t, "19_dms.npz"), []string{"bias0", "bias1", "bias2", "kernel0", "kernel1", "kernel2"}
	tensor := func(name string, step int) *tensors.Tensor {
		name = fmt.Sprint(name, "_", step)
		return xlatest.Stored(data, name)
	}
	compare := func(t *testing.T, p *xla.Platform) {
		in := []*tensors.Tensor{xlatest.Tensor(random.SeedWords(1), 2)}
		for _, name := range names {
			in = append(in, tensor(name, 0))
		}
		for step := range 3 {
			for _, name := range []string{"fitness", "descriptors", "empty"} {
				in = append(in, tensor(name, step))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) (all []*Node) {
			mlp := nn.NewMLP(2, []int{8, 8}, 1)
			net := nn.Network{MLP: mlp, Kernel: in[4:7]}
			for _, bias := range in[1:4] {
				net.Bias = append(net.Bias, InsertAxes(bias, 0))
			}
			d := Discounted{DiscountEpochs: 2, DiscountBatch: 17, DiscountRange: 100, Rate: 0.1,
				Model: nn.NewTrainable(net, 0.001), lower: []float32{-256, -256}, upper: []float32{256, 256}}
			for step := range 3 {
				fitness, descriptors, empty := in[7+3*step], in[8+3*step], in[9+3*step]
				discount := d.discount(descriptors)
				value := Sub(fitness, discount)
				targets := d.targets(discount, value)
				none := ReduceSum(ZerosLike(empty), 1)
				d = d.train(Concatenate([]*Node{empty, descriptors, empty}, 0),
					Concatenate([]*Node{AddScalar(none, 7), targets, d.minimum(none)}, 0),
					Concatenate([]*Node{none, OnesLike(targets), OnesLike(none)}, 0), random.KeyOf(in[0]))
				all = append(append(append(all, value, targets), d.Model.Params.Bias...), d.Model.Params.Kernel...)
			}
			return all
		}, in...)
		for i, got := range out {
			step, name := i/8, append([]string{"value", "targets"}, names...)[i%8]
			at := step
			if i%8 > 1 {
				at++
			}
			xlatest.Close(t, fmt.Sprint(name, " of step ", step), xlatest.Flat[float32](t, got),
				data.Float32s(fmt.Sprint(name, "_", at)), 2e-5)
		}
	}
	xlatest.Each(t, compare)
	if best := xlatest.Best(t); best.Kind != backend.Go { // which cannot run these loops
		t.Run("graphs of CUDA", func(t *testing.T) { compare(t, xlatest.As(best, backend.CUDA)) })
	}
}

// Empty cells are drawn at most once, and all of them if there are few.
func TestEmptyCellsAreDrawnOnce(t *testing.T) {
	const cells, empty = 40, 30
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) (all []*Node) {
			centroid := IotaFull(in[0].Graph(), shapes.Make(dtypes.Float32, cells, 1))
			filled := LessThan(Squeeze(centroid, 1), Const(in[0].Graph(), float32(cells-empty)))
			fitness := ZerosLike(Squeeze(centroid, 1))
			d := Discounted{Grid: Grid{Cells{Fitness: Where(filled, fitness, lowest(fitness)), Centroids: centroid}}}
			for i, n := range []int{empty / 2, empty, cells, 1000} {
				points, weights := d.empty(n, random.KeyOf(in[0]).FoldIn(i))
				all = append(all, points, weights)
			}
			return all
		}, xlatest.Tensor(random.SeedWords(1), 2))
		for i, want := range []int{empty / 2, empty, empty, empty} {
			points, weights := xlatest.Flat[float32](t, out[2*i]), xlatest.Flat[float32](t, out[2*i+1])
			drawn, sum := map[float32]bool{}, float32(0)
			for j, weight := range weights {
				if sum += weight; weight == 1 && points[j] >= cells-empty {
					drawn[points[j]] = true
				}
			}
			errtest.Equal(t, fmt.Sprintf("draw %d: empty cells and the sum of weights", i), fmt.Sprint(len(drawn), sum),
				fmt.Sprint(want, float32(want)))
		}
	})
}

// flat returns the centroids of a tessellation.
func flat(t *testing.T, c CVT, lower, upper []float32) []float32 {
	t.Helper()
	centroids := must.Get(c.Centroids(lower, upper))
	return centroids.Data.([]float32)
}

// With one sample per cell, the samples are the centroids.
func TestAsManyCellsAsSamples(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	centroids := flat(t, CVT{Cells: 20, CVTSamples: 20}, []float32{0}, []float32{1})
	slices.Sort(centroids)
	errtest.Equal(t, "different centroids", len(slices.Compact(centroids)), 20)
}

func TestDamagedCacheIsComputedAgain(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cvt, lower, upper := CVT{Cells: 5, CVTSamples: 100}, []float32{0, 0}, []float32{1, 1}
	want := flat(t, cvt, lower, upper)
	path := cvt.cachePath(2)
	whole := must.Get(os.ReadFile(path))
	write := func(data []byte) {
		must.Do(os.WriteFile(path, data, 0o666))
	}
	for what, damage := range map[string]func(){
		"cut off": func() { write(whole[:len(whole)/2]) },
		"empty":   func() { write(nil) },
		"of another size": func() {
			must.Do(npz.Write(path, map[string]npz.Array{"centroids": npz.Of(make([]float32, 6), 3, 2)}))
		},
		"of NaN": func() {
			must.Do(npz.Write(path,
				map[string]npz.Array{"centroids": npz.Of(slices.Repeat([]float32{float32(math.NaN())}, 10), 5, 2)}))
		},
	} {
		damage()
		errtest.Equal(t, "a cache that is "+what, flat(t, cvt, lower, upper), want)
		errtest.Equal(t, what, must.Get(os.ReadFile(path)), whole)
	}
}

func TestWrongTessellationsAreRefused(t *testing.T) {
	one := []float32{1}
	for want, c := range map[string]struct {
		CVT
		lower, upper []float32
	}{
		"as many lower as upper limits":     {CVT{1, 1, 0}, one, nil},
		"not 0 and 0":                       {CVT{1, 1, 0}, nil, nil},
		"cells must be between 1 and":       {CVT{0, 1, 0}, one, one},
		"cvt_samples must be between 3 and": {CVT{3, 2, 0}, one, one},
	} {
		errtest.Want(t, errtest.Of(c.Centroids(c.lower, c.upper)), want)
	}
}

// The tree finds the same centroid as a scan over all centroids, also for equally near centroids
// and for any start of the search.
func TestNearestIsThatOfAScan(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for d := 1; d <= 5; d++ {
		for _, k := range []int{1, 4, 5, 300} {
			// On a coarse grid most points have several nearest centroids, and centroids coincide.
			grid := func(n int) []float64 {
				x := make([]float64, n*d)
				for i := range x {
					x[i] = float64(random.IntN(9)) / 8
				}
				return x
			}
			points, centroids := grid(500), grid(k)
			nearest := make([]int, 500)
			for i := range nearest {
				nearest[i] = random.IntN(k)
			}
			assign(nearest, points, centroids, d)
			for i, got := range nearest {
				point := points[i*d : (i+1)*d]
				want, best := 0, math.Inf(1)
				for c := range k {
					if distance := squaredDistance(point, centroids[c*d:(c+1)*d]); distance < best {
						want, best = c, distance
					}
				}
				if got != want {
					t.Fatalf("point %v of %d dimensions has centroid %d of %d, want %d", point, d, got, k, want)
				}
			}
		}
	}
}

func TestKMeansIsTheSameForAnyNumberOfGoroutines(t *testing.T) {
	cvt := CVT{Cells: 50, CVTSamples: 2000}
	want := cvt.unitCentroids(3)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	errtest.Equal(t, "the centroids", cvt.unitCentroids(3), want)
}

// FuzzCentroids reads arbitrary cache files: a file without a tessellation of the unit cube is recomputed.
func FuzzCentroids(f *testing.F) {
	for _, text := range []string{
		"centroids <f4 3,2 0 0.5 1", "centroids <f4 3,2 0.5 1.5", "centroids <f8 3,2 nan",
		"centroids <f4 3,2 -0 -inf", "centroids <f4 6, 0.5",
		"centroids <i8 3,2 1", "centroids |b1 3,2 1", "centroids <f4 4611686018427387904,2",
		"others <f4 3,2 0", "",
	} {
		f.Add([]byte(text), true)
	}
	f.Add(hostile.Archive("centroids <f4 3,2 0.25")[:100], false)
	f.Fuzz(func(t *testing.T, data []byte, isText bool) {
		if isText {
			data = hostile.Archive(string(data))
		}
		path := filepath.Join(t.TempDir(), "centroids.npz")
		must.Do(os.WriteFile(path, data, 0o666))
		hostile.Bounded(t, len(data), func() {
			centroids := readCentroids(path, 3, 2)
			if centroids != nil && len(centroids) != 6 {
				t.Errorf("%d numbers", len(centroids))
			}
			for _, x := range centroids {
				if !(x >= 0 && x <= 1) {
					t.Errorf("%v lies outside the unit cube", x)
				}
			}
		})
	})
}
