package npz

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"example.com/qdnb/internal/names"
)

// Element lists the element types of an array. NumPy names them float32, float64, int16, int32, int64
// (also that of int), uint32, uint64, uint8 and bool.
type Element interface{ Number | bool }

// Number is an [Element] with values other than 0 and 1.
type Number interface {
	float32 | float64 | int | int16 | int32 | int64 | uint32 | uint64 | uint8
}

// Array is a dense array in C order.
type Array struct {
	// Shape holds the length of each axis. Without axes the array is a scalar, with one element.
	Shape []int
	// Data is a slice of an Element type with as many elements as the product of Shape.
	Data any
}

// Of makes an array of the given shape without copying data; if no shape is given the array has one
// axis. It panics if the shape does not fit the number of elements, which is a bug in the program
// and never in its input.
func Of[T Element](data []T, shape ...int) Array {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	a := Array{Shape: shape, Data: data}
	if err := a.Check(); err != nil {
		panic("npz.Of: " + err.Error())
	}
	return a
}

// Scalar makes an array without axes, as NumPy does for a plain number.
func Scalar[T Element](value T) Array { return Array{Shape: []int{}, Data: []T{value}} }

// Check returns an error for an invalid array that was not made by [Of]: a type that is not an
// Element, or a shape that does not fit the number of elements.
func (a Array) Check() error {
	t, n := typeOf(a.Data)
	if t.name == "" {
		return fmt.Errorf("an array cannot hold %T; use one of %s", a.Data, typeNames())
	}
	want, err := product(a.Shape)
	if err != nil {
		return err
	}
	if want != n {
		return fmt.Errorf("shape %v needs %d elements, but the data has %d", a.Shape, want, n)
	}
	return nil
}

// DType returns NumPy's name of the element type, such as "float32", or "" if Data is not a slice
// of an Element.
func (a Array) DType() string {
	t, _ := typeOf(a.Data)
	return t.name
}

// Len returns the number of elements.
func (a Array) Len() int {
	_, n := typeOf(a.Data)
	return n
}

// memory returns the bytes of the elements, in this machine's byte order.
func (a Array) memory() []byte {
	data := reflect.ValueOf(a.Data)
	return unsafe.Slice((*byte)(data.UnsafePointer()), data.Len()*int(data.Type().Elem().Size()))
}

// Float32s returns the elements as float32, rounded if the array has a higher precision; false is 0
// and true is 1. It does not copy a float32 array.
func (a Array) Float32s() ([]float32, error) { return Values[float32](a) }

// Float64s returns the elements as float64; false is 0 and true is 1. It does not copy a float64
// array.
func (a Array) Float64s() ([]float64, error) { return Values[float64](a) }

// Int32s returns the elements as int32, or an error if one of them is not an integer in that range.
// It does not copy an int32 array.
func (a Array) Int32s() ([]int32, error) { return Values[int32](a) }

// Values returns the elements as numbers of a type, or an error if it has no such number. It rounds to
// floating-point numbers, and does not copy elements of the type itself.
func Values[T Number](a Array) ([]T, error) {
	switch data := a.Data.(type) {
	case []T:
		return data, nil
	case []float32:
		return converted[T](data)
	case []float64:
		return converted[T](data)
	case []int:
		return converted[T](data)
	case []int16:
		return converted[T](data)
	case []int32:
		return converted[T](data)
	case []int64:
		return converted[T](data)
	case []uint32:
		return converted[T](data)
	case []uint64:
		return converted[T](data)
	case []uint8:
		return converted[T](data)
	case []bool:
		out := make([]T, len(data))
		for i, v := range data {
			if v {
				out[i] = 1
			}
		}
		return out, nil
	}
	return nil, a.Check()
}

// converted converts numbers. A number that an integer type cannot hold is an error.
func converted[T, S Number](in []S) ([]T, error) {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = T(v)
		if integer[T]() && (S(out[i]) != v || float64(out[i]) != float64(v) ||
			!integer[S]() && float64(v) == 1<<63) { // which some processors turn into MaxInt64
			return nil, fmt.Errorf("%v is not an integer of type %T", v, out[i])
		}
	}
	return out, nil
}

// integer reports whether a type of numbers has no fractions.
func integer[T Number]() bool { return T(1)/2 == 0 }

// dtype maps the type of a Go slice to NumPy's name and code.
type dtype struct {
	name  string // float32
	code  string // without byte order: f4
	slice reflect.Type
}

var dtypes = []dtype{
	{"float32", "f4", reflect.TypeFor[[]float32]()}, {"float64", "f8", reflect.TypeFor[[]float64]()},
	{"int16", "i2", reflect.TypeFor[[]int16]()}, {"int32", "i4", reflect.TypeFor[[]int32]()},
	{"int64", "i8", reflect.TypeFor[[]int64]()}, {"int64", "i8", reflect.TypeFor[[]int]()}, // read as the first
	{"uint32", "u4", reflect.TypeFor[[]uint32]()}, {"uint64", "u8", reflect.TypeFor[[]uint64]()},
	{"uint8", "u1", reflect.TypeFor[[]uint8]()}, {"bool", "b1", reflect.TypeFor[[]bool]()},
}

func (t dtype) size() int { return int(t.slice.Elem().Size()) }

// typeOf returns the type and length of a slice, or the zero dtype if it is unsupported.
func typeOf(data any) (dtype, int) {
	for _, t := range dtypes {
		if t.slice == reflect.TypeOf(data) {
			return t, reflect.ValueOf(data).Len()
		}
	}
	return dtype{}, 0
}

func typeNames() string {
	var list []string
	for _, t := range dtypes {
		list = append(list, t.name)
	}
	return strings.Join(slices.Compact(list), ", ")
}

// parseDType reads a code such as "<f4"; swap means another byte order than this machine's.
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
	return t, t.size() > 1 && (order == '<' || order == '>') && order != nativeOrder, nil
}

// descr returns the code written to a header, with this machine's byte order.
func (t dtype) descr() string {
	if t.size() == 1 {
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

// product returns an error if a length is negative or the number of elements overflows an int.
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

// fromFortran returns in C order (last axis contiguous) the elements, of a size in bytes, of an array
// whose first axis is contiguous.
func fromFortran(in []byte, size int, shape []int) []byte {
	stride := make([]int, len(shape)) // distance in the input between neighbours along each axis
	step := size
	for axis, length := range shape {
		stride[axis] = step
		step *= length
	}
	out := make([]byte, 0, len(in))
	index := make([]int, len(shape))
	for from := 0; len(out) < len(in); {
		out = append(out, in[from:from+size]...)
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
