package envs

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Env is a task. Its methods build graphs over a batch of B independent copies.
type Env interface {
	Spec() Spec
	// Reset draws initial states, one for each of the B keys.
	Reset(keys xla.Key) State
	// Step advances every copy by one control step with action [B, Spec().Actions]. It neither
	// stops nor resets at the end of an episode; callers mask the steps after it.
	Step(s State, action *Node) State
}

// Reset calls env.Reset. It panics with an [xla.Misfit] if the state does not have the shapes that
// Spec promises.
func Reset(env Env, keys xla.Key) State {
	s := env.Reset(keys)
	s.check(env, "Reset", keys.Hi.Shape().Dimensions[0])
	return s
}

// Step calls env.Step. It panics as [Reset] does, or if the shapes of the physics state change.
func Step(env Env, s State, action *Node) State {
	next := env.Step(s, action)
	next.check(env, "Step", action.Shape().Dimensions[0])
	xla.CheckLike(Inner(env), "Step", "PhysicsState", next.PhysicsState, s.PhysicsState)
	return next
}

// check compares the shapes of a state that a method returned with what Spec promises.
func (s State) check(env Env, method string, copies int) {
	spec, part := env.Spec(), Inner(env)
	xla.CheckShape(part, method, "Observation", s.Observation, dtypes.Float32, copies,
		spec.Observations)
	xla.CheckShape(part, method, "Reward", s.Reward, dtypes.Float32, copies)
	xla.CheckShape(part, method, "Done", s.Done, dtypes.Float32, copies)
	if d := len(spec.Descriptor.Lower); d > 0 {
		xla.CheckShape(part, method, "Descriptor", s.Descriptor, dtypes.Float32, copies, d)
	}
}

// Spec holds the constants of a task.
type Spec struct {
	Name         string
	Observations int // size of an observation
	Actions      int // size of an action
	Length       int // control steps per episode, T

	Descriptor Descriptor
	// Offset is added to the QD score for every filled cell and step of an episode, so that filling
	// a cell never lowers the score. It is minus the lowest reward of a step that the authors
	// found.
	Offset float64
	// FitnessRange is the range of the paper's colour maps.
	FitnessRange [2]float64
}

// Axes names the array sizes of a task, for [xla.Platform.Compile].
func (s Spec) Axes() []xla.Axis {
	return []xla.Axis{
		{Size: s.Observations, Meaning: "numbers of an observation"},
		{Size: s.Actions, Meaning: "numbers of an action"},
		{Size: len(s.Descriptor.Lower), Meaning: "components of a descriptor"},
	}
}

// QDOffset is what a filled cell adds to the QD score: Offset times the episode length.
func (s Spec) QDOffset(length int) float64 { return s.Offset * float64(length) }

// Descriptor specifies the behaviour descriptor of a task.
type Descriptor struct {
	Kind DescriptorKind
	// Lower and Upper are the limits of each component in a repertoire. Descriptors outside are not
	// clipped.
	Lower      []float32
	Upper      []float32
	Components []string // axis names, with units
	// Stays keeps the descriptor of the last step when [AutoReset] starts the next episode: a quirk
	// of pointmaze, which the source wraps differently from the other tasks.
	Stays bool
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
)

// State is a batch of B environment states. It is a pytree, so loops can carry it.
type State struct {
	PhysicsState []*Node `checkpoint:"World"` // [..., B] each; the layout is private to the task
	Observation  *Node   // [B, observations]
	Reward       *Node   // [B], of the step that led here; 0 after a reset
	Done         *Node   // [B], 1 where the task ended in this step, else 0
	Descriptor   *Node   // [B, descriptor], of this state; nil if the task has none
}
