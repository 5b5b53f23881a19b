package figures

import (
	"cmp"
	"fmt"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panel is a gonum plot with what a [Grid] needs to arrange it. Add, titles and axes work as in
// every gonum plot; [Panel.Label] and gonum's plotters add to the panels of this package. A panel of
// a plot of your own needs only the field Plot.
type Panel struct {
	*plot.Plot
	Aspect        float64   // width / height of the data area; 0: 1.35
	Fixed         bool      // keep Aspect at any size of the figure
	Width         vg.Length // of the data area, where the page has room; 0: 3.5 inches
	Rows, Columns int       // of a grid that the panel spans; 0: 1
	Bar           *ColorBar // explains the colours; panels with one *ColorBar share its range
	Legend        []Entry   // below the figure; entries of one text are listed once

	palette *palette
}

// Entry explains a mark in a legend.
type Entry struct {
	Text string
	Mark plot.Thumbnailer

	rank int // the order of entries: methods first, as in the paper
}

// Axes are the title, labels, limits and scales of a panel. Labels begin with a capital letter, whatever the case of
// the names that they are made of, unless they begin with a symbol such as x.
type Axes struct {
	Title, XLabel, YLabel string
	// LogX and LogY make axes logarithmic. One of x has no values up to 0. One of y that has some is logarithmic on both
	// sides of 0, and linear about it.
	LogX, LogY bool
	// XLimits and YLimits are the ends of the axes; both 0: the range of the data.
	XLimits, YLimits [2]float64
}

// newPanel returns a panel in the shared style. Its axes show the limits, or else the ranges of
// values, widened by margins (fractions of the range).
func newPanel(a Axes, values [2][][]float64, margins [2]float64) (*Panel, error) {
	symlog := symlogScale(0)
	if a.LogY {
		symlog = symlogOf(values[1])
		a.LogY = symlog == 0
	}
	err := cmp.Or(checkAxis("XLimits", a.XLimits, a.LogX), checkAxis("YLimits", a.YLimits, a.LogY))
	if err != nil {
		return nil, fmt.Errorf("figures: panel %q: %w", a.Title, err)
	}
	p := &Panel{Plot: plot.New()}
	p.BackgroundColor = nil // the figure paints it once; panels must not cover other titles
	p.Title.Text, p.Title.TextStyle = a.Title, textStyle(titleSize)
	for d, axis := range []*plot.Axis{&p.X, &p.Y} {
		log := []bool{a.LogX, a.LogY}[d]
		axis.Padding = 0
		axis.LineStyle = draw.LineStyle{Color: axisColor, Width: axisWidth}
		axis.Label.Text, axis.Label.Padding = capital([]string{a.XLabel, a.YLabel}[d]), 2
		axis.Label.TextStyle = textStyle(labelSize)
		tick := textStyle(tickSize)
		tick.XAlign, tick.YAlign = axis.Tick.Label.XAlign, axis.Tick.Label.YAlign
		axis.Tick.Label = tick
		axis.Tick.LineStyle = draw.LineStyle{Color: axisColor, Width: axisWidth}
		axis.Tick.Length = tickLen
		axis.Min, axis.Max = axisRange([][2]float64{a.XLimits, a.YLimits}[d], log, margins[d], values[d])
		axis.Scale = linearScale{}
		if log {
			axis.Scale = plot.LogScale{}
		}
		axis.Tick.Marker = axisTicks{axis.Scale, 4}
	}
	if symlog > 0 {
		p.Y.Tick.Marker, p.Y.Scale = axisTicks{symlog, 4}, symlog
		if a.YLimits == [2]float64{} {
			low, high := axisRange(a.YLimits, false, 0, values[1])
			p.Y.Min, p.Y.Max = symlog.widened(low, high, margins[1])
		}
	}
	return p, nil
}

func capital(label string) string {
	runes := []rune(label)
	if len(runes) > 1 && unicode.IsLetter(runes[1]) {
		runes[0] = unicode.ToUpper(runes[0])
	}
	return string(runes)
}

// put adds marks without changing the limits of the axes.
func (p *Panel) put(marks ...plot.Plotter) {
	x, y := [2]float64{p.X.Min, p.X.Max}, [2]float64{p.Y.Min, p.Y.Max}
	p.Add(marks...)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x[0], x[1], y[0], y[1]
}

func (p *Panel) putFrame() {
	p.X.Width, p.Y.Width = 0, 0
	p.put(glyph(func(c draw.Canvas) { strokeRect(c, c.Rectangle) }))
}

// empty says in the middle of a panel that there is nothing to draw.
func (p *Panel) empty() {
	p.Y.Tick.Marker = plot.ConstantTicks(nil)
	p.put(glyph(func(c draw.Canvas) {
		style := textStyle(labelSize)
		style.Color, style.YAlign = axisColor, draw.YCenter
		c.FillText(style, c.Center(), "no data")
	}))
}

// Label writes a text at a point of the axes.
func (p *Panel) Label(x, y float64, text string) {
	p.put(part(func(c draw.Canvas, on *plot.Plot) {
		toX, toY := on.Transforms(&c)
		style := textStyle(labelSize)
		style.YAlign = draw.YCenter
		c.FillText(style, vg.Point{X: toX(x), Y: toY(y)}, text)
	}))
}

// Figure returns the panel with its colour bar and its legend.
func (p *Panel) Figure() (*Figure, error) { return Grid{Panels: [][]*Panel{{p}}}.Figure() }

// Show is [Figure.Show] of the panel's figure.
func (p *Panel) Show(name string) error { return Grid{Panels: [][]*Panel{{p}}}.Show(name) }

// Save is [Figure.Save] of the panel's figure.
func (p *Panel) Save(path string) error { return save(p, path) }

// glyph draws in the canvas of a plot or of a legend.
type glyph func(draw.Canvas)

func (g glyph) Plot(c draw.Canvas, _ *plot.Plot) { g(c) }

func (g glyph) Thumbnail(c *draw.Canvas) { g(*c) }

// palette holds the styles of the methods, or of the labels of trajectories, in a panel.
type palette struct {
	names  []string
	labels bool
	styles map[string]Style
}

func newPalette(labels bool, names []string) *palette {
	p := &palette{names: names, labels: labels}
	p.assign(names)
	return p
}

func (p *palette) assign(all []string) {
	if p.labels {
		p.styles = labelStyles(all)
	} else {
		p.styles = MethodStyles(all...)
	}
}

// style returns the style of a name; a mark outside of a panel has no palette.
func (p *palette) style(name string) Style {
	if p == nil {
		return MethodStyles(name)[name]
	}
	return p.styles[name]
}

func joinPalettes(panels []*Panel) {
	for _, labels := range []bool{false, true} {
		all, joined := []string(nil), []*palette(nil)
		for _, p := range panels {
			if p.palette != nil && p.palette.labels == labels {
				all, joined = append(all, p.palette.names...), append(joined, p.palette)
			}
		}
		for _, p := range joined {
			p.assign(all)
		}
	}
}
