package figures

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"example.com/qdnb/internal/npz/atomicfile"
)

// Resolution is the resolution, in dots per inch, of figures in notebooks and of saved PNG files.
// It is twice the resolution of a screen, so that figures stay sharp on dense displays and in print
// at column width.
const Resolution = 192

// maxPixels limits the size of a PNG to what fits in memory (about 400 MB while drawing).
const maxPixels = 100e6

// formats lists the file extensions that [Figure.Save] supports.
var formats = []string{".png", ".svg", ".pdf"}

// Figure is a drawing with a size. [Figure.Show] displays it in a notebook and [Figure.Save] writes
// it to a file. A figure must not be drawn by several goroutines at once.
type Figure struct {
	width, height vg.Length
	draw          func(draw.Canvas) error
}

// Size returns the figure at another size. A width or height of 0 keeps the current value. Maps
// keep equal scales on both axes at any size.
func (f *Figure) Size(width, height vg.Length) *Figure {
	resized := *f
	if width != 0 {
		resized.width = width
	}
	if height != 0 {
		resized.height = height
	}
	return &resized
}

// Bounds returns the figure's width and height.
func (f *Figure) Bounds() (width, height vg.Length) { return f.width, f.height }

// PNG draws the figure at dpi dots per inch (see [Resolution]) and returns a PNG file. The file
// records its resolution, so that other programs display it at the right size.
func (f *Figure) PNG(dpi int) ([]byte, error) {
	data, err := f.png(dpi)
	if err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	return data, nil
}

// Save writes the figure to a file with the extension .png (at [Resolution]), .svg or .pdf. The
// write is atomic; the folder must exist.
func (f *Figure) Save(path string) error {
	data, err := f.encode(strings.ToLower(filepath.Ext(path)))
	if err != nil {
		return fmt.Errorf("figures: save %s: %w", path, err)
	}
	if err := atomicfile.WriteBytes(path, data); err != nil {
		return fmt.Errorf("figures: save %s: %w", path, err)
	}
	return nil
}

// encode returns the contents of a file in the format of the given extension.
func (f *Figure) encode(format string) ([]byte, error) {
	if !slices.Contains(formats, format) {
		return nil, fmt.Errorf("unknown format %q: use a file name that ends in one of %s",
			format, strings.Join(formats, ", "))
	}
	if format == ".png" {
		return f.png(Resolution)
	}
	if err := f.checkSize(); err != nil {
		return nil, err
	}
	var canvas vg.CanvasWriterTo = vgsvg.New(f.width, f.height)
	if format == ".pdf" {
		canvas = newPDF(f.width, f.height)
	}
	if err := f.render(canvas); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := canvas.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("encode %s: %w", format, err)
	}
	if format == ".svg" {
		return withFallbackFonts(buf.Bytes()), nil
	}
	return buf.Bytes(), nil
}

// Image draws the figure at dpi dots per inch.
func (f *Figure) Image(dpi int) (image.Image, error) {
	img, err := f.image(dpi)
	if err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	return img, nil
}

func (f *Figure) image(dpi int) (image.Image, error) {
	if err := f.checkSize(); err != nil {
		return nil, err
	}
	if pixels := f.width.Dots(float64(dpi)) * f.height.Dots(float64(dpi)); dpi <= 0 ||
		pixels > maxPixels {
		return nil, fmt.Errorf("%.3g x %.3g in at %d dots per inch: want a positive resolution and at "+
			"most %.0f million pixels", f.width/vg.Inch, f.height/vg.Inch, dpi, maxPixels/1e6)
	}
	canvas := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dpi))
	if err := f.render(bitmap{canvas}); err != nil {
		return nil, err
	}
	return canvas.Image(), nil
}

func (f *Figure) png(dpi int) ([]byte, error) {
	img, err := f.image(dpi)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&buf, Paletted(img)); err != nil {
		return nil, fmt.Errorf("encode PNG: %w", err)
	}
	return withResolution(buf.Bytes(), dpi), nil
}

func (f *Figure) checkSize() error {
	if w, h := float64(f.width), float64(f.height); !(w > 0) || !(h > 0) || !finite(w) || !finite(h) {
		return fmt.Errorf("size %g x %g points: want positive lengths", w, h)
	}
	return nil
}

// caught turns the panic by which a plotter reports bad data into an error, so that one bad figure
// does not end the program.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("cannot draw: %v", r)
	}
}

// render draws on a canvas.
func (f *Figure) render(canvas vg.CanvasSizer) (err error) {
	defer caught(&err)
	c := draw.New(canvas)
	c.SetColor(paper)
	c.Fill(c.Path())
	return f.draw(c)
}
