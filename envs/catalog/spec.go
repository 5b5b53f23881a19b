package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Spec holds the constants of a task.
type Spec struct {
	Name         string
	Observations int // size of an observation; 0: the genotype is the action
	Actions      int // size of an action
	Length       int // steps per episode, T
	// Every is the number of control steps of a step if it takes several, such as one of
	// envs.Hierarchical; else 0.
	Every int
	// Zero are the components of an observation that are always 0, in ascending order. Rollouts on
	// CPUs do not read the weights that multiply them.
	Zero []int

	Descriptor Descriptor
	// Offset is added to the QD score for every filled cell and step of an episode, so that filling
	// a cell never lowers the score. It is minus the lowest reward of a step that the authors
	// found.
	Offset float64
	// Initial is the range of the initial genotypes of a task without observations.
	Initial [2]float64
	// Objectives are the parts of the reward of a task with several objectives; nil if the reward is
	// the only one.
	Objectives []Objective

	// ObservationComponents and ActionComponents describe each number of an observation and of an
	// action, for users of exported policies; nil if unknown. ControlStep is the duration of a step, s;
	// 0 if unknown.
	ObservationComponents, ActionComponents []Component
	ControlStep                             float64
}

// Component describes a number of an observation or an action.
type Component struct {
	Name   string      `json:"name"`
	Unit   string      `json:"unit,omitempty"` // empty: none, or unknown
	Limits *[2]float64 `json:"limits,omitempty"`
	// Scale is how many units a number of 1 stands for: the torque of an action of 1, or -1 for an
	// observation that is minus the quantity. 0: the number is in units.
	Scale float64 `json:"scale,omitempty"`
}

// Objective is a part of a reward. The parts sum to the reward.
type Objective struct {
	Name string
	// Lowest is the reward of a step that counts as worthless: see [Spec.ReferencePoint].
	Lowest float64
}

// ControlSteps is the number of control steps of a step.
func (s Spec) ControlSteps() int { return max(1, s.Every) }

// Steps is the number of steps of an episode with a number of control steps.
func (s Spec) Steps(control int) int { return (control + s.ControlSteps() - 1) / s.ControlSteps() }

// Rewards is the number of objectives, at least 1.
func (s Spec) Rewards() int { return max(1, len(s.Objectives)) }

// ReferencePoint is the return of each objective from which hypervolumes are measured: Lowest times
// the episode length, or minus [Spec.QDOffset] if there is one objective.
func (s Spec) ReferencePoint(length int) []float64 {
	if len(s.Objectives) == 0 {
		return []float64{-s.QDOffset(length)}
	}
	point := make([]float64, len(s.Objectives))
	for i, o := range s.Objectives {
		point[i] = o.Lowest * float64(length)
	}
	return point
}

// QDOffset is what a filled cell adds to the QD score: Offset times the episode length.
func (s Spec) QDOffset(length int) float64 { return s.Offset * float64(length) }

// Descriptor specifies the behaviour descriptor of a task.
type Descriptor struct {
	Kind DescriptorKind
	// Lower and Upper are the limits of each component in a repertoire. Descriptors outside are kept as
	// they are, enter the cell of the nearest centroid, which is at the border, and are counted and
	// reported. The nearest is that in the units of the components, or in the unit cube if one range is
	// more than twice another.
	Lower      []float32
	Upper      []float32
	Components []string // axis names, with units
	// Stays keeps the descriptor of the last step when a task resets automatically: a quirk of
	// pointmaze, which the source wraps differently from the other tasks.
	Stays bool
}

// Ranges names components with their limits.
func (d Descriptor) Ranges(which func(k int) bool) string {
	var list []string
	for k, name := range d.Components {
		if which(k) {
			list = append(list, fmt.Sprintf("%q from %g to %g", name, d.Lower[k], d.Upper[k]))
		}
	}
	return strings.Join(list, ", ")
}

// DescriptorKind selects how state descriptors are reduced to the descriptor of an episode.
type DescriptorKind int

const (
	// Final is the state descriptor before the last valid step.
	Final DescriptorKind = iota
	// Mean is the mean of the state descriptors before each valid step: contact proportions.
	Mean
	// None is for tasks without a descriptor.
	None
	// Outcome is the state descriptor after the last valid step.
	Outcome
)

// Validate returns an error if the constants of a task are not valid.
func (s Spec) Validate() error {
	d := s.Descriptor
	switch {
	case s.Name == "":
		return errors.New("the environment has no name")
	case s.Observations == 0 && s.Initial != [2]float64{} &&
		!(s.Initial[0] < s.Initial[1] && finite(s.Initial[0]) && finite(s.Initial[1])):
		return fmt.Errorf("the range Initial of %s is %g to %g: want finite limits, the lower one first", s.Name,
			s.Initial[0], s.Initial[1])
	case s.Observations < 0 || s.Observations == 0 && s.Initial == [2]float64{} || s.Actions < 1 || s.Length < 1:
		return fmt.Errorf("%s needs at least 1 observation (or 0 and a finite range Initial), 1 "+
			"action and 1 step, not %d, %d and %d", s.Name, s.Observations, s.Actions, s.Length)
	case max(s.Observations, s.Actions) > 1<<24: // products of more overflow
		return fmt.Errorf("%s has %d observations and %d actions: want at most %d each", s.Name, s.Observations, s.Actions, 1<<24)
	case !slices.IsSorted(s.Zero) || len(slices.Compact(slices.Clone(s.Zero))) < len(s.Zero) ||
		len(s.Zero) > 0 && (s.Zero[0] < 0 || s.Zero[len(s.Zero)-1] >= s.Observations):
		return fmt.Errorf("the components of %s's observations that are always 0 must ascend from 0 "+
			"to at most %d, not %d", s.Name, s.Observations-1, s.Zero)
	case !finite(s.Offset):
		return fmt.Errorf("the offset of %s must be finite, not %g", s.Name, s.Offset)
	case d.Kind < Final || d.Kind > Outcome:
		return fmt.Errorf("%s has a descriptor of unknown kind %d", s.Name, d.Kind)
	case len(d.Lower) != len(d.Upper) || len(d.Lower) != len(d.Components):
		return fmt.Errorf("the descriptor of %s has %d lower limits, %d upper limits and %d names: "+
			"the numbers must be equal", s.Name, len(d.Lower), len(d.Upper), len(d.Components))
	case (len(d.Lower) == 0) != (d.Kind == None):
		return fmt.Errorf("the descriptor of %s has %d components: kind None needs 0, other kinds at "+
			"least 1", s.Name, len(d.Lower))
	}
	for _, o := range s.Objectives {
		if o.Name == "" || !finite(o.Lowest) || len(s.Objectives) < 2 {
			return fmt.Errorf("the objectives of %s must be at least 2, with names and finite lowest "+
				"rewards, not %v", s.Name, s.Objectives)
		}
	}
	for i := range d.Lower {
		if !finite(float64(d.Lower[i])) || !finite(float64(d.Upper[i])) || d.Lower[i] >= d.Upper[i] {
			return fmt.Errorf("the limits of %q in %s are %g and %g: the lower one must be below the "+
				"upper one", d.Components[i], s.Name, d.Lower[i], d.Upper[i])
		}
	}
	return nil
}
