package repertoire

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
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
						t.Errorf("%s: solution %d has status %g, but improvement %g", what, i, status,
							improvement[i])
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
