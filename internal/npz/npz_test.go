package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
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
	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
)

// sample returns arrays of every type, with no axis, one, several, and axes of length 0.
func sample() map[string]Array {
	return map[string]Array{
		"f4":           Of([]float32{0, -1.5, float32(math.Inf(-1)), math.MaxFloat32, math.SmallestNonzeroFloat32, 7}, 2, 3),
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
		t.Errorf("the file has %d bytes; the large array should take %d and the small one next to none", size, 4*len(large))
	}
	r := must.Get(NewReader(bytes.NewReader(buffer.Bytes()), int64(buffer.Len())))
	errtest.Equal(t, "the arrays", must.Get(r.ReadAll()), want)
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
		errtest.Equal(t, name, fmt.Sprint(a.DType(), a.Len()), fmt.Sprint(name, 2))
		for _, got := range []any{must.Get(a.Float32s()), must.Get(a.Float64s()), must.Get(a.Int32s()),
			must.Get(Values[int64](a))} {
			errtest.Equal(t, name, fmt.Sprint(got), "[1 0]")
		}
	}
	errtest.Equal(t, "int", must.Get(Of([]int{1, 0}).Int32s()), []int32{1, 0})
	own := []float32{1}
	if v, _ := Of(own).Float32s(); &v[0] != &own[0] {
		t.Error("a float32 array was copied")
	}
	for _, a := range []Array{
		Of([]float32{1.5}), Of([]float64{math.NaN()}), Of([]float64{math.Inf(1)}), Of([]float64{1 << 63}),
		Of([]uint64{math.MaxUint64}),
	} {
		errtest.Want(t, errtest.Of(Values[int64](a)), "is not an integer of type int64")
	}
	for _, a := range []Array{Of([]int64{1 << 31}), Of([]float64{1 << 31})} {
		errtest.Want(t, errtest.Of(a.Int32s()), "is not an integer of type int32")
	}
	errtest.Equal(t, "-2^63", must.Get(Values[int64](Of([]float64{math.MinInt64})))[0], math.MinInt64)
	for _, bad := range []Array{{}, {Data: []string{"a"}}, {Data: 3}} {
		errtest.Want(t, errtest.Of(bad.Float32s()), "an array cannot hold ")
		errtest.Want(t, errtest.Of(Values[int64](bad)), "an array cannot hold ")
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
		errtest.Want(t, Write(path, map[string]Array{name: a}), "array ")
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

// npyBytes makes an .npy file with any header.
func npyBytes(descr, fortran, shape string, data []byte) []byte {
	head := fmt.Sprintf("{'shape': %s, 'fortran_order': %s, 'descr': %s}\n", shape, fortran, descr)
	out := append([]byte(magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(head)))
	return append(append(out, head...), data...)
}

func readBytes(data []byte) (Array, error) {
	return readArray(bytes.NewReader(data), int64(len(data)))
}

func TestReadsOtherOrders(t *testing.T) {
	want := Of([]float32{1, 2, 3, 4, 5, 6}, 1, 2, 3)
	in := func(order binary.AppendByteOrder, values ...float32) (out []byte) {
		for _, v := range values {
			out = order.AppendUint32(out, math.Float32bits(v))
		}
		return out
	}
	big, little := binary.BigEndian, binary.LittleEndian
	for name, data := range map[string][]byte{
		"big endian":    npyBytes("'>f4'", "False", "(1, 2, 3)", in(big, 1, 2, 3, 4, 5, 6)),
		"little endian": npyBytes("'<f4'", "False", "(1, 2, 3)", in(little, 1, 2, 3, 4, 5, 6)),
		"fortran":       npyBytes("'<f4'", "True", "(1, 2, 3)", in(little, 1, 4, 2, 5, 3, 6)),
		"both":          npyBytes(`">f4"`, "True", "(1L, 2L, 3L,)", in(big, 1, 4, 2, 5, 3, 6)),
	} {
		got, err := readBytes(data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	// A flag that is neither 0 nor 1 is true, and not a broken Go bool.
	got, err := readBytes(npyBytes("'|b1'", "False", "(3,)", []byte{0, 1, 255}))
	if err != nil || !reflect.DeepEqual(got, Of([]bool{false, true, true})) {
		t.Errorf("booleans: %v, %v", got, err)
	}
	// Version 2 has a longer field for the length.
	v1 := npyBytes("'<f4'", "False", "(1, 2, 3)", in(little, 1, 2, 3, 4, 5, 6))
	v2 := append([]byte(magic), 2, 0, v1[8], v1[9], 0, 0)
	errtest.Equal(t, "version 2", must.Get(readBytes(append(v2, v1[10:]...))), want)
}

func TestHostileHeadersGiveOneLine(t *testing.T) {
	four := make([]byte, 4)
	for _, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":          {nil, "cut off"},
		"no magic":       {[]byte("PK\x03\x04 something else"), "does not begin"},
		"version":        {[]byte(magic + "\x09\x00\x00\x00"), "version 9"},
		"header cut off": {npyBytes("'<f4'", "False", "(1,)", nil)[:30], "cut off"},
		"long header":    {[]byte(magic + "\x02\x00\xff\xff\xff\xff"), "claims"},
		"no newline":     {[]byte(magic + "\x01\x00\x04\x00abcd"), "descr"},
		"record":         {npyBytes("[('a', '<f4')]", "False", "(1,)", four), "records"},
		"object":         {npyBytes("'|O'", "False", "(1,)", four), "not supported"},
		"half":           {npyBytes("'<f2'", "False", "(2,)", four), "float32, float64"},
		"text":           {npyBytes("'<U1'", "False", "(1,)", four), "not supported"},
		"no order":       {npyBytes("'<f4'", "Maybe", "(1,)", four), "fortran_order"},
		"negative":       {npyBytes("'<f4'", "False", "(-1,)", four), "shape"},
		"huge length":    {npyBytes("'<f4'", "False", "(99999999999999999999,)", four), "length should be"},
		"large":          {npyBytes("'<f4'", "False", "(1000000000000,)", four), "cut off"},
		"overflow":       {npyBytes("'<f4'", "False", "(4294967296, 4294967296)", four), "too large"},
		"wraps to one":   {npyBytes("'<f8'", "False", "(2305843009213693952,)", four), "cut off"},
		"rank":           {npyBytes("'<f4'", "False", "("+strings.Repeat("1,", 65)+")", four), "axes"},
		"cut off":        {npyBytes("'<f4'", "False", "(2,)", four), "needs 2 elements, but there are 4 bytes"},
		"too much":       {npyBytes("'<f4'", "False", "(1,)", make([]byte, 5)), "needs 4 bytes, but there are 5"},
	} {
		errtest.Want(t, errtest.Of(readBytes(c.data)), c.want)
	}
}

// A small archive may claim any size for its member.
func TestClaimedSizesAreChecked(t *testing.T) {
	const claimed = 1 << 40
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		data := npyBytes("'<f4'", "False", fmt.Sprintf("(%d,)", claimed/4), nil)
		w := must.Get(archive.CreateRaw(&zip.FileHeader{
			Name: fmt.Sprintf("a%d.npy", method), Method: method,
			CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data)) + claimed,
		}))
		must.Get(w.Write(data))
	}
	must.Do(archive.Close())
	r := must.Get(NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len())))
	for _, key := range r.Keys() {
		errtest.Want(t, errtest.Of(r.Read(key)), "cannot hold")
	}
}

// Every truncation and every flipped bit is detected, or does not change the arrays.
func TestDamageIsNoticed(t *testing.T) {
	want := sample()
	var buffer bytes.Buffer
	must.Do(WriteTo(&buffer, want))
	whole := buffer.Bytes()
	read := func(data []byte) (map[string]Array, error) {
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		return r.ReadAll()
	}
	for n := 0; n < len(whole); n += 7 {
		errtest.Want(t, errtest.Of(read(whole[:n])), "not an .npz file, or cut off")
	}
	undetected := 0
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1 << (i % 8)
		got, err := read(damaged)
		if err != nil {
			continue
		}
		for key, a := range got {
			if original, ok := want[key]; !ok || !reflect.DeepEqual(a, original) {
				t.Fatalf("bit flip at %d changed array %q unnoticed", i, key)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("bit flip at %d hid an array unnoticed", i)
		}
		undetected++
	}
	if undetected == len(whole) {
		t.Error("no bit flip was noticed at all")
	}
}

// Members may share their bytes: a small file could then make a large one of each.
func TestOverlapIsRefused(t *testing.T) {
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	w, err := archive.CreateHeader(&zip.FileHeader{Name: "aa.npy", Method: zip.Store})
	must.Do(err)
	must.Get(w.Write(npyBytes("'<f4'", "False", "(1000,)", make([]byte, 4000))))
	must.Do(archive.Close())
	whole := packed.Bytes()
	const signature = "PK\x01\x02"
	// The list at the end has one entry; add a second one for the same bytes.
	at := bytes.Index(whole, []byte(signature))
	end := bytes.Index(whole, []byte("PK\x05\x06"))
	entry := bytes.Replace(whole[at:end], []byte("aa.npy"), []byte("bb.npy"), 1)
	double := append(append(bytes.Clone(whole[:end]), entry...), whole[end:]...)
	tail := double[end+len(entry):]
	tail[8], tail[10] = 2, 2
	binary.LittleEndian.PutUint32(tail[12:], uint32(2*len(entry)))
	_, err = NewReader(bytes.NewReader(double), int64(len(double)))
	errtest.Want(t, err, "damaged: its arrays have 8")
}

func FuzzRead(f *testing.F) {
	var buffer bytes.Buffer
	must.Do(WriteTo(&buffer, sample()))
	f.Add(buffer.Bytes())
	f.Add(buffer.Bytes()[:buffer.Len()/2])
	f.Add(npyBytes("'<f4'", "True", "(1, 2)", make([]byte, 8)))
	f.Add(npyBytes("'>i8'", "False", "()", make([]byte, 8)))
	f.Add(npyBytes("'<f4'", "False", "(4294967296, 4294967296)", nil))
	golden := must.Get(os.ReadFile(filepath.Join("testdata", "12_stats.npz")))
	f.Add(golden)
	for _, line := range []string{"<f4 1,2, 3", ">i8  5", "|b1 3, 255", "<f4 0,4611686018427387904",
		"<f4 4,4611686018427387904", "<U9 1,", "<f4 \n,"} {
		f.Add(hostile.Array(line))
		f.Add(hostile.Archive("a " + line + "\nb " + line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		hostile.Bounded(t, len(data), func() { readAll(t, data) })
	})
}

// readAll reads data as an array and as an archive, and checks the result.
func readAll(t *testing.T, data []byte) {
	a, err := readBytes(data)
	hostile.Error(t, err)
	if err == nil {
		if err := a.Check(); err != nil {
			t.Errorf("an array that was read is wrong: %v", err)
		}
	}
	r, err := NewReader(bytes.NewReader(data), int64(len(data)))
	hostile.Error(t, err)
	if err != nil {
		return
	}
	_, err = r.Read("none")
	hostile.Error(t, err)
	for _, key := range r.Keys() {
		_, shape, headerErr := r.Header(key)
		a, err := r.Read(key)
		hostile.Error(t, err)
		if err != nil {
			continue
		}
		if err := a.Check(); err != nil {
			t.Errorf("array %q that was read is wrong: %v", key, err)
		}
		errtest.Equal(t, key, fmt.Sprint(headerErr, shape), fmt.Sprint(nil, a.Shape))
	}
}
