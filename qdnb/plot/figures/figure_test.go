package figures

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/cell/celltest"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func TestSaveFormats(t *testing.T) {
	dir := t.TempDir()
	for name, f := range sampleFigures() {
		for format, start := range map[string]string{".png": "\x89PNG\r\n", ".svg": "<?xml",
			".pdf": "%PDF-", ".PNG": "\x89PNG\r\n"} {
			if strings.EqualFold(format, ".png") && name != "images" && name != "map" {
				continue // TestImages draws them
			}
			path := filepath.Join(dir, name+format)
			must.Do(f.Save(path))
			data, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(data, []byte(start)) {
				t.Errorf("%s: starts with %q, %v", path, data[:8], err)
			}
			images := name == "images"
			if format == ".svg" && (bytes.Contains(data, []byte("data:image/png;base64,")) != images || bytes.Contains(data,
				[]byte("font-family:Liberation Sans;"))) {
				t.Errorf("%s: an image, or a font without fallback", path)
			}
		}
	}
	errtest.Equal(t, "temporary files", must.Get(filepath.Glob(filepath.Join(dir, ".*"))), nil)
}

// A character that the font lacks is a box, wherever it stands.
func TestMissingCharacters(t *testing.T) {
	draw := func(format, title, x, y, name string) []byte {
		f := figureOf(Lines(Axes{Title: title, XLabel: x, YLabel: y},
			Series{Name: name, X: []float64{0, 1}, Y: []float64{0, 1}}, Series{Name: "b"}))
		return must.Get(f.encode(format))
	}
	ink := func(title, x, y, name string) (n int) {
		img := must.Get(png.Decode(bytes.NewReader(draw(".png", title, x, y, name))))
		for c := range pixels(img) {
			if c.R < 0x60 {
				n++
			}
		}
		return n
	}
	for i := range 4 {
		texts := []string{"t", "x", "y", "a"}
		of := func(text string) int {
			texts[i] = text
			return ink(texts[0], texts[1], texts[2], texts[3])
		}
		if got, without := of("漢😀"), of(" "); got < without+80 {
			t.Errorf("at position %d: %d dark pixels, %d without the characters", i, got, without)
		}
	}
	paths := func(text string) (n int) {
		for _, part := range bytes.Split(draw(".pdf", text, "x", "y", "a"), []byte("stream\n"))[1:] {
			r, err := zlib.NewReader(bytes.NewReader(part))
			if err != nil {
				continue
			}
			content, _ := io.ReadAll(r)
			n += bytes.Count(content, []byte("\nh\n"))
		}
		return n
	}
	// The code page of a PDF has no ≥.
	if got, without := paths("a≥漢z"), paths("a  z"); got != without+4 {
		t.Errorf("a PDF has %d closed paths, %d without two boxes", got, without)
	}
	if !bytes.Contains(draw(".svg", "漢", "x", "y", "a"), []byte("漢")) {
		t.Error("an SVG has lost its text")
	}
}

func TestSaveErrors(t *testing.T) {
	f := figureOf(Map(sampleCells()))
	dir := t.TempDir()
	for _, name := range []string{"figure.jpeg", "figure", "figure."} {
		errtest.Want(t, f.Save(filepath.Join(dir, name)), ".png, .svg, .pdf")
	}
	errtest.Want(t, f.Save(filepath.Join(dir, "missing", "figure.png")), "missing")
	// A figure that cannot be drawn leaves the file as it was.
	path := filepath.Join(dir, "old.png")
	must.Do(os.WriteFile(path, []byte("old"), 0o644))
	errtest.Want(t, f.Size(10, 10).Save(path), "larger Size")
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("the old file is now %q", data)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
}

// A length of 0 follows from the other: a map fills its figure, around which only margins remain.
func TestSizeFollowsTheAspect(t *testing.T) {
	cells := sampleCells()
	cells.Positions, cells.Upper[1] = true, cells.Lower[1]+2*(cells.Upper[0]-cells.Lower[0])
	for name, c := range map[string]struct {
		d      drawing
		aspect vg.Length
	}{
		"map":   {must.Get(Map(sampleCells())), 1},
		"high":  {must.Get(Map(cells)), 0.5},
		"lines": {must.Get(Lines(Axes{}, Series{X: []float64{0, 1}, Y: []float64{0, 1}})), 1.35},
	} {
		f := figureOf(c.d, nil)
		width, height := f.Bounds()
		near := func(what string, got, want vg.Length) {
			t.Helper()
			if math.Abs(float64(got-want)) > 1 {
				t.Errorf("%s: %s is %.1f points, want %.1f", name, what, got, want)
			}
		}
		for _, more := range []vg.Length{-80, 0, 200} {
			w, h := f.Size(width+more, 0).Bounds()
			near("the width", w, width+more)
			near("the height", h, height+more/c.aspect)
			w, h = f.Size(0, height+more).Bounds()
			near("the width of a height", w, width+more*c.aspect)
			near("the height", h, height+more)
		}
		if w, h := f.Size(0, 0).Bounds(); w != width || h != height {
			t.Errorf("%s: Size(0, 0) is %g x %g", name, w, h)
		}
		before := must.Get(f.PNG(96))
		f.Size(400, 0)
		if !bytes.Equal(must.Get(f.PNG(96)), before) {
			t.Errorf("%s: another size changes the figure", name)
		}
	}
}

func TestPNGErrors(t *testing.T) {
	f := figureOf(InRows(3, samplePanels()...), nil)
	for _, c := range []struct {
		figure *Figure
		dpi    int
		want   string
	}{
		{f, 0, "positive resolution"},
		{f, -1, "positive resolution"},
		{f, 1e6, "at most 100 million pixels"},
		{f.Size(-1, 0), 96, "positive lengths"},
		{f.Size(vg.Length(math.NaN()), 0), 96, "positive lengths"},
		{f.Size(vg.Length(math.Inf(1)), 0), 96, "positive lengths"},
	} {
		errtest.Want(t, errtest.Of(c.figure.PNG(c.dpi)), c.want)
	}
}

// A gonum plot of the user's is a panel; if it panics, this is an error.
func TestPlotsOfTheUser(t *testing.T) {
	p := plot.New()
	p.Add(must.Get(plotter.NewLine(plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 2}})))
	f := figureOf(&Panel{Plot: p}, nil).Size(3*vg.Inch, 2*vg.Inch)
	errtest.Equal(t, "size", must.Get(f.Image(96)).Bounds(), image.Rect(0, 0, 288, 192))
	p.X.Scale = plot.LogScale{}
	errtest.Want(t, errtest.Of((&Panel{Plot: p}).Figure()), "log scale")
}

func TestPNGStatesItsResolution(t *testing.T) {
	f := figureOf(Trajectories(sampleArena()))
	data := must.Get(f.PNG(Resolution))
	at := bytes.Index(data, []byte("pHYs"))
	if at < 0 || binary.BigEndian.Uint32(data[at+4:]) != 7559 || data[at+12] != 1 { // 192 / 0.0254
		t.Error("no pHYs chunk of 192 dots per inch")
	}
	must.Get(png.Decode(bytes.NewReader(data))) // checks the chunk's checksum
}

// Rows are even above a gap, because only the last row of equal panels names the axis.
func TestAxesAboveAGap(t *testing.T) {
	var g Grid
	for _, panels := range []int{3, 3, 1} {
		var row []*Panel
		for range panels {
			row = append(row, must.Get(Map(sampleCells())))
		}
		g.Panels = append(g.Panels, row)
	}
	errtest.Equal(t, "panels that name their horizontal axis", strings.Count(svgOf(g, nil), g.Panels[0][0].X.Label.Text), 1)
}

// Full-size maps stay small enough for a repository.
func TestRepertoireMapIsSmall(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	c := sampleCells()
	c.Centroids = randomSites(rng, 1024, c.Lower, c.Upper)
	c.Descriptors, c.Fitness = nil, nil
	for range c.Centroids {
		c.Fitness = append(c.Fitness, rng.NormFloat64())
	}
	f := figureOf(Map(c))
	data := must.Get(f.PNG(Resolution))
	if len(data) > 150e3 {
		t.Errorf("a map of 1024 cells takes %d bytes", len(data))
	}
}

func TestPalettedKeepsAreasAndApproximatesEdges(t *testing.T) {
	few := image.NewRGBA(image.Rect(0, 0, 16, 16))
	many := image.NewRGBA(image.Rect(0, 0, 256, 256))
	for i := range 256 {
		few.Set(i%16, i/16, color.RGBA{R: uint8(i), G: 7, B: uint8(255 - i), A: 255})
		for k := range 256 {
			c := Viridis(float64(k) / 255)
			if i%8 == 0 {
				c = color.NRGBA{R: uint8(i), G: uint8(k), B: 90, A: 255} // rare colours
			}
			many.Set(k, i, c)
		}
	}
	reducedFew, reducedMany := Paletted(few), Paletted(many)
	difference := func(img *image.RGBA, reduced *image.Paletted, x, y int) int {
		r, g, b, _ := img.At(x, y).RGBA()
		p := reduced.At(x, y).(color.NRGBA)
		off := func(x uint32, y uint8) int { return max(int(x>>8)-int(y), int(y)-int(x>>8)) }
		return max(off(r, p.R), off(g, p.G), off(b, p.B))
	}
	for _, at := range [][2]int{{0, 0}, {15, 15}, {7, 3}} {
		errtest.Equal(t, at, difference(few, reducedFew, at[0], at[1]), 0)
	}
	for k := 0; k < 256; k += 16 {
		if d := difference(many, reducedMany, k, 1); d > 3 {
			t.Errorf("area of level %d differs by %d", k, d)
		}
		if d := difference(many, reducedMany, k, 128); d > 40 {
			t.Errorf("rare colour %d differs by %d", k, d)
		}
	}
	errtest.Equal(t, "colours used", len(reducedMany.Palette), 256)
}

func TestShowSavesOutsideANotebook(t *testing.T) {
	f := figureOf(Trajectories(sampleArena()))
	f = f.Size(2*vg.Inch, 2.5*vg.Inch)
	dir := filepath.Join(t.TempDir(), "made", "by show")
	t.Setenv(cell.FolderVariable, dir)
	for name, file := range map[string]string{
		"skills":            "skills.png",
		"vector.svg":        "vector.svg",
		"sub/ant-uni v1.5":  "sub/ant-uni v1.5.png",
		"already named.png": "already named.png",
	} {
		printed := captureStderr(t, func() {
			must.Do(f.Show(name))
		})
		path := filepath.Join(dir, file)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
		errtest.Contains(t, printed, path)
	}

	t.Setenv(cell.FolderVariable, "")
	t.Chdir(t.TempDir())
	captureStderr(t, func() {
		must.Do(f.Show("here"))
	})
	data := must.Get(os.ReadFile("here.png"))
	errtest.Equal(t, "bounds", must.Get(png.Decode(bytes.NewReader(data))).Bounds(), image.Rect(0, 0, 384, 480))
}

func TestShowErrors(t *testing.T) {
	f := figureOf(Trajectories(sampleArena()))
	dir := t.TempDir()
	must.Do(os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	t.Setenv(cell.FolderVariable, filepath.Join(dir, "file"))
	errtest.Want(t, f.Show("skills"), cell.FolderVariable)
	t.Setenv(cell.FolderVariable, dir)
	errtest.Want(t, f.Show(""), "needs a name")
	errtest.Want(t, f.Size(5, 5).Show("tiny"), "larger Size")
}

func captureStderr(t *testing.T, do func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(err)
	old := os.Stderr
	os.Stderr = w
	defer func() { os.Stderr = old }()
	do()
	w.Close()
	var buf bytes.Buffer
	must.Get(io.Copy(&buf, r))
	return buf.String()
}

// Show sends a PNG of double resolution and the size at which to display it.
func TestShowInANotebook(t *testing.T) {
	f := figureOf(Map(sampleCells()))
	data := celltest.Displayed(t, func() error { return f.Show("repertoire") })[0]
	sent, ok := data.Data[protocol.MIMEImagePNG].([]byte)
	if !ok || len(data.Data) != 1 {
		t.Fatalf("sent %d formats, image/png among them: %v", len(data.Data), ok)
	}
	size, ok := data.Metadata["image/png"].(map[string]int)
	if !ok {
		t.Fatalf("metadata %v", data.Metadata)
	}
	if bounds := must.Get(png.Decode(bytes.NewReader(sent))).Bounds(); !near(bounds, size["width"], size["height"]) {
		t.Errorf("image of %v, shown at %v", bounds, size)
	}
}

// In a notebook the runs that a figure shows stand below it, in a line of its own.
func TestCaptionStandsBelowTheFigure(t *testing.T) {
	f := figureOf(Map(sampleCells()))
	if f.captioned("") != f {
		t.Error("no caption changes the figure")
	}
	with := f.captioned("run 1a2b3c4d")
	path := filepath.Join(t.TempDir(), "figure.svg")
	must.Do(with.Save(path))
	errtest.Contains(t, string(must.Get(os.ReadFile(path))), "run 1a2b3c4d")
	_, height := f.onScreen()
	if _, taller := with.onScreen(); taller <= height {
		t.Errorf("the figure is %d pixels high, and %d with a caption", height, taller)
	}
	long := must.Get(f.captioned(strings.Repeat("run 1a2b3c4d, ", 20)).Image(Resolution)) // becomes small, and is not cut
	for y := long.Bounds().Dy() - 20; y < long.Bounds().Dy(); y++ {
		if r, _, _, _ := long.At(0, y).RGBA(); r != 0xffff {
			t.Fatal("a long caption leaves the figure")
		}
	}
}

// near reports whether an image has twice the given size, up to rounding.
func near(b image.Rectangle, width, height int) bool {
	return max(b.Dx()-2*width, 2*width-b.Dx(), b.Dy()-2*height, 2*height-b.Dy()) <= 1
}

// touchOf returns the data that the script of a figure gets.
func touchOf(t *testing.T, script string) (d touchData) {
	t.Helper()
	parts := regexp.MustCompile(`\["([^"]+)", "([^"]+)"\]`).FindStringSubmatch(script)
	if parts == nil {
		t.Fatalf("no data in %.200s", script)
	}
	packed := must.Get(base64.StdEncoding.DecodeString(parts[2]))
	must.Do(json.Unmarshal(must.Get(io.ReadAll(flate.NewReader(bytes.NewReader(packed)))), &d))
	return d
}

func valueAt(axis touchAxis, share int) float64 {
	s := float64(share) / touchSteps
	if axis.Log {
		return axis.Range[0] * math.Pow(axis.Range[1]/axis.Range[0], s)
	}
	return axis.Range[0] + s*(axis.Range[1]-axis.Range[0])
}

// A notebook gets the picture, and then a script with the values of what the picture shows.
func TestFiguresAnswerThePointer(t *testing.T) {
	curve := Series{Name: "map-elites", X: []float64{1, 10, 100, math.NaN(), 1000}, Y: []float64{-3, 0, 5, 1, 4},
		Low: []float64{-4, -1, 4, 0, 3}, High: []float64{-2, 1, 6, 2, 5}}
	p := must.Get(Lines(Axes{XLabel: "steps", YLabel: "fitness", LogX: true}, curve,
		Series{Name: "aurora", X: []float64{1, 1000}, Y: []float64{0, 1}}))
	outputs := celltest.Displayed(t, func() error { return p.Show("curves") })
	if len(outputs) != 2 || outputs[0].Data[protocol.MIMEImagePNG] == nil {
		t.Fatalf("%d outputs, want a picture and a script", len(outputs))
	}
	d := touchOf(t, outputs[1].Data[protocol.MIMETextHTML].(string))
	if len(d.Panels) != 1 || len(d.Panels[0].Marks) != 2 {
		t.Fatalf("%d panels", len(d.Panels))
	}
	panel, m := d.Panels[0], d.Panels[0].Marks[0]
	if m.Name != "MAP-Elites" || m.Color != "#"+hexOf(MethodStyles("map-elites")["map-elites"].Color) || len(m.Lines) != 2 {
		t.Fatalf("mark %+v", m)
	}
	at := 0
	for i, line := range m.Lines {
		x, y, low, high := 0, 0, 0, 0
		for k, point := range line {
			if math.IsNaN(curve.X[at]) {
				at++
			}
			x, y, low, high = x+point[0], y+point[1], low+m.Bands[i][k][0], high+m.Bands[i][k][1]
			if got := valueAt(panel.X, x); math.Abs(math.Log(got/curve.X[at])) > math.Log(1000)/touchSteps {
				t.Errorf("x is %g, want %g", got, curve.X[at])
			}
			for got, want := range map[int]float64{y: curve.Y[at], low: curve.Low[at], high: curve.High[at]} {
				if tolerance := (panel.Y.Range[1] - panel.Y.Range[0]) / touchSteps; math.Abs(valueAt(panel.Y, got)-want) > tolerance {
					t.Errorf("%g, want %g", valueAt(panel.Y, got), want)
				}
			}
			at++
		}
	}
	errtest.Equal(t, "points", at, len(curve.X))
	f := must.Get(InRows(2, p, must.Get(Lines(Axes{XLabel: "gravity"}, curve))).Figure())
	must.Get(f.PNG(Resolution))
	errtest.Equal(t, "the quantity of a row", f.touched.Panels[1].Y.Name, "Fitness")
	f = figureOf(Intervals(Axes{}, Interval{Name: "aurora", Low: -0.25, Value: 640_070, High: 25.3e6}))
	must.Get(f.PNG(Resolution))
	errtest.Equal(t, "an interval", f.touched.Panels[0].Marks[0].Text, "640.1k (−0.25 to 25.3M)")
}

// The places of a map are those of its frame in the picture, the nearest site of a point is that of the cell that
// contains it, and differences of values lead back to its history.
func TestMapsAnswerThePointer(t *testing.T) {
	c := sampleCells()
	c.Lower, c.Upper = [2]float64{-1, -1}, [2]float64{1, 0.2} // a square map of a rectangle
	early := make([]float64, len(c.Fitness))
	for i, f := range c.Fitness {
		if early[i] = f - 10; i%2 == 0 {
			early[i] = math.Inf(-1)
		}
	}
	c.History = []Moment{{"generation 1", early}}
	c.Walls, c.Start = []Rect{{X0: -0.5, Y0: 0.1, X1: 2, Y1: -0.2}}, &[2]float64{-0.5, -0.4}
	c.Goal = &Rect{X0: 0.5, Y0: -0.4, X1: 0.5, Y1: -0.4}
	f := figureOf(Map(c))
	path := filepath.Join(t.TempDir(), "map.html")
	must.Do(f.Save(path))
	d := touchOf(t, string(must.Get(os.ReadFile(path))))
	panel, m := d.Panels[0], d.Panels[0].Map
	img, scale := must.Get(png.Decode(bytes.NewReader(must.Get(f.PNG(144))))), 2.0
	for _, corner := range [][2]float64{{panel.Area[0], panel.Area[1]}, {panel.Area[2], panel.Area[3]}} {
		darkest := uint32(0xffff)
		for dx := -1; dx <= 1; dx++ {
			r, _, _, _ := img.At(int(scale*corner[0])+dx, int(scale*(panel.Area[1]+panel.Area[3])/2)).RGBA()
			darkest = min(darkest, r)
		}
		if darkest > 0xb000 {
			t.Errorf("no frame at %v", corner)
		}
	}
	var left, bottom, right, top float64 // of the wall, which is drawn first
	_, wall, _ := strings.Cut(m.Marks, `d="`)
	must.Get(fmt.Sscanf(wall, "M%g,%gL%g,%gL%g,%g", &left, &bottom, &right, new(float64), new(float64), &top))
	width, height := panel.Area[2]-panel.Area[0], panel.Area[3]-panel.Area[1]
	left, right = left-panel.Area[0], right-panel.Area[0]
	bottom, top = bottom-(d.Height-panel.Area[3]), top-(d.Height-panel.Area[3])
	got := fmt.Sprintf("%.2f %.2f %.2f %.2f", left/width, right/width, bottom/height, top/height)
	errtest.Equal(t, "the wall", got, "0.25 1.00 0.67 0.92")
	polygons := must.Get(Voronoi(c.Centroids, c.Lower, c.Upper))
	for i, polygon := range polygons {
		if polygon == nil {
			continue
		}
		var center [2]float64 // of a convex polygon
		for _, v := range polygon {
			center[0], center[1] = center[0]+v[0]/float64(len(polygon)), center[1]+v[1]/float64(len(polygon))
		}
		best, least := -1, math.Inf(1)
		for k := range c.Centroids {
			var d2 float64
			for axis, x := range center {
				share := touchSteps * (x - c.Lower[axis]) / (c.Upper[axis] - c.Lower[axis])
				d2 += math.Pow((share-float64(d.Sites[m.Sites][k][axis]))*m.Metric[axis], 2)
			}
			if d2 < least {
				best, least = k, d2
			}
		}
		errtest.Equal(t, fmt.Sprintf("the middle of cell %d", i), best, i)
		for time, want := range []float64{c.Fitness[i], early[i]} {
			q := m.Values[1-time][i]
			got := m.Range[0] + float64(q-1)/998*(m.Range[1]-m.Range[0])
			if q == 0 != math.IsInf(want, -1) || q > 0 && math.Abs(got-want) > (m.Range[1]-m.Range[0])/998 {
				t.Errorf("cell %d is %g at time %d, want %g", i, got, time, want)
			}
		}
	}
	if got := m.Times; len(got) != 2 || got[0] != "generation 1" || got[1] != c.Title {
		t.Errorf("times %q", got)
	}
}
