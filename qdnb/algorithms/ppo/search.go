package ppo

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// search is a running training. The environments run on all workers, the networks on the first
// device. The repertoire holds the policies of all evaluations, like that of the skills of
// reinforcement learning. It is an [algorithms.Search].
type search struct {
	*algorithms.Learner
	agent      agent
	collecting *collecting
	collect    *xla.Program[collectIn, collectOut]
	learn      *xla.Program[learnIn, learnOut]
	genotype   *xla.Program[xla.State[actor], xla.Array]

	workers xla.Array // worker numbers, on all workers
	learner xla.State[learner]
	states  xla.State[envs.State] // of the environments, a share per worker
}

// Inputs and outputs of the programs.
type (
	statesIn  struct{ Seed, Worker xla.Array }
	collectIn struct {
		Seed, Worker, Number xla.Array
		Choices              xla.Array
		Actor                xla.State[actor]
		States               xla.State[envs.State] `xla:"donate"`
	}
	collectOut struct {
		States xla.State[envs.State]
		Data   xla.State[data]
	}
	learnIn struct {
		Seed, Number xla.Array
		Learner      xla.State[learner] `xla:"donate"`
		Data         xla.State[data]
	}
	learnOut struct {
		Learner xla.State[learner]
		Losses  xla.State[[]*graph.Node] // the last is the number of decisions that were not finite
	}
)

// New implements [algorithms.Algorithm].
func (p *PPO) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if checked, ok := env.(interface{ Check() error }); ok {
		if err := checked.Check(); err != nil {
			return nil, err
		}
	}
	task := scoring.NewTask(env, p.PolicyHidden, p.EpisodeLength)
	mlp := task.MLP()
	mlp.Normalises = p.NormalizeObservations
	task.Policy = mlp
	_, discrete := env.(envs.Discrete)
	sizes := mlp.Sizes
	a := newAgent(*p, sizes[0], sizes[len(sizes)-1], discrete)
	decisions := int64(a.sequences()) * int64(a.UnrollLength+1)
	if err := platform.CheckMemory(0, 4*3*decisions*int64(sizes[0]+5)); err != nil {
		return nil, err
	}
	steps, episodes := int64(a.sequences())*int64(a.UnrollLength)*int64(env.Spec().ControlSteps()), p.EvaluationEnvs
	every := min(int64(p.EvaluationInterval), math.MaxInt64/steps) * steps
	base, err := algorithms.NewLearner(platform, task, p.CVT, scoring.Plan{Policies: 1,
		Episodes: episodes, Slice: share(platform, episodes, p.Slice).Size}, lossNames, seed)
	if err != nil {
		return nil, err
	}
	s := &search{Learner: base, agent: a, collecting: &collecting{agent: a, env: envs.AutoReset(env, task.Length),
		shared: share(platform, p.NumEnvs, p.Slice)}}
	base.Steps, base.Every, base.Train, base.Describes = steps, every, s.train, true
	base.Policies = func() (xla.Array, error) { return s.genotype.Run(s.actor()) }
	if err := s.build(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// build compiles the programs and initialises the state.
func (s *search) build() error {
	p, c, task := s.Programs.Platform, s.collecting, s.Task()
	s.workers = xla.Value(p.WorkerNumbers())
	first, err := xla.Compile(p, "first networks", s.Seed, func(seed xla.Array) xla.State[learner] {
		return xla.Out(c.agent.start(random.KeyOf(seed.Tree).FoldIn(streamLearner)))
	})
	if err != nil {
		return err
	}
	defer first.Free()
	if s.learner, err = first.Run(s.Seed); err != nil {
		return err
	}
	axes := task.Axes(c.shared.N, c.shared.Size, 0)
	reset, err := xla.CompileParallel(s.Programs, "initial states", statesIn{s.Seed, s.workers},
		func(in statesIn) xla.State[envs.State] {
			return xla.Out(c.start(random.KeyOf(in.Seed.Tree), in.Worker.Tree))
		}, axes...)
	if err != nil {
		return err
	}
	if s.states, err = reset.Run(statesIn{s.Seed, s.workers}); err != nil {
		return err
	}
	number := xla.Declare(dtypes.Int32)
	s.collect, err = xla.CompileParallel(s.Programs, "collect",
		collectIn{s.Seed, s.workers, number, s.Choices(), s.actor(), s.states}, func(in collectIn) collectOut {
			key := random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree).FoldIn(streamCollect)
			states, data := c.collect(in.Actor.Tree, in.Choices.Tree, in.States.Tree, key, in.Worker.Tree)
			return collectOut{xla.Out(states), xla.Out(data)}
		}, axes...)
	if err != nil {
		return err
	}
	s.learn, err = xla.Compile(s.Programs, "learn",
		learnIn{s.Seed, number, s.learner, s.collect.Out.Data}, func(in learnIn) learnOut {
			key := random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree).FoldIn(streamUpdates)
			data, invalid := in.Data.Tree.finite()
			learner, losses := c.agent.train(in.Learner.Tree, data, key)
			return learnOut{xla.Out(learner), xla.Out([]*graph.Node{losses.Policy, losses.Value,
				losses.Entropy, graph.ConvertDType(invalid, dtypes.Float32)})}
		})
	if err != nil {
		return err
	}
	s.genotype, err = xla.Compile(s.Programs, "genotype", s.actor(), func(from xla.State[actor]) xla.Array {
		return xla.Out(c.agent.genotype(from.Tree, task.MLP()))
	})
	return err
}

// lossNames are the names of the losses.
var lossNames = []string{"policy_loss", "value_loss", "entropy"}

// train collects the sequences of an iteration, learns from them, and returns the losses and the number of
// decisions that were not finite.
func (s *search) train(number int64) ([]float64, error) {
	at := s.Programs.Number(number)
	defer at.Free()
	out, err := s.collect.Run(collectIn{s.Seed, s.workers, at, s.Choices(), s.actor(), s.states})
	if err != nil {
		return nil, err
	}
	s.states = out.States
	defer out.Data.Free()
	learned, err := s.learn.Run(learnIn{s.Seed, at.First(), s.learner, out.Data.First()})
	if err != nil {
		return nil, err
	}
	s.learner = learned.Learner
	defer learned.Losses.Free()
	return learned.Losses.Scalars(), nil
}

// actor returns the current policy.
func (s *search) actor() xla.State[actor] { return xla.Part(s.learner, actorOf) }

// State implements [algorithms.Search].
func (s *search) State() *xla.Checkpoint {
	c := &xla.Checkpoint{}
	c.Add(&s.learner, 1, "learner.")
	c.AddSliced(&s.states, s.collecting.shared, "env.")
	s.Store(c)
	return c
}

// Close implements [algorithms.Search].
func (s *search) Close() {
	xla.Free(&s.workers, &s.states, &s.learner)
	s.Learner.Close()
}
