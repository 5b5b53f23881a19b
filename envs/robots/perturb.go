package robots

import (
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/names"
)

// WithGravity multiplies the gravity of a model along z. The paper uses 0.25, 0.5, ..., 5. A
// multiplier that is negative or not finite is an error.
func WithGravity(m physics.Model, multiplier float64) (physics.Model, error) {
	if err := CheckMultiplier("gravity", multiplier); err != nil {
		return physics.Model{}, err
	}
	m.Gravity[2] *= multiplier
	return m, nil
}

// WithStrength multiplies the strength of the actuators of joints, such as [AntLeg]. The paper uses
// 0, 0.25, ..., 4.75. A joint without an actuator is an error, as is a multiplier that is negative
// or not finite.
func WithStrength(m physics.Model, multiplier float64, joints ...string) (physics.Model, error) {
	if err := CheckMultiplier("actuator strength", multiplier); err != nil {
		return physics.Model{}, err
	}
	actuators := slices.Clone(m.Actuators)
	for _, joint := range joints {
		i := slices.IndexFunc(m.Actuators, func(a physics.Actuator) bool { return a.Joint == joint })
		if i < 0 {
			return physics.Model{}, names.Unknown("joint with an actuator", joint, m.Actuated())
		}
		actuators[i].Strength = multiplier * m.Actuators[i].Strength
	}
	m.Actuators = actuators
	return m, nil
}

// CheckMultiplier returns an error if k is not a valid multiplier of a quantity, such as gravity:
// it must be finite and not negative.
func CheckMultiplier(of string, k float64) error {
	if !(k >= 0) || math.IsInf(k, 1) {
		return fmt.Errorf("the multiplier of %s must be finite and not negative, not %g", of, k)
	}
	return nil
}
