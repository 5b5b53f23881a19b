package viewer

import (
	"bytes"
	"image/color"
	"image/gif"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/scene"
)

// rolling is a film of a ball that rolls along x for some frames, 0.1 s apart.
func rolling(frames int, paint color.NRGBA) *scene.Film {
	f := &scene.Film{Title: "ball", Ground: true, Step: 0.1, Bodies: []scene.Body{{
		Name: "ball", Shapes: []scene.Shape{{Radius: 2, Color: paint}},
		Pose: scene.Pose{Rotation: scene.Quat{1}},
	}}}
	for i := range frames {
		f.Frames = append(f.Frames, []scene.Pose{{Position: scene.Vec{float64(i), 0, 2}, Rotation: scene.Quat{1}}})
	}
	return f
}

func TestGIF(t *testing.T) {
	red, blue := color.NRGBA{R: 220, A: 255}, color.NRGBA{B: 220, A: 255}
	films := []*scene.Film{rolling(21, red), rolling(5, blue), rolling(21, red), rolling(21, blue), rolling(21, red)}
	var file, again bytes.Buffer
	calls := 0
	a := Animation{Width: 40, Height: 30,
		Progress: func(done, all int) {
			if calls++; done != calls || all != 26 {
				t.Errorf("progress: %d of %d at call %d", done, all, calls)
			}
		}}
	must.Do(GIF(&file, films, a))
	found := must.Get(gif.DecodeAll(bytes.NewReader(file.Bytes())))
	size := found.Image[0].Bounds().Size()
	if len(found.Image) != 26 || size.X != 160 || size.Y != 60 || found.LoopCount != 0 || calls != 26 {
		t.Errorf("%d frames of %v, loop count %d, %d calls", len(found.Image), size, found.LoopCount, calls)
	}
	total := 0
	for _, delay := range found.Delay {
		total += delay
	}
	errtest.Equal(t, "duration of the frames", total, 208)
	// shows tells whether a tile has red and blue pixels.
	shows := func(frame, left, top int) (red, blue bool) {
		for x := left; x < left+40; x++ {
			for y := top; y < top+30; y++ {
				r, _, b, _ := found.Image[frame].At(x, y).RGBA()
				red, blue = red || r > 2*b, blue || b > 2*r
			}
		}
		return red, blue
	}
	// The cameras follow the balls; the last film is in the second row.
	for frame := range found.Image {
		for i, want := range [][2]bool{{true, false}, {false, true}, {true, false}, {false, true},
			{true, false}, {false, false}} {
			red, blue := shows(frame, i%4*40, i/4*30)
			if red != want[0] || blue != want[1] {
				t.Errorf("frame %d, tile %d: red %t, blue %t; want %v", frame, i, red, blue, want)
			}
		}
	}
	a.Progress = nil
	if err := GIF(&again, films, a); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Errorf("the same films give another file: %v", err)
	}
	if n := framesOf([]*scene.Film{rolling(101, red)}); n != 63 {
		t.Errorf("%d frames of ten seconds, of which five are shown", n)
	}
	path := filepath.Join(t.TempDir(), "a.gif")
	must.Do(SaveGIF(path, films, a))
	if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, file.Bytes()) {
		t.Errorf("the saved file differs: %v", err)
	}
}

func TestGIFMistakes(t *testing.T) {
	ball := rolling(3, color.NRGBA{R: 1, A: 255})
	still := rolling(0, color.NRGBA{R: 1, A: 255})
	for want, c := range map[string]struct {
		films []*scene.Film
		a     Animation
	}{
		"at least one film":              {nil, Animation{}},
		"without frames":                 {[]*scene.Film{still}, Animation{}},
		"film 1: scene: the film is nil": {[]*scene.Film{ball, Best(nil)}, Animation{}},
		"use 16 to":                      {[]*scene.Film{ball}, Animation{Width: 3}},
		"too large": {[]*scene.Film{rolling(1000, color.NRGBA{R: 1, A: 255})},
			Animation{Width: 4000, Height: 4000}},
	} {
		var file bytes.Buffer
		if err := GIF(&file, c.films, c.a); err == nil || !strings.Contains(err.Error(), want) || file.Len() > 0 {
			t.Errorf("%v, and %d bytes; want %q", err, file.Len(), want)
		}
	}
}
