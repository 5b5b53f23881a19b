package hierarchy

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Search is a running training of a meta-controller. The environments run on all workers, the
// networks on the first device.
type Search struct {
	programs *xla.Scope
	settings Settings
	seed     int64
	skills   xla.Array // [skills, N], on all workers
	checksum npz.Array // checksum of the skills

	collecting *collecting
	collect    *xla.Program[collectIn, collectOut]
	learn      *xla.Program[learnIn, learnOut]
	evaluator  *Evaluator

	words, workers xla.Array // the seed and the worker numbers, on all workers
	learner        xla.State[ppo.Learner]
	states         xla.State[[]*graph.Node] // environment states, a share per worker
	act            xla.State[actor]         // on all workers

	iteration   int64 // latest iteration; 0 after the first evaluation, -1 before it
	evaluations int64 // evaluation episodes so far
	best        float64
	means       scoring.Means // of the losses since the last evaluation
}

// Inputs and outputs of the programs.
type (
	statesIn  struct{ Seed, Worker xla.Array }
	collectIn struct {
		Seed, Worker, Number xla.Array
		Skills               xla.Array // [skills, N]
		Actor                xla.State[actor]
		States               xla.State[[]*graph.Node] `xla:"donate"`
	}
	collectOut struct {
		States xla.State[[]*graph.Node]
		Data   xla.State[ppo.Data]
	}
	learnIn struct {
		Seed, Number xla.Array
		Learner      xla.State[ppo.Learner] `xla:"donate"`
		Data         xla.State[ppo.Data]
	}
	learnOut struct {
		Learner xla.State[ppo.Learner]
		Losses  xla.State[[]*graph.Node] // the last is the number of decisions that were not finite
	}
)

// Outcome is the result of an iteration, as the host sees it.
type Outcome struct {
	Iteration   int64 // 0 is the evaluation before the first step
	Evaluations int64 // evaluation episodes so far
	EnvSteps    int64 // training steps so far
	Evaluation  *Evaluation
	Best        float64 // greatest return of an evaluation episode so far
	// Losses are means over the iterations since the previous evaluation, see [Search.Losses]; nil if
	// this iteration has no evaluation.
	Losses []float64
	// Invalid is the number of decisions of training and of evaluation episodes of this iteration that
	// were not finite.
	Invalid int
}

// New compiles a search. skills are rows [skills, N] of the task's form.
func New(p *xla.Platform, task Task, skills npz.Array, settings Settings, seed int64) (*Search,
	error) {
	if err := settings.Check(); err != nil {
		return nil, err
	}
	task = task.with(settings)
	if err := task.check(skills.Shape); err != nil {
		return nil, err
	}
	algorithm := ppo.New(settings.Config, task.Env.Spec().Observations, skills.Shape[0])
	data := int64(settings.Sequences()) * int64(settings.UnrollLength+1) * int64(
		task.Env.Spec().Observations+5)
	if err := p.CheckMemory(4*int64(skills.Shape[0])*int64(skills.Shape[1]), 4*3*data); err != nil {
		return nil, err
	}
	s := &Search{
		programs: &xla.Scope{Platform: p}, settings: settings, seed: seed, iteration: -1,
		best: math.Inf(-1), means: scoring.Means{Sums: make([]float64, len(lossNames))},
		collecting: &collecting{task: task, algorithm: algorithm, settings: settings,
			shared: share(p, settings.NumEnvs, settings.Slice)},
	}
	if err := s.build(skills); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// build compiles the programs and initialises the state.
func (s *Search) build(skills npz.Array) (err error) {
	p, c := s.programs.Platform, s.collecting
	s.words, s.workers = p.Seed(s.seed), xla.Value(p.WorkerNumbers())
	rows, err := skills.Float32s()
	if err != nil {
		return err
	}
	s.checksum = checksum(rows)
	if s.skills, err = Upload(p, skills); err != nil {
		return err
	}
	first, err := xla.Compile(p, "first networks", s.words.First(),
		func(seed xla.Array) xla.State[ppo.Learner] {
			return xla.Out(c.algorithm.Start(random.KeyOf(seed.Tree).FoldIn(streamLearner)))
		})
	if err != nil {
		return err
	}
	defer first.Free()
	if s.learner, err = first.Run(s.words.First()); err != nil {
		return err
	}
	start, err := xla.CompileParallel(s.programs, "initial states", statesIn{s.words, s.workers},
		func(in statesIn) xla.State[[]*graph.Node] {
			return xla.Out(c.start(random.KeyOf(in.Seed.Tree), in.Worker.Tree))
		}, c.task.axes(s.settings, c.shared)...)
	if err != nil {
		return err
	}
	if s.states, err = start.Run(statesIn{s.words, s.workers}); err != nil {
		return err
	}
	if err := s.compile(); err != nil {
		return err
	}
	s.evaluator, err = NewEvaluator(p, c.task, s.settings, skills.Shape, s.settings.EvaluationEnvs)
	if err != nil {
		return err
	}
	s.programs.Own(s.evaluator.program)
	return s.spread()
}

// compile compiles the programs that collect sequences and learn from them.
func (s *Search) compile() (err error) {
	c, number := s.collecting, xla.Declare(dtypes.Int32)
	in := collectIn{s.words, s.workers, number, s.skills, declareActor(c.algorithm), s.states}
	s.collect, err = xla.CompileParallel(s.programs, "collect", in, func(in collectIn) collectOut {
		key := random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree).FoldIn(streamCollect)
		states, data := c.collect(in.Actor.Tree, in.Skills.Tree, in.States.Tree, key, in.Worker.Tree)
		return collectOut{xla.Out(states), xla.Out(data)}
	}, c.task.axes(s.settings, c.shared)...)
	if err != nil {
		return err
	}
	s.learn, err = xla.Compile(s.programs, "learn",
		learnIn{s.words.First(), number, s.learner, s.collect.Out.Data}, func(in learnIn) learnOut {
			key := random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree).FoldIn(streamUpdates)
			data, invalid := in.Data.Tree.Finite()
			learner, losses := c.algorithm.Train(in.Learner.Tree, data, key)
			return learnOut{xla.Out(learner), xla.Out([]*graph.Node{losses.Policy, losses.Value,
				losses.Entropy, graph.ConvertDType(invalid, dtypes.Float32)})}
		})
	return err
}

// lossNames are the names of the losses.
var lossNames = []string{"policy_loss", "value_loss", "entropy"}

// Losses names the numbers in [Outcome].Losses.
func (s *Search) Losses() []string { return slices.Clone(lossNames) }

// Step runs the next iteration. The first call only evaluates the untrained networks.
func (s *Search) Step() (Outcome, error) {
	next := s.iteration + 1
	o := Outcome{Iteration: next, EnvSteps: next * s.settings.EnvSteps()}
	if next > 0 {
		losses, err := s.train(next)
		if err != nil {
			return Outcome{}, err
		}
		n := len(lossNames)
		if err := s.means.Add(lossNames, losses[:n]); err != nil {
			return Outcome{}, fmt.Errorf("%w in iteration %d: lower learning_rate or reward_scaling", err,
				next)
		}
		o.Invalid = int(losses[n])
	}
	s.iteration = next
	o.Best, o.Evaluations = s.best, s.evaluations
	if !s.Measured() {
		return o, nil
	}
	invalid := o.Invalid
	o, err := s.Conclude()
	o.Invalid += invalid
	s.best = o.Best
	s.evaluations += int64(s.settings.EvaluationEnvs)
	o.Evaluations = s.evaluations
	s.means.Reset()
	return o, err
}

// Measured reports whether the latest iteration evaluated the meta-controller.
func (s *Search) Measured() bool { return s.iteration%int64(s.settings.EvaluationInterval) == 0 }

// Conclude evaluates the meta-controller of the latest iteration. It does not change the search.
func (s *Search) Conclude() (Outcome, error) {
	evaluation, err := s.evaluator.evaluate(s.act, s.skills, s.seed, s.iteration)
	o := Outcome{Iteration: s.iteration, EnvSteps: s.iteration * s.settings.EnvSteps(),
		Evaluations: s.evaluations, Evaluation: &evaluation, Best: s.best, Losses: s.means.Values()}
	for _, fitness := range evaluation.Fitnesses {
		o.Best = max(o.Best, float64(fitness))
		if math.IsInf(float64(fitness), -1) {
			o.Invalid++
		}
	}
	return o, err
}

// train collects the sequences of an iteration, learns from them, and returns the losses.
func (s *Search) train(number int64) ([]float64, error) {
	at := s.programs.Number(number)
	defer at.Free()
	out, err := s.collect.Run(collectIn{s.words, s.workers, at, s.skills, s.act, s.states})
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
	return learned.Losses.Scalars(), s.spread()
}

// Policy returns the current meta-controller.
func (s *Search) Policy() (Policy, error) {
	c, act := &xla.Checkpoint{}, xla.Part(s.learner, actorOf)
	c.Add(&act, 1, "", actorNames[:len(act.Leaves())]...)
	policy, err := c.Arrays()
	if err != nil {
		return nil, err
	}
	policy[skillsName] = s.checksum
	return policy, nil
}

// spread copies the current policy to every worker.
func (s *Search) spread() error {
	act, err := xla.Part(s.learner, actorOf).Copy(s.programs.Platform)
	if err != nil {
		return err
	}
	s.act.Free()
	s.act = act
	return nil
}

// Iteration is the latest iteration: 0 after the first evaluation, -1 before it.
func (s *Search) Iteration() int64 { return s.iteration }

// CompileTime is the time that XLA has spent compiling the search.
func (s *Search) CompileTime() time.Duration { return s.programs.CompileTime() }

// Close frees the device memory and the programs.
func (s *Search) Close() {
	xla.Free(&s.skills, &s.words, &s.workers, &s.states, &s.learner, &s.act)
	s.programs.Free()
}
