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

// Losses are scalar means over the updates of a call. A NaN loss or a NaN parameter means that an
// update of the call failed and that the learner is no longer usable.
type Losses struct {
	Critic *Node // see [TD3.Train]
	Actor  *Node // the negative mean value of the actor's actions; 0 if it was not updated
}

// Train runs updates, each on a new batch of transitions drawn from the buffer:
//
//	one Adam step of the critics; their targets follow with factor soft_tau_update
//	if the step number is a multiple of policy_delay:
//		one Adam step of the actor, on its value by the first critic before this update;
//		the actor's target follows
func (t TD3) Train(l Learner, buffer replay.Buffer, key random.Key, steps int) (Learner, Losses) {
	g := l.Step.Graph()
	type state struct {
		Learning learning
		Buffer   replay.Buffer
		Key      random.Key
		Sums     sums
	}
	end := xla.ForUnfused(g, steps, state{t.cut(l), buffer, key, none(g)},
		func(step *Node, s state) state {
			draw := s.Key.FoldInEach(step)
			batch := t.draw(s.Buffer, draw)
			noise := draw.FoldIn(streamNoise).Normal(t.TransitionsBatchSize, t.Actions())
			s.Learning, s.Sums = t.update(s.Learning, s.Sums, batch, noise)
			return s
		})
	after := join(end.Learning)
	return after, end.Sums.mean().of(after)
}

// Random streams of a step.
const (
	streamBatch = iota
	streamNoise
)

// draw draws the batch of a step.
func (t TD3) draw(buffer replay.Buffer, key random.Key) replay.Batch {
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

func (s sums) mean() Losses {
	return Losses{Div(s.Critic, MaxScalar(s.Critics, 1)), Div(s.Actor, MaxScalar(s.Actors, 1))}
}

// of makes a loss NaN if its networks contain NaN.
func (l Losses) of(after Learner) Losses {
	return Losses{nn.PropagateNaN(l.Critic, after.Critic), nn.PropagateNaN(l.Actor, after.Actor)}
}

// update is one step of [TD3.Train] on a batch, with standard normal noise [B, actions].
func (t TD3) update(l learning, s sums, batch replay.Batch, noise *Node) (learning, sums) {
	before := l.Critic[0]
	loss := Twin(l.Critic).Loss(StopGradient(t.target(l.TargetCritic, l.TargetActor[0], batch, noise)), batch)
	l.Critic, l.TargetCritic, l.CriticMoments = updateCritics(nn.NewAdam(t.CriticLearningRate),
		l.Critic, l.TargetCritic, l.CriticMoments, loss, t.SoftTauUpdate)
	s.Critic, s.Critics = Add(s.Critic, loss), AddScalar(s.Critics, 1)

	// The actor's update is the body of a loop of zero or one iterations, because XLA evaluates both
	// branches of a Where. On GPUs and TPUs that costs less than such a loop.
	type actor struct {
		Actor, Target []nn.Network
		Moments       nn.MomentsOf[[]nn.Network]
		Critic        nn.Network
		Obs           *Node
		Sum, Count    *Node
	}
	due := Equal(ModScalar(l.Step, int32(t.PolicyDelay)), ZerosLike(l.Step))
	start := actor{l.Actor, l.TargetActor, l.ActorMoments, before, batch.Obs, s.Actor, s.Actors}
	learn := func(_ *Node, a actor) actor {
		loss := policyLoss(a.Actor[0], a.Critic, a.Obs)
		gradient := Gradient(loss, xla.Flatten(a.Actor)...)
		a.Actor, a.Moments = nn.UpdateTree(nn.NewAdam(t.GreedyLearningRate), a.Actor, gradient, a.Moments)
		a.Target = nn.Polyak(a.Target, a.Actor, t.SoftTauUpdate)
		a.Sum, a.Count = Add(a.Sum, loss), AddScalar(a.Count, 1)
		return a
	}
	var after actor
	if xla.KindOf(due.Graph()).Accelerator() {
		after = xla.Map2(learn(nil, start), start, func(updated, unchanged *Node) *Node {
			return Where(BroadcastToDims(due, updated.Shape().Dimensions...), updated, unchanged)
		})
	} else {
		after = xla.RepeatUnfused(ConvertDType(due, dtypes.Int32), start, learn)
	}
	l.Actor, l.TargetActor, l.ActorMoments, s.Actor, s.Actors = after.Actor, after.Target,
		after.Moments, after.Sum, after.Count
	l.Step = AddScalar(l.Step, 1)
	return l, s
}
