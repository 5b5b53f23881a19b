// Package imagetest compares drawings, and what they say, with golden files in testdata.
package imagetest

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot/cmpimg"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// tolerance is the largest difference of a pixel, of 1, because other processors round the smoothing
// of edges differently.
const tolerance = 0.08

// Equal compares an image with testdata/NAME.png. After an intended change, run go test -update and
// look at the images.
func Equal(t *testing.T, name string, img image.Image) {
	t.Helper()
	var got bytes.Buffer
	if err := png.Encode(&got, img); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".png")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update makes it)", err)
	}
	if equal, err := cmpimg.EqualApprox("png", got.Bytes(), want, tolerance); !equal || err != nil {
		out := filepath.Join(os.TempDir(), name+".png")
		t.Errorf("differs from %s (%v); got %s (%v)", path, err, out, os.WriteFile(out, got.Bytes(), 0o666))
	}
}

// Text compares a text with testdata/NAME, which go test -update writes.
func Text(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update makes it)", err)
	}
	for i, line := range strings.Split(text, "\n") {
		if lines := strings.Split(string(want), "\n"); i >= len(lines) || line != lines[i] {
			t.Fatalf("%s:%d is now\n%s", path, i+1, line)
		}
	}
	if len(text) != len(want) {
		t.Errorf("%s has more", path)
	}
}
