package figures

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The shared style: Liberation Sans (the metrics of Arial, so that an SVG looks the same without
// it), text of 8 to 10 points at print size, thin grey axes and a light grid.
const (
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
	return text.Style{Color: ink, Font: f, XAlign: draw.XCenter, YAlign: draw.YBottom,
		Handler: plot.DefaultTextHandler}
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
		switch axis.Tick.Marker.(type) {
		case linearTicks:
			axis.Tick.Marker = linearTicks{intervals}
		case logTicks:
			axis.Tick.Marker = logTicks{intervals}
		case symlogTicks:
			axis.Tick.Marker = symlogTicks{axis.Scale.(symlogScale), intervals}
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
