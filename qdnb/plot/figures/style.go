package figures

import (
	"cmp"
	"hash/fnv"
	"image/color"
	"math"
	"regexp"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/qdnb/algorithms/records"
)

// The shared style: Liberation Sans (the metrics of Arial, so that an SVG looks the same without
// it), text of 8 to 10 points at print size, thin grey axes and a light grid.
const (
	smallSize = 7 // of captions
	tickSize  = 8
	labelSize = 9
	titleSize = 10

	axisWidth = vg.Length(0.5)
	tickLen   = vg.Length(2.5)
	outerPad  = vg.Length(4)
)

var (
	paper       = color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}
	ink         = color.NRGBA{R: 0x26, G: 0x26, B: 0x26, A: 0xff}
	axisColor   = color.NRGBA{R: 0x55, G: 0x55, B: 0x55, A: 0xff}
	gridColor   = color.NRGBA{R: 0xe6, G: 0xe6, B: 0xe6, A: 0xff}
	emptyFill   = color.NRGBA{R: 0xf4, G: 0xf4, B: 0xf4, A: 0xff}
	cellOutline = color.NRGBA{R: 0xd0, G: 0xd0, B: 0xd0, A: 0xff}
)

// textStyle returns the shared font at a size in points. There is no bold, because gonum/plot lacks
// it in PDF files.
func textStyle(size vg.Length) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	return text.Style{Color: ink, Font: f, XAlign: draw.XCenter, YAlign: draw.YBottom, Handler: plot.DefaultTextHandler}
}

// linearScale is plot.LinearScale for ranges that overflow, too.
type linearScale struct{}

func (linearScale) Normalize(low, high, x float64) float64 { return (x/2 - low/2) / (high/2 - low/2) }

var gridStyle = draw.LineStyle{Color: gridColor, Width: 0.5}

func strokeRect(c draw.Canvas, r vg.Rectangle) {
	c.SetLineStyle(draw.LineStyle{Color: axisColor, Width: axisWidth})
	c.Stroke(r.Path())
}

// setTicks puts about one tick every few millimetres on each axis.
func setTicks(p *plot.Plot, size vg.Point) {
	count := func(n float64) int { return int(min(max(math.Floor(n), 2), 6)) }
	set := func(axis *plot.Axis, intervals int) {
		if own, ok := axis.Tick.Marker.(axisTicks); ok {
			axis.Tick.Marker = axisTicks{own.scale, intervals}
		}
	}
	set(&p.X, count(float64(size.X/28)))
	set(&p.Y, count(float64(size.Y/17)))
}

// rectangle fills a rectangle and strokes its edge, which keeps thin ones visible.
func rectangle(c draw.Canvas, r vg.Rectangle, fill, edge color.Color) {
	c.SetColor(fill)
	c.Fill(r.Path())
	c.SetLineStyle(draw.LineStyle{Color: edge, Width: 0.8})
	c.Stroke(r.Path())
}

// lighter mixes the given part of a colour with white, which hides what is behind.
func lighter(c color.NRGBA, part float64) color.NRGBA { return mix(paper, c, part) }

// mix returns an opaque colour between two, b if part is 1.
func mix(a, b color.NRGBA, part float64) color.NRGBA {
	between := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) - part*(float64(a)-float64(b)))) }
	return color.NRGBA{R: between(a.R, b.R), G: between(a.G, b.G), B: between(a.B, b.B), A: 0xff}
}

// Style is the printed name and line style of a method, the same in every figure.
type Style struct {
	Name   string
	Color  color.NRGBA
	Dashes []vg.Length // nil: solid
}

func (s Style) line() draw.LineStyle {
	return draw.LineStyle{Color: s.Color, Width: 1.3, Dashes: s.Dashes}
}

func (s Style) band() color.NRGBA {
	s.Color.A = 0x38
	return s.Color
}

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

// extraColors are for names that are not in the paper, such as a user's variants.
var extraColors = []color.NRGBA{
	rgb(0x225522), rgb(0x882255), rgb(0x7b4f1d), rgb(0x8a8a8a), rgb(0xff7fd0), rgb(0x00c8c8),
	rgb(0x8aa000), rgb(0x9b4dff),
}

// extraDashes are assigned to the extra colours in turn, so that neighbours in the list, some of
// which a colour-blind reader confuses, differ in dashes. Once the colours are used up, they
// repeat with the next dashes.
var extraDashes = [][]vg.Length{{9, 2.5}, {5, 1.8, 1.2, 1.8, 1.2, 1.8}, nil}

// MethodName returns the name that the paper prints for an algorithm, or id itself if it is
// unknown.
func MethodName(id string) string {
	r, _ := records.Find(id)
	return cmp.Or(r.Title, id)
}

var words = regexp.MustCompile(`[a-z]+(-[a-z]+)*`)

// NameMethods replaces the method identifiers in a text with their names, see [MethodName].
func NameMethods(text string) string { return words.ReplaceAllStringFunc(text, MethodName) }

// SortMethods returns the distinct identifiers: first those of the paper in the paper's order, then
// the others by name.
func SortMethods(ids []string) []string {
	return slices.Compact(slices.SortedFunc(slices.Values(ids), records.Compare))
}

// MethodStyles returns a style for each identifier. The paper's algorithms always have the same
// style. Any other name gets another colour, picked by a hash of the name, so that a variant
// usually keeps its colour across figures. Up to 24 such names in one call have distinct styles.
func MethodStyles(ids ...string) map[string]Style {
	chosen := make(map[string]Style, len(ids))
	slots := len(extraColors) * len(extraDashes)
	taken := make(map[int]bool)
	for _, id := range SortMethods(ids) {
		if r, ok := records.Find(id); ok {
			style := Style{Name: r.Title, Color: rgb(r.Color)}
			for _, length := range r.Dashes {
				style.Dashes = append(style.Dashes, vg.Length(length))
			}
			chosen[id] = style
			continue
		}
		h := fnv.New32a()
		h.Write([]byte(id))
		start := int(h.Sum32() % uint32(len(extraColors)))
		slot := start
		for k := range slots { // first the other colours, then all colours with the next dashes
			s := (start+k)%len(extraColors) + k/len(extraColors)*len(extraColors)
			if !taken[s] {
				slot = s
				break
			}
		}
		taken[slot] = true
		chosen[id] = Style{
			Name:   id,
			Color:  extraColors[slot%len(extraColors)],
			Dashes: extraDashes[(slot%len(extraColors)+slot/len(extraColors))%len(extraDashes)],
		}
	}
	return chosen
}

// The ranks of legend entries that are not 0: labels of trajectories, and before them the methods.
const labelRank = -1

// methodRank is the rank of the legend entry of a method: those of the paper come first, in its order.
func methodRank(id string) int {
	if rank := slices.Index(records.Names(), id); rank >= 0 {
		return rank - 1000
	}
	return 0
}

// skillColors are from Okabe and Ito (2008) without the yellow, which is pale on white.
var skillColors = []color.NRGBA{
	rgb(0x0072b2), rgb(0xd55e00), rgb(0x009e73), rgb(0xcc79a7), rgb(0xe69f00), rgb(0x56b4e9),
	rgb(0x000000),
}

// skillColor returns colour i of a list without order, in which neighbours differ: skillColors, then
// hues at the golden angle in turning lightness.
func skillColor(i int) color.NRGBA {
	if i < len(skillColors) {
		return skillColors[i]
	}
	hue, light := math.Mod(float64(i)*0.618034, 1), []float64{0.45, 0.62, 0.3}[i%3]
	channel := func(offset float64) uint8 { // of HSL with a saturation of 0.65
		k := math.Mod(offset+12*hue, 12)
		return uint8(255 * (light - 0.65*min(light, 1-light)*max(-1, min(k-3, 9-k, 1))))
	}
	return color.NRGBA{R: channel(0), G: channel(8), B: channel(4), A: 0xff}
}

func labelStyles(labels []string) map[string]Style {
	styles := map[string]Style{}
	for _, label := range labels {
		if _, known := styles[label]; !known {
			styles[label] = Style{Name: label, Color: skillColor(len(styles))}
		}
	}
	return styles
}
