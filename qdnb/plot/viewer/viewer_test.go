package viewer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
)

// grid returns a repertoire of n by n cells, every third one empty, with films of some of them.
func grid(t testing.TB, n, films, frames int) *Page {
	c := figures.Cells{Title: "crawlers <b>", XLabel: "final x (m)", YLabel: "final y (m)",
		Lower: [2]float64{-30, -30}, Upper: [2]float64{30, 30}, Walls: []figures.Rect{{X0: 0, Y0: -33, X1: 12, Y1: -25}},
		Start: new([2]float64), Goal: &figures.Rect{X0: 20, Y0: 20, X1: 20, Y1: 20}}
	random := rand.New(rand.NewPCG(3, 3))
	filmed := map[int]*scene.Film{}
	for i := range n * n {
		at := [2]float64{-30 + 60*(float64(i%n)+0.5+0.3*random.Float64())/float64(n),
			-30 + 60*(float64(i/n)+0.5+0.3*random.Float64())/float64(n)}
		c.Centroids, c.Descriptors = append(c.Centroids, at), append(c.Descriptors, at)
		fitness := 100 - math.Hypot(at[0], at[1])*8
		if i%3 == 2 {
			fitness = math.Inf(-1)
		} else if len(filmed) < films {
			filmed[i] = crawler(i, frames)
		}
		c.Fitness = append(c.Fitness, fitness)
	}
	return must.Get(Repertoire(c, filmed))
}

// colours counts the colours of a region of a picture, in steps of 16.
func colours(t *testing.T, data []byte, x0, y0, x1, y1 int) int {
	t.Helper()
	img := must.Get(png.Decode(bytes.NewReader(data)))
	seen := map[[3]uint32]bool{}
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r >> 12, g >> 12, b >> 12}] = true
		}
	}
	return len(seen)
}

// The bundle is built from the sources in src.
func TestBundleIsOfItsSources(t *testing.T) {
	h := sha256.New()
	for _, pattern := range []string{"src/*.js", "src/*.json"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			data := must.Get(os.ReadFile(name))
			h.Write(data)
		}
	}
	r := must.Get(gzip.NewReader(bytes.NewReader(bundle)))
	program := must.Get(io.ReadAll(r))
	first, _, _ := strings.Cut(string(program), "\n")
	notice, _, _ := strings.Cut(string(program), "*/")
	if sum := fmt.Sprintf("%x", h.Sum(nil)); !strings.Contains(first, sum) {
		t.Errorf("bundle.js.gz does not match src: run tools/viewer. Its first line is %.120s", first)
	}
	licence, err := os.ReadFile("LICENSE.three")
	if err != nil || !bytes.Contains(licence, []byte("MIT License")) || !strings.Contains(notice,
		string(bytes.TrimSpace(licence))) {
		t.Errorf("the bundle does not begin with the licence of three.js, or LICENSE.three is not that licence: %v", err)
	}
}

// One policy that fails does not take the colours of all others: the bar ends in a triangle below them. A list has none.
func TestColoursWithoutOutliers(t *testing.T) {
	page := grid(t, 6, 1, 1)
	page.entries[0].Fitness = -1e5
	x, _, err := page.index()
	if err != nil || x.Range[0] < -300 || x.Map.Beyond != [2]bool{true, false} {
		t.Errorf("%v: the bar goes from %g to %g, with values beyond its ends: %v", err, x.Range[0], x.Range[1], x.Map.Beyond)
	}
	page.cells = nil // a list, which has no bar
	if x, _, err = page.index(); err != nil || x.Range[0] != -1e5 {
		t.Errorf("%v: the colours of a list begin at %g", err, x.Range[0])
	}
}

// A thousand cells and as many ant films as [Cells] selects fit into two megabytes.
func TestLargePage(t *testing.T) {
	page := must.Get(grid(t, 32, 100, 251).HTML())
	t.Logf("%d kB", len(page)/1000)
	if len(page) > 2e6 {
		t.Errorf("the page has %d bytes", len(page))
	}
	if dir := os.Getenv("QDNB_SCREENSHOTS"); dir != "" {
		must.Do(os.WriteFile(filepath.Join(dir, "large.html"), page, 0o666))
	}
}

// The behaviour of pages, in one browser after another.
func TestPages(t *testing.T) {
	b := openBrowser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *browser)
	}{
		{"skill plays", skillPlays}, {"first frame", firstFrame}, {"map chooses", mapChooses},
		{"list chooses", listChooses}, {"in a notebook", inNotebook}, {"films in files", filmsInFiles},
		{"figures answer", figuresAnswer},
	} {
		t.Run(test.name, func(t *testing.T) {
			b.t = t
			test.run(t, b)
			if got := b.said(); len(got) > 0 {
				t.Errorf("the page reports: %v", got)
			}
			if got := b.fetched(); len(got) > 0 {
				t.Errorf("the page requests %v", got)
			}
		})
	}
}

// filmsInFiles opens a page whose films are in files, and clicks a cell.
func filmsInFiles(t *testing.T, b *browser) {
	path := filepath.Join(t.TempDir(), "ant omni.html")
	must.Do(grid(t, 12, 40, 60).SaveSplit(path))
	b.size(1200, 600)
	b.visit(path)
	b.wait(`document.documentElement.dataset.frames > 1`)
	b.click(`[data-entry="7"]`)
	b.wait(`document.documentElement.dataset.film === "7" && document.documentElement.dataset.step > 2`)
	errtest.Equal(t, "films that were loaded, the first one and that of cell 7",
		b.text(`[...document.scripts].filter((s) => s.src).length`), "2")
	must.Do(os.RemoveAll(strings.TrimSuffix(path, ".html")))
	b.click(`[data-entry="4"]`)
	b.wait(`/cannot be loaded/.test(document.getElementById("message").textContent)`)
	b.eval("0", nil)
	b.console = nil // the browser reports the missing file, too
}

// figuresAnswer opens figures and reads their values by pointer and keyboard.
func figuresAnswer(t *testing.T, b *browser) {
	cells := figures.Cells{Title: "now", XLabel: "x", YLabel: "y", Upper: [2]float64{2, 2},
		Centroids: [][2]float64{{0.5, 0.5}, {1.5, 0.5}, {0.5, 1.5}, {1.5, 1.5}}, Fitness: []float64{1, 2, 3, 4},
		History: []figures.Moment{{Name: "before", Fitness: []float64{1, 1, math.NaN(), 1}}}}
	path := filepath.Join(t.TempDir(), "figure.html")
	must.Do(must.Get(figures.Map(cells)).Save(path))
	b.size(900, 700)
	b.visit(path)
	b.wait(`document.querySelector("[role=application]")`)
	at := b.middle("[role=application]")
	tip := `document.querySelector(".qdnb-figure span > div").innerText.replaceAll("\n", "|")`
	b.mouse("mouseMoved", at[0]-60, at[1]+60)
	errtest.Equal(t, "under the pointer", b.text(tip), "cell 0|fitness 1|x 0.5|y 0.5")
	b.eval(`document.querySelector("[role=application]").focus()`, nil)
	b.press("ArrowRight")
	spoken := `document.querySelector("[role=status]").textContent`
	errtest.Equal(t, "the arrow key", b.text(spoken), "now, cell 1, fitness 2, x 1.5, y 0.5")
	b.eval(`(() => { const s = document.querySelector("input[type=range]"); s.value = 0; `+
		`s.dispatchEvent(new Event("input")); })()`, nil)
	errtest.Equal(t, "earlier the title", b.text(`document.querySelector(".qdnb-figure text").textContent`), "before")
	b.press("ArrowUp")
	b.press("ArrowLeft")
	errtest.Equal(t, "earlier the cell", b.text(spoken), "now, cell 2, empty, x 0.5, y 1.5")
	b.picture("touch-map")

	must.Do(must.Get(figures.Lines(figures.Axes{XLabel: "steps", YLabel: "score"},
		figures.Series{Name: "map-elites", X: []float64{0, 1, 2}, Y: []float64{0, 5, 10}},
		figures.Series{Name: "aurora", X: []float64{0, 1, 2}, Y: []float64{1, 1, 1}})).Save(path))
	b.size(390, 700)
	b.visit(path)
	b.wait(`document.querySelector("[role=application]")`)
	b.eval(`document.querySelector("[role=application]").focus()`, nil)
	for _, key := range []string{"ArrowDown", "ArrowLeft", "ArrowUp"} {
		b.press(key)
	}
	errtest.Equal(t, "the curve", b.text(spoken), "AURORA, Steps 1, Score 1")
	errtest.Equal(t, "on a narrow screen the page", b.text(`document.documentElement.scrollWidth`), "390")
	b.picture("touch-lines")
}

// firstFrame measures how long a page takes to draw, by the page's own clock: at most a second on an idle machine.
func firstFrame(t *testing.T, b *browser) {
	page := must.Get(Skill(crawler(2, 251)).HTML())
	best, tries := math.MaxInt, 1
	if os.Getenv("QDNB_LONG") != "" {
		tries = 3
	}
	for range tries {
		b.open(page, 900, 500)
		b.wait(`document.documentElement.dataset.frames > 1`)
		if step := b.text("document.documentElement.dataset.step"); strings.HasPrefix(step, "-") {
			t.Errorf("the page starts at step %s", step)
		}
		ms := must.Get(strconv.Atoi(b.text("document.documentElement.dataset.firstFrame")))
		if best = min(best, ms); best < 1000 {
			break
		}
	}
	t.Logf("first frame after %d ms", best)
	if best >= 1000 && tries > 1 {
		t.Errorf("first frame after %d ms", best)
	}
}

// A skill plays automatically and by its buttons and keys, with the motion that was packed.
func skillPlays(t *testing.T, b *browser) {
	film := crawler(1, 251)
	page := must.Get(Skill(film).HTML())
	t.Logf("a film of 251 frames of an ant's size: %d KiB", len(page)>>10)
	if len(page) > 300<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
	b.open(page, 900, 500)
	if n := colours(t, b.picture("skill"), 200, 100, 700, 400); n < 40 {
		t.Errorf("the picture has %d colours", n)
	}
	b.wait(`document.documentElement.dataset.step > 10`)
	if clock := b.text(`document.getElementById("clock").textContent`); !strings.Contains(clock,
		"of 250") || !strings.Contains(clock, "reward so far") {
		t.Errorf("clock %q", clock)
	}
	b.click("#play")
	b.wait(`document.documentElement.dataset.playing === "false"`)
	step, _ := strconv.Atoi(b.text("document.documentElement.dataset.step"))
	b.press("ArrowRight")
	b.press("ArrowRight")
	b.press("ArrowLeft")
	b.wait(fmt.Sprintf(`document.documentElement.dataset.step == %d`, step+1))
	b.press("End")
	b.wait(`document.documentElement.dataset.step == 250`)
	if clock := b.text(`document.getElementById("clock").textContent`); !strings.Contains(clock,
		"12.50 s") || !strings.Contains(clock, "so far 125.0") {
		t.Errorf("clock at the end %q", clock)
	}
	b.eval(`(() => {
		const s = document.getElementById("scrub");
		s.value = 100;
		s.dispatchEvent(new Event("input"));
	})()`, nil)
	b.wait(`document.documentElement.dataset.step == 100`)
	before := b.picture("skill-100")
	b.click("#overview")
	b.wait(`document.getElementById("follow").getAttribute("aria-pressed") === "false"`)
	if bytes.Equal(before, settled(b, "skill-overview")) {
		t.Error("the overview looks the same")
	}
	b.click("#reset")
	b.wait(`document.getElementById("follow").getAttribute("aria-pressed") === "true"`)
	before = settled(b, "skill-reset")
	b.mouse("mouseMoved", 450, 250) // dragging turns the camera
	b.mouse("mousePressed", 450, 250)
	b.mouse("mouseMoved", 600, 280)
	b.mouse("mouseReleased", 600, 280)
	if bytes.Equal(before, settled(b, "skill-turned")) {
		t.Error("dragging does not turn the camera")
	}
	b.press(" ")
	b.wait(`document.documentElement.dataset.step > 103`)

	var motion struct{ Positions, Rotations []float64 }
	b.eval(`(() => {
		const m = viewer.motion();
		return { positions: [...m.positions], rotations: [...m.rotations] };
	})()`, &motion)
	far, turned := 0.0, 0.0
	for t, frame := range film.Frames {
		for body, pose := range frame {
			i := t*len(frame) + body
			for d := range 3 {
				far = max(far, math.Abs(motion.Positions[3*i+d]-pose.Position[d]))
			}
			dot := 0.0
			for d := range 4 {
				dot += motion.Rotations[4*i+d] * pose.Rotation[d]
			}
			turned = max(turned, 2*math.Acos(min(1, math.Abs(dot))))
		}
	}
	t.Logf("poses differ by %.2g m and %.2g rad", far, turned)
	if far > 1e-3 || turned > 4e-3 {
		t.Errorf("poses differ by %g m and %g rad", far, turned)
	}

	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme",
		"value": "dark"}}}, nil)
	b.wait(`document.documentElement.classList.contains("dark")`)
	if light := brightness(t, settled(b, "skill-dark")); light > 90 {
		t.Errorf("brightness %g where dark is preferred", light)
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{}}, nil)
}

// settled returns a picture once the browser has displayed what was drawn.
func settled(b *browser, name string) []byte {
	b.t.Helper()
	b.eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
		requestAnimationFrame(done)))).then(() => 1)`, nil)
	return b.picture(name)
}

// brightness returns the mean of a picture, of 255.
func brightness(t *testing.T, data []byte) float64 {
	t.Helper()
	img := must.Get(png.Decode(bytes.NewReader(data)))
	sum, n := 0.0, 0
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 5 {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 5 {
			r, g, b, _ := img.At(x, y).RGBA()
			sum += float64(r+g+b) / 3 / 257
			n++
		}
	}
	return sum / float64(n)
}

// still opens pages for readers who prefer reduced motion until a test ends: films begin paused, so that nothing is drawn
// while the test reads the page.
func still(t *testing.T, b *browser) {
	prefer := func(motion string) {
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
			{"name": "prefers-reduced-motion", "value": motion}}}, nil)
	}
	prefer("reduce")
	t.Cleanup(func() { prefer("") })
}

// The map of a repertoire is an index of films.
func mapChooses(t *testing.T, b *browser) {
	still(t, b)
	const films = 40
	page := must.Get(grid(t, 12, films, 60).HTML())
	b.open(page, 1200, 600)
	film := func() string { return b.text("document.documentElement.dataset.film") }
	readout := func() string { return b.text(`document.getElementById("readout").textContent`) }
	started := film()
	errtest.Contains(t, readout(), "40 of 96 can be played")
	if n := colours(t, b.picture("map"), 60, 60, 400, 400); n < 30 {
		t.Errorf("the map has %d colours", n)
	}
	errtest.Equal(t, "a wall, a start and a goal with its outline, and their names",
		b.text(`document.querySelectorAll(".wall rect, .start, .goal, .place").length`), "6")
	errtest.Equal(t, "the wall", b.text(`document.querySelector(".wall rect").outerHTML`),
		`<rect x="500" y="0" width="200" height="83.3"></rect>`)
	b.click(`[data-entry="7"]`) // below the wall
	b.wait(`document.documentElement.dataset.film === "7"`)
	if title := b.text(`document.getElementById("title").textContent`); started == "7" || title != "crawler, cell 7" {
		t.Errorf("from cell %s to %q", started, title)
	}
	errtest.Equal(t, "plays", b.text(`document.documentElement.dataset.playing`), "false")
	b.press(" ")
	b.wait(`document.documentElement.dataset.step > 2`)
	b.press(" ")
	// Pointing shows numbers and does not change the film.
	at := b.middle(`[data-entry="4"]`)
	b.mouse("mouseMoved", at[0], at[1])
	if got := readout(); !strings.HasPrefix(got, "cell 4") || !strings.Contains(got, "fitness") ||
		!strings.Contains(got, "final x (m)") || b.text(`document.querySelector("text.name").textContent`) != "Final x (m)" {
		t.Errorf("pointing at cell 4 shows %q", got)
	}
	// The archived results of a cell and the results of its film are distinguished.
	b.mouse("mouseMoved", 1000, 300)
	cells := func() string {
		return b.text(`[...document.querySelectorAll("#readout :is(th, td)")]
			.map((e) => e.textContent).join("|")`)
	}
	archived := b.text(`document.querySelectorAll("#readout tr")[1].cells[1].textContent`)
	if got := cells(); !strings.HasPrefix(got, "cell 7|as archived|this episode|fitness|"+archived+
		"|−7.500|final x (m)|") || !strings.HasSuffix(got, "|0.700") || archived == "−7.500" {
		t.Errorf("readout of cell 7: %q", got)
	}
	if got := readout(); !strings.Contains(got, "This episode starts from a different initial state than the archived one.") {
		t.Errorf("readout of cell 7: %q", got)
	}
	errtest.Equal(t, "subtitle", b.text(`document.getElementById("subtitle").textContent`),
		"this episode: fitness −1.5 & more")
	b.click(`[data-entry="6"]`)
	b.wait(`document.documentElement.dataset.film === "6"`)
	b.mouse("mouseMoved", 1000, 300)
	errtest.Contains(t, readout(), "This episode starts from the archived initial state.")
	b.click(`[data-entry="7"]`)
	b.wait(`document.documentElement.dataset.film === "7"`)
	// A cell without a film, and an empty cell.
	b.click(`[data-entry="142"]`)
	if got := readout(); film() != "7" || !strings.Contains(got, "does not include its film") {
		t.Errorf("a cell without a film plays %s and shows %q", film(), got)
	}
	b.picture("map-pointing")
	b.click(`[data-entry="2"]`)
	if got := readout(); film() != "7" || !strings.Contains(got, "cell 2: empty") {
		t.Errorf("an empty cell plays %s and shows %q", film(), got)
	}
	b.eval(`document.querySelector("#choice > svg").focus()`, nil)
	b.press("ArrowLeft")
	b.wait(`document.documentElement.dataset.film === "6"`)
	// The map fills its panel.
	b.open(page, 1440, 900)
	b.picture("map-1440")
	var part [2]float64
	b.eval(`(() => {
		const r = document.querySelector("#choice rect.frame").getBoundingClientRect();
		const p = document.getElementById("choice").getBoundingClientRect();
		return [r.width / p.width, r.height / p.height];
	})()`, &part)
	if part[0] < 0.8 || part[1] < 0.85 {
		t.Errorf("at 1440 x 900 the map takes %.2f of the width of its panel and %.2f of the height", part[0], part[1])
	}
	// On a phone the map is above the stage, and nothing is wider than the window.
	b.open(page, 390, 780)
	b.picture("map-phone")
	var boxes [2][4]float64
	b.eval(`["index", "stage"].map((id) => {
		const r = document.getElementById(id).getBoundingClientRect();
		return [r.left, r.top, r.right, r.bottom];
	})`, &boxes)
	if boxes[0][3] > boxes[1][1]+1 || boxes[0][2] > 390 || boxes[1][2] > 390 || boxes[1][3] > 780 ||
		boxes[1][3]-boxes[1][1] < 250 {
		t.Errorf("index and stage at %v", boxes)
	}
	b.call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": true}, nil)
	b.tap(`[data-entry="13"]`)
	b.wait(`document.documentElement.dataset.film === "13"`)
	b.tap("#play")
	b.wait(`document.documentElement.dataset.playing === "true"`)
	b.call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": false}, nil)
}

// A list is sorted by fitness.
func listChooses(t *testing.T, b *browser) {
	still(t, b)
	var entries []Entry
	for k, fitness := range []float64{3, math.NaN(), 7, 5} {
		entries = append(entries, Entry{Number: k, Fitness: fitness,
			Descriptor: []float64{0.1, 0.5, 0.9, fitness / 7}, Film: crawler(k, 40)})
	}
	entries[3].Film = nil
	p := must.Get(List("four skills", "skill", []string{"a", "b", "c"}, entries))
	b.open(must.Get(p.HTML()), 390, 760)
	b.picture("list-phone")
	errtest.Equal(t, "listed", b.text(`[...document.querySelectorAll("li .of")].map((e) => e.textContent)`),
		"skill 2,skill 3,skill 0,skill 1")
	errtest.Equal(t, "plays", b.text("document.documentElement.dataset.film"), "2")
	b.click("li:nth-child(3)")
	b.wait(`document.documentElement.dataset.film === "0"`)
	b.eval(`document.querySelector("ol").focus()`, nil)
	b.press("ArrowUp") // skips the entry without a film
	b.wait(`document.documentElement.dataset.film === "2"`)
	errtest.Equal(t, "lines of a long name", b.text(`(() => {
		const name = document.querySelector("li .of"), line = name.offsetHeight;
		name.textContent = "gait 1023";
		return name.offsetHeight / line;
	})()`), "1")
}

// In a frame of another page, the page takes the height that it needs.
func inNotebook(t *testing.T, b *browser) {
	frame := must.Get(grid(t, 6, 10, 40).Frame())
	path := filepath.Join(t.TempDir(), "notebook.html")
	outer := "<!DOCTYPE html><html><head><meta name='viewport' content='width=device-width'></head>" +
		"<body style='margin:8px' data-jp-theme-light='false'><h1>A notebook</h1>" + frame + "<p>after it</p></body></html>"
	must.Do(os.WriteFile(path, []byte(outer), 0o666))
	for width, height := range map[int]string{1000: "540px", 390: "800px"} {
		b.size(width, 900)
		b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
		b.wait(`location.href.endsWith("notebook.html") && document.querySelector("iframe")
			?.contentDocument?.documentElement?.dataset.frames > 2`)
		b.picture(fmt.Sprintf("notebook-%d", width))
		got := b.text(`document.querySelector("iframe").style.height`)
		errtest.Equal(t, fmt.Sprintf("height of a frame of width %d", width), got, height)
		if got := b.text(`document.querySelector("iframe").contentDocument.documentElement
			.classList.contains("dark")`); got != "true" {
			t.Error("the page does not follow the notebook's theme")
		}
	}
}

// Input that cannot be shown gives a one-line error with the reason.
func TestRefuses(t *testing.T) {
	cells := figures.Cells{Centroids: [][2]float64{{0, 0}, {1, 1}},
		Fitness: []float64{1, math.Inf(-1)}, Lower: [2]float64{-1, -1}, Upper: [2]float64{2, 2}}
	film := crawler(0, 3)
	broken := crawler(0, 3)
	broken.Frames[1] = broken.Frames[1][:2]
	of := func(p *Page, err error) error {
		if err == nil {
			_, err = p.HTML()
			if _, poster := p.Poster(); poster == nil || errors.Is(err, errNoFilm) != errors.Is(poster, errNoFilm) {
				t.Errorf("a poster: %v, but a page: %v", poster, err)
			}
		}
		return err
	}
	for _, test := range []struct {
		want string
		err  error
	}{
		{"without films", of(Repertoire(cells, nil))},
		{"cell 1, which is empty", of(Repertoire(cells, map[int]*scene.Film{1: film}))},
		{"the repertoire has 2 cells", of(Repertoire(cells, map[int]*scene.Film{5: film}))},
		{"without films", of(List("", "skill", nil, []Entry{{}}))},
		{"frame 1 has 2 poses", of(Repertoire(cells, map[int]*scene.Film{0: broken}))},
		{"a film without frames", of(Skill(&scene.Film{}), nil)},
		{"a page without films", of(Skill(Best(nil)), nil)},
		{"a page without films", of(Skill(Best([]*scene.Film{nil})), nil)},
		{"a page without films", of(Repertoire(cells, map[int]*scene.Film{0: nil}))},
	} {
		errtest.Want(t, test.err, test.want)
	}
}

// Films may have one frame, no motion or no rewards.
func TestPacksWhatStandsStill(t *testing.T) {
	for _, frames := range []int{1, 2, 5} {
		f := crawler(0, 1)
		for len(f.Frames) < frames {
			f.Frames = append(f.Frames, f.Frames[0])
		}
		f.Rewards = nil
		p, _, err := pack(f)
		if err != nil || p.Reward != 0 || p.Step != finest {
			t.Errorf("%d frames: %+v, %v", frames, p, err)
		}
	}
}

func TestChooseSpreads(t *testing.T) {
	r := &runs.Repertoire{Dims: 2, Lower: []float32{0, 0}, Upper: []float32{1, 1}}
	for i := range 100 {
		at := []float32{float32(i%10) / 9, float32(i/10) / 9}
		r.Centroids, r.Descriptors = append(r.Centroids, at...), append(r.Descriptors, at...)
		fitness := float32(i)
		if i == 99 {
			fitness = float32(math.Inf(-1))
		}
		r.Fitnesses = append(r.Fitnesses, fitness)
	}
	errtest.Equal(t, "cells", len(Choose(r, 200)), 99)
	got := Choose(r, 4)
	errtest.Equal(t, "the fittest and three far from it and each other", got, []int{0, 9, 80, 98})
	for i := range 100 { // all at one point
		r.Descriptors[2*i], r.Descriptors[2*i+1] = 0.5, 0.5
	}
	got = Choose(r, 10)
	if slices.Sort(got); len(slices.Compact(got)) != 10 {
		t.Errorf("%v", got)
	}
}
