package figures

import (
	_ "embed"
	"image/color"
	"math"
)

// viridis is the published table of 256 colours, three sRGB bytes each, by Nathaniel J. Smith,
// Stéfan van der Walt and Eric Firing, released under CC0: https://bids.github.io/colormap
//
//go:embed viridis.rgb
var viridis string

// Viridis returns the viridis colour of t in [0, 1]. The map increases evenly in luminance from
// dark violet to yellow, and reads the same for colour-blind readers and in greyscale print. Values
// outside the range are clamped. NaN gives the colour of an empty cell.
func Viridis(t float64) color.NRGBA {
	if math.IsNaN(t) {
		return emptyFill
	}
	i := 3 * int(math.Round(min(max(t, 0), 1)*255))
	return color.NRGBA{R: viridis[i], G: viridis[i+1], B: viridis[i+2], A: 255}
}
