//go:build unix

package figures

import (
	"bytes"
	"image"
	pngs "image/png"
	"testing"

	"example.com/qdnb/internal/cell/celltest"
	"example.com/qdnb/internal/must"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Show sends a PNG of double resolution and the size at which to display it.
func TestShowInANotebook(t *testing.T) {
	f := figureOf(Map(sampleCells()))
	data := celltest.Displayed(t, func() error { return f.Show("repertoire") })[0]
	png, ok := data.Data[protocol.MIMEImagePNG].([]byte)
	if !ok || len(data.Data) != 1 {
		t.Fatalf("sent %d formats, image/png among them: %v", len(data.Data), ok)
	}
	size, ok := data.Metadata["image/png"].(map[string]int)
	if !ok {
		t.Fatalf("metadata %v", data.Metadata)
	}
	if bounds := must.Get(pngs.Decode(bytes.NewReader(png))).Bounds(); !near(bounds, size["width"], size["height"]) {
		t.Errorf("image of %v, shown at %v", bounds, size)
	}
}

// near reports whether an image has twice the given size, up to rounding.
func near(b image.Rectangle, width, height int) bool {
	return max(b.Dx()-2*width, 2*width-b.Dx(), b.Dy()-2*height, 2*height-b.Dy()) <= 1
}
