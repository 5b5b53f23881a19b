package td3

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Vary is the policy-gradient variation: each of the parents [M, N] takes steps of its own, new Adam against [TD3.PolicyLoss] under
// critics [2, C] that do not change, and the result is their children [M, N]. All see the same batches. A child depends on
// its parent alone, not on the others.
func (t TD3) Vary(parents, critic *Node, buffer replay.Buffer, key xla.Key, steps int) *Node {
	type state struct {
		Buffer replay.Buffer
		Key    xla.Key
		Obs    *Node
	}
	g, batch := parents.Graph(), t.TransitionsBatchSize
	start := state{buffer, key, Zeros(g, shapes.Make(dtypes.Float32, steps*batch, t.Observations()))}
	drawn := xla.ForKernels(g, steps, start, func(step *Node, s state) state {
		s.Obs = xla.SetRows(s.Obs, MulScalar(step, int32(batch)), t.draw(s.Buffer, s.Key.Fold(step)).Obs)
		return s
	})
	return t.vary(parents, critic, drawn.Obs)
}

// shared is what all individuals read: a tree.
type shared struct {
	Obs    *Node // of all steps, [steps * B, observations]
	Critic nn.Given
}

// vary is [TD3.Vary] with the observations of all steps given, [steps * B, observations].
func (t TD3) vary(parents, critics, obs *Node) *Node {
	type state struct {
		Rows   *Node
		Shared shared
	}
	start := state{parents, shared{obs, t.Critic.Single(critics, 0).Given(obs)}}
	m := parents.Shape().Dimensions[0]
	group := m
	if xla.KindOf(parents.Graph()) == xla.CPU {
		group = groupOf(m)
	}
	return xla.ForKernels(parents.Graph(), m/group, start, func(i *Node, s state) state {
		first := MulScalar(i, int32(group))
		s.Rows = xla.SetRows(s.Rows, first, t.varyGroup(xla.Rows(s.Rows, first, group), s.Shared))
		return s
	}).Rows
}

// groupOf is how many of m individuals XLA:CPU varies together: the largest divisor of m up to 8. One alone leaves gaps between its
// products and reads the critic for itself; many do not fit the cache with their moments.
func groupOf(m int) int {
	group := 1
	for d := range min(m, 8) {
		if m%(d+1) == 0 {
			group = d + 1
		}
	}
	return group
}

// varyGroup varies the individuals of some rows [P, N] side by side: their losses add up, and none depends on another's parameters.
func (t TD3) varyGroup(rows *Node, from shared) *Node {
	type state struct {
		Policies nn.Net
		Moments  nn.MomentsOf[nn.Net]
		Shared   shared
	}
	adam, batch, p := nn.NewAdam(t.PolicyLearningRate), t.TransitionsBatchSize, rows.Shape().Dimensions[0]
	start := state{t.Actor.View(rows), nn.CutMoments(adam.Start(rows), t.Actor.View), from}
	end := xla.ForKernels(rows.Graph(), from.Obs.Shape().Dimensions[0]/batch, start, func(step *Node, s state) state {
		at := MulScalar(step, int32(batch))
		obs := InsertAxes(xla.Rows(s.Shared.Obs, at, batch), 0)
		actions := s.Policies.Apply(BroadcastToDims(obs, p, batch, t.Observations()))
		critic := s.Shared.Critic
		critic.Fixed = xla.Rows(critic.Fixed, at, batch)
		loss := DivScalar(Neg(ReduceAllSum(critic.Apply(actions))), float64(batch)) // the sum of the individuals' losses
		gradient := Gradient(loss, xla.Leaves(s.Policies)...)
		s.Policies, s.Moments = nn.UpdateTree(adam, s.Policies, gradient, s.Moments)
		return s
	})
	return end.Policies.Join()
}
