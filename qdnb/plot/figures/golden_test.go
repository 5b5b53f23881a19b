package figures

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/plot/vg"

	"example.com/qdnb/internal/must"
)

var update = flag.Bool("update", false, "rewrite the images in testdata")

// maxDifference is the mean absolute difference per channel, of 255, up to which images count as
// equal, because other processors round the smoothing of edges differently.
const maxDifference = 0.3

// TestImages compares small figures with those in testdata.
func TestImages(t *testing.T) {
	for name, figure := range sampleFigures(t) {
		t.Run(name, func(t *testing.T) { compareImage(t, name, figure, 300) })
	}
}

// compareImage compares a figure at the given width in pixels with an image of testdata. After an
// intended change, run go test -update and look at the images.
func compareImage(t *testing.T, name string, figure *Figure, pixels int) {
	t.Helper()
	width, _ := figure.Bounds()
	got := must.Get(figure.PNG(int(math.Round(float64(pixels) / float64(width/vg.Inch)))))
	path := filepath.Join("testdata", name+".png")
	if *update {
		must.Do(os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update makes it)", err)
	}
	if d := imageDifference(t, got, want); d > maxDifference {
		out := filepath.Join(os.TempDir(), "figures-"+name+".png")
		if err := os.WriteFile(out, got, 0o644); err != nil {
			t.Error(err)
		}
		t.Errorf("differs from %s by %.2f per channel on average, want at most %.2f; got %s", path, d,
			maxDifference, out)
	}
}

// The comparison detects a figure that lacks only its dots.
func TestImageComparisonIsSensitive(t *testing.T) {
	c := sampleCells()
	var images [2][]byte
	for i := range images {
		f, err := RepertoireMap(c)
		must.Do(err)
		images[i] = must.Get(f.PNG(68))
		c.Descriptors = nil
	}
	if d := imageDifference(t, images[0], images[1]); d < maxDifference {
		t.Errorf("difference %.2f", d)
	}
	if d := imageDifference(t, images[0], images[0]); d != 0 {
		t.Errorf("an image differs from itself by %g", d)
	}
}

func imageDifference(t *testing.T, a, b []byte) float64 {
	t.Helper()
	images := [2]image.Image{decode(t, a), decode(t, b)}
	bounds := images[0].Bounds()
	if bounds != images[1].Bounds() {
		t.Fatalf("sizes differ: %v, %v", bounds, images[1].Bounds())
	}
	var total float64
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			p := color.NRGBAModel.Convert(images[0].At(x, y)).(color.NRGBA)
			q := color.NRGBAModel.Convert(images[1].At(x, y)).(color.NRGBA)
			for _, d := range [][2]uint8{{p.R, q.R}, {p.G, q.G}, {p.B, q.B}} {
				total += math.Abs(float64(d[0]) - float64(d[1]))
			}
		}
	}
	return total / float64(3*bounds.Dx()*bounds.Dy())
}

// sampleCells is a repertoire shaped like pointmaze, with about two thirds of its 200 cells filled.
func sampleCells() Cells {
	rng := rand.New(rand.NewPCG(3, 4))
	c := Cells{
		Title: "MAP-Elites, pointmaze", XLabel: "final x", YLabel: "final y",
		Lower: [2]float64{-1, -1}, Upper: [2]float64{1, 1},
	}
	c.Centroids = randomSites(rng, 200, c.Lower, c.Upper)
	for _, p := range c.Centroids {
		fitness := -20 - 250*math.Hypot(p[0]+0.5, p[1]-0.8)
		if p[1] > 0.2 && rng.Float64() < 0.6 {
			fitness = math.Inf(-1)
		}
		c.Fitness = append(c.Fitness, fitness)
		c.Descriptors = append(c.Descriptors, [2]float64{p[0] + 0.02*rng.NormFloat64(),
			p[1] + 0.02*rng.NormFloat64()})
	}
	return c
}

// sampleArena is pointmaze with five smooth paths around its walls.
func sampleArena() Arena {
	a := Arena{
		Title: "Five skills", XLabel: "x", YLabel: "y", Lower: [2]float64{-1, -1},
		Upper: [2]float64{1, 1},
		Walls: []Rect{{X0: -0.5, Y0: -0.5, X1: 1, Y1: -0.49}, {X0: -1, Y0: 0.2, X1: 0.5, Y1: 0.21}},
		Goal:  &Rect{X0: -0.55, Y0: 0.75, X1: -0.45, Y1: 0.85},
	}
	for k := range 5 {
		p := Path{Label: fmt.Sprintf("skill %d", k+1)}
		for i := range 200 {
			s := float64(i) / 199 * (1 - 0.1*float64(k))
			turn := math.Sin(3 * math.Pi * s)
			p.X = append(p.X, -math.Copysign(0.85*math.Sqrt(math.Abs(turn)), turn)+0.02*float64(k))
			p.Y = append(p.Y, -0.85+1.7*s)
		}
		a.Paths = append(a.Paths, p)
	}
	return a
}

// samplePanels returns three metrics of two methods and a variant, with bands, gaps and a
// logarithmic axis.
func samplePanels() []Panel {
	panels := []Panel{
		{Title: "Max fitness", XLabel: "Evaluations", YLabel: "Fitness"},
		{Title: "Coverage", XLabel: "Evaluations", YLabel: "Filled cells (%)",
			YLimits: [2]float64{0, 100}},
		{Title: "QD score", XLabel: "Evaluations (log)", YLabel: "QD score", LogX: true},
	}
	for k, name := range []string{"my-variant", "pga-map-elites", "map-elites"} {
		for i := range panels {
			s := Series{Name: name}
			for g := range 101 {
				u := 1 - math.Exp(-float64(g)*float64(k+1)/60)
				y := []float64{-400 + 380*u, 90 * u, 4e5 * u}[i]
				s.X, s.Y = append(s.X, 1000*float64(g)), append(s.Y, y)
				width := 0.1 * math.Abs(y)
				s.Low, s.High = append(s.Low, y-width), append(s.High, y+width)
			}
			s.Y[0] = math.Inf(-1)
			if k == 0 {
				s.Low, s.High = nil, nil
			}
			panels[i].Series = append(panels[i].Series, s)
		}
	}
	return panels
}

// sampleGrid is a grid of two methods by two environments with one run missing.
func sampleGrid() Grid {
	a, b := sampleCells(), sampleCells()
	a.Title, b.Title = "", ""
	b.Fitness = make([]float64, len(a.Fitness))
	for i, f := range a.Fitness {
		b.Fitness[i] = f / 2
	}
	wide := Cells{XLabel: "final x (m)", YLabel: "final y (m)", Lower: [2]float64{0, -8},
		Upper: [2]float64{30, 8}, Min: -200, Max: 2000}
	for _, p := range a.Centroids {
		wide.Centroids = append(wide.Centroids, [2]float64{15 + 15*p[0], 8 * p[1]})
		wide.Fitness = append(wide.Fitness, 900+1100*p[0])
	}
	return Grid{
		Maps: [][]Map{{&a, &wide}, {&b}}, Bar: BarPerColumn,
		RowTitles: []string{"MAP-Elites", "AURORA"}, ColumnTitles: []string{"pointmaze", "ant-trap"},
	}
}

// sampleMixedGrid has two repertoires above the trajectories of their skills, and a gap: a dense
// grid with two kinds of axes.
func sampleMixedGrid() Grid {
	a, arena := sampleCells(), sampleArena()
	a.Title, a.XLabel, a.YLabel, a.Descriptors = "12 steps", "x", "y", nil
	arena.Title = ""
	near := sampleArena()
	near.Title, near.Paths, near.Goal = "", near.Paths[1:3], nil
	near.Lower, near.Upper = [2]float64{-1, -0.5}, [2]float64{0, 0.5}
	return Grid{
		Maps: [][]Map{{&a, &a, nil}, {&arena, &near, (*Arena)(nil)}}, Dense: true,
		RowTitles:    []string{"Repertoire", "Skills"},
		ColumnTitles: []string{"a rather long name", "short", "none"},
	}
}

func sampleFigures(t *testing.T) map[string]*Figure {
	t.Helper()
	figures := make(map[string]*Figure)
	add := func(name string, f *Figure, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		figures[name] = f
	}
	f, err := RepertoireMap(sampleCells())
	add("repertoire", f, err)
	f, err = MapGrid(sampleGrid())
	add("grid", f, err)
	f, err = MapGrid(sampleMixedGrid())
	add("grid-mixed", f, err)
	f, err = Curves(samplePanels(), 3)
	add("curves", f, err)
	f, err = Trajectories(sampleArena())
	add("trajectories", f, err)
	return figures
}

func decode(t *testing.T, data []byte) image.Image {
	t.Helper()
	img := must.Get(png.Decode(bytes.NewReader(data)))
	return img
}
