package figures

import (
	"cmp"
	"image"
	"image/color"
	"math"
	"slices"
)

type rgb8 [3]uint8

// Limits for the colours that paletted assigns to areas.
const (
	areaPixels    = 8   // a colour of fewer pixels belongs to an edge
	areaColors    = 192 // at most; the other entries are for edges
	shadedAreas   = 24  // at most, with shaded pictures, whose other colours matter as much
	areaTolerance = 3   // the largest channel difference at which one colour replaces another
)

// paletted reduces an opaque image to 256 colours, which makes a PNG file about a third as large.
// An image with no more colours keeps all of them. Otherwise areas get at most the given number of
// colours, the most frequent first, so that lines, bands and the steps of a colour bar keep their
// exact colours. The remaining colours, which smoothing makes along edges, are divided into boxes
// of one colour each (median cut of Heckbert 1982, here splitting the box with the largest squared
// error at its mean). Each of them then takes the nearest colour of the whole palette: if areas
// have more colours than their share of the palette, a step of a colour bar is closer to its
// neighbour than to an edge.
func paletted(img image.Image, areas int) *image.Paletted {
	bounds := img.Bounds()
	pixels := make([]rgb8, 0, bounds.Dx()*bounds.Dy())
	counts := make(map[rgb8]int)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			p := rgb8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
			pixels = append(pixels, p)
			counts[p]++
		}
	}
	colors := make([]colorCount, 0, len(counts))
	for c, n := range counts {
		colors = append(colors, colorCount{c, n})
	}
	// Sort for reproducible files, because maps are unordered.
	slices.SortFunc(colors, func(a, b colorCount) int {
		return cmp.Or(b.n-a.n, slices.Compare(a.rgb[:], b.rgb[:]))
	})

	var palette []rgb8
	tolerance := areaTolerance
	if len(colors) <= 256 {
		tolerance = 0
	}
	for _, c := range colors {
		if len(colors) > 256 && (c.n < areaPixels || len(palette) == areas) {
			break
		}
		if _, distance := nearest(palette, c.rgb); distance > tolerance {
			palette = append(palette, c.rgb)
		}
	}
	index := make(map[rgb8]uint8, len(colors))
	var edges []colorCount
	for _, c := range colors {
		if i, distance := nearest(palette, c.rgb); distance <= tolerance {
			index[c.rgb] = uint8(i)
		} else {
			edges = append(edges, c)
		}
	}
	for _, box := range medianCut(edges, 256-len(palette)) {
		palette = append(palette, box.colors[0].rgb) // the most frequent one
	}
	for _, c := range edges {
		i, _ := nearest(palette, c.rgb)
		index[c.rgb] = uint8(i)
	}

	out := image.NewPaletted(bounds, nil)
	for _, c := range palette {
		out.Palette = append(out.Palette, color.NRGBA{R: c[0], G: c[1], B: c[2], A: 0xff})
	}
	for i, p := range pixels {
		out.Pix[i] = index[p]
	}
	return out
}

// nearest returns the index of the colour with the smallest maximum channel difference, and that
// difference.
func nearest(colors []rgb8, to rgb8) (index, distance int) {
	distance = 256
	for i, c := range colors {
		d := 0
		for channel := range 3 {
			d = max(d, int(c[channel])-int(to[channel]), int(to[channel])-int(c[channel]))
		}
		if d < distance {
			index, distance = i, d
		}
	}
	return index, distance
}

// colorCount is a colour and the number of its pixels.
type colorCount struct {
	rgb rgb8
	n   int
}

// colorBox is a set of colours, most frequent first, that share a palette entry.
type colorBox struct {
	colors  []colorCount
	channel int     // the channel with the largest spread
	mean    float64 // in that channel
	spread  float64 // the weighted sum of squared differences from the mean in that channel
}

// medianCut divides colours into at most n boxes.
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
		if len(boxes[worst].colors) == 1 {
			break // all others have less spread and one colour, too
		}
		low, high := boxes[worst].split()
		boxes[worst] = low
		boxes = append(boxes, high)
	}
	return boxes
}

// newColorBox measures a set of at least one colour. Colours are weighted by the square root of
// their pixel counts, because edges matter more to the eye than their area.
func newColorBox(colors []colorCount) colorBox {
	b := colorBox{colors: colors}
	if len(colors) == 1 {
		return b
	}
	for channel := range 3 {
		var n, sum float64
		for _, c := range colors {
			w := math.Sqrt(float64(c.n))
			n, sum = n+w, sum+w*float64(c.rgb[channel])
		}
		mean, spread := sum/n, 0.0
		for _, c := range colors {
			d := float64(c.rgb[channel]) - mean
			spread += math.Sqrt(float64(c.n)) * d * d
		}
		if spread > b.spread {
			b.channel, b.mean, b.spread = channel, mean, spread
		}
	}
	return b
}

// split divides a box of at least two colours at its mean.
func (b colorBox) split() (low, high colorBox) {
	var below, above []colorCount
	for _, c := range b.colors {
		if float64(c.rgb[b.channel]) < b.mean {
			below = append(below, c)
		} else {
			above = append(above, c)
		}
	}
	return newColorBox(below), newColorBox(above)
}
