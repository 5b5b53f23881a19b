// Package limits rejects hyperparameters that cannot work, in one line that names the setting and
// its valid range.
package limits

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Of returns an error for the first field of a struct, or of a struct embedded in it, that is outside of
// the limits in its tag. It has the name of the field in JSON:
//
//	Batch  int     `json:"batch" limits:"1,64"`       // from 1 to 64
//	Steps  int     `json:"steps" limits:"1"`          // at least 1
//	Rate   float64 `json:"learning_rate" limits:">0,1"` // above 0 and at most 1
//	Hidden []int   `json:"hidden" limits:"1"`         // sizes of layers, at least one
func Of(settings any) error {
	return of(reflect.ValueOf(settings), func(field reflect.StructField) string {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		return name
	})
}

// Part is [Of] for a part of an algorithm, whose fields the error names as Go does.
func Part(part any) error {
	if err := of(reflect.ValueOf(part), func(field reflect.StructField) string { return field.Name }); err != nil {
		return fmt.Errorf("%T: %w", part, err)
	}
	return nil
}

func of(v reflect.Value, named func(reflect.StructField) string) error {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		var err error
		if text, ok := field.Tag.Lookup("limits"); ok {
			err = check(named(field), text, v.Field(i))
		} else if field.Anonymous && field.Tag.Get("json") == "" {
			err = of(v.Field(i), named)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

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
	case x >= low && x <= high && !(above && x == low): // NaN is none of these
		return nil
	case !bounded:
		return fmt.Errorf("%s must be at least %s, not %v", name, least, v)
	case v.CanInt():
		return fmt.Errorf("%s must be between %s and %s, not %v", name, least, most, v)
	case above:
		return fmt.Errorf("%s must be a number above %s and at most %s, not %v", name, least, most, v)
	}
	return fmt.Errorf("%s must be a number from %s to %s, not %v", name, least, most, v)
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
		return fmt.Errorf("%s must be between %d and %d, not %d", name, least, most, value)
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
			return fmt.Errorf("%s layers must have between 1 and %d units, not %d", name, maxUnits, n)
		}
	}
	return nil
}
