package ppo

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
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

// collecting is the program that collects data; its environments continue across iterations.
type collecting struct {
	agent     agent
	env       episodic
	shared    xla.Slices
	describes bool       // whether it records descriptors
	stateForm envs.State // the structure of a slice's state
}

// packed returns the leaves of a slice's state with the batch on the first axis.
func packed(s envs.State) []*Node {
	leaves := xla.Flatten(s)
	for i := range s.PhysicsState {
		leaves[i] = moved(leaves[i], leaves[i].Rank()-1, 0)
	}
	return leaves
}

// unpacked is the inverse of packed, for a state of the given form.
func unpacked(form envs.State, leaves []*Node) envs.State {
	leaves = slices.Clone(leaves)
	for i := range form.PhysicsState {
		leaves[i] = moved(leaves[i], 0, leaves[i].Rank()-1)
	}
	return xla.Unflatten(form, leaves)
}

// moved moves an axis to another position.
func moved(x *Node, from, to int) *Node {
	var axes []int
	for i := range x.Rank() {
		axes = append(axes, i)
	}
	axes = slices.Insert(slices.Delete(axes, from, from+1), to, from)
	return TransposeAllAxes(x, axes...)
}

// start resets the environments of a worker and returns the leaves of their states, [turns, slice,
// ...].
func (c *collecting) start(key random.Key, worker *Node) []*Node {
	type state struct {
		Key    random.Key
		Worker *Node
	}
	return xla.MapSlices(c.shared.Turns(), worker, state{key, worker}, func(turn *Node, s state) []*Node {
		c.stateForm = envs.Reset(c.env,
			s.Key.FoldIn(streamStates).FoldInEach(c.shared.Numbers(turn, s.Worker)))
		return packed(c.stateForm)
	})
}

// playing is the input for a slice of environments: a pytree.
type playing struct {
	Actor   actor
	Choices *Node // see [scoring.Discrete]; nil for other environments
	State   envs.State
	Keys    random.Key // [B], one per environment
}

// collect plays the sequences of an iteration; key is the iteration's collection stream. It returns
// the states of the worker's environments and the sequences of all workers.
func (c *collecting) collect(from actor, choices *Node, kept []*Node, key random.Key,
	worker *Node) ([]*Node, data) {
	type state struct {
		Actor   actor
		Choices *Node
		Key     random.Key
		Worker  *Node
		Kept    []*Node
		Data    data // [turns, slice, unrolls, ...]
	}
	type slice struct {
		Playing playing
		Data    data // [unrolls, slice, ...]
	}
	g, unrolls := worker.Graph(), c.agent.unrolls()
	steps, turns := c.agent.UnrollLength, c.shared.Turns()
	begin := state{from, choices, key, worker, kept,
		c.none(g, turns, c.shared.Size, unrolls)}
	end := xla.ForSlices(turns, worker, begin, func(turn *Node, st state) state {
		mine := xla.Map(st.Kept, func(x *Node) *Node { return xla.Row(x, turn) })
		first := slice{playing{st.Actor, st.Choices, unpacked(c.stateForm, mine),
			st.Key.FoldInEach(c.shared.Numbers(turn, st.Worker))},
			c.none(g, unrolls, c.shared.Size)}
		after := xla.For(g, unrolls, first, func(unroll *Node, sl slice) slice {
			s, d := c.unroll(sl.Playing, MulScalar(unroll, int32(steps)))
			sl.Playing.State = s
			sl.Data = xla.SetRow(sl.Data, unroll, d)
			return sl
		})
		st.Kept = xla.SetRow(st.Kept, turn, packed(after.Playing.State))
		st.Data = xla.SetRow(st.Data, turn, xla.Map(after.Data, swapped))
		return st
	})
	return end.Kept, xla.Map(end.Data, func(x *Node) *Node {
		all := c.shared.Join(x, worker) // [environments, unrolls, ...]
		return Reshape(all, append([]int{c.agent.sequences()}, all.Shape().Dimensions[2:]...)...)
	})
}

// none returns sequences [dims..., steps, ...] of zeros.
func (c *collecting) none(g *Graph, dims ...int) data {
	a, env := c.agent, c.env.Spec()
	zeros := func(dtype dtypes.DType, more ...int) *Node {
		return Zeros(g, shapes.Make(dtype, slices.Concat(dims, more)...))
	}
	t := a.UnrollLength
	d := data{Obs: zeros(dtypes.Float32, t+1, env.Observations), Decision: zeros(dtypes.Int32, t),
		LogProb: zeros(dtypes.Float32, t), Reward: zeros(dtypes.Float32, t),
		Done: zeros(dtypes.Float32, t), Truncation: zeros(dtypes.Float32, t)}
	if !a.discrete {
		d.Decision = zeros(dtypes.Float32, t, env.Actions)
	}
	if c.describes {
		d.Descriptor = zeros(dtypes.Float32, t, len(env.Descriptor.Lower))
	}
	return d
}

// unroll plays the decisions of a sequence, whose numbers begin with first. It returns the final states
// and the sequence.
func (c *collecting) unroll(p playing, first *Node) (envs.State, data) {
	type state struct {
		Playing playing
		First   *Node
		Data    data // time-major
	}
	g, steps := first.Graph(), c.agent.UnrollLength
	batch := p.State.Reward.Shape().Size()
	start := state{p, first, xla.Map(c.none(g, batch), swapped)}
	end := xla.For(g, steps, start, func(step *Node, s state) state {
		before := s.Playing.State
		policy := c.agent.decide(s.Playing.Actor, before.Observation)
		decision := policy.sample(s.Playing.Keys.FoldInEach(Add(s.First, step)).FoldIn(streamChoice))
		var action *Node
		if choices := s.Playing.Choices; choices != nil {
			action = Gather(choices, InsertAxes(decision, -1))
		} else {
			action = Tanh(decision)
		}
		after := envs.Step(c.env, before, action)
		s.Playing.State = after
		d := data{before.Observation, decision, policy.logProb(decision), after.Reward, after.Done,
			c.env.Truncation(after), nil}
		if c.describes {
			d.Descriptor = c.measured(before, after)
		}
		s.Data = xla.SetRow(s.Data, step, d)
		return s
	})
	s, d := end.Playing.State, end.Data
	d.Obs = xla.SetRow(d.Obs, Const(g, int32(steps)), s.Observation)
	if e, ok := c.env.(extended); ok {
		d.Reward, d.Done, d.Truncation = e.Credit(d.Reward, d.Done, d.Truncation, s)
	}
	return s, xla.Map(d, swapped)
}

// measured returns what a [Walker] maximises of each component of the descriptor, [n, components]: the state
// descriptor, or its change times the steps of an episode if the descriptor is that of the final state, as
// for QDAC. The change in the step that ends an episode is not known.
func (c *collecting) measured(before, after envs.State) *Node {
	episodes, ok := c.env.(envs.Episodes)
	spec := c.env.Spec()
	if !ok || spec.Descriptor.Kind != envs.Final {
		return after.Descriptor
	}
	ended := func(s envs.State) *Node {
		return BroadcastToShape(InsertAxes(GreaterThan(s.Done, ZerosLike(s.Done)), -1), s.Descriptor.Shape())
	}
	from := Where(ended(before), episodes.Start(before), before.Descriptor)
	change := MulScalar(Sub(after.Descriptor, from), float64(spec.Length))
	return Where(ended(after), ZerosLike(change), change)
}

// swapped transposes the first two axes.
func swapped(x *Node) *Node { return Transpose(x, 0, 1) }

// modes returns policies [m, N] that act with the modes of their distributions, in a form with as many
// outputs as actions.
func (a agent) modes(policies *Node, form nn.MLP) nn.Net {
	net := a.policy.View(policies)
	last, outputs := len(net.Kernel)-1, form.Sizes[len(form.Sizes)-1]
	net.Kernel[last] = Slice(net.Kernel[last], AxisRange(), AxisRange(), AxisRange(0, outputs))
	net.Bias[last] = Slice(net.Bias[last], AxisRange(), AxisRange(0, outputs))
	net.Form = form
	return net
}

// genotype returns the modes of an actor as a row of search.Task's form.
func (a agent) genotype(from actor, form nn.MLP) *Node {
	net := a.modes(from.Policy.Join(), form)
	if s := from.Statistics; s != nil {
		net.Mean, net.Deviation = InsertAxes(s.Mean, 0), InsertAxes(s.Deviation(), 0)
	}
	return net.Join()
}
