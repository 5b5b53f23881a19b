package ppo

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Random streams of a run or of an iteration.
const (
	streamStates  = -1 - iota // initial states
	streamLearner             // initial networks
	_
	streamCollect // data collection of an iteration
	streamUpdates
)

// streamChoice is the random stream of a decision.
const streamChoice = 0

// sliceOnCPU is the number of environments stepped together on a CPU, found by measurement: the
// physics then fills vector registers, and the weights of as many skills of the paper's size nearly
// fit the cache of a core.
const sliceOnCPU = 8

// share divides n environments among workers. A slice of 0 is chosen for the backend.
func share(p *xla.Platform, n, slice int) xla.Slices {
	if slice == 0 {
		slice = (n + p.Workers - 1) / p.Workers
		if p.Kind == backend.CPU {
			// independent of the number of workers, because the slice size affects rounding
			slice = sliceOnCPU
		}
	}
	return xla.Slices{N: n, Size: min(slice, n), Workers: p.Workers}
}

// actor is the policy on every worker: a pytree.
type actor struct {
	Policy     nn.Network
	Statistics *nn.Statistics // of observations; nil without normalisation
}

func actorOf(l learner) actor { return actor{l.Nets.Params.Policy, l.Statistics} }

// decide returns the distribution of an actor's decisions at observations [B, observations].
func (a agent) decide(from actor, obs *Node) distribution {
	return a.distribution(from.Policy.Apply(normalised(from.Statistics, obs)))
}

// collecting is the program that collects data; its environments continue across iterations. A
// worker keeps their states as [turns, slice, ...].
type collecting struct {
	agent     agent
	env       envs.Episodes
	shared    xla.Slices
	describes bool // whether it records descriptors
}

// start resets the environments of a worker and returns their states.
func (c *collecting) start(key random.Key, worker *Node) envs.State {
	type state struct {
		Key    random.Key
		Worker *Node
	}
	return xla.MapSlices(c.shared.Turns(), worker, state{key, worker}, func(turn *Node, s state) envs.State {
		numbers := c.shared.Numbers(turn, s.Worker)
		return batchFirst(envs.Reset(c.env, s.Key.FoldIn(streamStates).FoldInEach(numbers)))
	})
}

// collect plays the sequences of an iteration; key is the iteration's collection stream. It returns
// the states of the worker's environments and the sequences of all workers. choices are those of a
// [envs.Discrete] environment, nil for others.
func (c *collecting) collect(from actor, choices *Node, states envs.State, key random.Key,
	worker *Node) (envs.State, data) {
	type state struct {
		Actor           actor
		Choices, Worker *Node
		Key             random.Key
		States          envs.State
	}
	type played struct {
		States envs.State
		Data   data // [slice, steps, ...]
	}
	all := xla.MapSlices(c.shared.Turns(), worker, state{from, choices, worker, key, states},
		func(turn *Node, s state) played {
			start := batchLast(xla.Map(s.States, func(x *Node) *Node { return xla.Row(x, turn) }))
			keys := s.Key.FoldInEach(c.shared.Numbers(turn, s.Worker)) // one for each environment
			end, steps := c.play(s.Actor, s.Choices, start, keys)
			return played{batchFirst(end), xla.Map(steps, swapAxes)}
		})
	return all.States, c.sequences(xla.Map(all.Data, func(x *Node) *Node { return c.shared.Join(x, worker) }))
}

// play plays the steps of an iteration in a slice of environments: Brax's generate_unroll. It
// returns the final states and what it recorded, [steps, slice, ...], with the final observation.
func (c *collecting) play(from actor, choices *Node, start envs.State, keys random.Key) (envs.State, data) {
	type state struct {
		Actor   actor
		Choices *Node
		Env     envs.State
		Keys    random.Key
	}
	steps := c.agent.unrolls() * c.agent.UnrollLength
	end, d := xla.Scan(keys.Hi.Graph(), steps, state{from, choices, start, keys}, func(step *Node, s state) (state, data) {
		before := s.Env
		policy := c.agent.decide(s.Actor, before.Observation)
		decision := policy.sample(s.Keys.FoldInEach(step).FoldIn(streamChoice))
		var action *Node
		if s.Choices != nil {
			action = Gather(s.Choices, InsertAxes(decision, -1))
		} else {
			action = Tanh(decision)
		}
		after := envs.Step(c.env, before, action)
		d := data{before.Observation, decision, policy.logProb(decision), after.Reward, after.Done, c.env.Truncation(after), nil}
		if c.describes {
			d.Descriptor = c.measured(before, after)
		}
		s.Env = after
		return s, d
	})
	d.Obs = Concatenate([]*Node{d.Obs, InsertAxes(end.Env.Observation, 0)}, 0)
	return end.Env, d
}

// sequences cuts the steps of all environments, [environments, steps, ...], into the sequences of
// an iteration. The last observation of a sequence is the first one of the next.
func (c *collecting) sequences(steps data) data {
	length, last := c.agent.UnrollLength, c.agent.unrolls()*c.agent.UnrollLength
	cut := func(x *Node, length int) *Node {
		return Reshape(x, append([]int{c.agent.sequences(), length}, x.Shape().Dimensions[2:]...)...)
	}
	obs := steps.Obs
	steps.Obs = Slice(obs, AxisRange(), AxisRange(0, last))
	d := xla.Map(steps, func(x *Node) *Node { return cut(x, length) })
	after := Slice(obs, AxisRange(), AxisRange(length, last+1).Stride(length))
	d.Obs = Concatenate([]*Node{d.Obs, cut(after, 1)}, 1)
	return d
}

// measured returns what an [Improver] maximises of each component of the descriptor, [n, components]:
// the state descriptor, or its change times the steps of an episode if the descriptor is that of
// the final state, as for QDAC. The change in the step that ends an episode is unknown.
func (c *collecting) measured(before, after envs.State) *Node {
	spec := c.env.Spec()
	if spec.Descriptor.Kind != envs.Final {
		return after.Descriptor
	}
	ended := func(s envs.State) *Node {
		return BroadcastToShape(InsertAxes(GreaterThan(s.Done, ZerosLike(s.Done)), -1), s.Descriptor.Shape())
	}
	from := Where(ended(before), c.env.Start(before), before.Descriptor)
	change := MulScalar(Sub(after.Descriptor, from), float64(spec.Length))
	return Where(ended(after), ZerosLike(change), change)
}

// swapAxes transposes the first two axes.
func swapAxes(x *Node) *Node { return Transpose(x, 0, 1) }

// batchFirst moves the batch of the physics state from its last axis to the first, which it is
// elsewhere: a row for each environment, as checkpoints store them.
func batchFirst(s envs.State) envs.State { return rotated(s, -1) }

// batchLast is the inverse of batchFirst.
func batchLast(s envs.State) envs.State { return rotated(s, 1) }

// rotated makes axis k of the physics state what was axis k + by.
func rotated(s envs.State, by int) envs.State {
	s.PhysicsState = xla.Map(s.PhysicsState, func(x *Node) *Node {
		axes := make([]int, x.Rank())
		for k := range axes {
			axes[k] = (k + by + len(axes)) % len(axes)
		}
		return TransposeAllAxes(x, axes...)
	})
	return s
}
