package npz

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
)

// testdata/12_stats.npz was written by numpy.savez_compressed. It holds metrics, running statistics
// and aggregates computed by QDax (branch qdbenchmark) in float32; the values are exact.
func TestReadsWhatNumPyWrote(t *testing.T) {
	arrays := must.Get(Read(filepath.Join("testdata", "12_stats.npz")))
	if len(arrays) != 42 {
		t.Errorf("%d arrays", len(arrays))
	}
	for name, want := range map[string]Array{
		"const.episode_length":        Of([]int32{250}),
		"const.reward_offset":         Of([]float32{3.24}),
		"ring.size_position_0":        Of([]int32{4, 4}),
		"const.reward_offset.antmaze": Of([]float32{40.32}),
	} {
		if got := arrays[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if batch := arrays["rms.batch_0"]; !reflect.DeepEqual(batch.Shape, []int{7, 3}) {
		t.Errorf("rms.batch_0 has shape %v", batch.Shape)
	}
}

func TestNumPyReadsWhatWeWrite(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: python3 is not installed, so NumPy was not asked to read our files")
	}
	if exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Skip("SKIPPED: python3 has no NumPy, so it was not asked to read our files; pip install numpy")
	}
	path := filepath.Join(t.TempDir(), "a.npz")
	arrays := sample()
	arrays["large"] = Of(make([]float32, 1<<20), 1<<10, 1<<10)
	must.Do(Write(path, arrays))
	const script = `
import sys, numpy as np
x = np.load(sys.argv[1])
for k in sorted(x.files):
    a = x[k]
    last = a.size and repr(a.ravel()[-1].item())
    print(k.encode('unicode_escape').decode(), a.dtype, a.shape, a.flags.c_contiguous, last)
f = np.asfortranarray(np.arange(24, dtype='>f8').reshape(2, 3, 4))
np.savez(sys.argv[2], f=f, c=np.arange(24).reshape(2, 3, 4))
`
	theirs := filepath.Join(t.TempDir(), "b.npz")
	out, err := exec.Command(python, "-c", script, path, theirs).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const want = `a/b.c-\u03c6 float32 (1,) True 1.0
b1 bool (3,) True True
f4 float32 (2, 3) True 7.0
f8 float64 (3,) True -0.0
i4 int32 (1, 2, 1, 2) True 1
i8 int64 (2,) True 9223372036854775807
large float32 (1024, 1024) True 0.0
none float32 (0, 3) True 0
scalar float64 () True 2.5
u1 uint8 (4,) True 97
u4 uint32 (2,) True 4294967295
u8 uint64 (2,) True 18446744073709551615
`
	if got := strings.ReplaceAll(string(out), "\r", ""); got != want {
		t.Errorf("NumPy read\n%swant\n%s", got, want)
	}
	back := must.Get(Read(theirs))
	f := must.Get(Values[int64](back["f"]))
	if c := back["c"]; !reflect.DeepEqual(f, c.Data) || !reflect.DeepEqual(back["f"].Shape, c.Shape) {
		t.Errorf("a Fortran-ordered array of NumPy was read as %v", f)
	}
}
