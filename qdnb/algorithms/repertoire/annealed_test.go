package repertoire

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// 14_cma_mae_archive.npz: batches that pyribs 0.12's CVTArchive added one after the other, with
// ties, four learning rates and lowest thresholds (tools/peer/cma_mae.py). The status of a solution
// is above 0 if it was accepted.
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
					if (status > 0) != (improvement[i] > 0) {
						t.Errorf("%s: solution %d has status %g, but improvement %g", what, i, status, improvement[i])
					}
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
	return Annealed{Grid: Grid{Cells{Centroids: centroids}}, LearningRate: rate,
		Thresholds: thresholds}
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
	_, as := xlatest.As(t, backend.CUDA)
	t.Run("graphs of CUDA", func(t *testing.T) { compare(t, as) })
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
			if len(drawn) != want || sum != float32(want) {
				t.Errorf("draw %d: %d empty cells, and the sum of weights is %g, want %d", i, len(drawn), sum, want)
			}
		}
	})
}
