// Package limits rejects hyperparameters that cannot work, in one line that names the setting and
// its valid range.
package limits

import (
	"fmt"
	"math"
)

// Number returns an error for a value that is not between 0 and most.
func Number(name string, value, most float64) error {
	if !(value >= 0 && value <= most) { // so that NaN fails, too
		return fmt.Errorf("%s must be a number from 0 to %g, not %g", name, most, value)
	}
	return nil
}

// Positive returns an error for a value that is not above 0 and at most most.
func Positive(name string, value, most float64) error {
	if !(value > 0 && value <= most) {
		return fmt.Errorf("%s must be a number above 0 and at most %g, not %g", name, most, value)
	}
	return nil
}

// Factor returns an error for a factor, of either sign, that is NaN or extreme.
func Factor(name string, value float64) error {
	if math.IsNaN(value) || math.Abs(value) > 1e6 {
		return fmt.Errorf("%s must be a number from -1e6 to 1e6, not %g", name, value)
	}
	return nil
}

// Int returns an error for a value that is not between least and most.
func Int[T int | int64](name string, value, least, most T) error {
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

// Layers returns an error for hidden layers that are fewer than least, too many, too small or too
// large.
func Layers(name string, units []int, least int) error {
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
