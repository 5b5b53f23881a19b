// Package golden finds and reads golden files for tests: arrays computed by the published code, in
// .npz files.
//
// The files are in the testdata folder of the package that they test. The environment variable
// QDNB_GOLDEN names another folder with other data of the same names and format; there the
// algorithms' files may be in a subfolder "algorithms".
package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/qdnb/internal/npz"
)

// FolderEnv names the environment variable that replaces testdata as the folder of golden files.
const FolderEnv = "QDNB_GOLDEN"

// Path returns the path of a golden file. If the folder named by QDNB_GOLDEN lacks it, Path skips
// the test with a message; a file missing in testdata fails when it is read.
func Path(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv(FolderEnv)
	if root == "" {
		return filepath.Join("testdata", name)
	}
	for _, path := range []string{filepath.Join(root, name), filepath.Join(root, "algorithms", name)} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skipf("SKIPPED: folder %s (from $%s) has no %s", root, FolderEnv, name)
	return ""
}

// File is a golden file in memory. Its methods fail the test immediately if an array is missing or
// has another type.
type File struct {
	t      testing.TB
	path   string
	arrays map[string]npz.Array
}

// Read reads the golden file found by [Path].
func Read(t testing.TB, name string) File {
	t.Helper()
	path := Path(t, name)
	arrays, err := npz.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return File{t, path, arrays}
}

// Has reports whether the file has an array of that name.
func (f File) Has(name string) bool { _, ok := f.arrays[name]; return ok }

func (f File) array(name string) npz.Array {
	f.t.Helper()
	array, ok := f.arrays[name]
	if !ok {
		f.t.Fatalf("%s has no array %q", f.path, name)
	}
	return array
}

// Shape returns the shape of an array.
func (f File) Shape(name string) []int {
	f.t.Helper()
	return slices.Clone(f.array(name).Shape)
}

// Float32s returns the elements of an array.
func (f File) Float32s(name string) []float32 {
	f.t.Helper()
	return elements(f, name, npz.Array.Float32s)
}

// Float64s returns the elements of an array.
func (f File) Float64s(name string) []float64 {
	f.t.Helper()
	return elements(f, name, npz.Array.Float64s)
}

// Int32s returns the elements of an array.
func (f File) Int32s(name string) []int32 {
	f.t.Helper()
	return elements(f, name, npz.Array.Int32s)
}

// Number returns the only element of an array, such as a "const." one.
func (f File) Number(name string) float64 {
	f.t.Helper()
	values := f.Float64s(name)
	if len(values) != 1 {
		f.t.Fatalf("%s: %q has %d elements, not one", f.path, name, len(values))
	}
	return values[0]
}

// Layers returns the sizes of the layers whose biases have names in a format, such as
// "policy.linear_%d.b".
func (f File) Layers(bias string) (sizes []int) {
	for f.Has(fmt.Sprintf(bias, len(sizes))) {
		sizes = append(sizes, f.Shape(fmt.Sprintf(bias, len(sizes)))[0])
	}
	return sizes
}

// Hidden is [File.Layers] without the last one.
func (f File) Hidden(bias string) []int {
	sizes := f.Layers(bias)
	return sizes[:len(sizes)-1]
}

// Joined returns rows of arrays, each next to those of the others, such as transitions in a replay
// buffer.
func (f File) Joined(rows []int32, names ...string) (flat []float32) {
	f.t.Helper()
	for _, row := range rows {
		for _, name := range names {
			data := f.Float32s(name)
			width := len(data) / f.array(name).Shape[0]
			flat = append(flat, data[int(row)*width:(int(row)+1)*width]...)
		}
	}
	return flat
}

func elements[T any](f File, name string, convert func(npz.Array) ([]T, error)) []T {
	f.t.Helper()
	values, err := convert(f.array(name))
	if err != nil {
		f.t.Fatalf("%s: %q: %v", f.path, name, err)
	}
	return values
}
