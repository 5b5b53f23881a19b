package envs

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Env is a task. Its methods build graphs over a batch of B independent copies.
type Env interface {
	Spec() Spec
	// Reset draws initial states, one for each of the B keys.
	Reset(keys random.Key) State
	// Step advances every copy by one control step with action [B, Spec().Actions]. It neither
	// stops nor resets at the end of an episode; callers mask the steps after it.
	Step(s State, action *Node) State
}

// Reset calls env.Reset. It panics with an [xla.Misfit] if the state does not have the shapes that
// Spec promises.
func Reset(env Env, keys random.Key) State {
	s := env.Reset(keys)
	s.check(env, "Reset", keys.Hi.Shape().Dimensions[0])
	return s
}

// Step calls env.Step. It panics as [Reset] does, or if the shapes of the physics state change.
//
// A copy whose action, physics state, observation or done is not finite, or whose bodies are beyond
// [physics.MaxState], ends its episode as invalid: done is 1 and the reward is NaN, so that the
// fitness is -Inf and learners drop the transition.
func Step(env Env, s State, action *Node) State {
	next := env.Step(s, action)
	next.check(env, "Step", action.Shape().Dimensions[0])
	if s.Objectives == nil {
		next.Objectives = nil // nothing sums them
	} else {
		if len(env.Spec().Objectives) == 0 {
			next.Objectives = InsertAxes(next.Reward, -1)
		}
		xla.CheckShape(Inner(env), "Step", "Objectives", next.Objectives, dtypes.Float32, s.Objectives.Shape().Dimensions...)
	}
	xla.CheckLike(Inner(env), "Step", "PhysicsState", next.PhysicsState, s.PhysicsState)
	if _, ok := env.(Episodes); ok {
		return next // it calls Step
	}
	valid := And(And(next.valid(env), finiteRows(action)), Equal(next.Done, next.Done)) // not NaN
	next.Reward = Where(valid, next.Reward, ConstAs(next.Reward, math.NaN()))
	next.Done = Where(valid, next.Done, OnesLike(next.Done))
	return next
}

// finiteRows reports which rows [B, n] are finite, bool [B]. The sum of x - x is 0, or NaN if x is not
// finite: one subtraction and one addition for each number, where a comparison would be more.
func finiteRows(x *Node) *Node {
	sum := ReduceSum(zeroIfFinite(x), 1)
	return Equal(sum, ZerosLike(sum))
}

func zeroIfFinite(x *Node) *Node { return Sub(x, x) }

// valid reports which copies have a finite observation and a valid physics state, bool [B].
func (s State) valid(env Env) *Node {
	switch env := env.(type) {
	case fixedStart:
		return s.valid(env.Env)
	case Episodes: // what else it remembers has no limits
		s.PhysicsState = env.read(s).PhysicsState
		return s.valid(env.env)
	}
	of, limit, parts := zeroIfFinite, 0.0, s.PhysicsState
	switch inner := Inner(env).(type) {
	case *Rigid:
		of, limit = Square, physics.MaxState*physics.MaxState
		parts, _ = inner.recall(s)
	}
	var sums []*Node // of parts of the same size, flat as the engine computes them
	for _, part := range parts {
		if !part.DType().IsFloat() {
			continue
		}
		x := of(ConvertDType(Reshape(part, -1), dtypes.Float32))
		same := func(sum *Node) bool { return sum.Shape().Equal(x.Shape()) }
		if i := slices.IndexFunc(sums, same); i >= 0 {
			sums[i] = Add(sums[i], x)
		} else {
			sums = append(sums, x)
		}
	}
	total := ZerosLike(s.Reward)
	for _, x := range sums {
		total = Add(total, ReduceSum(Reshape(x, -1, s.Reward.Shape().Dimensions[0]), 0))
	}
	valid := LessOrEqual(total, ConstAs(total, limit))
	if s.Observation != nil {
		valid = And(valid, finiteRows(s.Observation))
	}
	return valid
}

// check compares the shapes of a state that a method returned with what Spec promises.
func (s State) check(env Env, method string, copies int) {
	spec, part := env.Spec(), Inner(env)
	if spec.Observations > 0 {
		xla.CheckShape(part, method, "Observation", s.Observation, dtypes.Float32, copies, spec.Observations)
	}
	xla.CheckShape(part, method, "Reward", s.Reward, dtypes.Float32, copies)
	xla.CheckShape(part, method, "Done", s.Done, dtypes.Float32, copies)
	if d := len(spec.Descriptor.Lower); d > 0 {
		xla.CheckShape(part, method, "Descriptor", s.Descriptor, dtypes.Float32, copies, d)
	}
}

// State is a batch of B environment states. It is a pytree, so loops can carry it.
type State struct {
	PhysicsState []*Node `checkpoint:"World"` // [..., B] each; the layout is private to the task
	Observation  *Node   // [B, observations]; nil if the task has none
	Reward       *Node   // [B], of the step that led here; 0 after a reset
	Done         *Node   // [B], 1 where the task ended in this step, else 0
	Descriptor   *Node   // [B, descriptor], of this state; nil if the task has none
	// Objectives are the parts of Reward, [B, objectives], see [Spec]. A step returns them if the
	// state before it has them, see [State.WithObjectives]; else they are nil. [Step] sets them if
	// the reward is the only objective.
	Objectives *Node
	Noise      Noise // of steps that explore; none in evaluations
}

// Noise are the random numbers of steps, which [AutoReset] does not restart: a pytree. The zero
// value is no noise.
type Noise struct {
	Keys random.Key // [B]
	Step *Node      // int32 [B], steps so far
}

// Now returns the keys of this step.
func (n Noise) Now() random.Key {
	if n.Step == nil {
		return n.Keys
	}
	return n.Keys.FoldInEach(n.Step)
}

// Next returns the noise of the next step.
func (n Noise) Next() Noise {
	if n.Step != nil {
		n.Step = AddScalar(n.Step, int32(1))
	}
	return n
}

// WithObjectives returns a state from which steps also return the parts of their rewards.
func (s State) WithObjectives(spec Spec) State {
	s.Objectives = Zeros(s.Reward.Graph(), shapes.Make(dtypes.Float32, s.Reward.Shape().Dimensions[0], spec.Rewards()))
	return s
}

// Inner returns the task inside of wrappers that only change how episodes begin and end, such as
// [FixedStart]. A wrapper has a method Unwrap() Env. An environment without one is returned as is.
func Inner(env Env) Env {
	for {
		if simulator, ok := env.(*Simulator); ok {
			return simulator
		}
		wrapper, ok := env.(interface{ Unwrap() Env })
		if !ok {
			return env
		}
		env = wrapper.Unwrap()
	}
}
