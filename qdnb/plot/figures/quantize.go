package figures

import (
	"cmp"
	"image"
	"image/color"
	"slices"
)

// Paletted reduces an opaque image to at most 256 colours, as PNG and GIF files take them. It makes
// a PNG file about a third as large. The same image gives the same colours.
//
// Colours are divided into boxes of one palette entry each (median cut of Heckbert 1982, here
// splitting the box with the largest squared error at its mean). Pixels with the colour of their left
// neighbour, and nearly that of the one above, count most, so areas and the steps of a colour bar hardly
// change; the others are mostly blends at edges.
func Paletted(img image.Image) *image.Paletted {
	if img == nil {
		img = image.Rectangle{}
	}
	out := image.NewPaletted(img.Bounds(), nil)
	pixels := make([]rgb8, 0, len(out.Pix))
	counts := map[rgb8]float64{}
	for y := out.Rect.Min.Y; y < out.Rect.Max.Y; y++ {
		for x := out.Rect.Min.X; x < out.Rect.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			p := rgb8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
			pixels = append(pixels, p)
			at := len(pixels) - 1
			if x > out.Rect.Min.X && y > out.Rect.Min.Y && p == pixels[at-1] && p.near(pixels[at-out.Rect.Dx()]) {
				counts[p]++
			} else {
				counts[p] += blended
			}
		}
	}
	var colors []colorCount
	for c, n := range counts {
		colors = append(colors, colorCount{c, n})
	}
	// Sort for reproducible files, because maps are unordered.
	slices.SortFunc(colors, func(a, b colorCount) int {
		return cmp.Or(cmp.Compare(b.n, a.n), slices.Compare(a.rgb8[:], b.rgb8[:]))
	})
	for _, box := range medianCut(colors, 256) {
		out.Palette = append(out.Palette, box.colors[0].opaque()) // the most frequent one
	}
	index := make(map[rgb8]uint8, len(colors))
	for _, c := range colors {
		index[c.rgb8] = uint8(out.Palette.Index(c.opaque()))
	}
	for i, p := range pixels {
		out.Pix[i] = index[p]
	}
	return out
}

// blended is how much a pixel at an edge counts, relative to others.
const blended = 0.005

type rgb8 [3]uint8

// near reports whether a colour differs from another by no more than a step of a colour bar does.
func (c rgb8) near(other rgb8) bool {
	for i, v := range c {
		if max(v, other[i])-min(v, other[i]) > 8 {
			return false
		}
	}
	return true
}

func (c rgb8) opaque() color.NRGBA { return color.NRGBA{R: c[0], G: c[1], B: c[2], A: 0xff} }

// colorCount is a colour and the number of its pixels.
type colorCount struct {
	rgb8
	n float64
}

// colorBox is a set of colours, most frequent first, that share a palette entry.
type colorBox struct {
	colors  []colorCount
	channel int     // the channel with the largest spread
	mean    float64 // in that channel
	spread  float64 // the sum of squared differences from the mean in that channel
}

func medianCut(colors []colorCount, n int) []colorBox {
	if len(colors) == 0 {
		return nil
	}
	boxes := []colorBox{newColorBox(colors)}
	for len(boxes) < n {
		worst := 0
		for i, b := range boxes {
			if b.spread > boxes[worst].spread {
				worst = i
			}
		}
		box := boxes[worst]
		if len(box.colors) == 1 {
			break // all others have less spread and one colour, too
		}
		var below, above []colorCount
		for _, c := range box.colors {
			if float64(c.rgb8[box.channel]) < box.mean {
				below = append(below, c)
			} else {
				above = append(above, c)
			}
		}
		boxes[worst] = newColorBox(below)
		boxes = append(boxes, newColorBox(above))
	}
	return boxes
}

// newColorBox measures a set of at least one colour.
func newColorBox(colors []colorCount) colorBox {
	b := colorBox{colors: colors}
	for channel := range 3 {
		var n, sum, spread float64
		for _, c := range colors {
			n, sum = n+c.n, sum+c.n*float64(c.rgb8[channel])
		}
		mean := sum / n
		for _, c := range colors {
			d := float64(c.rgb8[channel]) - mean
			spread += c.n * d * d
		}
		if spread > b.spread {
			b.channel, b.mean, b.spread = channel, mean, spread
		}
	}
	return b
}
