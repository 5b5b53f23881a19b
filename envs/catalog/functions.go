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
		Descriptor: position([2]string{"x of the end", "y of the end"}, unit)}
	arm.Descriptor.Kind = Outcome
	list := []Task{{Spec: arm}}
	for _, name := range []string{"sphere", "rastrigin"} {
		spec := Spec{Name: name, Length: 1, Initial: [2]float64{-ProjectionLimit, ProjectionLimit},
			Descriptor: Descriptor{Kind: Outcome, Components: []string{"sum of the first half", "sum of the second half"}}}
		list = append(list, Task{Spec: spec.WithProjection(100)})
	}
	lags := Spec{Name: "rastrigin-multi", Length: 1, Initial: [2]float64{-2, 4},
		Descriptor: position([2]string{"first component", "second component"}, Rect{-2, -2, 4, 4})}
	lags.Descriptor.Kind = Outcome
	return append(list, Task{Spec: lags.WithLags(100)})
}

// WithLags returns the facts of rastrigin-multi with another number of dimensions.
func (s Spec) WithLags(dims int) Spec {
	s.Actions = dims
	lowest := -lagLoss * float64(dims)
	s.Objectives = []Objective{{"fitness at lag 0", lowest}, {"fitness at lag 2.2", lowest}}
	s.Offset = -2 * lowest
	return s
}

// lagLoss is an upper limit of the loss of a component in rastrigin-multi.
const lagLoss = 32.4

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
