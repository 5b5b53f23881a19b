package xla

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
)

// Download copies the first part of a value to the host, in any type that NumPy and qdnb share. The
// host copy is not kept in the value.
func Download(v Sharded) (npz.Array, error) {
	shape := slices.Clone(v[0].Shape().Dimensions)
	switch v[0].DType() {
	case dtypes.Float32:
		return downloaded[float32](v, shape)
	case dtypes.Float64:
		return downloaded[float64](v, shape)
	case dtypes.Int32:
		return downloaded[int32](v, shape)
	case dtypes.Int64:
		return downloaded[int64](v, shape)
	case dtypes.Uint8:
		return downloaded[uint8](v, shape)
	case dtypes.Uint32:
		return downloaded[uint32](v, shape)
	case dtypes.Uint64:
		return downloaded[uint64](v, shape)
	case dtypes.Bool:
		return downloaded[bool](v, shape)
	}
	return npz.Array{},
		errors.Errorf("cannot copy a tensor of %s from the device: use float32, float64, "+
			"int32, int64, uint8, uint32, uint64 or bool", v[0].Shape())
}

// Floats is [Download] as flat float32, without the shape.
func Floats(v Sharded) ([]float32, error) {
	array, err := Download(v)
	if err != nil {
		return nil, err
	}
	return array.Float32s()
}

func downloaded[T npz.Element](v Sharded, shape []int) (npz.Array, error) {
	flat := make([]T, v[0].Size())
	err := tensors.ConstFlatData(v[0], func(data []T) { copy(flat, data) })
	return npz.Array{Shape: shape, Data: flat}, err
}

// Upload makes a tensor of an array, in any type of [Download].
func Upload(a npz.Array) (*tensors.Tensor, error) {
	switch data := a.Data.(type) {
	case []float32:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	case []float64:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	case []int32:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	case []int64:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	case []uint8:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	case []uint32:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	case []uint64:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	case []bool:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	}
	return nil, errors.Errorf("cannot copy an array of %s to the device", a.DType())
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
