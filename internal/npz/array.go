package npz

import (
	"fmt"
	"math"
)

// Element lists the element types of an array. NumPy names them float32, float64, int32, int64,
// uint32, uint64, uint8 and bool.
type Element interface {
	float32 | float64 | int32 | int64 | uint32 | uint64 | uint8 | bool
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

// Bytes returns the memory of the elements, in this machine's byte order.
func (a Array) Bytes() []byte {
	t, _ := typeOf(a.Data)
	if t.view == nil {
		return nil
	}
	memory, _ := t.view(a.Data)
	return memory
}

// Float32s returns the elements as float32, rounded if the array has a higher precision; false is 0
// and true is 1. It does not copy a float32 array.
func (a Array) Float32s() ([]float32, error) {
	if data, ok := a.Data.([]float32); ok {
		return data, nil
	}
	return convert(a, func(v float64) float32 { return float32(v) },
		func(v int64) float32 { return float32(v) },
		func(v uint64) float32 { return float32(v) })
}

// Float64s returns the elements as float64; false is 0 and true is 1. It does not copy a float64
// array.
func (a Array) Float64s() ([]float64, error) {
	if data, ok := a.Data.([]float64); ok {
		return data, nil
	}
	return convert(a, func(v float64) float64 { return v },
		func(v int64) float64 { return float64(v) },
		func(v uint64) float64 { return float64(v) })
}

// Int64s returns the elements as int64, or an error if one of them is not an integer in that range.
// It does not copy an int64 array.
func (a Array) Int64s() ([]int64, error) {
	if data, ok := a.Data.([]int64); ok {
		return data, nil
	}
	return integers[int64](a, math.MinInt64, math.MaxInt64)
}

// Int32s returns the elements as int32, or an error if one of them is not an integer in that range.
// It does not copy an int32 array.
func (a Array) Int32s() ([]int32, error) {
	if data, ok := a.Data.([]int32); ok {
		return data, nil
	}
	return integers[int32](a, math.MinInt32, math.MaxInt32)
}

// integers converts to a signed integer type of the range [low, high] and rejects elements that do
// not fit.
func integers[T int32 | int64](a Array, low, high int64) ([]T, error) {
	var bad any
	refuse := func(v any) T {
		if bad == nil {
			bad = v
		}
		return 0
	}
	out, err := convert(a, func(v float64) T {
		// float64(high) may round up to high+1, which does not fit: hence the strict comparison
		// with the next power of two.
		if v != math.Trunc(v) || v < float64(low) || v >= -float64(low) {
			return refuse(v)
		}
		return T(v)
	}, func(v int64) T {
		if v < low || v > high {
			return refuse(v)
		}
		return T(v)
	}, func(v uint64) T {
		if v > uint64(high) {
			return refuse(v)
		}
		return T(v)
	})
	if err == nil && bad != nil {
		return nil, fmt.Errorf("%v is not an integer of type %T", bad, T(0))
	}
	return out, err
}

// convert maps every element through the widest type of its kind.
func convert[T any](a Array, ofFloat func(float64) T, ofInt func(int64) T,
	ofUint func(uint64) T) ([]T, error) {
	switch data := a.Data.(type) {
	case []float32:
		return mapped(data, func(v float32) T { return ofFloat(float64(v)) }), nil
	case []float64:
		return mapped(data, ofFloat), nil
	case []int32:
		return mapped(data, func(v int32) T { return ofInt(int64(v)) }), nil
	case []int64:
		return mapped(data, ofInt), nil
	case []uint32:
		return mapped(data, func(v uint32) T { return ofUint(uint64(v)) }), nil
	case []uint64:
		return mapped(data, ofUint), nil
	case []uint8:
		return mapped(data, func(v uint8) T { return ofUint(uint64(v)) }), nil
	case []bool:
		return mapped(data, func(v bool) T {
			if v {
				return ofUint(1)
			}
			return ofUint(0)
		}), nil
	}
	return nil, a.Check()
}

func mapped[S, T any](in []S, f func(S) T) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}
