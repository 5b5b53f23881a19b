package evolution

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
)

// manySums is sphere whose descriptor is 16 sums of 4 components each.
func manySums() *envs.BlackBox {
	const d = 16
	box := envs.Sphere(4 * d)
	base := box.Evaluate
	of := &box.Facts.Descriptor
	of.Lower, of.Upper, of.Components = slices.Repeat([]float32{-20.48}, d),
		slices.Repeat([]float32{20.48}, d), slices.Repeat([]string{"sum of four"}, d)
	box.Evaluate = func(x *Node) (fitness, descriptor *Node) {
		fitness, _ = base(x)
		return fitness, ReduceSum(Reshape(ClipScalar(x, -5.12, 5.12), -1, d, 4), 2)
	}
	return box
}

// With a descriptor of 16 components, Discount Model Search fills more cells than CMA-MAE, all of
// whose solutions share few thresholds.
func TestDMSExploresManyDimensions(t *testing.T) {
	p, box := xlatest.Best(t), manySums()
	task := scoring.NewTask(box, nil, 1)
	var centroids []float32
	for i := range 256 * 16 {
		centroids = append(centroids, float32(20.48*math.Sin(float64(i*i)))/2)
	}
	scores := map[string]float32{}
	dms, mae := defaultDMS(box.Facts), defaultCMAMAE(box.Facts)
	for name, h := range map[string]*MapElites{"dms": dms, "cma-mae": mae} {
		s := searchOf(t, p, task, partsOf(h, task), settings{Batch: 540, Seed: 5, Centroids: npz.Of(centroids, 256, 16)})
		for _, f := range steps(t, s, 100)[99].Fitnesses {
			scores[name] += max(f, 0)
		}
	}
	t.Logf("QD scores %v", scores)
	if scores["dms"] <= scores["cma-mae"] {
		t.Errorf("QD scores %v", scores)
	}
}
