package npz

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz/atomicfile"
)

// ReadNPY reads an .npy file.
func ReadNPY(path string) (Array, error) {
	f, err := os.Open(path)
	if err != nil {
		return Array{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Array{}, err
	}
	a, err := readArray(f, info.Size())
	if err != nil {
		return Array{}, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// WriteNPY writes an .npy file atomically.
func WriteNPY(path string, a Array) error {
	return atomicfile.Write(path, func(w io.Writer) error { return writeArray(w, a) })
}

func readArray(r io.Reader, size int64) (Array, error) {
	buffered := bufio.NewReader(r)
	h, err := readHeader(buffered)
	if err != nil {
		return Array{}, err
	}
	if err := h.fits(size); err != nil {
		return Array{}, err
	}
	a := Array{h.shape, reflect.MakeSlice(h.dtype.slice, h.count, h.count).Interface()}
	memory := a.memory()
	if err := readFull(buffered, memory); err != nil {
		return Array{}, err
	}
	if h.dtype.name == "bool" { // another byte than 0 and 1 is no value of Go's bool
		for i, b := range memory {
			memory[i] = min(b, 1)
		}
	}
	// The zip reader verifies the checksum at the end of the member, so read to the end.
	if _, err := buffered.ReadByte(); err == nil {
		return Array{}, fmt.Errorf("it has more data than shape %v needs", h.shape)
	} else if err != io.EOF {
		return Array{}, err
	}
	if h.swap {
		swapBytes(memory, h.dtype.size())
	}
	if h.fortran {
		copy(memory, fromFortran(memory, h.dtype.size(), h.shape))
	}
	return a, nil
}

func writeArray(w io.Writer, a Array) error {
	if err := a.Check(); err != nil {
		return err
	}
	t, _ := typeOf(a.Data)
	head, err := encodeHeader(t, a.Shape)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err = w.Write(a.memory())
	return err
}

type header struct {
	dtype   dtype
	swap    bool // the elements have the other byte order than this machine
	fortran bool // the first axis is contiguous
	shape   []int
	count   int   // elements
	size    int64 // bytes of the header itself
}

const (
	magic     = "\x93NUMPY"
	alignment = 64 // of the start of the data, as in NumPy since 1.14
	// maxHeader is in bytes; NumPy reads at most 10 000 from an untrusted file.
	maxHeader  = 1 << 20
	maxRank    = 64 // axes of an array in NumPy 2
	headSizeV1 = len(magic) + 2 + 2
)

// The header is a Python dictionary with three keys in any order.
var (
	descrField   = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	fortranField = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)\b`)
	shapeField   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9,\sL]*)\)`)
)

func readHeader(r io.Reader) (header, error) {
	var start [8]byte
	if err := readFull(r, start[:]); err != nil {
		return header{}, err
	}
	if string(start[:len(magic)]) != magic {
		return header{}, errors.New("not an .npy array: it does not begin with \\x93NUMPY")
	}
	field := make([]byte, map[byte]int{1: 2, 2: 4, 3: 4}[start[6]]) // the length of the header
	if len(field) == 0 {
		return header{}, fmt.Errorf("unsupported format version %d: use version 1, 2 or 3", start[6])
	}
	if err := readFull(r, field); err != nil {
		return header{}, err
	}
	length := binary.LittleEndian.Uint32(append(field, 0, 0))
	if length > maxHeader {
		return header{}, fmt.Errorf("the header claims %d bytes, but the limit is %d", length, maxHeader)
	}
	text := make([]byte, length)
	if err := readFull(r, text); err != nil {
		return header{}, err
	}
	h, err := parseHeader(string(text))
	h.size = int64(len(start)+len(field)) + int64(length)
	return h, err
}

func parseHeader(text string) (h header, err error) {
	descr := descrField.FindStringSubmatch(text)
	if descr == nil {
		return h, errors.New("the header has no simple 'descr' (arrays of records are not supported)")
	}
	if h.dtype, h.swap, err = parseDType(descr[1]); err != nil {
		return h, err
	}
	fortran := fortranField.FindStringSubmatch(text)
	shape := shapeField.FindStringSubmatch(text)
	if fortran == nil || shape == nil {
		return h, errors.New("the header lacks 'fortran_order' or 'shape'")
	}
	h.fortran = fortran[1] == "True"
	h.shape = []int{}
	for part := range strings.SplitSeq(shape[1], ",") {
		part = strings.TrimSuffix(strings.TrimSpace(part), "L") // Python 2 wrote 3L
		if part == "" {
			continue
		}
		length, err := strconv.Atoi(part)
		if err != nil {
			return h, fmt.Errorf("the shape (%s) has %s where a length should be", names.Plain(shape[1]), names.Quote(part))
		}
		if h.shape = append(h.shape, length); len(h.shape) > maxRank {
			return h, fmt.Errorf("the shape has more than %d axes", maxRank)
		}
	}
	h.count, err = product(h.shape)
	return h, err
}

// fits returns an error unless a file has the size of the elements. Call it before allocating them.
func (h header) fits(fileSize int64) error {
	have := fileSize - h.size
	if int64(h.count) > have/int64(h.dtype.size()) {
		return fmt.Errorf("cut off: shape %v of %s needs %d elements, but there are %d bytes", h.shape,
			h.dtype.name, h.count, max(have, 0))
	}
	if need := int64(h.count) * int64(h.dtype.size()); need != have {
		return fmt.Errorf("shape %v of %s needs %d bytes, but there are %d", h.shape, h.dtype.name, need, have)
	}
	return nil
}

// encodeHeader returns the version 1.0 header that NumPy itself would write.
func encodeHeader(t dtype, shape []int) ([]byte, error) {
	if len(shape) > maxRank {
		return nil, fmt.Errorf("shape %v has more than %d axes", shape, maxRank)
	}
	tuple := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
	if len(shape) == 1 {
		tuple += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", t.descr(), tuple)
	total := headSizeV1 + len(text) + 1
	text += strings.Repeat(" ", (alignment-total%alignment)%alignment) + "\n"
	head := binary.LittleEndian.AppendUint16(append([]byte(magic), 1, 0), uint16(len(text)))
	return append(head, text...), nil
}

// readFull fills buf and returns a clear error if the file is too short.
func readFull(r io.Reader, buf []byte) error {
	_, err := io.ReadFull(r, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("cut off: the file ends too early")
	}
	return err
}
