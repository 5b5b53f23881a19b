// Package limits rejects hyperparameters that cannot work, in one line that names the setting and
// its valid range.
package limits

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/parts"
)

// Of returns an error for the first field of a struct, of a struct embedded in it, or of one of its parts
// (see package parts), that is outside of the limits in its tag. It has the name of the field in JSON:
//
//	Batch  int     `json:"batch" limits:"1,64"`       // from 1 to 64
//	Steps  int     `json:"steps" limits:"1"`          // at least 1
//	Rate   float64 `json:"learning_rate" limits:">0,1"` // above 0 and at most 1
//	Hidden []int   `json:"hidden" limits:"1"`         // sizes of layers, at least one
//
// Of a field of a part without such a name, it has the type of the part and the name in Go.
func Of(settings any) error {
	for _, part := range parts.Of(settings) {
		if err := of(part.Value, part.Value.Type()); err != nil {
			return err
		}
	}
	return nil
}

func of(v reflect.Value, part reflect.Type) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		var err error
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		name = strings.TrimPrefix(name, "-") // no name in JSON
		if text, ok := field.Tag.Lookup("limits"); !ok {
			if held := reflect.Indirect(elem(v.Field(i))); field.Anonymous && name == "" {
				if !held.IsValid() {
					err = fmt.Errorf("%v: the embedded %s is nil", part, field.Name)
				} else if held.Kind() == reflect.Struct {
					err = of(held, part)
				}
			}
		} else if err = check(cmp.Or(name, field.Name), text, v.Field(i)); err != nil && name == "" {
			err = fmt.Errorf("%v: %w", part, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// elem returns what an interface holds.
func elem(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// smallest is the smallest normal number of float32, in which programs compute: they flush smaller ones to 0.
const smallest = 0x1p-126

func check(name, limits string, v reflect.Value) error {
	text, most, bounded := strings.Cut(limits, ",")
	least, above := strings.CutPrefix(text, ">")
	low, high, x := number(least), math.Inf(1), 0.0
	if bounded {
		high = number(most)
	}
	switch {
	case v.Kind() == reflect.Slice:
		return layers(name, v.Interface().([]int), int(low))
	case v.CanInt():
		x = float64(v.Int())
	default:
		x = v.Float()
	}
	switch {
	case above && x > low && x < smallest:
		return names.Wrongf("%s is %v, which is 0 in float32: it must be at least %.2g", name, v, smallest)
	case x >= low && x <= high && !(above && x == low): // NaN is none of these
		return nil
	case !bounded && above:
		return names.Wrongf("%s must be a number above %s, not %v", name, least, v)
	case !bounded:
		return names.Wrongf("%s must be at least %s, not %v", name, least, v)
	case v.CanInt():
		return names.Wrongf("%s must be between %s and %s, not %v", name, least, most, v)
	case above:
		return names.Wrongf("%s must be a number above %s and at most %s, not %v", name, least, most, v)
	}
	return names.Wrongf("%s must be a number from %s to %s, not %v", name, least, most, v)
}

func number(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return x
}

// Int returns an error for a value that is not between least and most.
func Int(name string, value, least, most int) error {
	if value < least || value > most {
		return names.Wrongf("%s must be between %d and %d, not %d", name, least, most, value)
	}
	return nil
}

// More layers or units than these are a typing error rather than an experiment.
const (
	maxLayers = 16
	maxUnits  = 1 << 14
)

// layers rejects hidden layers that are fewer than least, too many, too small or too large.
func layers(name string, units []int, least int) error {
	if err := Int("number of "+name+" layers", len(units), least, maxLayers); err != nil {
		return err
	}
	for _, n := range units {
		if n < 1 || n > maxUnits {
			return names.Wrongf("%s layers must have between 1 and %d units, not %d", name, maxUnits, n)
		}
	}
	return nil
}

// maxRatio is the largest ratio of the ranges of components whose units count alike: those of the
// published tasks are within it.
const maxRatio = 2

// Scale returns the factors of the components of a descriptor between limits when it is assigned to
// the cell of the nearest centroid. It is nil, for factors of 1, unless one range is more than twice
// another: then distances are those in the unit cube, in which the tessellation was made, or a
// component of small numbers would not count.
func Scale(lower, upper []float32) []float32 {
	var factors []float32
	least, most := float32(0), float32(0)
	for k, high := range upper {
		size := high - lower[k]
		if factors = append(factors, 1/size); k == 0 {
			least, most = size, size
		}
		least, most = min(least, size), max(most, size)
	}
	if most <= maxRatio*least {
		return nil
	}
	return factors
}
