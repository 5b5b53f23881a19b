package figures

import (
	"cmp"
	"image"
	"image/color"
	"math"
	"slices"
)

type rgb8 [3]uint8

// How paletted chooses the colours of areas.
const (
	areaPixels    = 8   // a colour of fewer pixels is that of an edge
	areaColors    = 192 // at most; the other entries are for edges
	shadedAreas   = 24  // at most in a figure with shaded pictures, whose other colours matter as much
	areaTolerance = 3   // the largest difference of a channel at which one colour stands for another
)

// paletted reduces an opaque image to 256 colours, which make a third of the bytes in a PNG file.
// An image of no more colours keeps them all. Otherwise the colours of areas come first, at most so
// many, the most frequent ones foremost, so that lines, bands and the steps of a colour bar look as
// drawn. The rest, which smoothing makes along edges, is divided into boxes (median cut of Heckbert
// 1982, here cutting the box of the largest squared error at its mean) of one colour each, and
// takes the nearest of all: where areas have more colours than their part of the palette, the step
// of a bar is nearer to its neighbour than to an edge.
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
	// maps have no order, files shall be the same each time
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

// nearest returns the index of the colour of the smallest maximal difference of a channel, and that
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

// colorCount is a colour and its number of pixels.
type colorCount struct {
	rgb rgb8
	n   int
}

// colorBox is a set of colours, most frequent first, that share a palette entry.
type colorBox struct {
	colors  []colorCount
	channel int     // the channel of the largest spread
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
			break // and so are all others, which have less spread
		}
		low, high := boxes[worst].split()
		boxes[worst] = low
		boxes = append(boxes, high)
	}
	return boxes
}

// newColorBox measures a set of at least one colour. Its colours weigh by the square root of their
// pixels: edges matter to the eye more than their area.
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

// split cuts a box of at least two colours at its mean.
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
