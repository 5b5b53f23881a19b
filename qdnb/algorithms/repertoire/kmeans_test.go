package repertoire

import (
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"example.com/qdnb/xla"
)

// The tree finds the same centroid as a scan over all centroids, also for equally near centroids
// and for any start of the search.
func TestNearestIsThatOfAScan(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for d := 1; d <= 5; d++ {
		for _, k := range []int{1, 4, 5, 300} {
			// On a coarse grid most points have several nearest centroids, and centroids coincide.
			grid := func(n int) []float32 {
				x := make([]float32, n*d)
				for i := range x {
					x[i] = float32(random.IntN(9)) / 8
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
				want, best := 0, float32(math.MaxFloat32)
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

// k-means++ skips points that cannot be nearer to the new centroid.
func TestPlusPlusKnowsTheNearest(t *testing.T) {
	const n, d, k = 3000, 2, 100
	points := make([]float32, n*d)
	xla.NewStream(1).Uniform(points)
	chosen, nearest := plusPlus(xla.NewStream(2), points, d, k)
	want := make([]int, n)
	assign(want, points, chosen, d)
	if !slices.Equal(nearest, want) {
		t.Error("some points have a different nearest centroid")
	}
}

// fma rounds once, even if the sum lies halfway between two float32 values only after rounding to
// float64.
func TestFMARoundsOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	check := func(x, y float32) {
		t.Helper()
		exact := func(x float32) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(float64(x)) }
		sum := new(big.Float).SetPrec(300).Mul(exact(x), exact(x))
		want, _ := sum.Add(sum, exact(y)).Float32()
		if got := fma(x, y); got != want {
			t.Errorf("%g*%g + %g = %g, want %g", x, x, y, got, want)
		}
	}
	for range 100_000 {
		check(random.Float32()-random.Float32(), random.Float32())
	}
	// Half a unit in the last place above 1, plus or minus a negligible amount.
	half := float32(1.0 / (1 << 12))
	for _, y := range []float32{1, math.Nextafter32(1, 2), 2, 3} {
		for _, x := range []float32{half, math.Nextafter32(half, 1), math.Nextafter32(half, 0),
			half * 1.0001} {
			check(x, y)
			check(y, x*x*half)
			check(float32(math.Sqrt(float64(y)))*half, y)
		}
	}
	check(1+1.0/(1<<12), 1.0/(1<<30)) // 1 + 2^-11 + 2^-24 + 2^-30
	check(1+1.0/(1<<12), math.SmallestNonzeroFloat32)
	check(float32(1.0/(1<<12)), math.Nextafter32(1, 2))
}
