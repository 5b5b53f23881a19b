package hierarchy

import (
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Random streams of a run or of an iteration.
const (
	streamStates     = -1 - iota // initial states
	streamLearner                // initial networks
	streamEvaluation             // initial states of evaluations
	streamCollect                // data collection of an iteration
	streamUpdates
	streamDecisions // decisions of an evaluation
)

// actor is the policy that chooses skills, replicated on every worker: a pytree.
type actor struct {
	Policy     *Node          // [1, N]
	Statistics *nn.Statistics // of observations; nil without normalisation
}

func actorOf(l ppo.Learner) actor { return actor{l.Nets.Policy, l.Statistics} }

// acting returns the actor with its networks cut out of the row.
func (a actor) acting(algorithm ppo.PPO) ppo.Acting {
	return algorithm.Acting(a.Policy, a.Statistics)
}

// collecting is the program that collects data; its environments continue across iterations.
type collecting struct {
	task      Task
	algorithm ppo.PPO
	settings  Settings
	shared    xla.Slices
	stateForm envs.State // the structure of a slice's state
}

func (c *collecting) episodes() envs.Episodes { return envs.AutoReset(c.task.Env, c.task.length) }

// start resets the environments of a worker and returns the leaves of their states, [turns, slice,
// ...].
func (c *collecting) start(key random.Key, worker *Node) []*Node {
	type state struct {
		Key    random.Key
		Worker *Node
		Kept   []*Node
	}
	g := worker.Graph()
	reset := func(s state, turn *Node) envs.State {
		return c.episodes().Reset(s.Key.FoldIn(streamStates).FoldInEach(c.shared.Numbers(turn, s.Worker)))
	}
	begin := state{Key: key, Worker: worker}
	c.stateForm = reset(begin, Const(g, int32(0)))
	for _, leaf := range packed(c.stateForm) {
		begin.Kept = append(begin.Kept, room(c.shared, leaf))
	}
	return xla.ForSlices(c.shared.Turns(), worker, begin, func(turn *Node, s state) state {
		s.Kept = xla.SetRow(s.Kept, turn, packed(reset(s, turn)))
		return s
	}).Kept
}

// stateNames are the names of the environment states in checkpoints.
func (c *collecting) stateNames() []string {
	names := xla.Names(c.stateForm)
	for i, name := range names {
		names[i] = strings.ToLower(name)
	}
	return names
}

// collect plays the sequences of an iteration; key is the iteration's collection stream. It returns
// the states of the worker's environments and the sequences of all workers.
func (c *collecting) collect(a actor, rows *Node, kept []*Node, key random.Key, worker *Node) ([]*Node,
	ppo.Data) {
	type state struct {
		Actor  actor
		Rows   *Node
		Key    random.Key
		Worker *Node
		Kept   []*Node
		Data   ppo.Data // [turns, slice, unrolls, ...]
	}
	type slice struct {
		Playing playing
		Data    ppo.Data // [unrolls, slice, ...]
	}
	g, env, s := worker.Graph(), c.episodes(), c.settings
	steps, unrolls := s.UnrollLength, s.Unrolls()
	float := func(dims ...int) *Node {
		return Zeros(g, shapes.Make(dtypes.Float32,
			append([]int{c.shared.Turns(), c.shared.Size, unrolls}, dims...)...))
	}
	begin := state{a, rows, key, worker, kept, ppo.Data{
		Obs: float(steps+1, env.Spec().Observations), Choice: ConvertDType(float(steps), dtypes.Int32),
		LogProb: float(steps),
		Reward:  float(steps), Done: float(steps), Truncation: float(steps),
	}}
	end := xla.ForSlices(c.shared.Turns(), worker, begin, func(turn *Node, st state) state {
		mine := xla.Map(st.Kept, func(x *Node) *Node { return xla.Row(x, turn) })
		p := playing{
			Acting: st.Actor.acting(c.algorithm), Rows: st.Rows, States: unpacked(c.stateForm, mine),
			Keys: st.Key.FoldInEach(c.shared.Numbers(turn, st.Worker)),
		}
		part := xla.Map(st.Data, func(x *Node) *Node {
			dims := x.Shape().Dimensions
			return Zeros(g, shapes.Make(x.DType(), append([]int{unrolls, c.shared.Size}, dims[3:]...)...))
		})
		after := xla.For(g, unrolls, slice{p, part}, func(unroll *Node, sl slice) slice {
			states, data := c.task.unroll(env, sl.Playing, MulScalar(unroll, int32(steps)), steps,
				s.SampleSkills, s.PublishedCredit)
			sl.Playing.States = states
			sl.Data = xla.SetRow(sl.Data, unroll, data)
			return sl
		})
		st.Kept = xla.SetRow(st.Kept, turn, packed(after.Playing.States))
		st.Data = xla.Map2(st.Data, after.Data, func(all, one *Node) *Node {
			return xla.SetRow(all, turn, swapped(one))
		})
		return st
	})
	return end.Kept, xla.Map(end.Data, func(x *Node) *Node {
		all := c.shared.Join(x, worker) // [environments, unrolls, ...]
		return Reshape(all, append([]int{s.Sequences()}, all.Shape().Dimensions[2:]...)...)
	})
}

// episodes plays one episode in each environment and returns the episodes of all workers. states is
// the key of the initial states, decisions the key of the choices.
func (e *Evaluator) episodes(a actor, rows *Node, states, decisions random.Key, worker *Node) episode {
	type state struct {
		Actor             actor
		Rows              *Node
		States, Decisions random.Key
		Worker            *Node
		Episodes          episode // [turns, slice, ...]
	}
	g, t := worker.Graph(), e.shared.Turns()
	room := func(dims ...int) *Node {
		return Zeros(g, shapes.Make(dtypes.Float32, append([]int{t, e.shared.Size}, dims...)...))
	}
	begin := state{a, rows, states, decisions, worker, episode{
		room(), room(), ConvertDType(room(e.task.decisions()), dtypes.Int32),
		room(e.task.length, 2+e.task.Looks),
	}}
	end := xla.ForSlices(t, worker, begin, func(turn *Node, s state) state {
		numbers := e.shared.Numbers(turn, s.Worker)
		found := e.task.evaluate(playing{
			Acting: s.Actor.acting(e.algorithm), Rows: s.Rows,
			States: envs.Reset(e.task.Env, s.States.FoldInEach(numbers)),
			Keys:   s.Decisions.FoldInEach(numbers),
		})
		s.Episodes = xla.SetRow(s.Episodes, turn, found)
		return s
	})
	return xla.Map(end.Episodes, func(x *Node) *Node { return e.shared.Join(x, worker) })
}
