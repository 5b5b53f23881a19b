package repertoire

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

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
	if !slices.Equal(cvt.unitCentroids(3), want) {
		t.Error("the centroids differ")
	}
}
