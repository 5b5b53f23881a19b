package verify

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/names"
)

// perturb puts the environment of a form under the conditions of a file. what is their name in the
// file's name; the array parameter has the value.
func (f *form) perturb(what string, stored *arrays) error {
	live, err := envs.NewPerturbable(f.env)
	if err != nil {
		return err
	}
	parameter, err := stored.get(column{name: "parameter", dims: []int{1}})
	if err != nil {
		return err
	}
	conditions := live.Nominal()
	switch k := float64(parameter.flat[0]); what {
	case "gravity":
		conditions.Gravity = k
	case "actuator":
		conditions.Actuators = k
	case "target":
		if conditions.Target, err = target(k, stored); err != nil {
			return err
		}
		f.state[0].ignore = 3 // the target, the last body, stays at its nominal place
	default:
		return names.Unknown("perturbation", what, []string{"gravity", "actuator", "target"})
	}
	values, err := live.Values(conditions)
	if err != nil {
		return err
	}
	f.start = func(state []*Node) envs.State {
		return live.Under(live.At(f.rigid.read(state)), Const(state[0].Graph(), values))
	}
	f.step = f.rigid.step(live.Rigid, func(r *envs.Rigid) envs.Env { return envs.Perturbable{Rigid: r} })
	read := f.read
	f.read = func(s envs.State) []*Node {
		s.PhysicsState = s.PhysicsState[:len(s.PhysicsState)-1] // without the conditions
		return read(s)
	}
	return nil
}

// target returns a target of the paper by its number. The position in the file must match.
func target(number float64, stored *arrays) (at [2]float64, err error) {
	targets := catalog.Targets()
	n := int(number)
	if float64(n) != number || n < 0 || n >= len(targets) {
		return at, fmt.Errorf("there is no target number %g: array \"parameter\" must be one of 0 to %d",
			number, len(targets)-1)
	}
	where, err := stored.get(column{name: "target", dims: []int{3}})
	if err != nil {
		return at, err
	}
	at = targets[n]
	if x, y := float64(where.flat[0]), float64(where.flat[1]); math.Hypot(x-at[0], y-at[1]) > 1e-5 {
		return at, fmt.Errorf("array \"target\" is (%g, %g), but target number %d is at (%g, %g)", x, y, n,
			at[0], at[1])
	}
	return at, nil
}
