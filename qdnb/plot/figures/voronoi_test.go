package figures

import (
	"math"
	"math/rand/v2"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func area(polygon [][2]float64) float64 {
	var a float64
	for i, p := range polygon {
		q := polygon[(i+1)%len(polygon)]
		a += (p[0]*q[1] - q[0]*p[1]) / 2
	}
	return a
}

// inside reports whether a point lies in a convex, counter-clockwise polygon, up to a tolerance.
func inside(polygon [][2]float64, p [2]float64, tolerance float64) bool {
	for i, a := range polygon {
		b := polygon[(i+1)%len(polygon)]
		cross := (b[0]-a[0])*(p[1]-a[1]) - (b[1]-a[1])*(p[0]-a[0])
		if cross < -tolerance*math.Hypot(b[0]-a[0], b[1]-a[1]) {
			return false
		}
	}
	return len(polygon) > 2
}

func randomSites(rng *rand.Rand, n int, lower, upper [2]float64) [][2]float64 {
	sites := make([][2]float64, n)
	for i := range sites {
		for d := range 2 {
			sites[i][d] = lower[d] + rng.Float64()*(upper[d]-lower[d])
		}
	}
	return sites
}

func TestVoronoiTilesTheBoxByNearestSite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	skewed := randomSites(rng, 300, [2]float64{0, 0}, [2]float64{1, 1})
	for i := range skewed[:290] { // nearly all of them in one corner
		skewed[i][0] *= 1e-3
		skewed[i][1] *= 1e-3
	}
	line := randomSites(rng, 50, [2]float64{0, 0.5}, [2]float64{1, 0.5})
	for _, c := range []struct {
		name         string
		sites        [][2]float64
		lower, upper [2]float64
	}{
		{"one site", [][2]float64{{0.2, 0.3}}, [2]float64{0, 0}, [2]float64{1, 1}},
		{"square", randomSites(rng, 1024, [2]float64{-1, -1}, [2]float64{1, 1}), [2]float64{-1, -1},
			[2]float64{1, 1}},
		{"wide", randomSites(rng, 500, [2]float64{0, -8}, [2]float64{30, 8}), [2]float64{0, -8},
			[2]float64{30, 8}},
		{"skewed", skewed, [2]float64{0, 0}, [2]float64{1, 1}},
		{"on a line", line, [2]float64{0, 0}, [2]float64{1, 1}},
		{"sites outside too", randomSites(rng, 200, [2]float64{-2, -2}, [2]float64{3, 3}),
			[2]float64{0, 0}, [2]float64{1, 1}},
		{"all outside", randomSites(rng, 20, [2]float64{5, 5}, [2]float64{6, 6}), [2]float64{0, 0},
			[2]float64{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cells := must.Get(Voronoi(c.sites, c.lower, c.upper))
			var total float64
			for i, cell := range cells {
				if a := area(cell); a < 0 {
					t.Errorf("cell %d is clockwise: area %g", i, a)
				} else {
					total += a
				}
			}
			box := (c.upper[0] - c.lower[0]) * (c.upper[1] - c.lower[1])
			if math.Abs(total-box) > 1e-9*box {
				t.Errorf("areas sum to %.12g, the box has %.12g", total, box)
			}
			for _, p := range randomSites(rng, 2000, c.lower, c.upper) {
				nearest, best := -1, math.Inf(1)
				for i, s := range c.sites {
					if d := math.Hypot(s[0]-p[0], s[1]-p[1]); d < best {
						nearest, best = i, d
					}
				}
				if !inside(cells[nearest], p, 1e-9) {
					t.Fatalf("point %v lies outside the cell of its nearest site %d", p, nearest)
				}
			}
		})
	}
}

func TestVoronoiSymmetricCases(t *testing.T) {
	lower, upper := [2]float64{0, 0}, [2]float64{4, 2}
	for _, c := range []struct {
		name  string
		sites [][2]float64
		areas []float64
	}{
		{"halves", [][2]float64{{1, 1}, {3, 1}}, []float64{4, 4}},
		{"quarters", [][2]float64{{1, 0.5}, {3, 0.5}, {3, 1.5}, {1, 1.5}}, []float64{2, 2, 2, 2}},
		{"diamond", [][2]float64{{2, 1}, {1, 0}, {3, 0}, {1, 2}, {3, 2}},
			[]float64{2, 1.5, 1.5, 1.5, 1.5}},
		{"duplicates: the first has the cell", [][2]float64{{1, 1}, {1, 1}, {3, 1}, {1, 1}},
			[]float64{4, 0, 4, 0}},
		{"all the same", [][2]float64{{1, 1}, {1, 1}}, []float64{8, 0}},
	} {
		cells := must.Get(Voronoi(c.sites, lower, upper))
		for i, want := range c.areas {
			if got := area(cells[i]); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: cell %d has area %g, want %g", c.name, i, got, want)
			}
			if want == 0 && cells[i] != nil {
				t.Errorf("%s: cell %d is %v, want nil", c.name, i, cells[i])
			}
		}
	}
}

func TestVoronoiRefusesWhatIsNotFinite(t *testing.T) {
	errtest.Want(t, errtest.Of(Voronoi([][2]float64{{0, 0}, {math.NaN(), 0}}, [2]float64{0, 0},
		[2]float64{1, 1})), "site 1")
	for _, upper := range [][2]float64{{0, 1}, {-1, 1}, {1, math.Inf(1)}, {math.NaN(), 1}} {
		errtest.Want(t, errtest.Of(Voronoi([][2]float64{{0, 0}}, [2]float64{0, 0}, upper)), "limits")
	}
	if cells, err := Voronoi(nil, [2]float64{0, 0}, [2]float64{1, 1}); err != nil || len(cells) != 0 {
		t.Errorf("no sites: got %v, %v", cells, err)
	}
}

// In a box whose sides differ by more than a factor of two, cells are those of the unit square.
func TestVoronoiCellsOfUnequalScale(t *testing.T) {
	sites, wide := [][2]float64{{0.2, 0.3}, {0.7, 0.4}, {0.5, 0.9}}, make([][2]float64, 3)
	for i, s := range sites {
		wide[i] = [2]float64{s[0], 1024 * s[1]}
	}
	want := must.Get(Voronoi(sites, [2]float64{}, [2]float64{1, 1}))
	got := must.Get(Voronoi(wide, [2]float64{}, [2]float64{1, 1024}))
	for i, cell := range want {
		if len(got[i]) != len(cell) {
			t.Fatalf("cell %d: %v, want %v", i, got[i], cell)
		}
		for k, v := range cell {
			if math.Abs(got[i][k][0]-v[0]) > 1e-6 || math.Abs(got[i][k][1]/1024-v[1]) > 1e-6 {
				t.Errorf("cell %d: %v, want %v", i, got[i], cell)
			}
		}
	}
}
