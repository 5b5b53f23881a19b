package envs

import (
	"math"

	"github.com/pkg/errors"
)

// Validate returns an error if the constants of a task are not valid.
func (s Spec) Validate() error {
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	d := s.Descriptor
	switch {
	case s.Name == "":
		return errors.New("the environment has no name")
	case s.Observations < 1 || s.Actions < 1 || s.Length < 1:
		return errors.Errorf("%s needs at least 1 observation, 1 action and 1 step, not %d, %d and %d",
			s.Name, s.Observations, s.Actions, s.Length)
	case !finite(s.Offset) || !finite(s.FitnessRange[0]) || !finite(s.FitnessRange[1]):
		return errors.Errorf("the offset and fitness range of %s must be finite, not %g and %g",
			s.Name, s.Offset, s.FitnessRange)
	case d.Kind < Final || d.Kind > None:
		return errors.Errorf("%s has a descriptor of unknown kind %d", s.Name, d.Kind)
	case len(d.Lower) != len(d.Upper) || len(d.Lower) != len(d.Components):
		return errors.Errorf("the descriptor of %s has %d lower limits, %d upper limits and %d names: "+
			"the numbers must be equal", s.Name, len(d.Lower), len(d.Upper), len(d.Components))
	case (len(d.Lower) == 0) != (d.Kind == None):
		return errors.Errorf("the descriptor of %s has %d components: kind None needs 0, other kinds at "+
			"least 1", s.Name, len(d.Lower))
	}
	for i := range d.Lower {
		if !finite(float64(d.Lower[i])) || !finite(float64(d.Upper[i])) || d.Lower[i] >= d.Upper[i] {
			return errors.Errorf("the limits of %q in %s are %g and %g: the lower one must be below the "+
				"upper one", d.Components[i], s.Name, d.Lower[i], d.Upper[i])
		}
	}
	return nil
}
