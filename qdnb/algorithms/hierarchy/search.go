package hierarchy

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/xla"
)

// Search is a running training of a meta-controller. The environments run on all workers, the
// networks on the first device.
type Search struct {
	platform *xla.Platform
	settings Settings
	seed     int64
	skills   xla.Sharded // [skills, N], on all workers
	checksum npz.Array   // checksum of the skills

	collecting *collecting
	collect    *xla.Executable
	learn      *xla.Executable
	start      *xla.Executable
	evaluator  *Evaluator

	words, workers xla.Sharded   // the seed and the worker numbers, on all workers
	states         []xla.Sharded // environment states, a share per worker
	stateNames     []string
	known          []xla.Sharded // leaves of the learner
	act            []xla.Sharded // the actor's leaves, on all workers

	iteration   int64 // latest iteration; 0 after the first evaluation, -1 before it
	evaluations int64 // evaluation episodes so far
	best        float64
	sums        []float64 // sums of the losses since the last evaluation
	summed      float64   // number of iterations in sums
}

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
	if err := p.CheckMemory(4 * (int64(skills.Shape[0])*int64(skills.Shape[1]) + 3*data)); err != nil {
		return nil, err
	}
	s := &Search{
		platform: p, settings: settings, seed: seed, iteration: -1, best: math.Inf(-1),
		sums: make([]float64, len(lossNames)),
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
	p, c := s.platform, s.collecting
	s.words = p.Replicated(func() *tensors.Tensor { return tensors.FromValue(xla.SeedWords(s.seed)) })
	s.workers = p.WorkerNumbers()
	rows, err := skills.Float32s()
	if err != nil {
		return err
	}
	s.checksum = checksum(rows)
	if s.skills, err = Upload(p, skills); err != nil {
		return err
	}
	words, number := xla.Input{Shape: shapes.Make(dtypes.Uint32, 2)},
		xla.Input{Shape: shapes.Make(dtypes.Int32)}

	first, err := p.Compile("first networks", []xla.Input{words},
		func(in []*graph.Node) []*graph.Node {
			c.form = c.algorithm.Start(xla.KeyOf(in[0]).FoldIn(streamLearner))
			return xla.Flatten(c.form)
		})
	if err != nil {
		return err
	}
	defer first.Free()
	if s.known, err = first.Run(s.words[:1]); err != nil {
		return err
	}
	if s.start, err = p.CompileParallel("initial states", []xla.Input{words, number},
		func(in []*graph.Node) []*graph.Node {
			return c.start(xla.KeyOf(in[0]), in[1])
		}, c.task.axes(s.settings, c.shared)...); err != nil {
		return err
	}
	if s.states, err = s.start.Run(s.words, s.workers); err != nil {
		return err
	}
	for _, name := range xla.Names(c.stateForm) {
		s.stateNames = append(s.stateNames, statesPrefix+strings.ToLower(name))
	}
	if err := s.compileCollect(words, number); err != nil {
		return err
	}
	s.evaluator, err = NewEvaluator(p, c.task, s.settings, skills.Shape, s.settings.EvaluationEnvs)
	if err != nil {
		return err
	}
	return s.spread()
}

// compileCollect compiles the programs that collect sequences and learn from them.
func (s *Search) compileCollect(words, number xla.Input) (err error) {
	c := s.collecting
	inputs := []xla.Input{words, number, number, {Shape: s.skills[0].Shape()}}
	inputs = append(inputs, actorInputs(c.algorithm)...)
	actor0, states0 := 4, len(inputs)
	for _, v := range s.states {
		inputs = append(inputs, xla.Input{Shape: v[0].Shape(), Donate: true})
	}
	var data ppo.Data
	var shapesOf []shapes.Shape
	s.collect, err = s.platform.CompileParallel("collect", inputs,
		func(in []*graph.Node) []*graph.Node {
			key := xla.KeyOf(in[0]).FoldInEach(in[2]).FoldIn(streamCollect)
			var kept []*graph.Node
			kept, data = c.collect(actor{in[actor0], in[actor0+1 : states0]}, in[3], in[states0:], key,
				in[1])
			for _, x := range xla.Flatten(data) {
				shapesOf = append(shapesOf, x.Shape())
			}
			return append(kept, xla.Flatten(data)...)
		}, c.task.axes(s.settings, c.shared)...)
	if err != nil {
		return err
	}
	inputs = []xla.Input{words, number}
	for _, v := range s.known {
		inputs = append(inputs, xla.Input{Shape: v[0].Shape(), Donate: true})
	}
	data0 := len(inputs)
	for _, shape := range shapesOf {
		inputs = append(inputs, xla.Input{Shape: shape})
	}
	s.learn, err = s.platform.Compile("learn", inputs, func(in []*graph.Node) []*graph.Node {
		key := xla.KeyOf(in[0]).FoldInEach(in[1]).FoldIn(streamUpdates)
		learner, losses := c.algorithm.Train(xla.Unflatten(c.form, in[2:data0]),
			xla.Unflatten(data, in[data0:]), key)
		return append(xla.Flatten(learner), losses.Policy, losses.Value, losses.Entropy)
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
	if next > 0 {
		losses, err := s.train(next)
		if err != nil {
			return Outcome{}, err
		}
		for i, x := range losses {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return Outcome{},
					errors.Errorf("%s is %v in iteration %d: the last checkpoint is good; lower learning_rate "+
						"or reward_scaling, or look at the environment's rewards",
						lossNames[i], x, next)
			}
			s.sums[i] += x
		}
		s.summed++
	}
	s.iteration = next
	o := Outcome{Iteration: next, EnvSteps: next * s.settings.EnvSteps(), Best: s.best,
		Evaluations: s.evaluations}
	if next%int64(s.settings.EvaluationInterval) != 0 {
		return o, nil
	}
	evaluation, err := s.evaluator.evaluate(s.act, s.skills, s.seed, next)
	if err != nil {
		return Outcome{}, err
	}
	for _, fitness := range evaluation.Fitnesses {
		s.best = max(s.best, float64(fitness))
	}
	s.evaluations += int64(len(evaluation.Fitnesses))
	for _, sum := range s.sums {
		o.Losses = append(o.Losses, sum/s.summed) // NaN before the first update
	}
	clear(s.sums)
	s.summed = 0
	o.Evaluation, o.Best, o.Evaluations = &evaluation, s.best, s.evaluations
	return o, nil
}

// train collects the sequences of an iteration, learns from them, and returns the losses.
func (s *Search) train(number int64) ([]float64, error) {
	at := s.platform.Replicated(func() *tensors.Tensor { return tensors.FromScalar(int32(number)) })
	defer at.Free()
	out, err := s.collect.Run(slices.Concat([]xla.Sharded{s.words, s.workers, at, s.skills}, s.act,
		s.states)...)
	if err != nil {
		return nil, err
	}
	n := len(s.states)
	s.states = out[:n:n]
	data := out[n:]
	defer freeAll(data)
	inputs := slices.Concat([]xla.Sharded{s.words[:1], at[:1]}, s.known)
	for _, v := range data {
		inputs = append(inputs, v[:1])
	}
	if out, err = s.learn.Run(inputs...); err != nil {
		return nil, err
	}
	n = len(s.known)
	s.known = out[:n:n]
	var losses []float64
	for _, v := range out[n:] {
		losses = append(losses, float64(tensors.ToScalar[float32](v[0])))
		v.Free()
	}
	return losses, s.spread()
}

// Policy returns the current meta-controller.
func (s *Search) Policy() (Policy, error) {
	names, policy := xla.Names(s.collecting.form), Policy{skillsName: s.checksum}
	of := map[string]string{
		"Nets.Policy": policyKey, "Statistics.Mean": statisticsKeys[0],
		"Statistics.Squares": statisticsKeys[1], "Statistics.Count": statisticsKeys[2],
	}
	for i, name := range names {
		if key, ok := of[name]; ok {
			array, err := xla.Download(s.known[i])
			if err != nil {
				return nil, err
			}
			policy[key] = array
		}
	}
	return policy, nil
}

// spread copies the current policy to every worker.
func (s *Search) spread() error {
	policy, err := s.Policy()
	if err != nil {
		return err
	}
	act, err := s.evaluator.upload(policy)
	if err != nil {
		return err
	}
	freeAll(s.act)
	s.act = act
	return nil
}

// Iteration is the latest iteration: 0 after the first evaluation, -1 before it.
func (s *Search) Iteration() int64 { return s.iteration }

// CompileTime is the time that XLA has spent compiling the search.
func (s *Search) CompileTime() time.Duration {
	var total time.Duration
	for _, program := range s.programs() {
		total += program.CompileTime
	}
	return total
}

func (s *Search) programs() []*xla.Executable {
	all := []*xla.Executable{s.start, s.collect, s.learn}
	if s.evaluator != nil {
		all = append(all, s.evaluator.program)
	}
	return slices.DeleteFunc(all, func(p *xla.Executable) bool { return p == nil })
}

// Close frees the device memory and the programs.
func (s *Search) Close() {
	freeAll(slices.Concat([]xla.Sharded{s.words, s.workers, s.skills}, s.states, s.known, s.act))
	for _, program := range s.programs() {
		program.Free()
	}
}
