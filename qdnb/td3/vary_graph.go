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

// vary is [TD3.Vary] with the observations of all steps given, [steps * B, observations]: one individual after the other on XLA:CPU,
// where the products of one occupy all cores and its parameters and moments stay in the cache; elsewhere all together.
func (t TD3) vary(parents, critic, obs *Node) *Node {
	if xla.KindOf(parents.Graph()) == xla.CPU {
		return t.varyEach(parents, critic, obs)
	}
	return t.varyTogether(parents, critic, obs)
}

// varyTogether varies all individuals in each step: their losses add up, and none depends on another's parameters.
func (t TD3) varyTogether(parents, critic, obs *Node) *Node {
	type state struct {
		Rows    *Node
		Moments nn.Moments
		Critic  net
		Obs     *Node
	}
	adam, batch, m := nn.NewAdam(t.PolicyLearningRate), t.TransitionsBatchSize, parents.Shape().Dimensions[0]
	start := state{parents, adam.Start(parents), cut(t.Critic, critic, 0), obs}
	return xla.ForKernels(parents.Graph(), obs.Shape().Dimensions[0]/batch, start, func(step *Node, s state) state {
		seen := xla.Rows(s.Obs, MulScalar(step, int32(batch)), batch)
		all := BroadcastToDims(InsertAxes(seen, 0), m, batch, t.Observations())
		actions := Reshape(t.Actor.View(s.Rows).Apply(all), m*batch, t.Actions())
		loss := DivScalar(Neg(ReduceAllSum(values(s.Critic, Reshape(all, m*batch, -1), actions))), float64(batch))
		s.Rows, s.Moments = adam.Update(s.Rows, Gradient(loss, s.Rows)[0], s.Moments)
		return s
	}).Rows
}

// varyEach varies one individual after the other.
func (t TD3) varyEach(parents, critic, obs *Node) *Node {
	batch := t.TransitionsBatchSize
	type individual struct {
		Policy  []net
		Moments moments
		Critic  net
		Obs     *Node
	}
	type state struct {
		Rows   *Node
		Critic net
		Obs    *Node
	}
	adam := nn.NewAdam(t.PolicyLearningRate)
	return xla.ForKernels(parents.Graph(), parents.Shape().Dimensions[0], state{parents, cut(t.Critic, critic, 0), obs}, func(i *Node, s state) state {
		row := xla.Rows(s.Rows, i, 1)
		start := individual{cutAll(t.Actor, row), startMoments(adam, t.Actor, row), s.Critic, s.Obs}
		end := xla.ForKernels(i.Graph(), obs.Shape().Dimensions[0]/batch, start, func(step *Node, s individual) individual {
			obs := xla.Rows(s.Obs, MulScalar(step, int32(batch)), batch)
			gradient := Gradient(policyLoss(s.Policy[0], s.Critic, obs), xla.Leaves(s.Policy)...)
			s.Policy, s.Moments = adamStep(adam, s.Policy, gradient, s.Moments)
			return s
		})
		s.Rows = xla.SetRows(s.Rows, i, join(end.Policy...))
		return s
	}).Rows
}
