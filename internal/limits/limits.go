// Package limits rejects hyperparameters that cannot work, in one line that names the setting and
// its valid range.
package limits

import (
	"math"

	"github.com/pkg/errors"
)

// Number is a setting that must lie between 0 and Max.
type Number struct {
	Name       string
	Value, Max float64
	Positive   bool // 0 is not allowed
}

// Numbers returns an error for the first number out of its range; NaN always is.
func Numbers(list ...Number) error {
	for _, n := range list {
		switch {
		case n.Value >= 0 && n.Value <= n.Max && !(n.Positive && n.Value == 0): // NaN is none of these
		case n.Positive:
			return errors.Errorf("%s must be a number above 0 and at most %g, not %g", n.Name, n.Max,
				n.Value)
		default:
			return errors.Errorf("%s must be a number from 0 to %g, not %g", n.Name, n.Max, n.Value)
		}
	}
	return nil
}

// Factor returns an error for a factor, of either sign, that is NaN or extreme.
func Factor(name string, value float64) error {
	if math.IsNaN(value) || math.Abs(value) > 1e6 {
		return errors.Errorf("%s must be a number from -1e6 to 1e6, not %g", name, value)
	}
	return nil
}

// Count is a setting that must lie between Min and Max.
type Count struct {
	Name            string
	Value, Min, Max int64
}

// Counts returns an error for the first count out of its range.
func Counts(list ...Count) error {
	for _, c := range list {
		if c.Value < c.Min || c.Value > c.Max {
			return errors.Errorf("%s must be between %d and %d, not %d", c.Name, c.Min, c.Max, c.Value)
		}
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
func Layers(name string, units []int, least int64) error {
	if err := Counts(Count{"number of " + name + " layers", int64(len(units)), least,
		maxLayers}); err != nil {
		return err
	}
	for _, n := range units {
		if n < 1 || n > maxUnits {
			return errors.Errorf("%s layers must have between 1 and %d units, not %d", name, maxUnits, n)
		}
	}
	return nil
}
