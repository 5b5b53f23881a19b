package runs

import (
	"fmt"

	"example.com/qdnb/internal/npz"
)

// part is an array of a file and the field that holds its numbers.
type part struct {
	name     string
	field    any   // pointer to []float32, []int32, []int, int, int64 or float64
	shape    []int // of a slice; -1 is any length
	optional bool  // the slice may be nil
}

// array returns the array of a part; ok is false if the file has none.
func (p part) array() (a npz.Array, ok bool) {
	switch x := p.field.(type) {
	case *[]float32:
		return shaped(*x, p.shape), *x != nil || !p.optional
	case *[]int32:
		return shaped(*x, p.shape), *x != nil || !p.optional
	case *[]int:
		wide := make([]int64, len(*x))
		for i, value := range *x {
			wide[i] = int64(value)
		}
		return npz.Of(wide), *x != nil || !p.optional
	case *int:
		return npz.Scalar(int64(*x)), true
	case *int64:
		return npz.Scalar(*x), true
	}
	return npz.Scalar(*p.field.(*float64)), true
}

// shaped returns an array without checking that the shape fits. A single axis may be -1.
func shaped[T npz.Element](data []T, shape []int) npz.Array {
	if len(shape) == 1 && shape[0] < 0 {
		shape = []int{len(data)}
	}
	return npz.Array{Shape: shape, Data: data}
}

// set sets the field of a part.
func (p part) set(a npz.Array) error {
	fits := len(a.Shape) == len(p.shape)
	for i := 0; fits && i < len(p.shape); i++ {
		fits = p.shape[i] < 0 || p.shape[i] == a.Shape[i]
	}
	if p.shape == nil {
		fits = a.Len() == 1
	}
	if !fits {
		return fmt.Errorf("%s has shape %v, not %v", p.name, a.Shape, p.shape)
	}
	var err error
	var integers []int32
	var numbers []float64
	switch x := p.field.(type) {
	case *[]float32:
		*x, err = a.Float32s()
	case *[]int32:
		*x, err = a.Int32s()
	case *[]int:
		integers, err = a.Int32s()
		*x = make([]int, len(integers))
		for i, value := range integers {
			(*x)[i] = int(value)
		}
	case *int:
		if integers, err = a.Int32s(); err == nil {
			*x = int(integers[0])
		}
	case *int64:
		if numbers, err = a.Float64s(); err == nil {
			*x = int64(numbers[0])
		}
	case *float64:
		if numbers, err = a.Float64s(); err == nil {
			*x = numbers[0]
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// arraysOf returns the arrays of parts by name.
func arraysOf(parts ...part) map[string]npz.Array {
	arrays := map[string]npz.Array{}
	for _, p := range parts {
		if a, ok := p.array(); ok {
			arrays[p.name] = a
		}
	}
	return arrays
}

// checkParts returns an error for a slice that does not have its shape.
func checkParts(parts ...part) error {
	for _, p := range parts {
		if a, ok := p.array(); ok {
			if err := a.Check(); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return nil
}

// readParts sets the fields of parts, whose names in a file begin with a prefix.
func readParts(file *npz.Reader, prefix string, parts ...part) error {
	for _, p := range parts {
		if p.optional && !file.Has(prefix+p.name) {
			continue
		}
		a, err := file.Read(prefix + p.name)
		if err == nil {
			err = p.set(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sizes returns the lengths of the axes of an array, of which there must be two.
func sizes(file *npz.Reader, name string) (rows, columns int, err error) {
	_, shape, err := file.Header(name)
	if err == nil && len(shape) != 2 {
		err = fmt.Errorf("%s has shape %v, not two axes", name, shape)
	}
	if err != nil {
		return 0, 0, err
	}
	return shape[0], shape[1], nil
}
