package verify

import (
	"math"
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/npz"
)

// axis names an axis whose length a file is free to choose, the same in all arrays that have it.
type axis string

// The axes.
const (
	samples axis = "samples"
	steps   axis = "steps"
)

// column describes an array of a golden file: float32 [axes..., dims...].
type column struct {
	name      string
	axes      []axis
	dims      []int
	tolerance float64 // the largest difference that counts as rounding; for arrays that are compared
}

// arrays are the contents of a golden file.
type arrays struct {
	byName map[string]npz.Array
	sizes  map[axis]int // as in the first array that was read
}

func read(path string) (*arrays, error) {
	byName, err := npz.Read(path)
	if err != nil {
		return nil, err
	}
	return &arrays{byName, map[axis]int{}}, nil
}

// get gives the elements of an array, all finite, and its shape.
func (a *arrays) get(c column) (flat []float32, shape []int, err error) {
	stored, ok := a.byName[c.name]
	if !ok {
		return nil, nil, errors.Errorf("there is no array %q; the arrays are %s", c.name, names(a.byName))
	}
	for i, axis := range c.axes {
		size, known := a.sizes[axis]
		if !known && i < len(stored.Shape) {
			if size = stored.Shape[i]; size == 0 {
				return nil, nil, errors.Errorf("array %q of shape %v is empty", c.name, stored.Shape)
			}
			a.sizes[axis] = size
		}
		shape = append(shape, size)
	}
	shape = append(shape, c.dims...)
	if !slices.Equal(stored.Shape, shape) {
		return nil, nil, errors.Errorf("array %q has shape %v, not %v (%v, then %v)", c.name, stored.Shape, shape, c.axes, c.dims)
	}
	if flat, err = stored.Float32s(); err != nil {
		return nil, nil, errors.WithMessagef(err, "array %q", c.name)
	}
	for i, x := range flat {
		if x != x || math.IsInf(float64(x), 0) {
			return nil, nil, errors.Errorf("array %q holds %v, at element %d", c.name, x, i)
		}
	}
	return flat, shape, nil
}
