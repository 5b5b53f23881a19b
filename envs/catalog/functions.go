package catalog

import "slices"

// ProjectionLimit is the largest absolute value of a component of a solution of sphere and
// rastrigin that counts in full in the descriptor.
const ProjectionLimit = 5.12

// functions returns the tasks without physics, which are not in the paper: the genotype is the
// solution. Their numbers of dimensions are those of Fontaine and Nikolaidis 2023.
func functions() []Task {
	unit := Rect{0, 0, 1, 1}
	arm := Spec{Name: "arm", Actions: 100, Length: 1, Offset: 0.5, Initial: [2]float64{0, 1},
		FitnessRange: [2]float64{-0.5, 0},
		Descriptor:   position([2]string{"x of the end", "y of the end"}, unit)}
	arm.Descriptor.Kind = Outcome
	list := []Task{{Spec: arm}}
	for _, name := range []string{"sphere", "rastrigin"} {
		spec := Spec{Name: name, Length: 1, Initial: [2]float64{-ProjectionLimit, ProjectionLimit},
			FitnessRange: [2]float64{0, 100},
			Descriptor: Descriptor{Kind: Outcome,
				Components: []string{"sum of the first half", "sum of the second half"}}}
		list = append(list, Task{Spec: spec.WithProjection(100)})
	}
	return list
}

// WithProjection returns the facts of sphere or rastrigin with another number of dimensions.
func (s Spec) WithProjection(dims int) Spec {
	s.Actions = dims
	limits := []float32{float32(dims/2) * ProjectionLimit, float32(dims-dims/2) * ProjectionLimit}
	s.Descriptor.Upper = limits
	s.Descriptor.Lower = slices.Clone(limits)
	for i := range limits {
		s.Descriptor.Lower[i] = -limits[i]
	}
	return s
}
