package repertoire

import (
	"math"
	"slices"
	"testing"
	"time"

	"example.com/qdnb/xla"
)

func platform(t testing.TB) *xla.Platform {
	t.Helper()
	p, err := xla.Default()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCentroidsAreAVoronoiTessellation(t *testing.T) {
	p := platform(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // after the plugin was found
	cvt := CVT{Cells: 1024, Samples: 50000, Lower: []float32{-1, 0}, Upper: []float32{1, 8}}
	start := time.Now()
	centroids, err := cvt.Centroids(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("first", time.Since(start))
	start = time.Now()
	again, err := cvt.Centroids(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("cached", time.Since(start))
	if !slices.Equal(centroids, again) {
		t.Error("the cached centroids differ from the computed ones")
	}
	// A tessellation of 1024 cells of the unit square has cells of side 1/32: every point has a centroid near by, and no two
	// centroids coincide.
	nearest := func(x, y float64, not int) float64 {
		best := math.Inf(1)
		for i := 0; i < len(centroids); i += 2 {
			if i != not {
				best = min(best, math.Hypot((float64(centroids[i])+1)/2-x, float64(centroids[i+1])/8-y))
			}
		}
		return best
	}
	for i := 0; i < len(centroids); i += 2 {
		x, y := (float64(centroids[i])+1)/2, float64(centroids[i+1])/8
		if x < 0 || x > 1 || y < 0 || y > 1 {
			t.Fatalf("centroid %d lies outside the limits: %g, %g", i/2, x, y)
		}
		if d := nearest(x, y, i); d < 0.4/32 {
			t.Errorf("centroid %d has a neighbour at %.3f cells", i/2, d*32)
		}
	}
	worst := 0.0
	for i := range 50 {
		for j := range 50 {
			worst = max(worst, nearest((float64(i)+0.5)/50, (float64(j)+0.5)/50, -1))
		}
	}
	if worst > 1.6/32 {
		t.Errorf("a point is %.2f cells away from every centroid", worst*32)
	}
}
