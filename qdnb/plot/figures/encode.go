package figures

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
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

// pdf is a PDF canvas that accepts UTF-8 text. The canvas of gonum/plot expects bytes in the code
// page of its fonts.
type pdf struct{ *vgpdf.Canvas }

func newPDF(width, height vg.Length) pdf { return pdf{vgpdf.New(width, height)} }

// FillString implements vg.Canvas. Characters outside code page 1252 become a substitute character.
func (c pdf) FillString(f font.Face, at vg.Point, s string) {
	s = strings.ReplaceAll(s, "−", "–") // the code page has no minus; its en dash looks alike
	if coded, err := encoding.ReplaceUnsupported(charmap.Windows1252.NewEncoder()).String(s); err ==
		nil {
		s = coded
	}
	c.Canvas.FillString(f, at, s)
}
