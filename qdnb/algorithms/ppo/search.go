package ppo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// search is a running training. The environments run on all workers, the networks on the first
// device. The repertoire holds the policies of all evaluations, like that of the skills of
// reinforcement learning. It is an [algorithms.Search].
type search struct {
	programs   *xla.Scope
	task       scoring.Task
	agent      agent
	evaluator  *scoring.Evaluator
	seed       int64
	collecting *collecting
	collect    *xla.Program[collectIn, collectOut]
	learn      *xla.Program[learnIn, learnOut]
	genotype   *xla.Program[xla.State[actor], xla.Array]
	found      *repertoire.Collection

	words, workers xla.Array // the seed and the worker numbers, on all workers
	learner        xla.State[learner]
	states         xla.State[[]*graph.Node] // environment states, a share per worker

	iteration   int64         // newest iteration; 0 after the first evaluation, -1 before it
	evaluations int64         // evaluation episodes so far
	means       scoring.Means // of the losses since the last evaluation
	dropped     float64       // decisions since then that were not finite
}

// Inputs and outputs of the programs.
type (
	statesIn  struct{ Seed, Worker xla.Array }
	collectIn struct {
		Seed, Worker, Number xla.Array
		Choices              xla.Array
		Actor                xla.State[actor]
		States               xla.State[[]*graph.Node] `xla:"donate"`
	}
	collectOut struct {
		States xla.State[[]*graph.Node]
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
	_, discrete := env.(scoring.Discrete)
	sizes := task.Policy.Sizes
	a := newAgent(*p, sizes[0], sizes[len(sizes)-1], discrete)
	s := &search{programs: &xla.Scope{Platform: platform}, task: task, agent: a, seed: seed,
		iteration: -1, means: scoring.Means{Sums: make([]float64, len(lossNames))},
		collecting: &collecting{agent: a, shared: share(platform, p.NumEnvs, p.Slice)}}
	var err error
	decisions := int64(a.sequences()) * int64(a.UnrollLength+1)
	if err = platform.CheckMemory(0, 4*3*decisions*int64(sizes[0]+5)); err == nil {
		s.collecting.env, err = learningEnv(env, p.EpisodeLength)
	}
	if err == nil {
		err = s.build(p.CVT)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// build compiles the programs and initialises the state.
func (s *search) build(cells repertoire.CVT) error {
	p, c := s.programs.Platform, s.collecting
	s.words, s.workers = p.Seed(s.seed), xla.Value(p.WorkerNumbers())
	episodes, limits := s.agent.EvaluationEnvs, s.task.Env.Spec().Descriptor
	centroids, err := cells.Centroids(limits.Lower, limits.Upper)
	if err != nil {
		return err
	}
	if s.found, err = repertoire.NewCollection(s.programs, s.task, centroids, 1, episodes); err != nil {
		return err
	}
	s.evaluator, err = scoring.NewEvaluator(p, s.task, scoring.Plan{Policies: 1, Episodes: episodes,
		Slice: share(p, episodes, s.agent.Slice).Size})
	if err != nil {
		return err
	}
	s.programs.Own(s.evaluator)
	first, err := xla.Compile(p, "first networks", s.words.First(), func(seed xla.Array) xla.State[learner] {
		return xla.Out(c.agent.start(random.KeyOf(seed.Tree).FoldIn(streamLearner)))
	})
	if err != nil {
		return err
	}
	defer first.Free()
	if s.learner, err = first.Run(s.words.First()); err != nil {
		return err
	}
	axes := s.task.Axes(c.shared.N, c.shared.Size, 0)
	reset, err := xla.CompileParallel(s.programs, "initial states", statesIn{s.words, s.workers},
		func(in statesIn) xla.State[[]*graph.Node] {
			return xla.Out(c.start(random.KeyOf(in.Seed.Tree), in.Worker.Tree))
		}, axes...)
	if err != nil {
		return err
	}
	if s.states, err = reset.Run(statesIn{s.words, s.workers}); err != nil {
		return err
	}
	number := xla.Declare(dtypes.Int32)
	s.collect, err = xla.CompileParallel(s.programs, "collect",
		collectIn{s.words, s.workers, number, s.evaluator.Choices, s.actor(), s.states},
		func(in collectIn) collectOut {
			key := random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree).FoldIn(streamCollect)
			states, data := c.collect(in.Actor.Tree, in.Choices.Tree, in.States.Tree, key, in.Worker.Tree)
			return collectOut{xla.Out(states), xla.Out(data)}
		}, axes...)
	if err != nil {
		return err
	}
	s.learn, err = xla.Compile(s.programs, "learn",
		learnIn{s.words.First(), number, s.learner, s.collect.Out.Data}, func(in learnIn) learnOut {
			key := random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree).FoldIn(streamUpdates)
			data, invalid := in.Data.Tree.finite()
			learner, losses := c.agent.train(in.Learner.Tree, data, key)
			return learnOut{xla.Out(learner), xla.Out([]*graph.Node{losses.Policy, losses.Value,
				losses.Entropy, graph.ConvertDType(invalid, dtypes.Float32)})}
		})
	if err != nil {
		return err
	}
	s.genotype, err = xla.Compile(s.programs, "genotype", s.actor(),
		func(from xla.State[actor]) xla.Array {
			return xla.Out(c.agent.genotype(from.Tree, s.task.Policy))
		})
	return err
}

// lossNames are the names of the losses.
var lossNames = []string{"policy_loss", "value_loss", "entropy"}

// notName matches what the name of a column leaves out.
var notName = regexp.MustCompile(`[^a-z0-9]+`)

// Columns implements [algorithms.Reporter]: fitness and descriptor of the episodes of an evaluation, and
// means of the losses since the evaluation before.
func (s *search) Columns() []string {
	columns := []string{"fitness_mean", "fitness_std"}
	for _, component := range s.task.Env.Spec().Descriptor.Components {
		name := strings.Trim(notName.ReplaceAllString(strings.ToLower(component), "_"), "_")
		columns = append(columns, name+"_mean", name+"_max")
	}
	return append(columns, lossNames...)
}

// Step implements [algorithms.Search]: an iteration. The first call only evaluates the untrained
// networks.
func (s *search) Step() (o scoring.Outcome, err error) {
	next := s.iteration + 1
	if next > 0 {
		losses, err := s.train(next)
		if err != nil {
			return o, err
		}
		n := len(lossNames)
		if err := s.means.Add(lossNames, losses[:n]); err != nil {
			return o, fmt.Errorf("%w in iteration %d: lower learning_rate or reward_scaling", err, next)
		}
		s.dropped += losses[n]
	}
	s.iteration = next
	if s.Measured() {
		if o, err = s.Conclude(); err != nil {
			return o, err
		}
		s.evaluations += int64(s.agent.EvaluationEnvs)
		s.means.Reset()
		s.dropped = 0
	}
	o.Generation, o.Evaluations, o.EnvSteps = next, s.evaluations, next*s.envSteps()
	return o, nil
}

// envSteps is the number of control steps per iteration.
func (s *search) envSteps() int64 {
	return int64(s.agent.sequences()) * int64(s.agent.UnrollLength) * int64(controlSteps(s.task.Env))
}

// Measured implements [algorithms.Concluder].
func (s *search) Measured() bool { return s.iteration%int64(s.agent.EvaluationInterval) == 0 }

// Conclude implements [algorithms.Concluder]: it evaluates the newest policy.
func (s *search) Conclude() (o scoring.Outcome, err error) {
	genotype, err := s.genotype.Run(s.actor())
	if err != nil {
		return o, err
	}
	defer genotype.Free()
	found, err := s.evaluator.Evaluate(genotype.Value(), s.seed, nil)
	if err != nil {
		return o, err
	}
	if err := s.found.Add(genotype, found, &o); err != nil {
		return o, err
	}
	wide := func(x []float32, from, every int) (column []float64) {
		for i := from; i < len(x); i += every {
			column = append(column, float64(x[i]))
		}
		return column
	}
	fitnesses := wide(found.Fitnesses, 0, 1)
	o.Extra = []float64{stats.Mean(fitnesses), stats.Std(fitnesses)}
	d := len(found.Descriptors) / len(found.Fitnesses)
	for k := range d {
		column := wide(found.Descriptors, k, d)
		o.Extra = append(o.Extra, stats.Mean(column), slices.Max(column))
	}
	o.Extra = append(o.Extra, s.means.Values()...)
	o.Dropped = int(s.dropped)
	return o, nil
}

// train collects the sequences of an iteration, learns from them, and returns the losses.
func (s *search) train(number int64) ([]float64, error) {
	at := s.programs.Number(number)
	defer at.Free()
	out, err := s.collect.Run(collectIn{s.words, s.workers, at, s.evaluator.Choices, s.actor(), s.states})
	if err != nil {
		return nil, err
	}
	s.states = out.States
	defer out.Data.Free()
	learned, err := s.learn.Run(learnIn{s.words.First(), at.First(), s.learner, out.Data.First()})
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
	names := xla.Names(s.collecting.stateForm)
	c.AddSliced(&s.states, s.collecting.shared, "env.", names...)
	s.found.Store(c, "passive_")
	c.Host("iteration", &s.iteration)
	c.Host("evaluations", &s.evaluations)
	c.Host("metric_sums", &s.means.Sums)
	c.Host("metric_count", &s.means.Count)
	c.Host("dropped", &s.dropped)
	return c
}

// Task implements [algorithms.Search]. In a [scoring.Discrete] environment the policy returns logits of the
// choices.
func (s *search) Task() scoring.Task { return s.task }

// Repertoire implements [algorithms.Search].
func (s *search) Repertoire(genotypes bool) (map[string]npz.Array, error) {
	return s.found.Arrays(genotypes)
}

// CompileTime implements [algorithms.Compiled].
func (s *search) CompileTime() time.Duration { return s.programs.CompileTime() }

// Close implements [algorithms.Search].
func (s *search) Close() {
	xla.Free(&s.words, &s.workers, &s.states, &s.learner)
	if s.found != nil {
		s.found.Free()
	}
	if s.evaluator != nil {
		s.evaluator.Choices.Free()
	}
	s.programs.Free()
}
