package figures

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"html"
	"image"
	"image/png"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/npz/atomicfile"
)

// Resolution is the resolution, in dots per inch, of figures in notebooks and of saved PNG files.
// It is twice the resolution of a screen, so that figures stay sharp on dense displays and in print
// at column width.
const Resolution = 192

// maxPixels limits the size of a PNG to what fits in memory (about 400 MB while drawing).
const maxPixels = 100e6

// formats lists the file extensions that [Figure.Save] supports.
var formats = []string{".png", ".svg", ".pdf", ".html"}

// Figure is a drawing with a size. [Figure.Show] displays it in a notebook and [Figure.Save] writes
// it to a file. A figure must not be drawn by several goroutines at once.
type Figure struct {
	width, height vg.Length
	draw          func(draw.Canvas) error
	layout        *layout
	touched       touchData // of the newest drawing
}

// Size returns the figure at another size. A width or height of 0 follows from the other, so that
// panels have their aspects. Texts keep their size, and maps equal scales on both axes.
func (f *Figure) Size(width, height vg.Length) *Figure {
	if f == nil { // drawing it is an error
		return nil
	}
	resized := *f
	switch {
	case height != 0 && width != 0:
		resized.width, resized.height = width, height
	case width != 0:
		_, follows := f.layout.clone().byWidth(width)
		resized.width, resized.height = width, follows
	case height != 0:
		follows, _ := f.layout.clone().byHeight(f.width, height)
		resized.width, resized.height = follows, height
	}
	return &resized
}

// Bounds returns the figure's width and height.
func (f *Figure) Bounds() (width, height vg.Length) {
	if f == nil {
		return 0, 0
	}
	return f.width, f.height
}

// PNG draws the figure at dpi dots per inch (see [Resolution]) and returns a PNG file. The file
// records its resolution, so that other programs display it at the right size.
func (f *Figure) PNG(dpi int) ([]byte, error) {
	img, err := f.Image(dpi)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&buf, Paletted(img)); err != nil {
		return nil, fmt.Errorf("figures: encode PNG: %w", err)
	}
	return withResolution(buf.Bytes(), dpi), nil
}

// Save writes the figure to a file with the extension .png (at [Resolution]), .svg, .pdf or .html. HTML is
// a page with the PNG that answers the pointer as in a notebook. The write is atomic; the folder must exist.
func (f *Figure) Save(path string) error {
	data, err := f.encode(strings.ToLower(filepath.Ext(path)))
	if err == nil {
		err = atomicfile.WriteBytes(path, data)
	}
	if err != nil {
		return fmt.Errorf("cannot save %s: %w", path, err)
	}
	return nil
}

func (f *Figure) encode(format string) ([]byte, error) {
	if !slices.Contains(formats, format) {
		return nil, fmt.Errorf("unknown format %q: use a file name that ends in one of %s", format, strings.Join(formats, ", "))
	}
	if format == ".png" {
		return f.PNG(Resolution)
	}
	if format == ".html" {
		return f.page()
	}
	if err := f.checkSize(); err != nil {
		return nil, err
	}
	var canvas vg.CanvasWriterTo = vgsvg.New(f.width, f.height)
	if format == ".pdf" {
		canvas = pdf{vgpdf.New(f.width, f.height)}
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
	if err := f.checkSize(); err != nil {
		return nil, err
	}
	if pixels := f.width.Dots(float64(dpi)) * f.height.Dots(float64(dpi)); dpi <= 0 || pixels > maxPixels {
		return nil, fmt.Errorf("figures: %.3g x %.3g in at %d dots per inch: want a positive resolution and at "+
			"most %.0f million pixels", f.width/vg.Inch, f.height/vg.Inch, dpi, maxPixels/1e6)
	}
	canvas := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dpi))
	if err := f.render(bitmap{canvas}); err != nil {
		return nil, err
	}
	return canvas.Image(), nil
}

// page returns the figure as a page.
func (f *Figure) page() ([]byte, error) {
	f = f.captioned(cell.Caption())
	cell.Complete()
	data, err := f.PNG(Resolution)
	if err != nil {
		return nil, err
	}
	script, err := f.touched.html()
	width, height := f.onScreen()
	return fmt.Appendf(nil, `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Figure</title>
<body>
<img alt="%s" width="%d" height="%d" style="max-width:100%%;height:auto" src="data:image/png;base64,%s">
%s
</body>
</html>
`, html.EscapeString(f.touched.Title), width, height, base64.StdEncoding.EncodeToString(data), script), err
}

// onScreen returns the figure's size in CSS pixels.
func (f *Figure) onScreen() (width, height int) {
	const screen = 96 // CSS pixels per inch
	return int(math.Round(f.width.Dots(screen))), int(math.Round(f.height.Dots(screen)))
}

func (f *Figure) checkSize() error {
	if f == nil {
		return fmt.Errorf("figures: no figure: it is nil; check the error of the call that returned it")
	}
	if w, h := float64(f.width), float64(f.height); !(w > 0) || !(h > 0) || !finite(w) || !finite(h) {
		return fmt.Errorf("figures: size %g x %g points: want positive lengths", w, h)
	}
	return nil
}

// caught turns the panic by which a plotter reports bad data into an error.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("cannot draw: %v", r)
	}
}

func (f *Figure) render(canvas vg.CanvasSizer) (err error) {
	defer caught(&err)
	width, height := canvas.Size()
	t := &touchable{finiteCanvas: finiteCanvas{canvas}, touchData: touchData{Width: float64(width), Height: float64(height)}}
	c := draw.New(t)
	c.SetColor(paper)
	c.Fill(c.Path())
	err = f.draw(c)
	f.touched = t.touched()
	return err
}

// Show displays the figure inline in a GoNB notebook. Elsewhere it saves name.png to the folder in
// $QDNB_FIGURES (default: the current folder), which it creates if missing, and prints the path
// to standard error. A name that ends in .svg or .pdf selects that format for the file.
//
// Inline figures are PNG, the only format that untrusted notebooks display, too. They have twice
// the resolution of a screen and metadata that sets their natural size. A second output, a script, lets
// the picture answer the pointer and the arrow keys where it may run: values of curves and cells, and earlier
// states of a map. It needs neither kernel nor network.
func (f *Figure) Show(name string) error {
	if cell.In() {
		return f.display()
	}
	return cell.Save("figure", name, f.Save, formats...)
}

func (f *Figure) display() error {
	f = f.captioned(cell.Caption())
	data, err := f.PNG(Resolution)
	if err != nil {
		return err
	}
	width, height := f.onScreen()
	if err := cell.SendPNG(data, width, height); err != nil {
		return err
	}
	script, err := f.touched.html()
	if err != nil || script == "" {
		return err
	}
	return cell.Send(map[protocol.MIMEType]any{protocol.MIMETextHTML: script})
}

// captioned returns the figure with a small line below it, such as the runs that it shows.
func (f *Figure) captioned(text string) *Figure {
	if f == nil || text == "" {
		return f
	}
	const room = vg.Length(10)
	with := *f
	with.height += room
	with.draw = func(c draw.Canvas) error {
		style := textStyle(smallSize)
		style.Color, style.XAlign = axisColor, draw.XRight
		style.Font.Size *= min(1, (c.Max.X-c.Min.X-2*outerPad)/style.Width(text))
		c.FillText(style, vg.Point{X: c.Max.X - outerPad, Y: c.Min.Y + outerPad/2}, text)
		c.Min.Y += room
		return f.draw(c)
	}
	return &with
}

type drawing interface{ Figure() (*Figure, error) }

func save(d drawing, path string) error {
	f, err := d.Figure()
	if err != nil {
		return err
	}
	return f.Save(path)
}

// withResolution inserts a pHYs chunk (pixels per metre) after the header of a PNG file, because
// package image/png omits it.
func withResolution(png []byte, dpi int) []byte {
	const headerEnd = 8 + 25 // signature, IHDR chunk
	perMetre := uint32(math.Round(float64(dpi) / 0.0254))
	chunk := []byte{0, 0, 0, 9, 'p', 'H', 'Y', 's'}
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = append(chunk, 1) // the unit is the metre
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return bytes.Join([][]byte{png[:headerEnd], chunk, png[headerEnd:]}, nil)
}

// withFallbackFonts adds fonts of the same metrics for viewers that lack Liberation Sans. It also
// labels embedded images as PNG, which gonum/plot labels as JPEG.
func withFallbackFonts(svg []byte) []byte {
	svg = bytes.ReplaceAll(svg, []byte(`"data:image/jpg;base64,`), []byte(`"data:image/png;base64,`))
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}

// pdf accepts UTF-8 text. The canvas of gonum/plot expects the code page of its fonts.
type pdf struct{ *vgpdf.Canvas }

// FillString implements vg.Canvas. Characters outside code page 1252 become boxes.
func (c pdf) FillString(f font.Face, at vg.Point, s string) {
	s = strings.ReplaceAll(s, "−", "–") // the code page has no minus; its en dash looks alike
	coded := func(r rune) bool { _, ok := charmap.Windows1252.EncodeRune(r); return ok }
	fillString(c.Canvas, f, at, s, coded, func(at vg.Point, s string) {
		s, _ = charmap.Windows1252.NewEncoder().String(s) // no error: all its characters are coded
		c.Canvas.FillString(f, at, s)
	})
}

// bitmap draws a box for a character that the font lacks, where gonum/plot leaves a gap.
type bitmap struct{ *vgimg.Canvas }

// FillString implements vg.Canvas.
func (c bitmap) FillString(f font.Face, at vg.Point, s string) {
	fillString(c.Canvas, f, at, s, func(rune) bool { return true },
		func(at vg.Point, s string) { c.Canvas.FillString(f, at, s) })
}

// finiteCanvas panics where a canvas may never return: at marks, such as gonum's bars, of values that are
// not finite, or so far outside of the axes that pixels cannot be counted.
type finiteCanvas struct{ vg.CanvasSizer }

// Fill implements vg.Canvas.
func (c finiteCanvas) Fill(p vg.Path) {
	checkPath(p)
	c.CanvasSizer.Fill(p)
}

// Stroke implements vg.Canvas.
func (c finiteCanvas) Stroke(p vg.Path) {
	checkPath(p)
	c.CanvasSizer.Stroke(p)
}

// FillString implements vg.Canvas.
func (c finiteCanvas) FillString(f font.Face, at vg.Point, s string) {
	checkPath(vg.Path{{Pos: at}})
	c.CanvasSizer.FillString(f, at, s)
}

func checkPath(p vg.Path) {
	const farthest = 1e7 // points
	near := func(at vg.Point) bool {
		return math.Abs(float64(at.X)) <= farthest && math.Abs(float64(at.Y)) <= farthest
	}
	for _, part := range p {
		if !near(part.Pos) || slices.ContainsFunc(part.Control, func(at vg.Point) bool { return !near(at) }) {
			panic("a mark has a value that is not finite, or far outside of the axes: leave it out")
		}
	}
}

// fillString calls fill with the parts of a text that can be drawn, and draws a box for each
// character that is not coded or not in the font, as wide as the text was measured.
func fillString(c vg.Canvas, f font.Face, at vg.Point, s string, coded func(rune) bool, fill func(at vg.Point, s string)) {
	missing := func(r rune) bool {
		glyph, err := f.Face.GlyphIndex(nil, r)
		return err != nil || glyph == 0 || !coded(r)
	}
	for s != "" {
		n := strings.IndexFunc(s, missing)
		if n < 0 {
			n = len(s)
		}
		if n > 0 {
			fill(at, s[:n])
			at.X += f.Width(s[:n])
		}
		if s = s[n:]; s != "" {
			_, size := utf8.DecodeRuneInString(s)
			width := f.Width(s[:size])
			c.Fill(missingGlyph(at, width, f.Font.Size))
			at.X, s = at.X+width, s[size:]
		}
	}
}

// missingGlyph returns the outline of the box for a missing character on the baseline at a point.
func missingGlyph(at vg.Point, width, size vg.Length) vg.Path {
	var p vg.Path
	for _, inset := range []vg.Length{0.08 * size, 0.14 * size} {
		low := at.Add(vg.Point{X: inset, Y: inset - 0.08*size})
		high := at.Add(vg.Point{X: width - inset, Y: 0.8*size - inset})
		corners := []vg.Point{low, {X: high.X, Y: low.Y}, high, {X: low.X, Y: high.Y}}
		if len(p) > 0 { // a hole
			slices.Reverse(corners)
		}
		p.Move(corners[0])
		for _, corner := range corners[1:] {
			p.Line(corner)
		}
		p.Close()
	}
	return p
}
