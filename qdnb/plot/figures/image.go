package figures

import (
	"errors"
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

// Images draws pictures in a grid with the given number of columns, row by row. Pictures without an
// image leave gaps. Pictures keep their aspect ratio, so those of a grid should share one. SVG and
// PDF files embed the images unchanged; a PNG file is drawn at [Resolution] in 256 colours. In a
// grid with four columns a picture is sharp from a width of 400 pixels.
func Images(pictures []Picture, columns int) (*Figure, error) {
	f, err := images(pictures, columns)
	if err != nil {
		return nil, fmt.Errorf("figures: images: %w", err)
	}
	return f, nil
}

func images(pictures []Picture, columns int) (*Figure, error) {
	if columns < 1 {
		return nil, fmt.Errorf("%d columns: want at least one", columns)
	}
	columns = min(columns, max(len(pictures), 1))
	l := &layout{equal: true, gapX: 8, gapY: 8}
	any := false
	for i, p := range pictures {
		if i%columns == 0 {
			l.panels = append(l.panels, make([]*panel, columns))
		}
		if p.Image == nil {
			continue
		}
		size := p.Image.Bounds().Size()
		if size.X < 1 || size.Y < 1 {
			return nil, fmt.Errorf("picture %d (%s) has %d x %d pixels", i, p.Title, size.X, size.Y)
		}
		for _, label := range p.Labels {
			if !finite(label.X) || !finite(label.Y) {
				return nil, fmt.Errorf("label %q of picture %d (%s) is at %g, %g", label.Text, i, p.Title,
					label.X, label.Y)
			}
		}
		view := newPlot("", "", [2]float64{0, 0}, [2]float64{float64(size.X), float64(size.Y)})
		view.HideAxes()
		view.Add(pictureView{p})
		l.panels[i/columns][i%columns] = &panel{plot: view, title: p.Title,
			aspect: float64(size.X) / float64(size.Y)}
		any = true
	}
	if !any {
		return nil, errors.New("no picture to draw")
	}
	return l.figure(vg.Length(min(1.875*float64(columns), 7.5)) * vg.Inch), nil
}

// pictureView fills the data area of a panel with an image and draws a thin frame.
type pictureView struct{ Picture }

func (v pictureView) Plot(c draw.Canvas, _ *plot.Plot) {
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
