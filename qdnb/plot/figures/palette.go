package figures

import "image"

// Paletted reduces a shaded picture to at most 256 colours, as PNG and GIF files take them. The
// same picture gives the same colours.
func Paletted(img image.Image) *image.Paletted { return paletted(img, shadedAreas) }
