package npz

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"example.com/qdnb/internal/names"
)

// dtype maps a Go slice type to its NumPy name and code.
type dtype struct {
	name string                    // NumPy's name: float32
	code string                    // NumPy's code without byte order: f4
	size int                       // bytes of an element
	make func(n int) (any, []byte) // a new slice, and its memory
	// view returns the memory of a slice of this type and its length, or -1 for another type.
	view    func(data any) ([]byte, int)
	reorder func(data any, shape []int) any
}

func newType[T Element](name, code string) dtype {
	var zero T
	size := int(unsafe.Sizeof(zero))
	memory := func(data []T) []byte {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*size)
	}
	return dtype{
		name: name, code: code, size: size,
		make: func(n int) (any, []byte) {
			data := make([]T, n)
			return data, memory(data)
		},
		view: func(data any) ([]byte, int) {
			if data, ok := data.([]T); ok {
				return memory(data), len(data)
			}
			return nil, -1
		},
		reorder: func(data any, shape []int) any { return fromFortran(data.([]T), shape) },
	}
}

var dtypes = []dtype{
	newType[float32]("float32", "f4"),
	newType[float64]("float64", "f8"),
	newType[int32]("int32", "i4"),
	newType[int64]("int64", "i8"),
	newType[uint32]("uint32", "u4"),
	newType[uint64]("uint64", "u8"),
	newType[uint8]("uint8", "u1"),
	newType[bool]("bool", "b1"),
}

// typeOf returns the type and number of elements of a slice, or the zero dtype if it is
// unsupported.
func typeOf(data any) (dtype, int) {
	for _, t := range dtypes {
		if _, n := t.view(data); n >= 0 {
			return t, n
		}
	}
	return dtype{}, 0
}

func typeNames() string {
	var list []string
	for _, t := range dtypes {
		list = append(list, t.name)
	}
	return strings.Join(list, ", ")
}

// parseDType reads a code such as "<f4"; swap is true if the byte order differs from this
// machine's.
func parseDType(descr string) (t dtype, swap bool, err error) {
	order, code := byte('='), descr
	if len(descr) > 0 && strings.IndexByte("<>=|", descr[0]) >= 0 {
		order, code = descr[0], descr[1:]
	}
	if code == "?" {
		code = "b1"
	}
	i := slices.IndexFunc(dtypes, func(t dtype) bool { return t.code == code })
	if i < 0 {
		return dtype{}, false, fmt.Errorf("type %s is not supported; save the array as one of %s",
			names.Quote(descr), typeNames())
	}
	t = dtypes[i]
	return t, t.size > 1 && (order == '<' || order == '>') && order != nativeOrder, nil
}

// descr returns the code written to a header, with this machine's byte order.
func (t dtype) descr() string {
	if t.size == 1 {
		return "|" + t.code
	}
	return string(nativeOrder) + t.code
}

// nativeOrder is NumPy's symbol for this machine's byte order: arrays are written in their memory
// layout.
var nativeOrder = func() byte {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return '<'
	}
	return '>'
}()

func swapBytes(memory []byte, size int) {
	for ; len(memory) >= size; memory = memory[size:] {
		slices.Reverse(memory[:size])
	}
}

// product multiplies the lengths of the axes. It returns an error if one is negative or the result
// overflows an int.
func product(shape []int) (int, error) {
	n := 1
	for _, length := range shape {
		if length < 0 {
			return 0, fmt.Errorf("shape %v has a negative length", shape)
		}
		if length > 0 && n > math.MaxInt/length {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		n *= length
	}
	return n, nil
}

// fromFortran returns in C order (last axis contiguous) the elements of an array whose first axis
// is contiguous.
func fromFortran[T any](in []T, shape []int) []T {
	stride := make([]int, len(shape)) // distance in the input between neighbours along each axis
	step := 1
	for axis, length := range shape {
		stride[axis] = step
		step *= length
	}
	out := make([]T, len(in))
	index := make([]int, len(shape))
	from := 0
	for i := range out {
		out[i] = in[from]
		for axis := len(shape) - 1; axis >= 0; axis-- {
			index[axis]++
			from += stride[axis]
			if index[axis] < shape[axis] {
				break
			}
			from -= index[axis] * stride[axis]
			index[axis] = 0
		}
	}
	return out
}
