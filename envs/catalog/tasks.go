package catalog

import "slices"

// Task holds the facts about an environment.
type Task struct {
	Spec
	Walls []Rect // seen from above, in the units of its positions
	Goal  *Rect  // where an episode ends; nil if it has none
	// Target is the position x, y whose distance is the reward; nil if it has none.
	Target *[2]float64
	Start  *[2]float64 // where episodes in a maze start, or the middle of that; else nil
	// Perturbations are those that the paper adapts skills to; nil if it does not.
	Perturbations []Perturbation
}

// Rect is an axis-parallel rectangle, such as a wall or a goal.
type Rect struct{ X0, Y0, X1, Y1 float64 }

// Positions reports whether the descriptor is a position in the plane.
func (s Spec) Positions() bool { return s.Descriptor.Kind == Final && len(s.Descriptor.Lower) == 2 }

var meters = [2]string{"final x (m)", "final y (m)"}

// Tasks returns the paper's environments, in the order of [Names]. The caller may modify them.
func Tasks() []Task {
	leg := []Perturbation{GravityMultiplier, ActuatorsMultiplier}
	return []Task{
		{Spec: Spec{Name: "pointmaze", Observations: 2, Actions: 2, Length: 250, Offset: 2.3431,
			Descriptor: Descriptor{Kind: Final, Lower: []float32{-1, -1}, Upper: []float32{1, 1},
				Components: []string{"final x", "final y"}, Stays: true},
			ObservationComponents: []Component{{Name: "x", Limits: &[2]float64{-1, 1}},
				{Name: "y", Limits: &[2]float64{-1, 1}}},
			ActionComponents: []Component{{Name: "displacement, x", Scale: 0.1},
				{Name: "displacement, y", Scale: 0.1}}},
			Walls:  []Rect{{-0.5, -0.5, 1, -0.49}, {-1, 0.2, 0.5, 0.21}},
			Goal:   &Rect{-0.55, 0.75, -0.45, 0.85},
			Target: &[2]float64{-0.5, 0.8}, Start: &[2]float64{0, -0.85}},
		{Spec: Spec{Name: "ant-uni", Observations: 87, Actions: 8, Length: 250, Offset: 3.24,
			Descriptor: contacts("front left foot", "back left foot", "back right foot",
				"front right foot"), Objectives: forward(-0.35, -4.5)},
			Perturbations: leg},
		{Spec: Spec{Name: "ant-omni", Observations: 87, Actions: 8, Length: 250, Offset: 3,
			Descriptor: position(meters, Rect{-30, -30, 30, 30})}},
		{Spec: Spec{Name: "ant-trap", Observations: 95, Actions: 8, Length: 250, Offset: 3.38,
			Descriptor: position(meters, Rect{0, -8, 30, 8}),
			Objectives: forward(-0.35, -4.5)},
			Walls: []Rect{{11.5, -2.5, 12.5, 2.5}, {6.5, 2.5, 12.5, 3.5}, {6.5, -3.5, 12.5, -2.5}},
			Start: &[2]float64{0, 0}},
		{Spec: Spec{Name: "ant-maze", Observations: 101, Actions: 8, Length: 500, Offset: 40.32,
			Descriptor: position(meters, Rect{-5, -5, 40, 40})},
			Walls: []Rect{
				{-5.5, -5.5, 40.5, -4.5}, {-5.5, 39.5, 40.5, 40.5}, // the border
				{-5.5, -4.5, -4.5, 39.5}, {39.5, -4.5, 40.5, 39.5},
				{19.5, -4.5, 20.5, 19.5}, {10.5, 7, 19.5, 8}, {9.5, 20.25, 10.5, 39.75},
			},
			Target: &[2]float64{35, 0}, Start: &[2]float64{0, 0}, Perturbations: []Perturbation{TargetPosition}},
		{Spec: Spec{Name: "walker-uni", Observations: 20, Actions: 6, Length: 250, Offset: 1.413,
			Descriptor: contacts("right foot", "left foot"),
			Objectives: forward(-0.21, -0.015)},
			Perturbations: leg},
		{Spec: Spec{Name: "halfcheetah-uni", Observations: 23, Actions: 6, Length: 250, Offset: 9.231,
			Descriptor: contacts("front foot", "back foot"),
			Objectives: forward(-2, -0.8)},
			Perturbations: leg},
		{Spec: Spec{Name: "halfcheetah-hurdles", Observations: 25, Actions: 6, Length: 250, Descriptor: Descriptor{Kind: None}}},
	}
}

// Destination returns the goal, or the target as a rectangle without extent; nil if there is neither.
func (t Task) Destination() *Rect {
	if t.Goal == nil && t.Target != nil {
		return &Rect{t.Target[0], t.Target[1], t.Target[0], t.Target[1]}
	}
	return t.Goal
}

// forward are the objectives of running: speed, with the bonus for surviving, and minus the cost of
// actions and contacts. The lowest rewards are those of the published reference points (MOME-PGX,
// Janmohamed et al. 2023) per step.
func forward(speed, cost float64) []Objective {
	return []Objective{{"forward", speed}, {"minus the cost", cost}}
}

// contacts is the fraction of steps in which each foot touches the ground.
func contacts(feet ...string) Descriptor {
	d := Descriptor{Kind: Mean}
	for _, foot := range feet {
		d.Lower, d.Upper = append(d.Lower, 0), append(d.Upper, 1)
		d.Components = append(d.Components, "contact of "+foot)
	}
	return d
}

// position is the final position within limits.
func position(names [2]string, limits Rect) Descriptor {
	return Descriptor{Kind: Final, Components: names[:],
		Lower: []float32{float32(limits.X0), float32(limits.Y0)},
		Upper: []float32{float32(limits.X1), float32(limits.Y1)}}
}

// others returns QDax's tasks of robots that are not in the paper. The reference point of the hopper
// is from MOME-PGX, too.
func others() []Task {
	return []Task{
		{Spec: Spec{Name: "hopper-uni", Observations: 14, Actions: 3, Length: 250, Offset: 0.9,
			Descriptor: contacts("the foot"),
			Objectives: forward(-0.05, -0.002)}},
		{Spec: Spec{Name: "humanoid-uni", Observations: 299, Actions: 17, Length: 250,
			Descriptor: contacts("left foot", "right foot")}},
		{Spec: Spec{Name: "humanoid-omni", Observations: 299, Actions: 17, Length: 250,
			Descriptor: position(meters, Rect{-30, -30, 30, 30})}},
	}
}

// Find returns an environment by its name, of the paper or not. An unknown name gives false and a
// Task without facts.
func Find(name string) (Task, bool) {
	if task, ok := gymnasium(name); ok {
		return task, true
	}
	for _, list := range []func() []Task{Tasks, others, functions} {
		tasks := list()
		if i := slices.IndexFunc(tasks, func(t Task) bool { return t.Name == name }); i >= 0 {
			return tasks[i], true
		}
	}
	return Task{}, false
}

// Names lists the paper's environments in the order of [Tasks].
func Names() (names []string) {
	for _, t := range Tasks() {
		names = append(names, t.Name)
	}
	return names
}

// Dimensions of halfcheetah-hurdles, in metres.
const (
	HurdleNumber  = 10
	HurdleSpacing = 3.0 // from one to the next, and from the origin to the first
	HurdleRadius  = 0.25
	// HurdlesHalfway is the x that it observes as 0. It observes the origin as -1.
	HurdlesHalfway = 15.0
)
