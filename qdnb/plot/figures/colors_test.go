package figures

import (
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
)

// linear converts an sRGB byte to linear light.
func linear(v uint8) float64 {
	x := float64(v) / 255
	if x <= 0.04045 {
		return x / 12.92
	}
	return math.Pow((x+0.055)/1.055, 2.4)
}

func linearRGB(c color.NRGBA) [3]float64 {
	return [3]float64{linear(c.R), linear(c.G), linear(c.B)}
}

// lab converts linear sRGB to CIE L*a*b* (D65).
func lab(c [3]float64) [3]float64 {
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.9505)
	y := f(0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2])
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func colorDifference(a, b [3]float64) float64 {
	return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2])
}

// Severe colour vision deficiency in linear RGB (Machado, Oliveira and Fernandes 2009, table 1).
var (
	protanopia = [3][3]float64{
		{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}
	deuteranopia = [3][3]float64{
		{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}
)

func seen(m [3][3]float64, c [3]float64) (out [3]float64) {
	for i := range 3 {
		for k := range 3 {
			out[i] += m[i][k] * c[k]
		}
		out[i] = min(max(out[i], 0), 1)
	}
	return out
}

func TestViridisRisesInLuminance(t *testing.T) {
	last := -1.0
	for i := range 256 {
		c := linearRGB(Viridis(float64(i) / 255))
		if l := lab(c)[0]; l <= last-0.1 { // the table's bytes are rounded
			t.Errorf("lightness falls to %g at %d", l, i)
		} else {
			last = l
		}
	}
	for _, c := range []struct {
		t    float64
		want uint32
	}{
		// The published ends and middle.
		{0, 0x440154}, {1, 0xfde725}, {128.0 / 255, 0x21918c},
		{-3, 0x440154}, {math.Inf(1), 0xfde725},
	} {
		errtest.Equal(t, c.t, Viridis(c.t), rgb(c.want))
	}
	errtest.Equal(t, "the colour of NaN", Viridis(math.NaN()), emptyFill)
}

// Two methods differ in colour for every reader, or else in dashes: those that are compared, the
// paper's others, and variants of a user.
func TestMethodStylesAreDistinct(t *testing.T) {
	for _, names := range [][]string{slices.Concat(records.Compared(), records.Names(records.Later)),
		slices.Concat(records.Compared(), records.Names(records.Unrewarded), []string{"variant a", "variant b", "variant c",
			"variant d", "variant e", "variant f", "variant g", "variant h"})} {
		styles := MethodStyles(names...)
		for i, a := range names {
			for _, b := range names[:i] {
				x, y := styles[a], styles[b]
				cx, cy := linearRGB(x.Color), linearRGB(y.Color)
				if d := colorDifference(lab(cx), lab(cy)); d < 15 {
					t.Errorf("%s and %s: colours differ by only %.1f", a, b, d)
				}
				for name, m := range map[string][3][3]float64{"protanopia": protanopia, "deuteranopia": deuteranopia} {
					if d := colorDifference(lab(seen(m, cx)), lab(seen(m, cy))); d < 10 && slices.Equal(x.Dashes, y.Dashes) {
						t.Errorf("%s and %s: same dashes and colours that differ by only %.1f with %s", a, b, d, name)
					}
				}
			}
			if d := lab(linearRGB(styles[a].Color))[0]; d > 85 {
				t.Errorf("%s is too light on white: L* = %.0f", a, d)
			}
		}
	}
}

func TestMethodStylesAreStable(t *testing.T) {
	alone := MethodStyles("my-variant")["my-variant"]
	errtest.Equal(t, "unknown name printed as", alone.Name, "my-variant")
	among := MethodStyles("dads", "my-variant", "map-elites", "my-variant")
	errtest.Equal(t, "the style of a variant among methods of the paper", fmt.Sprint(among["my-variant"]), fmt.Sprint(alone))
	errtest.Equal(t, "names among others", fmt.Sprint(len(among), " ", among["map-elites"].Name), "3 MAP-Elites")
	var many []string
	for i := range 24 {
		many = append(many, fmt.Sprintf("variant %d", i))
	}
	distinct := make(map[string]bool)
	for _, s := range MethodStyles(many...) {
		distinct[fmt.Sprint(s.Color, s.Dashes)] = true
	}
	errtest.Equal(t, "colors of 24 unknown names", len(distinct), 24)
	errtest.Equal(t, "styles of 25 names", len(MethodStyles(append(many, "one more")...)), 25)
}

func TestSortMethods(t *testing.T) {
	got := SortMethods([]string{"zeta", "dads", "map-elites", "alpha", "dads", "aurora"})
	errtest.Equal(t, "order", got, []string{"map-elites", "aurora", "dads", "alpha", "zeta"})
	errtest.Equal(t, "display names", fmt.Sprint(MethodName("smerl-diayn"), " ", MethodName("x")), "SMERL(DIAYN) x")
}

// A text names methods as legends do. Other words stay unchanged, including names that only begin or end like a method.
func TestNameMethods(t *testing.T) {
	for text, want := range map[string]string{
		"pga-map-elites 977 against map-elites 5": "PGA-MAP-Elites 977 against MAP-Elites 5",
		"dads-reward, no prior (smerl-diayn)":     "DADS+REWARD, no prior (SMERL(DIAYN))",
		"map-elites-many-scales on ant-trap":      "map-elites-many-scales on ant-trap",
		"needs aurora; a sack of dads":            "needs AURORA; a sack of DADS",
	} {
		errtest.Equal(t, text, NameMethods(text), want)
	}
}

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
		{"square", randomSites(rng, 1024, [2]float64{-1, -1}, [2]float64{1, 1}), [2]float64{-1, -1}, [2]float64{1, 1}},
		{"wide", randomSites(rng, 500, [2]float64{0, -8}, [2]float64{30, 8}), [2]float64{0, -8}, [2]float64{30, 8}},
		{"skewed", skewed, [2]float64{0, 0}, [2]float64{1, 1}},
		{"on a line", line, [2]float64{0, 0}, [2]float64{1, 1}},
		{"sites outside too", randomSites(rng, 200, [2]float64{-2, -2}, [2]float64{3, 3}), [2]float64{0, 0}, [2]float64{1, 1}},
		{"equally near", [][2]float64{{2, 1}, {1, 0}, {3, 0}, {1, 2}, {3, 2}}, [2]float64{0, 0}, [2]float64{4, 2}},
		{"duplicates", [][2]float64{{1, 1}, {1, 1}, {3, 1}, {1, 1}}, [2]float64{0, 0}, [2]float64{4, 2}},
		{"all the same", [][2]float64{{1, 1}, {1, 1}}, [2]float64{0, 0}, [2]float64{4, 2}},
		{"all outside", randomSites(rng, 20, [2]float64{5, 5}, [2]float64{6, 6}), [2]float64{0, 0}, [2]float64{1, 1}},
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
				if slices.Contains(c.sites[:i], c.sites[i]) && cell != nil {
					t.Errorf("cell %d of a site that is there before is %v, want nil", i, cell)
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

func TestVoronoiRefusesWhatIsNotFinite(t *testing.T) {
	errtest.Want(t, errtest.Of(Voronoi([][2]float64{{0, 0}, {math.NaN(), 0}}, [2]float64{0, 0}, [2]float64{1, 1})), "site 1")
	for _, upper := range [][2]float64{{0, 1}, {-1, 1}, {1, math.Inf(1)}, {math.NaN(), 1}} {
		errtest.Want(t, errtest.Of(Voronoi([][2]float64{{0, 0}}, [2]float64{0, 0}, upper)), "limits")
	}
	errtest.Equal(t, "cells without sites", len(must.Get(Voronoi(nil, [2]float64{0, 0}, [2]float64{1, 1}))), 0)
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
		{log, math.SmallestNonzeroFloat64, math.MaxFloat64, []string{"1e−155", "1", "1e+155"}},
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
	errtest.Equal(t, "the range, and values beyond", fmt.Sprint(low, high, b.beyond(low, high)),
		fmt.Sprint(100, 139, [2]bool{true, false}))
	if colors := b.colors(fitness); colors[1] != b.color(0) || colors[2] != colors[1] || colors[0] != emptyFill {
		t.Errorf("outliers are %v", colors[:3])
	}
	b = &ColorBar{values: [][]float64{fitness[3:], {60, 180}}}
	if low, high := b.limits(); low != 60 || high != 180 || b.beyond(low, high) != [2]bool{} {
		t.Errorf("the range of values that are spread out is from %g to %g", low, high)
	}
	b = &ColorBar{Min: 110, Max: 120, values: [][]float64{fitness}}
	errtest.Equal(t, "values beyond chosen limits are marked", b.beyond(b.limits()), [2]bool{true, true})
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
