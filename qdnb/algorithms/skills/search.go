package skills

import (
	"math"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
)

// Config is what a search needs beside its task and its method.
type Config struct {
	SAC          sac.Config
	Environments int   // that act side by side; environment k plays skill k mod skills
	Updates      int   // after every step of all of them
	Capacity     int   // transitions of the replay buffer: a multiple of Environments
	Warmup       int64 // environment steps before the first update
	Seed         int64

	Passive   Passive
	Centroids npz.Array // float32 [cells, d], of the passive repertoire
}

// PassiveEvery says when and how skills are measured: they are evaluated, and enter a repertoire of
// cells as an individual of MAP-Elites does. Learning does not look at it.
type Passive struct {
	// episodes of each skill, each from an initial state of its own, the same ones every time
	States int
	// environment steps from one evaluation to the next; the first is before the first step
	Every int64
	Early int64 // the same, before the first Every; 0: none in between
}

// due tells whether skills are measured after an iteration, which led from one number of
// environment steps to another.
func (p Passive) due(before, after int64) bool {
	every := p.Every
	if p.Early > 0 && after < p.Every {
		every = p.Early
	}
	return after == 0 || before/every != after/every
}

// Search is a running discovery of skills. Its state is on the first device.
type Search struct {
	platform  *xla.Platform
	it        iteration
	config    Config
	form      state // of the tree
	known     []xla.Sharded
	buffer    replay.Store
	program   *xla.Program
	warmup    *xla.Program // the same with random actions and without updates; nil until it is needed
	others    []*xla.Program
	measuring *measuring
	seed      xla.Sharded
	numbers   xla.Params    // of the method
	tuning    []xla.Sharded // the numbers on the device
	iteration int64         // the newest; 0 after the first evaluation, -1 before it

	evaluations int64     // episodes that measured skills so far
	sums        []float64 // of the figures since then, and of how many iterations
	summed      float64
}

// Outcome is what the host learns of an iteration.
type Outcome struct {
	Iteration   int64 // 0 is the evaluation before the first step
	Evaluations int64 // episodes that measured skills so far
	EnvSteps    int64 // of training so far
	// Fitnesses are those of the passive repertoire, [cells], -Inf where empty; nil where skills
	// were not measured.
	Fitnesses []float32
	// episodes of the evaluation with a fitness or descriptor that is not a number: they never
	// enter
	Invalid int
	// see [Search.Columns]: means over the iterations since skills were measured before; NaN at
	// first
	Extra []float64
}

// New compiles a search.
func New(p *xla.Platform, task Task, method Method, config Config) (*Search, error) {
	d := len(task.Env.Spec().Descriptor.Lower)
	switch {
	case config.Environments < 1 || config.Updates < 0:
		return nil, errors.Errorf("a search needs at least 1 environment, and updates from 0 on, not "+
			"%d and %d", config.Environments, config.Updates)
	case task.Skills > config.Environments:
		return nil, errors.Errorf("%d environments do not play all of %d skills", config.Environments,
			task.Skills)
	case config.Capacity < config.Environments || config.Capacity%config.Environments != 0:
		return nil, errors.Errorf("the replay buffer must hold a multiple of the %d environments, not "+
			"%d transitions", config.Environments, config.Capacity)
	case (method.Diversity == nil) != (task.Skills == 0) || (method.Diversity == nil) !=
		(method.Objective == nil):
		return nil, errors.New("skills, a diversity reward and an objective go together: give all of " +
			"them or none")
	case method.Objective != nil && method.Objective.NeedsReturns() && config.Capacity/config.Environments < task.Length:
		return nil, errors.Errorf("the replay buffer must hold whole episodes: at least %d "+
			"transitions, not %d", config.Environments*task.Length, config.Capacity)
	case len(config.Centroids.Shape) != 2 || config.Centroids.Shape[0] <
		1 || config.Centroids.Shape[1] != d:
		return nil, errors.Errorf("centroids of shape %v do not fit descriptors of %d components",
			config.Centroids.Shape, d)
	case config.Warmup < 0:
		return nil, errors.Errorf("a search cannot warm up for %d steps", config.Warmup)
	case config.Passive.States < 1 || config.Passive.Every < 1 || config.Passive.Early < 0:
		return nil, errors.Errorf("skills must be measured in at least 1 episode, and at least 1 step "+
			"apart, not %+v", config.Passive)
	}
	spec := task.Env.Spec()
	s := &Search{
		platform: p, config: config, buffer: replay.Store{Platform: p}, iteration: -1,
		it: iteration{
			task: task, method: method, sac: sac.New(config.SAC, spec.Observations+task.Skills,
				spec.Actions),
			environments: config.Environments, updates: config.Updates,
		},
	}
	rows := int64(config.Capacity) * int64(task.layout().Width())
	rows += int64(config.Centroids.Shape[0]+task.Skills*config.Passive.States) * int64(task.policy(
		config.SAC.Hidden).Params())
	if err := p.CheckMemory(4 * rows / int64(p.Workers)); err != nil {
		return nil, err
	}
	s.sums = make([]float64, len(s.Columns()))
	if err := s.build(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// build makes the programs and the state before the first iteration.
func (s *Search) build() error {
	s.seed = xla.Sharded{tensors.FromValue(xla.SeedWords(s.config.Seed))}
	s.numbers = s.it.numbers()
	s.tuning = s.numbers.Values(1)
	inputs := append([]xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}}, s.numbers.Inputs()...)
	var buffer replay.Buffer
	start, err := s.platform.Compile("start", inputs, func(in []*graph.Node) []*graph.Node {
		numbers, _ := s.numbers.Cut(in[1:])
		s.form, buffer = s.it.tuned(numbers).start(xla.KeyOf(in[0]), s.config.Capacity)
		return append(xla.Flatten(s.form), xla.Flatten(buffer)...)
	}, s.it.axes()...)
	if err != nil {
		return err
	}
	s.others = append(s.others, start)
	out, err := start.Run(append([]xla.Sharded{s.seed}, s.tuning...)...)
	if err != nil {
		return err
	}
	n := len(xla.Flatten(s.form))
	s.known, s.buffer.Leaves = out[:n:n], out[n:]
	s.program, err = s.compile("iteration", s.it.build)
	if err != nil {
		return err
	}
	s.measuring, err = s.newMeasuring()
	return err
}

// compile makes a program of the whole state, after the seed, the number of the iteration and the
// numbers of the method.
func (s *Search) compile(name string, build func(state, replay.Buffer, []*graph.Node,
	xla.Key) (state, replay.Buffer, figures)) (*xla.Program, error) {
	inputs := append([]xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)},
		{Shape: shapes.Make(dtypes.Int32)}}, s.numbers.Inputs()...)
	for _, v := range s.known {
		inputs = append(inputs, xla.Input{Shape: v[0].Shape(), Donate: true})
	}
	inputs = append(inputs, s.buffer.Inputs(true)...)
	return s.platform.Compile(name, inputs, func(in []*graph.Node) []*graph.Node {
		numbers, rest := s.numbers.Cut(in[2:])
		n := len(s.known)
		buffer := xla.Unflatten(replay.Buffer{Rows: in[0], Size: in[0], Position: in[0]}, rest[n:])
		after, buffer, f := build(xla.Unflatten(s.form, rest[:n]), buffer, numbers,
			xla.KeyOf(in[0]).FoldInEach(in[1]))
		return slices.Concat(xla.Flatten(after), xla.Flatten(buffer), xla.Flatten(f))
	}, s.it.axes()...)
}

// run runs such a program and takes its outputs as the new state. It returns the figures.
func (s *Search) run(program *xla.Program, number int64) ([]float64, error) {
	at := xla.Sharded{tensors.FromScalar(int32(number))}
	defer at.Free()
	out, err := program.Run(slices.Concat([]xla.Sharded{s.seed, at}, s.tuning, s.known,
		s.buffer.Leaves)...)
	if err != nil {
		return nil, err
	}
	n := len(s.known)
	m := n + len(s.buffer.Leaves)
	s.known, s.buffer.Leaves = out[:n:n], out[n:m:m]
	var means []float64
	for _, value := range out[m:] {
		means = append(means, float64(tensors.ToScalar[float32](value[0])))
		value.Free()
	}
	return means, nil
}

// Columns names the numbers in [Outcome].Extra: losses and rewards.
func (s *Search) Columns() []string { return picked(s.it, s.names()) }

// names are those of the figures, in the order of their fields.
func (s *Search) names() []string {
	loss := ""
	if s.it.method.Diversity != nil {
		loss = s.it.method.Diversity.Loss()
	}
	return []string{"critic_loss", "actor_loss", "alpha_loss", loss, "training_reward",
		"diversity_reward", "accepted_share", "task_reward"}
}

// picked are the figures, or what belongs to them, that the method has.
func picked[T any](it iteration, all []T) []T {
	var some []T
	_, gate := it.method.Objective.(Gate)
	for i, x := range all {
		switch i {
		case 3, 5: // the diversity's
			if it.method.Diversity == nil {
				continue
			}
		case 6:
			if !gate {
				continue
			}
		}
		some = append(some, x)
	}
	return some
}

// Step runs the next iteration; the first call only measures the skills that nothing has taught
// yet.
func (s *Search) Step() (Outcome, error) {
	next := s.iteration + 1
	before, after := s.envSteps(s.iteration), s.envSteps(next)
	outcome := Outcome{Iteration: next, EnvSteps: after}
	if next > 0 {
		program, err := s.programFor(next)
		if err != nil {
			return Outcome{}, err
		}
		means, err := s.run(program, next)
		if err != nil {
			return Outcome{}, err
		}
		for i, x := range picked(s.it, means) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return Outcome{},
					errors.Errorf("%s is %v in iteration %d: the last checkpoint is good; lower learning_rate "+
						"or reward_scaling, or look at the environment's rewards",
						s.Columns()[i], x, next)
			}
			s.sums[i] += x
		}
		s.summed++
	}
	for _, sum := range s.sums {
		outcome.Extra = append(outcome.Extra, sum/s.summed) // NaN while nothing was learnt
	}
	s.iteration = next
	if s.config.Passive.due(before, after) {
		evaluation, err := s.Evaluate()
		if err != nil {
			return Outcome{}, err
		}
		if outcome.Fitnesses, err = s.measuring.insert(evaluation); err != nil {
			return Outcome{}, err
		}
		outcome.Invalid = evaluation.invalid()
		s.evaluations += int64(len(evaluation.Fitnesses))
		clear(s.sums)
		s.summed = 0
	}
	outcome.Evaluations = s.evaluations
	return outcome, nil
}

// programFor is that of an iteration: random actions and no updates while the search warms up.
func (s *Search) programFor(number int64) (*xla.Program, error) {
	if s.envSteps(number) > s.config.Warmup {
		return s.program, nil
	}
	if s.warmup == nil {
		acting := s.it
		acting.updates, acting.random = 0, true
		var err error
		if s.warmup, err = s.compile("warm-up", acting.build); err != nil {
			return nil, err
		}
	}
	return s.warmup, nil
}

// envSteps is how many steps were taken after an iteration.
func (s *Search) envSteps(iteration int64) int64 {
	return max(0, iteration) * int64(s.config.Environments)
}

// Iteration is the newest, 0 after the first evaluation and -1 before it.
func (s *Search) Iteration() int64 { return s.iteration }

// CompileTime is what XLA took to compile the search so far.
func (s *Search) CompileTime() time.Duration {
	var total time.Duration
	for _, program := range s.programs() {
		total += program.CompileTime
	}
	return total
}

func (s *Search) programs() []*xla.Program {
	all := slices.Concat(s.others, []*xla.Program{s.program, s.warmup}, s.buffer.Programs())
	if s.measuring != nil {
		all = append(all, s.measuring.programs()...)
	}
	return slices.DeleteFunc(all, func(p *xla.Program) bool { return p == nil })
}

// Close frees the device's memory and the programs.
func (s *Search) Close() {
	for _, v := range s.known {
		v.Free()
	}
	s.buffer.Free()
	for _, v := range append([]xla.Sharded{s.seed}, s.tuning...) {
		v.Free()
	}
	if s.measuring != nil {
		s.measuring.free()
	}
	for _, program := range s.programs() {
		program.Free()
	}
}
