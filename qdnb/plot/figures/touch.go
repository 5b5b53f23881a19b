package figures

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/limits"
)

// touchable is the canvas of a figure. It collects the data of the marks that are drawn on it, and where they
// are, so that the picture can answer the pointer (touch.js). Marks see nothing of a figure but its canvas.
type touchable struct {
	finiteCanvas
	touchData
	panel *touchPanel // the one being drawn
}

// The data that touch.js reads. Names are short because a figure may have thousands of numbers.
type (
	touchData struct {
		Width  float64       `json:"w"` // of the figure, in points
		Height float64       `json:"h"`
		Title  string        `json:"t"` // names the panels, for those who do not see the figure
		Panels []*touchPanel `json:"p"` // those with marks
		Sites  [][][2]int    `json:"s,omitempty"`
	}
	touchPanel struct {
		Title string      `json:"t,omitempty"`
		Area  [4]float64  `json:"a"` // left, top, right and bottom, in points from the upper left corner
		X     touchAxis   `json:"x"`
		Y     touchAxis   `json:"y"`
		Marks []touchMark `json:"m,omitempty"`
		Map   *touchMap   `json:"c,omitempty"`

		area vg.Rectangle
	}
	touchAxis struct {
		Name   string      `json:"n"`
		Range  [2]float64  `json:"r"`
		Log    bool        `json:"g,omitempty"`
		Symlog symlogScale `json:"s,omitempty"`
	}
	// touchMark is a set of lines, each a list of points: where it starts, and differences, in fractions
	// 1/touchSteps of the axes. Bands are lists of low and high ends of the same form.
	touchMark struct {
		Name  string     `json:"n"`
		Color string     `json:"c"`
		Lines [][][2]int `json:"p"`
		Bands [][][2]int `json:"b,omitempty"`
		Text  string     `json:"v,omitempty"` // instead of the coordinates
	}
	touchMap struct {
		Sites   int        `json:"s"` // index of their coordinates
		Metric  [2]float64 `json:"d"` // what the sides of the area count in distances
		Label   string     `json:"n"`
		Range   [2]float64 `json:"r"` // of the values
		Values  [][]int    `json:"f"` // at each time, 0: empty
		Times   []string   `json:"k"`
		Colors  string     `json:"l,omitempty"` // rrggbb: of empty cells, and from low to high
		Colored [2]float64 `json:"b"`           // the values at the ends of the colours
		Marks   string     `json:"o,omitempty"` // an SVG of what is drawn over the cells, as large as the figure
	}
)

const touchSteps = 2000

// touching returns the canvas that collects marks, if a panel with axes that the script knows is drawn on it.
func touching(c draw.Canvas) *touchable {
	for {
		switch inner := c.Canvas.(type) {
		case draw.Canvas: // gonum puts canvases into others
			c = inner
		case *touchable:
			if inner.panel != nil {
				return inner
			}
			return nil
		default:
			return nil
		}
	}
}

// touchPanelOf says which panel is drawn next, and what stands above it and next to it.
func touchPanelOf(c draw.Canvas, p *Panel, area vg.Rectangle, row, column, title string) {
	t, ok := c.Canvas.(*touchable)
	if !ok {
		return
	}
	t.panel = nil
	axes := [2]touchAxis{}
	for d, axis := range []*plot.Axis{&p.X, &p.Y} {
		axes[d] = touchAxis{Name: axis.Label.Text, Range: [2]float64{axis.Min, axis.Max}}
		switch scale := axis.Scale.(type) {
		case plot.LogScale:
			axes[d].Log = true
		case symlogScale:
			axes[d].Symlog = scale
		case linearScale, plot.LinearScale:
		default:
			return
		}
	}
	left := "" // names the axis of a row of one quantity
	if n := len(t.Panels); n > 0 && t.Panels[n-1].area.Min.Y == area.Min.Y {
		left = t.Panels[n-1].Y.Name
	}
	axes[1].Name = cmp.Or(axes[1].Name, column, left)
	titles := slices.DeleteFunc([]string{row, column, title}, func(s string) bool { return s == "" })
	rounded := func(x vg.Length) float64 { return math.Round(100*float64(x)) / 100 }
	t.panel = &touchPanel{Title: strings.Join(titles, ", "), X: axes[0], Y: axes[1], area: area,
		Area: [4]float64{rounded(area.Min.X), rounded(vg.Length(t.Height) - area.Max.Y), rounded(area.Max.X),
			rounded(vg.Length(t.Height) - area.Min.Y)}}
	t.Panels = append(t.Panels, t.panel)
}

func (p *touchPanel) share(at vg.Point) [2]int {
	of := func(x, low, high vg.Length) int {
		return int(math.Round(touchSteps * min(max(float64((x-low)/(high-low)), -10), 10)))
	}
	return [2]int{of(at.X, p.area.Min.X, p.area.Max.X), of(at.Y, p.area.Min.Y, p.area.Max.Y)}
}

func hexOf(c color.NRGBA) string { return fmt.Sprintf("%02x%02x%02x", c.R, c.G, c.B) }

// touchLines keeps lines, of which points that nobody could tell from their neighbours are left out. bands has the
// heights of their ends as X and Y, or is nil.
func touchLines(c draw.Canvas, style Style, lines, bands [][]vg.Point) {
	t := touching(c)
	if t == nil || len(lines) == 0 {
		return
	}
	m := touchMark{Name: style.Name, Color: "#" + hexOf(style.Color)}
	for i, line := range lines {
		var points, ends [][2]int
		kept := vg.Point{X: vg.Length(math.Inf(-1))}
		for k, at := range line {
			if k < len(line)-1 && math.Hypot(float64(at.X-kept.X), float64(at.Y-kept.Y)) < 1 {
				continue
			}
			points, kept = append(points, t.panel.share(at)), at
			if bands != nil {
				low, high := t.panel.share(vg.Point{Y: bands[i][k].X}), t.panel.share(vg.Point{Y: bands[i][k].Y})
				ends = append(ends, [2]int{low[1], high[1]})
			}
		}
		if m.Lines = append(m.Lines, differences(points)); bands != nil {
			m.Bands = append(m.Bands, differences(ends))
		}
	}
	t.panel.Marks = append(t.panel.Marks, m)
}

// differences changes all but the first of a list to differences, of which fewer bytes remain when deflated.
func differences(list [][2]int) [][2]int {
	for i := len(list) - 1; i > 0; i-- {
		list[i] = [2]int{list[i][0] - list[i-1][0], list[i][1] - list[i-1][1]}
	}
	return list
}

// touchPoint keeps a mark at a point, with a text such as "median 1, quartiles 0 to 2" whose numbers are values.
func touchPoint(c draw.Canvas, style Style, at vg.Point, format string, values ...float64) {
	t := touching(c)
	if t == nil || !finite(float64(at.X)) || !finite(float64(at.Y)) {
		return
	}
	var texts []any
	for _, v := range values {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // which it can read
		texts = append(texts, formatTick(rounded, math.Abs(rounded), math.Abs(rounded)))
	}
	t.panel.Marks = append(t.panel.Marks, touchMark{Name: style.Name, Color: "#" + hexOf(style.Color),
		Lines: [][][2]int{{t.panel.share(at)}}, Text: fmt.Sprintf(format, texts...)})
}

// touchCells keeps a map.
func touchCells(c draw.Canvas, p *plot.Plot, cells *Cells, bar *ColorBar) {
	t := touching(c)
	if t == nil {
		return
	}
	toX, toY := p.Transforms(&c)
	m := &touchMap{Label: strings.ToLower(cmp.Or(bar.Label, "Fitness")), Metric: [2]float64{1, 1}}
	float32s := func(x [2]float64) []float32 { return []float32{float32(x[0]), float32(x[1])} }
	if scale := limits.Scale(float32s(cells.Lower), float32s(cells.Upper)); scale != nil {
		m.Metric = [2]float64{float64(scale[0]), float64(scale[1])}
	}
	m.Metric = [2]float64{m.Metric[0] * (p.X.Max - p.X.Min), m.Metric[1] * (p.Y.Max - p.Y.Min)}
	var sites [][2]int
	for _, at := range cells.Centroids {
		sites = append(sites, t.panel.share(vg.Point{X: toX(at[0]), Y: toY(at[1])}))
	}
	if m.Sites = slices.IndexFunc(t.Sites, func(s [][2]int) bool { return slices.Equal(s, sites) }); m.Sites < 0 {
		m.Sites, t.Sites = len(t.Sites), append(t.Sites, sites)
	}
	var times [][]float64
	for _, moment := range append(slices.Clone(cells.History), Moment{cmp.Or(cells.Title, "as drawn"), cells.Fitness}) {
		m.Times, times = append(m.Times, moment.Name), append(times, moment.Fitness)
	}
	if low, high := rangeOf(times, finite); low <= high { // else all are empty
		m.Range = [2]float64{low, high}
	}
	for _, values := range times {
		shares := make([]int, len(values))
		for i, v := range values {
			if finite(v) {
				shares[i] = 1 + int(math.Round(998*(v-m.Range[0])/max(m.Range[1]-m.Range[0], math.SmallestNonzeroFloat64)))
			}
		}
		m.Values = append(m.Values, shares)
	}
	if len(times) > 1 {
		m.Colored[0], m.Colored[1] = bar.limits()
		m.Colors = hexOf(emptyFill)
		for i := range 256 {
			m.Colors += hexOf(bar.color(float64(i) / 255))
		}
		var marks bytes.Buffer // to which writing does not fail
		over := vgsvg.New(vg.Length(t.Width), vg.Length(t.Height))
		c.Canvas = over
		walls(cells.Walls).Plot(c, p)
		if cells.Start != nil {
			start(*cells.Start).Plot(c, p)
		}
		if cells.Goal != nil {
			goal{*cells.Goal, nil}.Plot(c, p)
		}
		_, _ = over.WriteTo(&marks)
		m.Marks = marks.String()
	}
	t.panel.Map = m
}

//go:embed touch.js
var touchProgram []byte

// touched returns the data of the panels with marks.
func (t *touchable) touched() touchData {
	d, titles := t.touchData, []string{}
	d.Panels = slices.DeleteFunc(d.Panels, func(p *touchPanel) bool { return p.Map == nil && len(p.Marks) == 0 })
	for _, p := range d.Panels {
		if p.Title != "" {
			titles = append(titles, p.Title)
		}
	}
	d.Title = cmp.Or(strings.Join(titles, "; "), "figure")
	return d
}

// html returns the output that makes the picture above it answer the pointer; "" if nothing on it would.
func (t touchData) html() (string, error) {
	if len(t.Panels) == 0 {
		return "", nil
	}
	data, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("figures: %w", err)
	}
	return fmt.Sprintf(`<script>(async (at, parts) => {
const [program, data] = await Promise.all(parts.map((part) => new Response(new Blob([Uint8Array.from(atob(part),
(c) => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text()));
(0, eval)(program)(at, JSON.parse(data));
})(document.currentScript, ["%s", "%s"])</script>`, cell.Deflated(touchProgram), cell.Deflated(data)), nil
}
