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

// Train runs updates, each on a new batch of transitions drawn from the buffer:
//
//	one Adam step of the critics; their targets follow with factor soft_tau_update
//	if the step number is a multiple of policy_delay:
//		one Adam step of the actor, on its value by the first critic before this update;
//		the actor's target follows
//
// The losses are scalar means over the updates: of the critics, and the negative mean value of the actor's
// actions, 0 if it was not updated. A NaN loss means that the state is no longer usable.
func (t TD3) Train(ts TrainingState, buffer replay.Buffer, key random.Key,
	steps int) (after TrainingState, critic, actor *Node) {
	g := ts.Step.Graph()
	type state struct {
		Learner TrainingState
		Buffer  replay.Buffer
		Key     random.Key
		Sums    sums
	}
	end := xla.ForUnfused(g, steps, state{ts, buffer, key, none(g)}, func(step *Node, s state) state {
		draw := s.Key.FoldInEach(step)
		batch := t.draw(s.Buffer, draw)
		noise := draw.FoldIn(streamNoise).Normal(t.TransitionsBatchSize, t.Actions())
		s.Learner, s.Sums = t.update(s.Learner, s.Sums, batch, noise)
		return s
	})
	critic, actor = end.Sums.mean(end.Learner)
	return end.Learner, critic, actor
}

// Random streams of a step.
const (
	streamBatch = iota
	streamNoise
)

// draw draws the batch of a step.
func (t TD3) draw(buffer replay.Buffer, key random.Key) replay.Transitions {
	read := t.Layout().Split
	if t.Read != nil {
		read = t.Read
	}
	return read(buffer.Sample(key.FoldIn(streamBatch), t.TransitionsBatchSize))
}

// sums holds the sums of the losses and the numbers of updates, float32: a pytree.
type sums struct{ Critic, Critics, Actor, Actors *Node }

func none(g *Graph) sums {
	zero := Zeros(g, shapes.Make(dtypes.Float32))
	return sums{zero, zero, zero, zero}
}

// mean returns the losses, NaN if the networks after the updates contain NaN.
func (s sums) mean(after TrainingState) (critic, actor *Node) {
	of := func(sum, updates *Node, networks []*Node) *Node {
		return nn.PropagateNaN(Div(sum, MaxScalar(updates, 1)), networks...)
	}
	return of(s.Critic, s.Critics, xla.Flatten(after.Critic.Params)),
		of(s.Actor, s.Actors, xla.Flatten(after.Actor.Params))
}

// update is one step of [TD3.Train] on a batch, with standard normal noise [B, actions].
func (t TD3) update(ts TrainingState, s sums, batch replay.Transitions, noise *Node) (TrainingState, sums) {
	before := ts.Critic.Params[0]
	target := StopGradient(t.target(ts.Critic.Target, ts.Actor.Target, batch, noise))
	loss := ts.Critic.Params.Loss(target, batch)
	ts.Critic = ts.Critic.Step(loss)
	s.Critic, s.Critics = Add(s.Critic, loss), AddScalar(s.Critics, 1)

	type actor struct {
		Actor      nn.Targeted[nn.Network]
		Critic     nn.Network
		Obs        *Node
		Sum, Count *Node
	}
	due := Equal(ModScalar(ts.Step, int32(t.PolicyDelay)), ZerosLike(ts.Step))
	start := actor{ts.Actor, before, batch.Obs, s.Actor, s.Actors}
	after := xla.WhenUnfused(due, start, func(_ *Node, a actor) actor {
		loss := policyLoss(a.Actor.Params, a.Critic, a.Obs)
		a.Actor = a.Actor.Step(loss)
		a.Sum, a.Count = Add(a.Sum, loss), AddScalar(a.Count, 1)
		return a
	})
	ts.Actor, s.Actor, s.Actors = after.Actor, after.Sum, after.Count
	ts.Step = AddScalar(ts.Step, 1)
	return ts, s
}
