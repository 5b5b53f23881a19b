package verify

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/internal/npz"
)

// axis names an axis whose length depends on the file but is the same in all of its arrays.
type axis string

// The axes.
const (
	samples axis = "samples"
	steps   axis = "steps"
)

// column specifies an array of a golden file: float32 [axes..., dims...].
type column struct {
	name      string
	axes      []axis
	dims      []int
	tolerance tolerance // of arrays that are compared
	ignore    int       // number of last elements of dims that are not compared
}

// at returns the columns of the same quantities at another time, given by the affixes of their
// names.
func at(columns []column, prefix, suffix string, axes ...axis) []column {
	out := slices.Clone(columns)
	for i, c := range columns {
		out[i].name, out[i].axes = prefix+c.name+suffix, axes
	}
	return out
}

// arrays holds the contents of a golden file.
type arrays struct {
	byName map[string]npz.Array
	sizes  map[axis]int // set by the first array that was read
}

// array is an array of a golden file.
type array struct {
	flat  []float32
	shape []int
}

// get returns an array. A missing array, a wrong shape or an element that is not finite is an
// error.
func (a *arrays) get(c column) (array, error) {
	stored, ok := a.byName[c.name]
	if !ok {
		return array{}, fmt.Errorf("there is no array %q; the arrays are %s", c.name,
			strings.Join(slices.Sorted(maps.Keys(a.byName)), ", "))
	}
	var shape []int
	for i, axis := range c.axes {
		size, known := a.sizes[axis]
		if !known && i < len(stored.Shape) {
			if size = stored.Shape[i]; size == 0 {
				return array{}, fmt.Errorf("array %q of shape %v is empty", c.name, stored.Shape)
			}
			a.sizes[axis] = size
		}
		shape = append(shape, size)
	}
	shape = append(shape, c.dims...)
	if !slices.Equal(stored.Shape, shape) {
		return array{}, fmt.Errorf("array %q has shape %v, not %v (%v, then %v)", c.name, stored.Shape,
			shape, c.axes, c.dims)
	}
	flat, err := stored.Float32s()
	if err != nil {
		return array{}, fmt.Errorf("array %q: %w", c.name, err)
	}
	for i, x := range flat {
		if x != x || math.IsInf(float64(x), 0) {
			return array{}, fmt.Errorf("array %q holds %v, at element %d", c.name, x, i)
		}
	}
	return array{flat, shape}, nil
}

// all returns several arrays.
func (a *arrays) all(columns []column) ([]array, error) {
	out := make([]array, len(columns))
	for i, c := range columns {
		var err error
		if out[i], err = a.get(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}
