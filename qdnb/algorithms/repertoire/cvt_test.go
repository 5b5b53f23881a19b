package repertoire

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
)

// flat returns the centroids of a tessellation.
func flat(t *testing.T, c CVT, lower, upper []float32) []float32 {
	t.Helper()
	centroids := must.Get(c.Centroids(lower, upper))
	return centroids.Data.([]float32)
}

func TestCentroidsAreAVoronoiTessellation(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cvt := CVT{Cells: 1024, CVTSamples: 50000, CVTSeed: 1}
	start := time.Now()
	centroids := flat(t, cvt, []float32{-1, 0}, []float32{1, 8})
	t.Log("first", time.Since(start))
	start = time.Now()
	again := flat(t, cvt, []float32{-1, 0}, []float32{1, 8})
	t.Log("cached", time.Since(start))
	errtest.Equal(t, "the cached centroids", centroids, again)
	// A tessellation of the unit square into 1024 cells has cells of side 1/32: every point has a
	// centroid nearby, and no two centroids coincide.
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
		if again, err := os.ReadFile(path); err != nil || !slices.Equal(again, whole) {
			t.Errorf("a cache that is %s was not repaired", what)
		}
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

// FuzzCentroids reads arbitrary cache files: a file without a tessellation of the unit cube is
// recomputed.
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
