package figures

import (
	"fmt"
	"image"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Picture is a raster image with a title above it. [Images] draws it.
type Picture struct {
	Title  string
	Image  image.Image
	Labels []Label
}

// Label is a word centred at a point of a picture.
type Label struct {
	Text  string
	X, Y  float64     // in pixels of the image, from the upper left corner
	Size  float64     // in points; 0: the size of tick labels
	Color color.NRGBA // of the text; zero value: the default text colour
}

// Images arranges pictures in a grid with the given number of columns, row by row. Pictures without
// an image leave gaps. Pictures keep their aspect ratio, so those of a grid should share one. SVG and
// PDF files embed the images unchanged; a PNG file is drawn at [Resolution] in 256 colours. In a grid
// with four columns a picture is sharp from a width of 400 pixels.
func Images(columns int, pictures ...Picture) (grid Grid, err error) {
	defer caught(&err)
	panels := make([]*Panel, len(pictures))
	for i, p := range pictures {
		if p.Image == nil {
			continue
		}
		size := p.Image.Bounds().Size()
		if size.X < 1 || size.Y < 1 {
			return Grid{}, fmt.Errorf("figures: picture %d (%s) has %d x %d pixels", i, p.Title, size.X, size.Y)
		}
		for _, label := range p.Labels {
			if !finite(label.X) || !finite(label.Y) {
				return Grid{}, fmt.Errorf("figures: label %q of picture %d (%s) is at %g, %g", label.Text, i, p.Title, label.X, label.Y)
			}
		}
		view, err := plane(Axes{Title: p.Title}, [2]float64{}, [2]float64{float64(size.X), float64(size.Y)}, true)
		if err != nil {
			return Grid{}, err
		}
		view.HideAxes()
		view.put(part(p.plot))
		view.Aspect, view.Width = float64(size.X)/float64(size.Y), 1.75*vg.Inch
		panels[i] = view
	}
	return InRows(columns, panels...), nil
}

// plot fills the data area of a panel with the image and draws a thin frame.
func (v Picture) plot(c draw.Canvas, _ *plot.Plot) {
	c.DrawImage(c.Rectangle, v.Image)
	c.SetLineStyle(draw.LineStyle{Color: gridColor, Width: axisWidth})
	c.Stroke(c.Rectangle.Path())
	area := c.Size()
	bounds := v.Image.Bounds().Size()
	for _, label := range v.Labels {
		style := textStyle(tickSize)
		if label.Size > 0 {
			style = textStyle(vg.Length(label.Size))
		}
		if label.Color.A > 0 {
			style.Color = label.Color
		}
		at := vg.Point{
			X: c.Min.X + area.X*vg.Length(label.X/float64(bounds.X)),
			Y: c.Max.Y - area.Y*vg.Length(label.Y/float64(bounds.Y)),
		}
		style.YAlign = draw.YCenter
		at.Y += style.FontExtents().Descent // digits and capitals have none
		c.FillText(style, at, label.Text)
	}
}
