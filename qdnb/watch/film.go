package watch

import (
	"fmt"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/plot/tables"
)

// filmSubtitle returns the fitness, the descriptor, and the conditions that differ from nominal.
func filmSubtitle(env envs.Env, conditions *envs.Conditions, o *scene.Outcome) string {
	parts := []string{"fitness " + shortNumber(o.Fitness)}
	if len(o.Descriptor) > 0 {
		var components []string
		for _, x := range o.Descriptor {
			components = append(components, shortNumber(x))
		}
		parts = append(parts, "descriptor ("+strings.Join(components, ", ")+")")
	}
	live, err := envs.NewPerturbable(env)
	if conditions == nil || err != nil {
		return strings.Join(parts, ", ")
	}
	usual := live.Nominal()
	if conditions.Gravity != usual.Gravity {
		parts = append(parts, "gravity multiplier "+shortNumber(conditions.Gravity))
	}
	if conditions.Actuators != usual.Actuators {
		parts = append(parts, "actuator strength multiplier "+shortNumber(conditions.Actuators))
	}
	if conditions.Target != usual.Target {
		parts = append(parts, fmt.Sprintf("target (%s, %s)", shortNumber(conditions.Target[0]),
			shortNumber(conditions.Target[1])))
	}
	return strings.Join(parts, ", ")
}

// shortNumber formats with three significant digits, or all digits before the decimal point, and
// with the minus sign of figure axes.
func shortNumber(x float64) string { return strings.ReplaceAll(tables.Short(x, 3), "-", "−") }
