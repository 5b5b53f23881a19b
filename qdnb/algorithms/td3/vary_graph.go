package td3

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// DrawObservations draws the observations for [TD3.Vary]: those of one batch of transitions per
// step, [steps * B, observations].
func (t TD3) DrawObservations(buffer replay.Buffer, key random.Key, steps int) *Node {
	type state struct {
		Buffer replay.Buffer
		Key    random.Key
		Obs    *Node
	}
	batch := t.TransitionsBatchSize
	start := state{buffer, key, Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32, steps*batch, t.Observations()))}
	return xla.ForUnfused(key.Hi.Graph(), steps, start, func(step *Node, s state) state {
		s.Obs = xla.SetRows(s.Obs, MulScalar(step, int32(batch)), t.draw(s.Buffer, s.Key.FoldInEach(step)).Obs)
		return s
	}).Obs
}

// shared is the data that all individuals read: a pytree.
type shared struct {
	Obs    *Node // observations of all steps, [steps * B, observations]
	Critic nn.FixedInputs
}

// Vary is the policy-gradient variation of parents [M, N]. It returns their children [M, N]. For
// each parent, a freshly initialised Adam takes one step on its negative value per batch of the
// observations [steps * B, observations], with a fixed critic. A child depends only on its own
// parent. all is the number of parents of all workers, and worker the worker argument of
// [xla.MapSlices].
func (t TD3) Vary(parents *Node, critic nn.Network, observations, worker *Node, all int) *Node {
	return t.VaryTowards(parents, nil, critic, observations, worker, all)
}

// VaryTowards is [TD3.Vary] for a critic that reads goals [M, k], one of each parent, between
// observation and action; nil: it reads none.
func (t TD3) VaryTowards(parents, goals *Node, critic nn.Network, observations, worker *Node, all int) *Node {
	type group struct{ Parents, Goals *Node }
	dims := parents.Shape().Dimensions
	return xla.MapGroups(dims[0], dims[1], all, worker, group{parents, goals},
		shared{observations, critic.WithFixedInputs(observations)},
		func(g group, s shared) *Node { return t.varyGroup(g.Parents, g.Goals, s) })
}

// varyGroup varies the individuals of the given rows [P, N] together: the loss is the sum of their
// losses, and no individual's loss depends on another's parameters.
func (t TD3) varyGroup(rows, goals *Node, from shared) *Node {
	type state struct {
		Policies nn.Net
		Goals    *Node
		Moments  nn.MomentsOf[nn.Net]
		Shared   shared
	}
	adam, batch, p := nn.NewAdam(t.PolicyLearningRate), t.TransitionsBatchSize,
		rows.Shape().Dimensions[0]
	start := state{t.Actor.View(rows), goals, nn.MapMoments(adam.Start(rows), t.Actor.View), from}
	end := xla.ForUnfused(rows.Graph(), from.Obs.Shape().Dimensions[0]/batch, start, func(step *Node, s state) state {
		at := MulScalar(step, int32(batch))
		obs := InsertAxes(xla.Rows(s.Shared.Obs, at, batch), 0)
		actions := s.Policies.Apply(BroadcastToDims(obs, p, batch, t.Observations()))
		critic := s.Shared.Critic
		critic.Fixed = xla.Rows(critic.Fixed, at, batch)
		inputs := actions
		if s.Goals != nil {
			goals := InsertAxes(s.Goals, 1)
			inputs = Concatenate([]*Node{BroadcastToDims(goals, p, batch, goals.Shape().Dimensions[2]), actions}, 2)
		}
		// sum of the individuals' losses
		loss := DivScalar(Neg(ReduceAllSum(critic.Apply(inputs))), float64(batch))
		gradient := Gradient(loss, xla.Flatten(s.Policies)...)
		s.Policies, s.Moments = nn.UpdateTree(adam, s.Policies, gradient, s.Moments)
		return s
	})
	return end.Policies.Join()
}
