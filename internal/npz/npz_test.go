package npz

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// sample returns arrays of every type, with no axis, one, several, and axes of length 0.
func sample() map[string]Array {
	return map[string]Array{
		"f4": Of([]float32{0, -1.5, float32(math.Inf(-1)), math.MaxFloat32,
			math.SmallestNonzeroFloat32, 7}, 2, 3),
		"f8":           Of([]float64{math.Pi, math.Inf(1), math.Copysign(0, -1)}),
		"i4":           Of([]int32{math.MinInt32, 0, math.MaxInt32, 1}, 1, 2, 1, 2),
		"i8":           Of([]int64{math.MinInt64, math.MaxInt64}),
		"u4":           Of([]uint32{0, math.MaxUint32}),
		"u8":           Of([]uint64{0, math.MaxUint64}),
		"u1":           Of([]uint8("meta")),
		"b1":           Of([]bool{true, false, true}),
		"none":         Of([]float32{}, 0, 3),
		"scalar":       Scalar(2.5),
		"a/b.c-\u03c6": Of([]float32{1}),
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	must.Do(Write(path, sample()))
	errtest.Equal(t, "the arrays", must.Get(Read(path)), sample())
	for name, want := range sample() {
		path := filepath.Join(t.TempDir(), "a.npy")
		must.Do(WriteNPY(path, want))
		got := must.Get(ReadNPY(path))
		errtest.Equal(t, name, got, want)
		data := must.Get(os.ReadFile(path))
		if offset := bytes.IndexByte(data, '\n') + 1; offset%alignment != 0 {
			t.Errorf("%s: the data begins at %d, which is not a multiple of %d", name, offset, alignment)
		}
	}
}

// Large arrays take another path through the zip writer: they are stored uncompressed.
func TestLargeArraysAreStoredAndComeBack(t *testing.T) {
	large := make([]float32, 3*deflateBelow/4)
	for i := range large {
		large[i] = float32(i) * 0.37
	}
	small := make([]float32, 1000)
	want := map[string]Array{"large": Of(large, 3, len(large)/3), "small": Of(small)}
	var buffer bytes.Buffer
	must.Do(WriteTo(&buffer, want))
	if size := buffer.Len(); size < 4*len(large) || size > 4*len(large)+2000 {
		t.Errorf("the file has %d bytes; the large array should take %d and the small one next to none",
			size, 4*len(large))
	}
	r := must.Get(NewReader(bytes.NewReader(buffer.Bytes()), int64(buffer.Len())))
	errtest.Equal(t, "the arrays", must.Get(r.ReadAll()), want)
}

func TestSameArraysSameBytes(t *testing.T) {
	write := func() []byte {
		var buffer bytes.Buffer
		must.Do(WriteTo(&buffer, sample()))
		return buffer.Bytes()
	}
	first := write()
	for range 5 {
		if !bytes.Equal(first, write()) {
			t.Fatal("the same arrays gave other bytes")
		}
	}
}

func TestReaderReadsWhatIsAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	must.Do(Write(path, sample()))
	r := must.Get(Open(path))
	defer r.Close()
	if keys := r.Keys(); len(keys) != len(sample()) || !slices.IsSorted(keys) {
		t.Errorf("keys %v", keys)
	}
	dtype, shape, err := r.Header("i4")
	if err != nil || dtype != "int32" || !slices.Equal(shape, []int{1, 2, 1, 2}) {
		t.Errorf("header of i4: %s %v, %v", dtype, shape, err)
	}
	errtest.Equal(t, "i4", must.Get(r.Read("i4")), sample()["i4"])
	errtest.Want(t, errtest.Of(r.Read("i5")), `no array "i5"; the arrays are`)
}

func TestConversions(t *testing.T) {
	for name, a := range map[string]Array{
		"float32": Of([]float32{1, 0}), "float64": Of([]float64{1, 0}), "int32": Of([]int32{1, 0}),
		"int64":  Of([]int64{1, 0}),
		"uint32": Of([]uint32{1, 0}), "uint64": Of([]uint64{1, 0}), "uint8": Of([]uint8{1, 0}),
		"bool": Of([]bool{true, false}),
	} {
		if a.DType() != name || a.Len() != 2 {
			t.Errorf("%s: dtype %s, length %d", name, a.DType(), a.Len())
		}
		for _, got := range []any{must.Get(a.Float32s()), must.Get(a.Float64s()), must.Get(a.Int32s()),
			must.Get(Values[int64](a))} {
			errtest.Equal(t, name, fmt.Sprint(got), "[1 0]")
		}
	}
	if v, err := Of([]int{1, 0}).Int32s(); err != nil || !slices.Equal(v, []int32{1, 0}) {
		t.Errorf("int: %v, %v", v, err)
	}
	own := []float32{1}
	if v, _ := Of(own).Float32s(); &v[0] != &own[0] {
		t.Error("a float32 array was copied")
	}
	for _, a := range []Array{
		Of([]float32{1.5}), Of([]float64{math.NaN()}), Of([]float64{math.Inf(1)}), Of([]float64{1 << 63}),
		Of([]uint64{math.MaxUint64}),
	} {
		if v, err := Values[int64](a); err == nil {
			t.Errorf("%v became %v", a.Data, v)
		}
	}
	for _, a := range []Array{Of([]int64{1 << 31}), Of([]float64{1 << 31})} {
		if v, err := a.Int32s(); err == nil {
			t.Errorf("2^31 became %v", v)
		}
	}
	if v, err := Values[int64](Of([]float64{math.MinInt64})); err != nil || v[0] != math.MinInt64 {
		t.Errorf("-2^63 became %v, %v", v, err)
	}
	for _, bad := range []Array{{}, {Data: []string{"a"}}, {Data: 3}} {
		if _, err := bad.Float32s(); err == nil {
			t.Errorf("%v became float32", bad)
		}
		if _, err := Values[int64](bad); err == nil {
			t.Errorf("%v became int64", bad)
		}
	}
}

func TestWrongArraysAreRefused(t *testing.T) {
	for name, a := range map[string]Array{
		"short":    {Shape: []int{2, 3}, Data: []float32{1}},
		"negative": {Shape: []int{-1, -1}, Data: []float32{1}},
		"overflow": {Shape: []int{1 << 32, 1 << 32}, Data: []float32{}},
		"text":     {Shape: []int{1}, Data: []string{"a"}},
		"nothing":  {},
		"":         Of([]float32{1}),
		"/etc":     Of([]float32{1}),
		"\xff":     Of([]float32{1}),
		"rank":     {Shape: slices.Repeat([]int{1}, maxRank+1), Data: []float32{1}},
	} {
		path := filepath.Join(t.TempDir(), "a.npz")
		if err := Write(path, map[string]Array{name: a}); err == nil {
			t.Errorf("%q was written", name)
		}
		if files, _ := os.ReadDir(filepath.Dir(path)); len(files) > 0 {
			t.Errorf("%q left %s", name, files[0].Name())
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Of took a shape that does not fit")
		}
	}()
	Of([]float32{1, 2}, 3)
}

func TestReadReportsMissingAndOtherFiles(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "none.npz")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	path := filepath.Join(t.TempDir(), "text.npz")
	must.Do(os.WriteFile(path, []byte("not an archive"), 0o666))
	errtest.Want(t, errtest.Of(Read(path)), path)
	errtest.Want(t, errtest.Of(ReadNPY(path)), "NUMPY")
}

// testdata/12_stats.npz was written by numpy.savez_compressed. It holds metrics, running statistics
// and aggregates computed by QDax (branch qdbenchmark) in float32; the values are exact.
func TestReadsWhatNumPyWrote(t *testing.T) {
	arrays := must.Get(Read(filepath.Join("testdata", "12_stats.npz")))
	errtest.Equal(t, "number of arrays", len(arrays), 42)
	for name, want := range map[string]Array{
		"const.episode_length":        Of([]int32{250}),
		"const.reward_offset":         Of([]float32{3.24}),
		"ring.size_position_0":        Of([]int32{4, 4}),
		"const.reward_offset.antmaze": Of([]float32{40.32}),
	} {
		errtest.Equal(t, name, arrays[name], want)
	}
	errtest.Equal(t, "the shape of rms.batch_0", arrays["rms.batch_0"].Shape, []int{7, 3})
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
	errtest.Equal(t, "what NumPy read", strings.ReplaceAll(string(out), "\r", ""), want)
	back := must.Get(Read(theirs))
	f := must.Get(Values[int64](back["f"]))
	if c := back["c"]; !reflect.DeepEqual(f, c.Data) || !reflect.DeepEqual(back["f"].Shape, c.Shape) {
		t.Errorf("a Fortran-ordered array of NumPy was read as %v", f)
	}
}
