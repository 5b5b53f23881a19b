package figures

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
)

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
func fillString(c vg.Canvas, f font.Face, at vg.Point, s string, coded func(rune) bool,
	fill func(at vg.Point, s string)) {
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
