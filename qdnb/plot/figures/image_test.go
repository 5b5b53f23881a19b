package figures

import (
	"bytes"
	"image"
	"image/color"
	"math"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// gradient returns an image with more colours than a palette has. All are rare except the greys of
// its upper half.
func gradient(width, height int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.NRGBA{R: uint8(255 * x / width), G: uint8(255 * y / height), B: 128, A: 255}
			if y < height/2 {
				c = color.NRGBA{R: c.R, G: c.R, B: c.R, A: 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func TestImagesAreDrawn(t *testing.T) {
	pictures := []Picture{
		{Title: "first", Image: gradient(80, 60),
			Labels: []Label{{Text: "1", X: 20, Y: 15},
				{Text: "2", X: 60, Y: 45, Size: 14, Color: color.NRGBA{R: 255, G: 255, B: 255, A: 255}}}},
		{}, {Title: "second", Image: gradient(80, 60)},
		{Title: "narrow", Image: gradient(30, 60)},
	}
	figure, err := Images(pictures, 3)
	must.Do(err)
	compareImage(t, "images", figure, 338)
	for ending, mark := range map[string]string{".svg": "data:image/png;base64,",
		".pdf": "/Subtype /Image"} {
		data, err := figure.encode(ending)
		if err != nil || !bytes.Contains(data, []byte(mark)) {
			t.Errorf("%s holds no image (%v)", ending, err)
		}
	}
}

func TestImagesMistakes(t *testing.T) {
	one := Picture{Title: "one", Image: gradient(4, 3)}
	nowhere := one
	nowhere.Labels = []Label{{Text: "a", X: math.NaN()}}
	for want, f := range map[string]func() (*Figure, error){
		"no picture": func() (*Figure, error) { return Images(nil, 3) },
		"nothing":    func() (*Figure, error) { return Images([]Picture{{Title: "hole"}}, 3) },
		"0 columns":  func() (*Figure, error) { return Images([]Picture{one}, 0) },
		"0 x 9": func() (*Figure,
			error) {
			return Images([]Picture{{Image: image.NewNRGBA(image.Rect(0, 0, 0, 9))}}, 1)
		},
		`label "a" of`: func() (*Figure, error) { return Images([]Picture{nowhere}, 1) },
	} {
		if want == "nothing" {
			want = "no picture"
		}
		errtest.Want(t, errtest.Of(f()), want)
	}
	if f, err := Images([]Picture{one}, 9); err != nil {
		t.Error(err)
	} else if width, _ := f.Bounds(); width > 2*72 {
		t.Errorf("one picture is %g in wide", width/72)
	}
}
