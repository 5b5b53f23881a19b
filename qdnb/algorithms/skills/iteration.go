package skills

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// iteration builds the program of one step of all environments and the updates that follow.
type iteration struct {
	method
	sac          sac.SAC
	environments int
	updates      int
	random       bool // uniformly random actions instead of the actor's
}

// newIteration returns an iteration without environments and updates.
func newIteration(method method, config sac.Config) iteration {
	spec := method.Env.Spec()
	return iteration{method: method, sac: config.For(spec.Observations+method.Skills.Size(), spec.Actions)}
}

// state is the device state of a search except its replay buffer. It is a pytree.
type state struct {
	Learner   sac.TrainingState
	Diversity Diversity    // nil if the policy learns only the task
	Envs      envs.State   // of the auto-reset environments
	Returns   *ringReturns // returns of the buffer's rows; nil if the objective does not use them
	Skills    *Node        // [environments, size] of skills that are vectors; nil for others
}

// learning is what updates change. It is a pytree.
type learning struct {
	Learner   sac.TrainingState
	Diversity Diversity
}

// metrics are scalars, averaged over the updates of an iteration. They are a pytree. Metrics
// that a method lacks are 0.
type metrics struct {
	Critic, Actor, Alpha *Node // losses, see [sac.SAC.Update]
	Diversity            *Node // loss of the diversity model
	Reward               *Node // reward learnt from, before scaling
	DiversityReward      *Node
	Accepted             *Node // share of the transitions accepted by a gate
	Task                 *Node // mean task reward of the fresh transitions
	Invalid              *Node // number of fresh transitions that were not finite
}

// Random streams of a run or of an iteration.
const (
	streamEnvs      = -1 - iota // initial states
	streamLearner               // initial networks
	streamDiversity             // initial state of the diversity reward
	_                           // is not used; the numbers of the next ones stay
	streamAct                   // actions of an iteration
	streamUpdates
	streamSkills // skills of the first episodes, if they are vectors
)

// streamSkill is the random stream of actions that draws the skills of later episodes.
const streamSkill = 1

// Random streams of an update.
const (
	streamDraw = iota
	streamNoise
	streamRedraw // random skills of sampled transitions
	streamOwn    // of the diversity reward
)

// episodes returns the training environments, with auto-reset.
func (it iteration) episodes() envs.Episodes { return envs.AutoReset(it.Env, it.Length) }

// axes names the sizes of the programs.
func (it iteration) axes() []xla.Axis {
	return append([]xla.Axis{
		{Size: it.sac.BatchSize, Meaning: "transitions of an update"},
		{Size: it.environments, Meaning: "environments"},
		{Size: it.Skills.Size(), Meaning: it.Skills.axis()},
		{Size: it.Length, Meaning: "steps of an episode"},
	}, envs.Axes(it.Env.Spec())...)
}

// start returns the state before the first iteration.
func (it iteration) start(root random.Key, capacity int) (state, replay.Buffer) {
	g := root.Hi.Graph()
	s := state{Learner: it.sac.Start(root.FoldIn(streamLearner))}
	if d := it.Diversity; d != nil {
		s.Diversity = xla.CheckSame(d, "Init", d.Init(it.Problem, root.FoldIn(streamDiversity)))
	}
	s.Envs = it.episodes().Reset(root.FoldIn(streamEnvs).Split(it.environments))
	if it.Skills.vectors() {
		s.Skills = it.Skills.drawn(root.FoldIn(streamSkills), it.environments)
	}
	if it.Objective != nil && it.Objective.NeedsReturns() {
		returns := newReturns(g, capacity, it.environments)
		s.Returns = &returns
	}
	return s, it.layout().NewBuffer(g, capacity)
}

// act takes one step in all environments, with actions sampled from the actor, and stores the
// transitions, which it returns. Those that are not finite are replaced, see
// [replay.Buffer.KeepFinite]. The metrics are the task reward and the number of replaced transitions.
func (it iteration) act(s state, buffer replay.Buffer, key random.Key) (state, replay.Buffer, *Node, metrics) {
	n, skill := it.environments, s.Skills
	if it.Skills.OneHot > 0 {
		skill = it.Skills.playing(key.Hi.Graph(), n)
	}
	var action *Node
	if it.random {
		action = key.Uniform(-1, 1, n, it.sac.Actions())
	} else {
		outputs := s.Learner.Actor.Params.Apply(it.inputs(s.Envs.Observation, skill))
		action, _ = nn.NewTanhGaussian(outputs).Sample(key.Normal(n, it.sac.Actions()))
	}
	episodes, before := it.episodes(), s.Envs
	s.Envs = episodes.Step(before, action)
	rows, invalid := buffer.KeepFinite(it.rows(before, s.Envs, action, skill, episodes.Truncation(s.Envs)))
	buffer = buffer.Insert(rows)
	if s.Skills != nil { // an episode keeps its skill
		s.Skills = Where(ended(s.Envs, s.Skills), it.Skills.drawn(key.FoldIn(streamSkill), n), s.Skills)
	}
	finite := xla.Finite(s.Envs.Reward)
	if s.Returns != nil { // an infinite return would pass every gate, a NaN passes none
		returns := s.Returns.Insert(Where(finite, s.Envs.Reward, ConstAs(s.Envs.Reward, math.NaN())), s.Envs.Done, it.Length)
		s.Returns = &returns
	}
	reward := Where(finite, s.Envs.Reward, ZerosLike(s.Envs.Reward))
	return s, buffer, rows, metrics{Task: ReduceAllMean(reward), Invalid: ConvertDType(invalid, dtypes.Float32)}
}

// build builds one iteration: act, store, update.
func (it iteration) build(s state, buffer replay.Buffer, key random.Key) (state, replay.Buffer, metrics) {
	s, buffer, rows, acted := it.act(s, buffer, key.FoldIn(streamAct))
	if o, ok := s.Diversity.(Observer); ok {
		after := xla.CheckSame(s.Diversity, "Observe", o.Observe(it.read(rows, nil)))
		xla.CheckLike(s.Diversity, "Observe", "its state", xla.Flatten(after), xla.Flatten(s.Diversity))
		s.Diversity = after
	}
	l, means := it.train(learning{s.Learner, s.Diversity}, buffer, s.Returns, key.FoldIn(streamUpdates))
	s.Learner, s.Diversity = l.Learner, l.Diversity
	means.Task, means.Invalid = acted.Task, acted.Invalid
	// a loss is NaN if the parameters it trained contain a NaN
	means.Critic = nn.PropagateNaN(means.Critic, xla.Flatten(s.Learner.Critic.Params)...)
	means.Actor = nn.PropagateNaN(means.Actor, xla.Flatten(s.Learner.Actor.Params)...)
	means.Diversity = nn.PropagateNaN(means.Diversity, xla.Flatten(s.Diversity)...)
	return s, buffer, means
}

// train performs the updates of an iteration, each on freshly sampled transitions. The metrics are
// means over updates.
func (it iteration) train(l learning, buffer replay.Buffer, returns *ringReturns, key random.Key) (learning, metrics) {
	type state struct {
		Learning learning
		Buffer   replay.Buffer
		Returns  *ringReturns
		Key      random.Key
		Sums     metrics
	}
	g := key.Hi.Graph()
	zero := Zeros(g, shapes.Make(dtypes.Float32))
	start := state{l, buffer, returns, key, metrics{zero, zero, zero, zero, zero, zero, zero, zero, zero}}
	end := xla.ForUnfused(g, it.updates, start, func(step *Node, u state) state {
		draw := u.Key.FoldInEach(step)
		index, redraw := u.Buffer.Draw(draw.FoldIn(streamDraw), it.sac.BatchSize),
			draw.FoldIn(streamRedraw)
		var returns *Node
		if u.Returns != nil {
			returns = u.Returns.At(index)
		}
		batch, f := it.read(u.Buffer.At(index), &redraw), metrics{}
		batch.Key = draw.FoldIn(streamOwn)
		u.Learning, f = it.learn(u.Learning, batch, returns, it.sac.NewNoise(draw.FoldIn(streamNoise)))
		u.Sums = xla.Map2(u.Sums, f, func(sum, x *Node) *Node { return Add(sum, x) })
		return u
	})
	means := xla.Map(end.Sums, func(x *Node) *Node {
		return DivScalar(x, float64(max(1, it.updates)))
	})
	return end.Learning, means
}

// learn is one update. Rewards come from the diversity reward before the update, and each network
// learns from the others as they were before it.
func (it iteration) learn(l learning, b Batch, returns *Node, noise sac.Noise) (learning, metrics) {
	zero := ZerosLike(l.Learner.LogAlpha.Params)
	f := metrics{Diversity: zero, DiversityReward: zero, Accepted: zero, Task: zero, Invalid: zero}
	algorithm, diversity, n := it.sac, l.Diversity, b.Reward.Shape().Dimensions[0]
	if guide, ok := diversity.(ActorObjective); ok {
		actor := l.Learner.Actor.Params
		b.ActorAction, _ = nn.NewTanhGaussian(actor.Apply(b.Obs)).Sample(noise.Actor)
		b.NextActorAction, _ = nn.NewTanhGaussian(actor.Apply(b.NextObs)).Sample(noise.Critic)
		algorithm.ActorObjective = func(action, first, second *Node) *Node {
			x := guide.ActorObjective(b, action, first, second)
			xla.CheckShape(guide, "ActorObjective", "what the actor maximises", x, dtypes.Float32, n)
			return x
		}
	}
	_, algorithm.FixCritics = diversity.(SelfCritic)
	transitions := b.Transitions
	if diversity != nil {
		reward := diversity.Reward(b)
		xla.CheckShape(diversity, "Reward", "diversity rewards", reward, dtypes.Float32, n)
		reward = StopGradient(reward)
		transitions.Reward = it.Objective.Reward(b.Reward, reward, returns)
		xla.CheckShape(it.Objective, "Reward", "rewards", transitions.Reward, dtypes.Float32, n)
		l.Diversity, f.Diversity = diversity.Learn(b)
		xla.CheckShape(diversity, "Learn", diversity.Loss(), f.Diversity, dtypes.Float32)
		xla.CheckSame(diversity, "Learn", l.Diversity)
		xla.CheckLike(diversity, "Learn", "its state", xla.Flatten(l.Diversity), xla.Flatten(diversity))
		f.DiversityReward = ReduceAllMean(reward)
		if gate, ok := it.Objective.(gate); ok {
			accepted := gate.Accepts(returns)
			xla.CheckShape(gate, "Accepts", "accepted transitions", accepted, dtypes.Bool, n)
			f.Accepted = ReduceAllMean(ConvertDType(accepted, dtypes.Float32))
		}
	}
	f.Reward = ReduceAllMean(transitions.Reward)
	l.Learner, f.Critic, f.Actor, f.Alpha = algorithm.Update(l.Learner, transitions, noise)
	return l, f
}
