package catalog

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"example.com/qdnb/internal/names"
)

// Perturbation is a quantity of a robot or its world that can be changed: set, as in the paper's adaptation
// experiments, or drawn for each episode.
type Perturbation string

// The first three are the perturbations of the paper's adaptation experiments. Robots of MuJoCo's engine have all;
// those of Brax's lack centre, armature and terrain.
const (
	GravityMultiplier   Perturbation = "gravity"
	ActuatorsMultiplier Perturbation = "actuators" // of forces, after their limits
	TargetPosition      Perturbation = "target"    // x, y in m

	MassMultiplier     Perturbation = "mass"     // of bodies, with their inertia
	CenterOffset       Perturbation = "center"   // of the centres of mass of bodies: x, y, z in m
	FrictionMultiplier Perturbation = "friction" // of contacts of geoms or bodies
	GainMultiplier     Perturbation = "gain"     // gain and bias of the actuators of joints, before the limits of force
	DampingMultiplier  Perturbation = "damping"  // of joints
	ArmatureMultiplier Perturbation = "armature" // of joints
	PushSpeed          Perturbation = "push"     // m/s that are added to a body's velocity at drawn times
	TerrainMultiplier  Perturbation = "terrain"  // of the heights of the ground
	TerrainOffset      Perturbation = "place"    // where on the terrain episodes start: x, y in m
)

// nominal has what each quantity is in the unperturbed task; a target differs between tasks.
var nominal = map[Perturbation][]float64{
	GravityMultiplier: {1}, ActuatorsMultiplier: {1}, TargetPosition: {0, 0}, MassMultiplier: {1}, CenterOffset: {0, 0, 0},
	FrictionMultiplier: {1}, GainMultiplier: {1}, DampingMultiplier: {1}, ArmatureMultiplier: {1}, PushSpeed: {0},
	TerrainMultiplier: {1}, TerrainOffset: {0, 0},
}

// Perturbations lists all perturbations.
func Perturbations() []Perturbation { return slices.Sorted(maps.Keys(nominal)) }

// Nominal returns the numbers of the unperturbed task. Those of a target are 0, and those of an unknown
// perturbation nil.
func (p Perturbation) Nominal() []float64 { return slices.Clone(nominal[p]) }

// Multiplies reports whether the quantity is a multiplier, which is not negative.
func (p Perturbation) Multiplies() bool { return len(nominal[p]) == 1 && nominal[p][0] == 1 }

// Values returns the paper's values in its order: 20 gravity multipliers from 0.25 to 5, 20
// actuator strength multipliers from 0 to 4.75, or ten target positions x, y. Other
// perturbations have none.
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

// Conditions are values of quantities, which are nominal if they are not among them.
type Conditions map[Perturbation][]float64

// Check returns an error if a quantity is unknown, or a value has another number of components, is not finite, or
// is a negative multiplier.
func (c Conditions) Check() error {
	for _, p := range slices.Sorted(maps.Keys(c)) {
		n := len(nominal[p])
		if n == 0 {
			return names.Wrongf("unknown perturbation %q: use one of %q", string(p), Perturbations())
		}
		if len(c[p]) != n || slices.ContainsFunc(c[p], func(x float64) bool { return !finite(x) }) {
			return fmt.Errorf("a value of %s needs %d finite numbers, not %v", p, n, c[p])
		}
		if p == MassMultiplier && c[p][0] == 0 {
			return fmt.Errorf("the multiplier of mass must be above 0")
		}
		if p.Multiplies() && c[p][0] < 0 {
			return fmt.Errorf("the multiplier of %s must be finite and not negative, not %g", p.Title(), c[p][0])
		}
	}
	return nil
}

// Title is the name of the quantity in texts.
func (p Perturbation) Title() string {
	if p == ActuatorsMultiplier {
		return "actuator strength"
	}
	return string(p)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
