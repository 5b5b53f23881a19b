package figures

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot/vg"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/cell/celltest"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func TestShowSavesOutsideANotebook(t *testing.T) {
	f := figureOf(Trajectories(sampleArena()))
	f = f.Size(2*vg.Inch, 2.5*vg.Inch)
	dir := filepath.Join(t.TempDir(), "made", "by show")
	t.Setenv(cell.FolderVariable, dir)
	for name, file := range map[string]string{
		"skills":            "skills.png",
		"vector.svg":        "vector.svg",
		"sub/ant-uni v1.5":  "sub/ant-uni v1.5.png",
		"already named.png": "already named.png",
	} {
		printed := captureStderr(t, func() {
			must.Do(f.Show(name))
		})
		path := filepath.Join(dir, file)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
		errtest.Contains(t, printed, path)
	}

	t.Setenv(cell.FolderVariable, "")
	t.Chdir(t.TempDir())
	captureStderr(t, func() {
		must.Do(f.Show("here"))
	})
	data := must.Get(os.ReadFile("here.png"))
	errtest.Equal(t, "bounds", must.Get(png.Decode(bytes.NewReader(data))).Bounds(), image.Rect(0, 0, 384, 480))
}

func TestShowErrors(t *testing.T) {
	f := figureOf(Trajectories(sampleArena()))
	dir := t.TempDir()
	must.Do(os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	t.Setenv(cell.FolderVariable, filepath.Join(dir, "file"))
	errtest.Want(t, f.Show("skills"), cell.FolderVariable)
	t.Setenv(cell.FolderVariable, dir)
	errtest.Want(t, f.Show(""), "needs a name")
	if err := f.Size(5, 5).Show("tiny"); err == nil {
		t.Error("a figure that cannot be drawn gives no error")
	}
}

func captureStderr(t *testing.T, do func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(err)
	old := os.Stderr
	os.Stderr = w
	defer func() { os.Stderr = old }()
	do()
	w.Close()
	var buf bytes.Buffer
	must.Get(io.Copy(&buf, r))
	return buf.String()
}

// Show sends a PNG of double resolution and the size at which to display it.
func TestShowInANotebook(t *testing.T) {
	f := figureOf(Map(sampleCells()))
	data := celltest.Displayed(t, func() error { return f.Show("repertoire") })[0]
	sent, ok := data.Data[protocol.MIMEImagePNG].([]byte)
	if !ok || len(data.Data) != 1 {
		t.Fatalf("sent %d formats, image/png among them: %v", len(data.Data), ok)
	}
	size, ok := data.Metadata["image/png"].(map[string]int)
	if !ok {
		t.Fatalf("metadata %v", data.Metadata)
	}
	if bounds := must.Get(png.Decode(bytes.NewReader(sent))).Bounds(); !near(bounds, size["width"], size["height"]) {
		t.Errorf("image of %v, shown at %v", bounds, size)
	}
}

// near reports whether an image has twice the given size, up to rounding.
func near(b image.Rectangle, width, height int) bool {
	return max(b.Dx()-2*width, 2*width-b.Dx(), b.Dy()-2*height, 2*height-b.Dy()) <= 1
}
