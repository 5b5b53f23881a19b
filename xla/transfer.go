package xla

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
)

// Download copies the first part of a value to the host: float32, int32 or uint32. The host copy is
// not kept in the value.
func Download(v Sharded) (npz.Array, error) {
	shape := slices.Clone(v[0].Shape().Dimensions)
	switch v[0].DType() {
	case dtypes.Float32:
		return downloaded[float32](v, shape)
	case dtypes.Int32:
		return downloaded[int32](v, shape)
	case dtypes.Uint32:
		return downloaded[uint32](v, shape)
	}
	return npz.Array{}, errors.Errorf("a tensor of %s cannot be copied from the device", v[0].Shape())
}

// Floats is [Download] as flat float32, without the shape.
func Floats(v Sharded) ([]float32, error) {
	array, err := Download(v)
	if err != nil {
		return nil, err
	}
	return array.Float32s()
}

func downloaded[T float32 | int32 | uint32](v Sharded, shape []int) (npz.Array, error) {
	flat := make([]T, v[0].Size())
	err := tensors.ConstFlatData(v[0], func(data []T) { copy(flat, data) })
	return npz.Array{Shape: shape, Data: flat}, err
}

// Upload makes a tensor from an array of float32, int32 or uint32.
func Upload(a npz.Array) (*tensors.Tensor, error) {
	switch data := a.Data.(type) {
	case []float32:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	case []int32:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	case []uint32:
		return tensors.FromFlatDataAndDimensions(data, a.Shape...), nil
	}
	return nil, errors.Errorf("an array of %s cannot be copied to the device", a.DType())
}
