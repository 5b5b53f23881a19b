package catalog

import (
	"fmt"
	"slices"
)

// Perturbation is one of the paper's adaptation experiments: a quantity and a series of values.
type Perturbation string

// The perturbations of the paper's adaptation experiments.
const (
	GravityMultiplier   Perturbation = "gravity"
	ActuatorsMultiplier Perturbation = "actuators"
	TargetPosition      Perturbation = "target"
)

// Perturbations lists all perturbations.
func Perturbations() []Perturbation {
	return []Perturbation{GravityMultiplier, ActuatorsMultiplier, TargetPosition}
}

// Values returns the paper's values in its order: 20 gravity multipliers from 0.25 to 5, 20
// actuator strength multipliers from 0 to 4.75, or ten target positions x, y. An unknown
// perturbation has none.
func (p Perturbation) Values() (values [][]float64) {
	switch p {
	case GravityMultiplier:
		for i := range 20 {
			values = append(values, []float64{0.25 * float64(i+1)})
		}
	case ActuatorsMultiplier:
		for i := range 20 {
			values = append(values, []float64{0.25 * float64(i)})
		}
	case TargetPosition:
		for _, at := range Targets() {
			values = append(values, at[:])
		}
	}
	return values
}

// Targets returns the target positions x, y of ant-maze, in metres, that the paper adapts
// repertoires to, numbered from 0 (qdbenchmark, adaptation/constants.py, and the paper's table 3).
func Targets() [][2]float64 {
	return [][2]float64{
		{11.739233, 35.159004}, {-2.3251667, 14.860174}, {32.481056, 32.365906}, {29.523472, 17.460098},
		{12.460787, 7.0494328},
		{17.36067, 4.448854}, {8.380336, 25.172598}, {24.024515, 34.360985}, {21.746223, 14.116749},
		{19.50973, 14.577911},
	}
}

// Conditions are the task parameters that the adaptation experiments change. The zero value is not
// the nominal task.
type Conditions struct {
	Gravity   float64    // gravity multiplier
	Actuators float64    // actuator strength multiplier of one leg
	Target    [2]float64 // target position x, y of ant-maze; must be zero in other tasks
}

// Apply sets a value of the perturbation in conditions. A value with the wrong number of components
// or that is not finite is an error.
func (p Perturbation) Apply(c Conditions, value []float64) (Conditions, error) {
	n := map[Perturbation]int{GravityMultiplier: 1, ActuatorsMultiplier: 1, TargetPosition: 2}[p]
	if n == 0 {
		return c, fmt.Errorf("unknown perturbation %q: use one of %q", string(p), Perturbations())
	}
	if len(value) != n || slices.ContainsFunc(value, func(x float64) bool { return !finite(x) }) {
		return c, fmt.Errorf("a value of %s needs %d finite numbers, not %v", p, n, value)
	}
	switch p {
	case GravityMultiplier:
		c.Gravity = value[0]
	case ActuatorsMultiplier:
		c.Actuators = value[0]
	default:
		c.Target = [2]float64(value)
	}
	return c, nil
}
