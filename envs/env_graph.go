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
	// stops at the end of an episode nor restarts: what counts is the caller's affair.
	Step(s State, action *Node) State
}

// Reset is env.Reset that panics with an [xla.Misfit] if what it returns does not have the shapes
// that Spec promises.
func Reset(env Env, keys xla.Key) State {
	s := env.Reset(keys)
	s.check(env, "Reset", keys.Hi.Shape().Dimensions[0])
	return s
}

// Step is env.Step that panics as [Reset] does, or if the world does not keep its shapes.
func Step(env Env, s State, action *Node) State {
	next := env.Step(s, action)
	next.check(env, "Step", action.Shape().Dimensions[0])
	xla.CheckLike(Inner(env), "Step", "PhysicsState", next.PhysicsState, s.PhysicsState)
	return next
}

// check compares what a method of a task returned for so many copies with what Spec promises.
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
	Length       int // control steps of an episode, T

	Descriptor Descriptor
	// Offset is added to the QD score for every filled cell and step of an episode, so that filling
	// a cell does not lower the score: minus the least reward of a step, as the authors found it.
	Offset float64
	// FitnessRange is the range of the paper's colour maps.
	FitnessRange [2]float64
}

// Axes names the sizes of a task, for [xla.Platform.Compile].
func (s Spec) Axes() []xla.Axis {
	return []xla.Axis{
		{Size: s.Observations, Meaning: "numbers of an observation"},
		{Size: s.Actions, Meaning: "numbers of an action"},
		{Size: len(s.Descriptor.Lower), Meaning: "components of a descriptor"},
	}
}

// QDOffset is what a filled cell adds to the QD score when an episode has length steps: Offset
// times length.
func (s Spec) QDOffset(length int) float64 { return s.Offset * float64(length) }

// Descriptor says what distinguishes the behaviours of a task.
type Descriptor struct {
	Kind DescriptorKind
	// limits of each component, of the cells of a repertoire; descriptors outside are not clipped
	Lower      []float32
	Upper      []float32
	Components []string // names for axes, with units
	// Stays leaves the descriptor of the end in place when [AutoReset] restarts an episode, and so
	// at the beginning of the next one: a quirk of pointmaze, which the source does not wrap as it
	// does the others.
	Stays bool
}

// DescriptorKind says how the states' descriptors become the episode's.
type DescriptorKind int

const (
	// Final is the state descriptor before the last valid step.
	Final DescriptorKind = iota
	// Mean is the mean of the state descriptors before each valid step: contact proportions.
	Mean
	// None is for tasks that are not for discovering skills.
	None
)

// State is a batch of B states: a tree that loops can carry.
type State struct {
	PhysicsState []*Node `checkpoint:"World"` // [..., B] each: what the task alone knows how to read
	Observation  *Node   // [B, observations]
	Reward       *Node   // [B], of the step that led here; 0 after a reset
	Done         *Node   // [B], 1 where the task ended in this step, else 0
	Descriptor   *Node   // [B, descriptor], of this state; nil where the task has none
}
