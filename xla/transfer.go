package xla

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/npz"
)

// Download copies the first part of a value to the host, in any type that NumPy and qdnb share. The
// host copy is not kept in the value.
func Download(v Sharded) (npz.Array, error) {
	n := v[0].Size()
	flat := reflect.MakeSlice(reflect.SliceOf(v[0].DType().GoType()), n, n)
	array := npz.Array{Shape: slices.Clone(v[0].Shape().Dimensions), Data: flat.Interface()}
	err := array.Check()
	if err == nil && n > 0 {
		err = v[0].ConstFlatData(func(data any) { reflect.Copy(flat, reflect.ValueOf(data)) })
	}
	if err != nil {
		return npz.Array{}, fmt.Errorf("cannot copy a tensor of %s from the device: %w", v[0].Shape(), err)
	}
	return array, nil
}

// downloadRows is [Download] of a float32 matrix without the rows for which a float32 vector is
// -Inf. They are zero, and their memory is not touched.
func downloadRows(v Sharded, by npz.Array) (npz.Array, error) {
	keys, err := by.Float32s()
	dims := v[0].Shape().Dimensions
	if err != nil || len(dims) != 2 || len(keys) != dims[0] {
		return npz.Array{}, fmt.Errorf("%d numbers cannot select rows of %s", len(keys), v[0].Shape())
	}
	width := dims[1]
	flat := make([]float32, v[0].Size())
	err = tensors.ConstFlatData(v[0], func(data []float32) {
		for row, key := range keys {
			if key > float32(math.Inf(-1)) {
				copy(flat[row*width:(row+1)*width], data[row*width:])
			}
		}
	})
	if err != nil {
		return npz.Array{}, fmt.Errorf("cannot copy a tensor of %s from the device: %w", v[0].Shape(), err)
	}
	return npz.Array{Shape: slices.Clone(dims), Data: flat}, nil
}

// Floats is [Download] as flat float32, without the shape.
func Floats(v Sharded) ([]float32, error) {
	array, err := Download(v)
	if err != nil {
		return nil, err
	}
	return array.Float32s()
}

// Upload makes a tensor of an array, in any type of [Download].
func Upload(a npz.Array) (*tensors.Tensor, error) {
	err := a.Check()
	if err != nil {
		return nil, fmt.Errorf("cannot copy an array to the device: %w", err)
	}
	data := reflect.ValueOf(a.Data)
	tensor := tensors.FromShape(shapes.Make(dtypes.FromGoType(data.Type().Elem()), a.Shape...))
	if data.Len() > 0 {
		err = tensor.MutableFlatData(func(flat any) { reflect.Copy(reflect.ValueOf(flat), data) })
	}
	return tensor, err
}

// Uploads is [Upload] for so many devices, each with a copy.
func Uploads(a npz.Array, devices int) (Sharded, error) {
	v := make(Sharded, devices)
	for i := range v {
		var err error
		if v[i], err = Upload(a); err != nil {
			v.Free()
			return nil, err
		}
	}
	return v, nil
}
