package skills

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// iteration builds the program of one step of all environments and the updates that follow.
type iteration struct {
	task         Task
	method       Method
	sac          sac.SAC
	environments int
	updates      int
	random       bool // uniformly random actions instead of the actor's
}

// newIteration returns an iteration without environments and updates.
func newIteration(task Task, method Method, config sac.Config) iteration {
	spec := task.Env.Spec()
	return iteration{task: task, method: method,
		sac: sac.New(config, spec.Observations+task.inputs(), spec.Actions)}
}

// state is the device state of a search except its replay buffer. It is a pytree.
type state struct {
	Learner sac.Learner
	Known   []*Node         // parameters of the diversity reward
	Worlds  envs.State      // state of the auto-reset environments
	Returns *replay.Returns // returns of the buffer's rows; nil if the objective does not use them
	Skills  *Node           // [environments, components] of continuous skills; nil if numbered
}

// metrics are scalars, averaged over the updates of an iteration. They are a pytree. Metrics
// that a method lacks are 0.
type metrics struct {
	Critic, Actor, Alpha *Node // losses, see [sac.Losses]
	Diversity            *Node // loss of the diversity model
	Reward               *Node // reward learnt from, before scaling
	DiversityReward      *Node
	Accepted             *Node // share of the transitions accepted by a [Gate]
	Task                 *Node // mean task reward of the fresh transitions
}

// Random streams of a run or of an iteration.
const (
	streamWorlds  = -1 - iota // initial states
	streamLearner             // initial networks
	streamModel               // initial diversity model
	streamRefill              // steps that refill a lost replay buffer
	streamAct                 // actions of an iteration
	streamUpdates
	streamSkills // skills of the first episodes, if they are vectors
)

// streamSkill is the random stream of actions that draws the skills of later episodes.
const streamSkill = 1

// Random streams of an update.
const (
	streamDraw = iota
	streamNoise
	streamMix // random skills of sampled transitions
)

// episodes returns the training environments, with auto-reset.
func (it iteration) episodes() envs.Episodes { return envs.AutoReset(it.task.Env, it.task.Length) }

// axes names the sizes of the programs.
func (it iteration) axes() []xla.Axis {
	return append([]xla.Axis{
		{Size: it.sac.BatchSize, Meaning: "transitions of an update"},
		{Size: it.environments, Meaning: "environments"},
		{Size: it.task.Skills, Meaning: "skills"}, {Size: it.task.Length, Meaning: "steps of an episode"},
	}, envs.Axes(it.task.Env.Spec())...)
}

// start returns the state before the first iteration.
func (it iteration) start(root xla.Key, capacity int) (state, replay.Buffer) {
	g := root.Hi.Graph()
	each := func(stream int) xla.Key {
		return root.FoldIn(stream).FoldInEach(Iota(g, shapes.Make(dtypes.Int32, it.environments), 0))
	}
	s := state{Learner: it.sac.Start(root.FoldIn(streamLearner)),
		Worlds: it.episodes().Reset(each(streamWorlds))}
	if d := it.method.Diversity; d != nil {
		s.Known = d.Start(it.task.inputs(), it.task.width(), root.FoldIn(streamModel))
		xla.CheckCount(d, "Start", fmt.Sprintf("the fields %v", d.Fields()), s.Known, len(d.Fields()))
	}
	if it.task.Continuous > 0 {
		s.Skills = it.task.drawn(each(streamSkills))
	}
	if it.needsReturns() {
		returns := replay.NewReturns(g, capacity, it.environments)
		s.Returns = &returns
	}
	return s, replay.NewBuffer(g, it.task.layout().Width(), capacity)
}

func (it iteration) needsReturns() bool {
	return it.method.Objective != nil && it.method.Objective.NeedsReturns()
}

// act takes one step in all environments, with actions sampled from the actor, and stores the
// transitions.
func (it iteration) act(s state, buffer replay.Buffer, key xla.Key) (state, replay.Buffer, *Node) {
	g := key.Hi.Graph()
	skill := s.Skills
	if skill == nil {
		skill = it.task.playing(g, it.environments)
	}
	inputs := s.Worlds.Observation
	if it.task.Skills > 0 {
		inputs = conditioned(inputs, it.task.vector(skill))
	}
	var action *Node
	if it.random {
		action = key.Uniform(-1, 1, it.environments, it.sac.Actions())
	} else {
		action, _ = it.sac.Policy(s.Learner.Actor,
			inputs).Sample(key.Normal(it.environments, it.sac.Actions()))
	}
	episodes, before := it.episodes(), s.Worlds
	s.Worlds = episodes.Step(before, action)
	rows := it.task.row(before, s.Worlds, action, skill, episodes.Truncation(s.Worlds))
	buffer = buffer.Insert(rows)
	if s.Skills != nil { // an episode keeps its skill
		fresh := it.task.drawn(key.FoldIn(streamSkill).FoldInEach(Iota(g,
			shapes.Make(dtypes.Int32, it.environments), 0)))
		ended := BroadcastToDims(InsertAxes(GreaterThan(s.Worlds.Done, ZerosLike(s.Worlds.Done)), -1),
			fresh.Shape().Dimensions...)
		s.Skills = Where(ended, fresh, s.Skills)
	}
	if s.Returns != nil {
		returns := s.Returns.Insert(s.Worlds.Reward, s.Worlds.Done, it.task.Length)
		s.Returns = &returns
	}
	return s, buffer, rows
}

// build builds one iteration: act, store, update.
func (it iteration) build(s state, buffer replay.Buffer, key xla.Key) (state, replay.Buffer,
	metrics) {
	s, buffer, rows := it.act(s, buffer, key.FoldIn(streamAct))
	if it.method.Diversity != nil {
		_, fresh := it.task.read(rows)
		before := it.model(s.Known)
		after := before.Observe(*fresh).Params()
		xla.CheckLike(before, "Observe", "what the model knows", after, s.Known)
		s.Known = after
	}
	var means metrics
	s.Learner, s.Known, means = it.train(s.Learner, s.Known, buffer, s.Returns,
		key.FoldIn(streamUpdates))
	means.Task = ReduceAllMean(s.Worlds.Reward)
	return s, buffer, it.checked(means, s)
}

func (it iteration) model(known []*Node) Model {
	return it.method.Diversity.Model(known, it.task.inputs(), it.task.width())
}

// train performs the updates of an iteration, each on freshly sampled transitions. The metrics are
// means over updates.
func (it iteration) train(learner sac.Learner, known []*Node, buffer replay.Buffer,
	returns *replay.Returns, key xla.Key) (sac.Learner, []*Node, metrics) {
	type state struct {
		Learning learning
		Buffer   replay.Buffer
		Returns  *replay.Returns
		Key      xla.Key
		Sums     metrics
	}
	g := key.Hi.Graph()
	zero := Zeros(g, shapes.Make(dtypes.Float32))
	start := state{learning{SAC: it.sac.Cut(learner)}, buffer, returns, key,
		metrics{zero, zero, zero, zero, zero, zero, zero, zero}}
	if it.method.Diversity != nil {
		start.Learning.Model = it.model(known)
	}
	end := xla.ForUnfused(g, it.updates, start, func(step *Node, u state) state {
		draw := u.Key.FoldInEach(step)
		index := u.Buffer.Draw(draw.FoldIn(streamDraw), it.sac.BatchSize)
		batch, skills := it.task.read(it.task.mixed(u.Buffer.At(index), draw.FoldIn(streamMix)))
		var returns *Node
		if u.Returns != nil {
			returns = u.Returns.At(index)
		}
		var f metrics
		u.Learning, f = it.learn(u.Learning, batch, skills, returns,
			it.sac.NewNoise(draw.FoldIn(streamNoise)))
		u.Sums = xla.Map2(u.Sums, f, func(sum, x *Node) *Node { return Add(sum, x) })
		return u
	})
	if end.Learning.Model != nil {
		known = end.Learning.Model.Params()
	}
	means := xla.Map(end.Sums, func(x *Node) *Node {
		return DivScalar(x, float64(max(1, it.updates)))
	})
	return sac.Join(end.Learning.SAC), known, means
}

// learning is what updates change. It is a pytree.
type learning struct {
	SAC   sac.Learning
	Model Model // nil if there is no diversity reward
}

// learn is one update. Rewards come from the model before the update, and each network learns from
// the others as they were before it.
func (it iteration) learn(l learning, batch replay.Batch, skills *Batch, returns *Node,
	noise sac.Noise) (learning, metrics) {
	zero := ZerosLike(l.SAC.LogAlpha)
	f := metrics{Diversity: zero, DiversityReward: zero, Accepted: zero, Task: zero}
	algorithm := it.sac
	if guide, ok := l.Model.(Guide); ok {
		skills.Acts = acts(l.SAC.Actor[0], batch, noise)
		algorithm.Aim = func(action, first, second *Node) *Node {
			aim := guide.Aim(*skills, action, first, second)
			xla.CheckShape(guide, "Aim", "what the actor maximises", aim, dtypes.Float32,
				first.Shape().Dimensions[0])
			return aim
		}
	}
	if l.Model != nil {
		model, objective, n := l.Model, it.method.Objective, batch.Reward.Shape().Dimensions[0]
		diversity := model.Reward(*skills)
		xla.CheckShape(model, "Reward", "diversity rewards", diversity, dtypes.Float32, n)
		diversity = StopGradient(diversity)
		batch.Reward = objective.Reward(batch.Reward, diversity, returns)
		xla.CheckShape(objective, "Reward", "rewards", batch.Reward, dtypes.Float32, n)
		l.Model, f.Diversity = model.Learn(*skills)
		xla.CheckShape(model, "Learn", it.method.Diversity.Loss(), f.Diversity, dtypes.Float32)
		xla.CheckLike(model, "Learn", "the model", xla.Flatten(l.Model), xla.Flatten(model))
		f.DiversityReward = ReduceAllMean(diversity)
		if gate, ok := objective.(Gate); ok {
			accepted := gate.Accepts(returns)
			xla.CheckShape(objective, "Accepts", "accepted transitions", accepted, dtypes.Bool, n)
			f.Accepted = ReduceAllMean(ConvertDType(accepted, dtypes.Float32))
		}
	}
	f.Reward = ReduceAllMean(batch.Reward)
	var losses sac.Losses
	l.SAC, losses = algorithm.Update(l.SAC, batch, noise)
	f.Critic, f.Actor, f.Alpha = losses.Critic, losses.Actor, losses.Alpha
	return l, f
}

// acts samples what the actor does in transitions, with the noise of an update.
func acts(actor nn.Network, batch replay.Batch, noise sac.Noise) *Acts {
	sample := func(obs, noise *Node) *Node {
		action, _ := nn.NewTanhGaussian(actor.Apply(obs)).Sample(noise)
		return action
	}
	return &Acts{batch, sample(batch.Obs, noise.Actor), sample(batch.NextObs, noise.Critic)}
}

// checked makes a loss NaN if the parameters it trained contain a NaN.
func (it iteration) checked(f metrics, s state) metrics {
	f.Critic, f.Actor = nn.PropagateNaN(f.Critic, s.Learner.Critic),
		nn.PropagateNaN(f.Actor, s.Learner.Actor)
	f.Diversity = nn.PropagateNaN(f.Diversity, s.Known...)
	return f
}
