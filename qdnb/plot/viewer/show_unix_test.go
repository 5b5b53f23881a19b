//go:build unix

package viewer

import (
	"bytes"
	"image/png"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell/celltest"
)

// In a notebook a picture precedes the page, for untrusted notebooks.
func TestShowInANotebook(t *testing.T) {
	for name, p := range map[string]*Page{"a map": grid(t, 3, 2, 4), "a film": Skill(crawler(1, 4))} {
		outputs := celltest.Displayed(t, func() error { return p.Show("page") })
		if len(outputs) != 2 {
			t.Fatalf("%s: %d outputs", name, len(outputs))
		}
		data, _ := outputs[0].Data[protocol.MIMEImagePNG].([]byte)
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		size, _ := outputs[0].Metadata["image/png"].(map[string]int)
		if b := picture.Bounds(); b.Dx() != int(float64(size["width"])*dense+0.5) && b.Dx() != int(
			float64(size["width"])*dense) || size["height"] != posterHeight {
			t.Errorf("%s: a picture of %v is shown at %v", name, b, size)
		}
		if n := colours(t, data, 0, 0, picture.Bounds().Dx(), picture.Bounds().Dy()); n < 20 {
			t.Errorf("%s: the picture has %d colours", name, n)
		}
		text, _ := outputs[1].Data[protocol.MIMETextHTML].(string)
		if want, _ := p.Frame(); text != want || !strings.HasPrefix(text, "<iframe ") {
			t.Errorf("%s: the page is %.80q", name, text)
		}
	}
}
