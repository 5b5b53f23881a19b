package viewer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"

	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
)

// Animation configures [GIF].
type Animation struct {
	Width, Height int // pixels of one film; 0: 240 x 180
	// Progress is called with the number of frames drawn so far and in all; nil for none.
	Progress func(done, all int)
}

// The layout and the timing of an animation.
const (
	filmsInRow      = 4
	framesPerSecond = 12.5
	shownSeconds    = 5 // of an episode, from its beginning
)

// maxAnimationPixels bounds the pixels of all frames together: beyond it a GIF is no small picture.
const maxAnimationPixels = 256 << 20

// GIF writes a looping animation of films, row by row in a grid. Each film is seen by a camera that
// follows its robot; a film that ends before the others rests on its last frame.
func GIF(w io.Writer, films []*scene.Film, a Animation) error {
	a.Width, a.Height = cmp.Or(a.Width, 240), cmp.Or(a.Height, 180)
	switch {
	case len(films) == 0:
		return errors.New("viewer: an animation needs at least one film")
	case a.Width < 16 || a.Height < 16 || a.Width > 1<<14 || a.Height > 1<<14:
		return fmt.Errorf("viewer: films of %d x %d pixels: use 16 to %d", a.Width, a.Height, 1<<14)
	}
	for i, film := range films {
		if err := film.Check(); err != nil {
			return fmt.Errorf("viewer: film %d: %w", i, err)
		}
	}
	frames := framesOf(films)
	rows := (len(films) + filmsInRow - 1) / filmsInRow
	size := image.Rect(0, 0, min(len(films), filmsInRow)*a.Width, rows*a.Height)
	if frames*size.Dx()*size.Dy() > maxAnimationPixels {
		return fmt.Errorf("viewer: %d frames of %d x %d pixels are too large for a GIF: lower the size "+
			"or the number of films", frames, size.Dx(), size.Dy())
	}
	out := gif.GIF{Image: make([]*image.Paletted, frames), Delay: make([]int, frames)}
	failed := make([]error, frames)
	var group sync.WaitGroup
	var lock sync.Mutex
	done, slots := 0, make(chan struct{}, runtime.NumCPU())
	for i := range frames {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			out.Image[i], failed[i] = a.draw(films, size, float64(i)/framesPerSecond)
			lock.Lock()
			defer lock.Unlock()
			if done++; a.Progress != nil {
				a.Progress(done, frames)
			}
		})
		out.Delay[i] = 100 / framesPerSecond // in hundredths of a second
	}
	group.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return gif.EncodeAll(w, &out)
}

// framesOf returns how many frames show the longest film, as far as it is shown.
func framesOf(films []*scene.Film) int {
	longest := 0.0
	for _, film := range films {
		longest = max(longest, float64(len(film.Frames)-1)*film.Step)
	}
	return 1 + int(min(longest, shownSeconds)*framesPerSecond)
}

// draw is the frame of all films at a time, in seconds.
func (a Animation) draw(films []*scene.Film, size image.Rectangle, at float64) (*image.Paletted, error) {
	picture := image.NewNRGBA(size)
	draw.Draw(picture, size, image.White, image.Point{}, draw.Src)
	for i, film := range films {
		frame := min(int(math.Round(at/film.Step)), len(film.Frames)-1)
		tile, err := scene.Render(film, frame, scene.Camera{}, a.Width, a.Height)
		if err != nil {
			return nil, err
		}
		corner := image.Pt(i%filmsInRow*a.Width, i/filmsInRow*a.Height)
		draw.Draw(picture, tile.Bounds().Add(corner), tile, tile.Bounds().Min, draw.Src)
	}
	return figures.Paletted(picture), nil
}

// Frames writes pictures as a looping animation, of which one lasts so many seconds. It leaves out some, so that about
// [framesPerSecond] are shown, and shows equal ones as one that lasts longer.
func Frames(w io.Writer, pictures []image.Image, seconds float64) error {
	every := max(1, int(math.Round(1/(framesPerSecond*seconds))))
	var out gif.GIF
	for i := 0; i < len(pictures); i += every {
		flat := image.NewNRGBA(pictures[i].Bounds())
		draw.Draw(flat, flat.Bounds(), pictures[i], flat.Bounds().Min, draw.Src)
		frame, delay, last := figures.Paletted(flat), int(math.Round(100*seconds*float64(every))), len(out.Image)-1
		if last >= 0 && bytes.Equal(out.Image[last].Pix, frame.Pix) && slices.Equal(out.Image[last].Palette, frame.Palette) {
			out.Delay[last] += delay
			continue
		}
		out.Image, out.Delay = append(out.Image, frame), append(out.Delay, delay)
	}
	if len(out.Image) == 0 {
		return errors.New("viewer: an animation needs at least one picture")
	}
	return gif.EncodeAll(w, &out)
}

// SaveGIF writes [GIF] to a file, which appears whole or not at all; its folder must exist.
func SaveGIF(path string, films []*scene.Film, a Animation) error {
	return atomicfile.Write(path, func(w io.Writer) error { return GIF(w, films, a) })
}
