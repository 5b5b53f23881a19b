package verify

import (
	"math"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/names"
)

// perturbation returns the option for the <what> in a file's name. Its parameter is an array of the
// file.
func perturbation(what string, stored *arrays) (envs.Option, error) {
	parameter, err := stored.get(column{name: "parameter", dims: []int{1}})
	if err != nil {
		return nil, err
	}
	switch k := float64(parameter.flat[0]); what {
	case "gravity":
		return envs.Gravity(k), nil
	case "actuator":
		return envs.Actuators(k), nil
	case "target":
		return target(k, stored)
	}
	return nil, names.Unknown("perturbation", what, []string{"gravity", "actuator", "target"})
}

// target returns the option for a target of the paper, by its number. The position in the file must
// match.
func target(number float64, stored *arrays) (envs.Option, error) {
	targets := catalog.Targets()
	n := int(number)
	if float64(n) != number || n < 0 || n >= len(targets) {
		return nil, errors.Errorf("there is no target number %g: array \"parameter\" must be one of 0 "+
			"to %d", number, len(targets)-1)
	}
	where, err := stored.get(column{name: "target", dims: []int{3}})
	if err != nil {
		return nil, err
	}
	at := targets[n]
	if x, y := float64(where.flat[0]), float64(where.flat[1]); math.Hypot(x-at[0], y-at[1]) > 1e-5 {
		return nil, errors.Errorf("array \"target\" is (%g, %g), but target number %d is at (%g, %g)",
			x, y, n, at[0], at[1])
	}
	return envs.Target(at[0], at[1]), nil
}
