package envs

import (
	"math"
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/envs/robots"
)

// Perturbation is a series of conditions of the paper's adaptation experiments.
type Perturbation string

// The perturbations of the paper.
const (
	GravityMultiplier   Perturbation = "gravity"
	ActuatorsMultiplier Perturbation = "actuators"
	TargetPosition      Perturbation = "target"
)

// Perturbations lists all.
func Perturbations() []Perturbation {
	return []Perturbation{GravityMultiplier, ActuatorsMultiplier, TargetPosition}
}

// Values are the paper's, in its order: the multipliers 0.25 to 5 of gravity and 0 to 4.75 of
// actuators, of one number each, and ten positions x, y of the target. An unknown perturbation has
// none.
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
		for _, at := range robots.Targets() {
			values = append(values, at[:])
		}
	}
	return values
}

// Apply changes conditions by a value of the perturbation. A value of another number of components
// is an error, as is one that is not finite.
func (p Perturbation) Apply(c Conditions, value []float64) (Conditions, error) {
	n := map[Perturbation]int{GravityMultiplier: 1, ActuatorsMultiplier: 1, TargetPosition: 2}[p]
	if n == 0 {
		return c, errors.Errorf("there is no perturbation %q: use one of %q", string(p), Perturbations())
	}
	if len(value) != n || slices.ContainsFunc(value,
		func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		return c, errors.Errorf("a value of %s is %d finite numbers, not %v", p, n, value)
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
