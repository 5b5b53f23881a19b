package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func labels(ticks []plot.Tick) []string {
	var out []string
	for _, t := range ticks {
		if !t.IsMinor() {
			out = append(out, t.Label)
		}
	}
	return out
}

func TestTickLabels(t *testing.T) {
	linear, log := axisTicks{linearScale{}, 4}, axisTicks{plot.LogScale{}, 4}
	for _, c := range []struct {
		ticker    axisTicks
		low, high float64
		want      []string
	}{
		{linear, -1, 1, []string{"−1.0", "−0.5", "0", "0.5", "1.0"}},
		{axisTicks{linearScale{}, 2}, -8, 8, []string{"−5", "0", "5"}}, // a single 0 would not tell the scale
		{linear, -512, -20, []string{"−400", "−200"}},
		{linear, 0, 4.2e5, []string{"0", "200k", "400k"}},
		{linear, 0, 1.5e8, []string{"0", "50M", "100M", "150M"}},
		{linear, 0, 9000, []string{"0", "2500", "5000", "7500"}},
		{linear, 1e6, 1.01e6, []string{"1.0000M", "1.0025M", "1.0050M", "1.0075M", "1.0100M"}},
		{linear, 0, 0.03, []string{"0", "0.01", "0.02", "0.03"}},
		{linear, 0, 2e-5, []string{"0", "5e−06", "1e−05", "1.5e−05", "2e−05"}},
		{linear, 1, 1, nil},
		{linear, -math.MaxFloat64, math.MaxFloat64, []string{"−1e+308", "0", "1e+308"}},
		{linear, 0, math.Inf(1), nil},
		{linear, 1e17, 1e17 + 16, nil},
		{axisTicks{linearScale{}, 6}, 3.3333333333333335e299, 3.3333333333333343e299, nil},
		{log, 1, 1e4, []string{"1", "10", "100", "1000", "10k"}},
		{axisTicks{plot.LogScale{}, 3}, 1, 1e9, []string{"1", "1000", "1M", "1G"}},
		{log, 3, 60, []string{"5", "10", "20", "50"}},
		{log, 0.01, 1, []string{"0.01", "0.1", "1"}},
		{log, 2.1, 2.9, []string{"2.2", "2.4", "2.6", "2.8"}},
		{log, 0.012, 0.013, []string{"0.01200", "0.01225", "0.01250", "0.01275", "0.01300"}},
		{log, 3e-6, 4e-6, []string{"3e−06", "3.25e−06", "3.5e−06", "3.75e−06", "4e−06"}},
		{log, 3e-320, 3e-320 + 2e-323, nil},
		{linear, 5e-4, 5.0004e-4, []string{"0.0005", "0.00050001", "0.00050002", "0.00050003", "0.00050004"}},
		{log, -1, 10, nil},
		{log, 1e-315, 3e15, []string{"1e−243", "1e−162", "1e−81", "1"}},
		{log, 1e-220, 1e220, []string{"1e−220", "1e−110", "1", "1e+110", "1e+220"}},
		{log, math.SmallestNonzeroFloat64, math.MaxFloat64,
			[]string{"1e−155", "1", "1e+155"}},
		{axisTicks{symlogScale(20), 4}, -15000, -20, []string{"−10k", "−1000", "−100"}},
		{axisTicks{symlogScale(1), 4}, -1000, 1000, []string{"−1000", "−10", "0", "10", "1000"}},
		{axisTicks{symlogScale(5), 4}, -6, 3, []string{"−5.0", "−2.5", "0", "2.5"}}, // no power of ten
	} {
		got := c.ticker.Ticks(c.low, c.high)
		errtest.Equal(t, fmt.Sprintf("%#v from %g to %g", c.ticker, c.low, c.high), labels(got), c.want)
		if len(got) > 100 {
			t.Errorf("%#v from %g to %g: %d ticks", c.ticker, c.low, c.high, len(got))
		}
		for _, tick := range got {
			if tick.Value < c.low || tick.Value > c.high {
				t.Errorf("%#v from %g to %g: tick at %g", c.ticker, c.low, c.high, tick.Value)
			}
		}
	}
}

// One tick labels a range that cannot be divided.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []string
	}{{-117, 909, []string{"0", "200", "400", "600", "800"}}, {5, 5, []string{"5"}},
		{3.3333333333333335e299, 3.3333333333333343e299, []string{"3.33e+299"}}} {
		errtest.Equal(t, fmt.Sprintf("from %g to %g", c.low, c.high), labels(Ticks(c.low, c.high, 6)), c.want)
	}
}

// Far outliers do not take the colours of the other cells: they have the colour of the bar's end, which is
// a triangle then. Values that are merely spread out all count.
func TestFarOutliersDoNotTakeTheColours(t *testing.T) {
	fitness := []float64{math.Inf(-1), -700, -650}
	for i := range 40 {
		fitness = append(fitness, 100+float64(i))
	}
	b := &ColorBar{values: [][]float64{fitness}}
	low, high := b.limits()
	if low != 100 || high != 139 || b.beyond(low, high) != [2]bool{true, false} {
		t.Errorf("the range is from %g to %g, with values beyond: %v", low, high, b.beyond(low, high))
	}
	if colors := b.colors(fitness); colors[1] != b.color(0) || colors[2] != colors[1] || colors[0] != emptyFill {
		t.Errorf("outliers are %v", colors[:3])
	}
	b = &ColorBar{values: [][]float64{fitness[3:], {60, 180}}}
	if low, high := b.limits(); low != 60 || high != 180 || b.beyond(low, high) != [2]bool{} {
		t.Errorf("the range of values that are spread out is from %g to %g", low, high)
	}
	b = &ColorBar{Min: 110, Max: 120, values: [][]float64{fitness}}
	if b.beyond(b.limits()) != [2]bool{true, true} {
		t.Error("values beyond chosen limits are not marked")
	}
}

// Labels of a short bar do not overlap. If no two round numbers fit, the ends are labelled.
func TestTicksBelow(t *testing.T) {
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
		bar, span := &drawnBar{low: c.low, high: c.high}, [2]vg.Length{0, c.length}
		var labels []string
		end := vg.Length(-100)
		for _, tick := range bar.ticksBelow(style, span) {
			labels = append(labels, tick.Label)
			left, right := bar.extent(tick, style, span)
			if left < end+5 {
				t.Errorf("from %g to %g on %.0f points: %q is %.1f points from the label before it", c.low,
					c.high, c.length, tick.Label, left-end)
			}
			end = right
		}
		errtest.Equal(t, fmt.Sprint(c.low, " to ", c.high, " on ", c.length), strings.Join(labels, " "), c.want)
	}
}

// An axis of values of both signs that spans decades shows the small ones, too. Columns of runs have one if a few values
// are much larger than the others.
func TestSymmetricLogarithmicAxis(t *testing.T) {
	values := []float64{-15000, -30, -2, 1, 40, 5000}
	p := must.Get(Lines(Axes{LogY: true}, Series{X: []float64{1, 2, 3, 4, 5, 6}, Y: values}))
	for i := 1; i < len(values); i++ {
		if share := p.Y.Norm(values[i]) - p.Y.Norm(values[i-1]); !(share > 0.01) {
			t.Errorf("%g and %g are %g of the axis apart", values[i-1], values[i], share)
		}
	}
	for _, c := range []struct {
		values []float64
		want   bool
	}{{values, true}, {[]float64{1, 2, 3, 90}, false}, {[]float64{-9000, -30, -29, -28}, true},
		{[]float64{0, 0, 0, 5}, false}, {nil, false}} {
		errtest.Equal(t, fmt.Sprint(c.values), flattened([]Series{{Y: c.values}}), c.want)
	}
}

// The first values of a fitness that rises fast do not flatten the rest of the curves.
func TestFirstValuesDoNotFlattenCurves(t *testing.T) {
	curve := func(first float64) Series {
		s := Series{X: []float64{0}, Y: []float64{first}}
		for i := 1; i <= 100; i++ {
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, -100+float64(i)/10)
		}
		return s
	}
	for first, want := range map[float64][2]float64{-500: {-99.975, -89.525}, -105: {}} {
		got := Rising([]Series{curve(first), curve(-101)})
		if math.Abs(got[0]-want[0]) > 1e-9 || math.Abs(got[1]-want[1]) > 1e-9 {
			t.Errorf("curves that begin at %g have the axis %v, want %v", first, got, want)
		}
	}
}

// Names at the ends of lines stand to the right of the axes and do not overlap.
func TestNamesAtTheEndsOfLines(t *testing.T) {
	var lines []Series
	for _, name := range []string{"map-elites", "dns", "aurora", "dms"} {
		y := []float64{0, 1 + 0.01*float64(len(name))}
		lines = append(lines, Series{Name: name, X: []float64{0, 1}, Y: y, Ends: true})
	}
	p := must.Get(newSlot(must.Get(Lines(Axes{}, lines...))))
	var canvas recorder.Canvas
	data := p.plot.DataCanvas(draw.NewCanvas(&canvas, 300, 200))
	p.plot.Draw(draw.NewCanvas(&canvas, 300, 200))
	var at []float64
	for _, action := range canvas.Actions {
		if text, ok := action.(*recorder.FillString); ok && text.Point.X > data.Max.X {
			if end := text.Point.X + textStyle(tickSize).Width(text.String); end > 300 {
				t.Errorf("%s ends at %g", text.String, end)
			}
			at = append(at, float64(text.Point.Y))
		}
	}
	slices.Sort(at)
	if len(at) != len(lines) {
		t.Fatalf("names at %v, want %d", at, len(lines))
	}
	for i := range at[1:] {
		if at[i+1]-at[i] < tickSize-1e-9 {
			t.Errorf("names at %v overlap", at)
		}
	}
}
