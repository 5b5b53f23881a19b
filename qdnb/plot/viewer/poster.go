package viewer

import (
	"image"
	"image/draw"
	"math"

	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
)

const (
	posterWidth, posterHeight = 960, 240 // CSS pixels
	posterFrames              = 4
	dense                     = 1.5 // pixels per CSS pixel; twice as many would make notebooks large
)

// Poster returns a still picture of the page, for places that cannot show pages: frames of its
// first film in sequence, next to the map if there is one.
func (p *Page) Poster() (image.Image, error) {
	if p.first() < 0 {
		return nil, errNoFilm
	}
	frames, width := posterFrames, posterWidth
	var chart image.Image
	if p.cells != nil {
		c := *p.cells
		c.Title = ""
		panel, err := figures.Map(c)
		if err != nil {
			return nil, err
		}
		fig, err := panel.Figure()
		if err != nil {
			return nil, err
		}
		w, h := fig.Bounds()
		const screen = 96
		if chart, err = fig.Image(int(math.Round(dense * screen * posterHeight / h.Dots(screen)))); err != nil {
			return nil, err
		}
		frames, width = posterFrames-1, posterWidth-int(posterHeight*w/h)
	}
	strip, err := scene.Strip(p.entries[p.first()].Film, frames,
		int(dense*float64(width)/float64(frames)), dense*posterHeight)
	if err != nil || chart == nil {
		return strip, err
	}
	left := chart.Bounds().Dx()
	both := image.NewNRGBA(image.Rect(0, 0, left+strip.Bounds().Dx(), dense*posterHeight))
	draw.Draw(both, both.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(both, chart.Bounds(), chart, chart.Bounds().Min, draw.Src)
	draw.Draw(both, strip.Bounds().Add(image.Pt(left, 0)), strip, strip.Bounds().Min, draw.Src)
	return both, nil
}
