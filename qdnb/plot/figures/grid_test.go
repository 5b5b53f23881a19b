package figures

import (
	"fmt"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"example.com/qdnb/internal/must"
)

// svgOf returns the SVG of a figure that must be drawable.
func svgOf(t *testing.T, f *Figure, err error) string {
	t.Helper()
	must.Do(err)
	data := must.Get(f.encode(".svg"))
	return string(data)
}

// A grid is never larger than a page, however many rows it has. Narrow columns make room for their
// titles.
func TestMapGridFitsAPage(t *testing.T) {
	cells := sampleCells()
	cells.Title = "a title that is wider than a map of so many"
	g := Grid{Dense: true, ColumnTitles: []string{"one method", "another one"}}
	for i := range 11 {
		g.Maps = append(g.Maps, []Map{&cells, &cells})
		g.RowTitles = append(g.RowTitles, fmt.Sprint("row ", i))
	}
	f, err := MapGrid(g)
	drawn(t, f, err)
	width, height := f.Bounds()
	if height > pageHeight+0.01 || height < pageHeight-1 || width > pageWidth {
		t.Errorf("%.2f x %.2f in", width/vg.Inch, height/vg.Inch)
	}
	if least := 2 * textStyle(tickSize).Width(cells.Title); width < least {
		t.Errorf("%.0f points are too narrow for two titles of %.0f together", width, least)
	}
}

// A dense grid labels axes only in its lowest row. It has tick labels like other grids: in every
// column that differs from its neighbour.
func TestDenseGrid(t *testing.T) {
	a, b := sampleCells(), sampleCells()
	b.XLabel, b.YLabel = "right foot", "left foot"
	g := Grid{Maps: [][]Map{{&a, &b}, {&a, &b}, {&a, &b}}}
	text := svgOf(t, must.Get(MapGrid(g)), nil)
	for label, want := range map[string]int{"final x": 1, "final y": 3, "right foot": 1,
		"left foot": 3} {
		if n := strings.Count(text, ">"+label+"<"); n != want {
			t.Errorf("%d times %q, want %d", n, label, want)
		}
	}
	wide := strings.Count(text, ">0<")
	g.Dense = true
	text = svgOf(t, must.Get(MapGrid(g)), nil)
	for label, want := range map[string]int{"final x": 1, "final y": 1, "right foot": 1,
		"left foot": 1, "0": wide} {
		if n := strings.Count(text, ">"+label+"<"); n != want {
			t.Errorf("dense: %d times %q, want %d", n, label, want)
		}
	}
}

// Row titles that are longer than the rows are high move the rows apart.
func TestGridKeepsRowTitlesApart(t *testing.T) {
	a := sampleCells()
	name := "a method of a long name and of one more"
	row := []Map{&a, &a, &a, &a, &a, &a, &a, &a}
	f := must.Get(MapGrid(Grid{Dense: true, Maps: [][]Map{row, row, row, row},
		RowTitles: []string{name, name, name, name}}))
	if _, height := f.Bounds(); height < 3*textStyle(tickSize).Width(name) {
		t.Errorf("%.0f points are not high enough for titles of %.0f at four rows", height,
			textStyle(tickSize).Width(name))
	}
}

// Neighbours with the same limits share ticks only if their axes have the same meaning.
func TestGridKeepsAxesOfOtherThings(t *testing.T) {
	a, b := sampleCells(), sampleCells()
	b.XLabel = "something else"
	text := svgOf(t, must.Get(MapGrid(Grid{Maps: [][]Map{{&a}, {&b}}})), nil)
	for _, label := range []string{"final x", "something else"} {
		if !strings.Contains(text, ">"+label+"<") {
			t.Errorf("the grid lacks %q", label)
		}
	}
}

// Labels of a short bar do not overlap. If no two round numbers fit, the ends are labelled.
func TestHorizontalTicks(t *testing.T) {
	style := textStyle(tickSize)
	for _, c := range []struct {
		low, high float64
		length    vg.Length
		want      string
	}{
		{0, 100, 200, "0 20 40 60 80 100"},
		{0, 100, 50, "0 50 100"},
		{-1000, 0, 56, "−1000 −500 0"},
		{-1000, 0, 48, "−1000 0"}, // −500 would touch −1000, which may not extend far beyond the bar
		{-500, 900, 55, "−500 0 500"},
		{-17390, -16630, 50, "−17.4k −16.6k"},
	} {
		bar := &colorBar{low: c.low, high: c.high}
		span := [2]vg.Length{0, c.length}
		var labels []string
		end := vg.Length(-100)
		for _, tick := range bar.horizontalTicks(style, span) {
			labels = append(labels, tick.Label)
			left, right := bar.extent(tick, style, span)
			if left < end+5 {
				t.Errorf("from %g to %g on %.0f points: %q is %.1f points from the label before it", c.low,
					c.high, c.length, tick.Label, left-end)
			}
			end = right
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("from %g to %g on %.0f points: %q, want %q", c.low, c.high, c.length, got, c.want)
		}
	}
}
