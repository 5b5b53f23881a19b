package runs

import (
	"fmt"
	"slices"

	"example.com/qdnb/internal/npz"
)

// part is an array of a file and the field that holds its numbers.
type part struct {
	name     string
	array    func() (a npz.Array, ok bool) // ok is false if the field is nil
	set      func(npz.Array) error
	optional bool // a file may lack it
}

// list is a part with a slice of a shape, in which -1 is any length.
func list[T npz.Number](name string, field *[]T, shape ...int) part {
	array := func() (npz.Array, bool) {
		if len(shape) == 1 && shape[0] < 0 {
			return npz.Of(*field), *field != nil
		}
		return npz.Array{Shape: shape, Data: *field}, *field != nil
	}
	set := func(a npz.Array) error {
		fits := func(length, want int) bool { return length == want || want < 0 }
		if !slices.EqualFunc(a.Shape, shape, fits) {
			return fmt.Errorf("%s has shape %v, not %v", name, a.Shape, shape)
		}
		return values(name, a, field)
	}
	return part{name, array, set, false}
}

func number[T npz.Number](name string, field *T) part {
	array := func() (npz.Array, bool) { return npz.Scalar(*field), true }
	set := func(a npz.Array) error {
		var one []T
		if err := values(name, a, &one); err != nil {
			return err
		}
		if len(one) != 1 {
			return fmt.Errorf("%s has shape %v, not one number", name, a.Shape)
		}
		*field = one[0]
		return nil
	}
	return part{name, array, set, false}
}

func optional(p part) part {
	p.optional = true
	return p
}

func values[T npz.Number](name string, a npz.Array, field *[]T) (err error) {
	if *field, err = npz.Values[T](a); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func arraysOf(parts ...part) map[string]npz.Array {
	arrays := map[string]npz.Array{}
	for _, p := range parts {
		if a, ok := p.array(); ok || !p.optional {
			arrays[p.name] = a
		}
	}
	return arrays
}

// checkParts returns an error for a slice that does not have its shape.
func checkParts(parts ...part) error {
	arrays := arraysOf(parts...)
	for _, p := range parts {
		if a, ok := arrays[p.name]; ok && a.Check() != nil {
			return fmt.Errorf("%s: %w", p.name, a.Check())
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
