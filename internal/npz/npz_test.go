package npz

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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
	if got := must.Get(Read(path)); !reflect.DeepEqual(got, sample()) {
		t.Errorf("got %v\nwant %v", got, sample())
	}
	for name, want := range sample() {
		path := filepath.Join(t.TempDir(), "a.npy")
		must.Do(WriteNPY(path, want))
		got := must.Get(ReadNPY(path))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
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
	got := must.Get(r.ReadAll())
	if !reflect.DeepEqual(got, want) {
		t.Error("the arrays differ")
	}
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
	if a, err := r.Read("i4"); err != nil || !reflect.DeepEqual(a, sample()["i4"]) {
		t.Errorf("i4: %v, %v", a, err)
	}
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
		if v, err := a.Float32s(); err != nil || !slices.Equal(v, []float32{1, 0}) {
			t.Errorf("%s: Float32s %v, %v", name, v, err)
		}
		if v, err := a.Float64s(); err != nil || !slices.Equal(v, []float64{1, 0}) {
			t.Errorf("%s: Float64s %v, %v", name, v, err)
		}
		if v, err := a.Int32s(); err != nil || !slices.Equal(v, []int32{1, 0}) {
			t.Errorf("%s: Int32s %v, %v", name, v, err)
		}
		if v, err := Values[int64](a); err != nil || !slices.Equal(v, []int64{1, 0}) {
			t.Errorf("%s: int64 %v, %v", name, v, err)
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
	if v, err := Of([]int64{1 << 31}).Int32s(); err == nil {
		t.Errorf("2^31 became %v", v)
	}
	if v, err := Of([]float64{1 << 31}).Int32s(); err == nil {
		t.Errorf("2^31 became %v", v)
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
