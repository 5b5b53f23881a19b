package envs

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Episodes is a task that resets automatically; see [AutoReset].
type Episodes struct {
	env    Env
	length int
}

// AutoReset resets each copy of a task when its episode ends: after length steps (0: the episode
// length of the task) or when the task is done. Learning from single transitions needs it. As in
// the source (Brax, envs/wrappers.py, EpisodeWrapper and AutoResetWrapper; QDax,
// StateDescriptorResetWrapper):
//
//   - Done is 1 in the step that ends an episode for either reason; [Episodes.Truncation] tells
//     them apart.
//   - That step returns the physics state, the observation and the descriptor of the next episode,
//     with the reward of the last one.
//   - A copy always restarts from the state of its first reset. What a [Rigid] task remembers is drawn
//     anew.
//
// If [Descriptor].Stays is set, the descriptor is not reset.
func AutoReset(env Env, length int) Episodes {
	if length == 0 {
		length = env.Spec().Length
	}
	return Episodes{env, length}
}

// Spec implements [Env]: the task's Spec with the length of the episodes.
func (e Episodes) Spec() Spec {
	spec := e.env.Spec()
	spec.Length = e.length
	return spec
}

// Unwrap returns the task that resets automatically; see [AutoReset].
func (e Episodes) Unwrap() Env { return e.env }

// Truncation is 1 where the step that led to a state [B] ended an episode by its length only, else
// 0. The task itself was not done.
func (e Episodes) Truncation(s State) *Node { return e.read(s).Truncation }

// Start returns the descriptor with which the episodes of each copy start, [B, descriptor].
func (e Episodes) Start(s State) *Node { return Transpose(e.read(s).Descriptor, 0, 1) }

// memory is the physics state of Episodes. As in all physics states, the batch is the last axis.
type memory struct {
	PhysicsState      []*Node // of the task
	First             []*Node // the same after the first reset
	Observation       *Node   // [observations, B], after the first reset
	Descriptor        *Node   // [descriptor, B], after the first reset; nil if the task has none
	Steps, Truncation *Node   // [B]; Steps counts the steps of this episode so far
}

func (e Episodes) read(s State) memory {
	m := memory{}
	tail := 3 // leaves after the two physics states
	if s.Descriptor != nil {
		m.Descriptor, tail = s.Descriptor, 4 // a placeholder: Unflatten replaces it
	}
	n := (len(s.PhysicsState) - tail) / 2
	m.PhysicsState, m.First, m.Observation = s.PhysicsState[:n], s.PhysicsState[n:2*n], s.Observation
	m.Steps, m.Truncation = s.Reward, s.Reward
	return xla.Unflatten(m, s.PhysicsState)
}

// Reset implements [Env].
func (e Episodes) Reset(keys random.Key) State {
	if e.length < 1 {
		panic(fmt.Errorf("episodes of %s need at least 1 step, not %d", e.env.Spec().Name, e.length))
	}
	s := Reset(e.env, keys)
	batch := s.Reward.Shape().Dimensions[0]
	for i, part := range s.PhysicsState {
		if dims := part.Shape().Dimensions; len(dims) == 0 || dims[len(dims)-1] != batch {
			panic(xla.Misfit(Inner(e.env), "Reset", "PhysicsState[%d] of %s has shape %s: the last axis must be the batch of %d", i,
				e.env.Spec().Name, part.Shape(), batch))
		}
	}
	m := memory{PhysicsState: s.PhysicsState, First: s.PhysicsState,
		Observation: Transpose(s.Observation, 0, 1), Steps: ZerosLike(s.Reward),
		Truncation: ZerosLike(s.Reward)}
	if s.Descriptor != nil {
		m.Descriptor = Transpose(s.Descriptor, 0, 1)
	}
	s.PhysicsState = xla.Flatten(m)
	return s
}

// Step implements [Env].
func (e Episodes) Step(s State, action *Node) State {
	m := e.read(s)
	s.PhysicsState, s.Done = m.PhysicsState, ZerosLike(s.Done)
	next := Step(e.env, s, action)

	steps := AddScalar(m.Steps, 1)
	over := ConvertDType(GreaterOrEqual(steps, ConstAs(steps, e.length)), next.Done.DType())
	m.Truncation = Mul(over, OneMinus(next.Done))
	next.Done = Max(next.Done, over)
	m.Steps = Mul(steps, OneMinus(next.Done))

	ended := GreaterThan(next.Done, ZerosLike(next.Done))
	restart := func(first, now *Node) *Node { // [..., B]
		dims := now.Shape().Dimensions
		wide := slices.Repeat([]int{1}, len(dims))
		wide[len(wide)-1] = dims[len(dims)-1]
		return Where(BroadcastToDims(Reshape(ended, wide...), dims...), first, now)
	}
	first := m.First
	observation, descriptor := m.Observation, m.Descriptor
	if r, ok := e.env.(*Rigid); ok && r.remembers() {
		system, _ := r.recall(State{PhysicsState: m.First, Reward: next.Reward})
		_, k := r.recall(next)
		again := r.Begin(k.Keys.FoldIn(streamEpisode), algebra.State{Parts: system}) // its memory is drawn again
		first, observation = again.PhysicsState, Transpose(again.Observation, 0, 1)
		if descriptor != nil {
			descriptor = Transpose(again.Descriptor, 0, 1)
		}
	}
	for i, part := range next.PhysicsState {
		m.PhysicsState[i] = restart(first[i], part)
	}
	next.Observation = Transpose(restart(observation, Transpose(next.Observation, 0, 1)), 0, 1)
	d := e.env.Spec().Descriptor
	if next.Descriptor != nil && !d.Stays && d.Kind != Outcome {
		next.Descriptor = Transpose(restart(descriptor, Transpose(next.Descriptor, 0, 1)), 0, 1)
	}
	next.PhysicsState = xla.Flatten(m)
	return next
}
