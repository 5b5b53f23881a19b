package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
)

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
		"too much": {npyBytes("'<f4'", "False", "(1,)", make([]byte, 5)),
			"needs 4 bytes, but there are 5"},
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
		if _, err := read(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes were read without an error", n, len(whole))
		}
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
		if headerErr != nil || !reflect.DeepEqual(shape, a.Shape) {
			t.Errorf("array %q has shape %v, its header says %v (%v)", key, a.Shape, shape, headerErr)
		}
	}
}
