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

// Config holds the settings of a search apart from its task and method.
type Config struct {
	SAC          sac.Config
	Environments int   // parallel environments; environment k plays skill k mod skills
	Updates      int   // per step of all environments
	Capacity     int   // replay buffer size in transitions: a multiple of Environments
	Warmup       int64 // environment steps before the first update
	Seed         int64

	Passive   Passive
	Centroids npz.Array // of the passive repertoire, float32 [cells, d]
}

// Passive says when and how skills are measured: they are evaluated and inserted into a repertoire
// of cells like individuals of MAP-Elites. This does not affect learning.
type Passive struct {
	States int   // episodes per skill, each from a different initial state, always the same ones
	Every  int64 // environment steps between evaluations; the first is before the first step
	Early  int64 // the same up to the first Every steps; 0 for no extra evaluations
}

// due reports whether to measure skills after an iteration that went from one number of environment
// steps to another.
func (p Passive) due(before, after int64) bool {
	every := p.Every
	if p.Early > 0 && after < p.Every {
		every = p.Early
	}
	return after == 0 || before/every != after/every
}

// Search is a running skill discovery. Its state is on the first device.
type Search struct {
	platform  *xla.Platform
	it        iteration
	config    Config
	form      state // structure of the state's pytree
	known     []xla.Sharded
	buffer    replay.Store
	program   *xla.Executable
	warmup    *xla.Executable // program with random actions and without updates; nil until needed
	others    []*xla.Executable
	measuring *measuring
	seed      xla.Sharded
	numbers   xla.Params    // parameters of the method
	tuning    []xla.Sharded // numbers, on the device
	iteration int64         // newest iteration; 0 after the first evaluation, -1 before it

	evaluations int64     // evaluation episodes so far
	sums        []float64 // sums of the metrics since the last evaluation
	summed      float64   // number of summed iterations
}

// Outcome is the result of an iteration on the host.
type Outcome struct {
	Iteration   int64 // 0 is the evaluation before the first step
	Evaluations int64 // evaluation episodes so far
	EnvSteps    int64 // training steps so far
	// Fitnesses are those of the passive repertoire, [cells], -Inf if empty; nil if skills were not
	// measured.
	Fitnesses []float32
	// Invalid is the number of evaluation episodes with a NaN or infinite fitness or a NaN
	// descriptor. They are never inserted.
	Invalid int
	// Extra are means over the iterations since the last evaluation; NaN at first. See
	// [Search.Columns].
	Extra []float64
}

// New compiles a search.
func New(p *xla.Platform, task Task, method Method, config Config) (*Search, error) {
	d := len(task.Env.Spec().Descriptor.Lower)
	switch {
	case config.Environments < 1 || config.Updates < 0:
		return nil, errors.Errorf("a search needs at least 1 environment and at least 0 updates, not "+
			"%d and %d", config.Environments, config.Updates)
	case task.Skills > config.Environments:
		return nil, errors.Errorf("%d environments cannot play all of %d skills", config.Environments,
			task.Skills)
	case config.Capacity < config.Environments || config.Capacity%config.Environments != 0:
		return nil, errors.Errorf("the replay buffer must hold a multiple of the %d environments, not "+
			"%d transitions", config.Environments, config.Capacity)
	case (method.Diversity == nil) != (task.Skills == 0) || (method.Diversity == nil) !=
		(method.Objective == nil):
		return nil, errors.New("skills, a diversity reward and an objective go together: set all of " +
			"them or none")
	case method.Objective != nil && method.Objective.NeedsReturns() &&
		config.Capacity/config.Environments < task.Length:
		return nil, errors.Errorf("the replay buffer must hold whole episodes: at least %d "+
			"transitions, not %d", config.Environments*task.Length, config.Capacity)
	case len(config.Centroids.Shape) != 2 || config.Centroids.Shape[0] <
		1 || config.Centroids.Shape[1] != d:
		return nil, errors.Errorf("centroids of shape %v do not fit descriptors of %d components",
			config.Centroids.Shape, d)
	case config.Warmup < 0:
		return nil, errors.Errorf("warm-up must be at least 0 steps, not %d", config.Warmup)
	case config.Passive.States < 1 || config.Passive.Every < 1 || config.Passive.Early < 0:
		return nil, errors.Errorf("skills must be measured in at least 1 episode and at least 1 step "+
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

// build compiles the programs and creates the state before the first iteration.
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

// compile compiles a program on the whole state, whose first inputs are the seed, the iteration and
// the method's parameters.
func (s *Search) compile(name string, build func(state, replay.Buffer, []*graph.Node,
	xla.Key) (state, replay.Buffer, metrics)) (*xla.Executable, error) {
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

// run executes such a program and keeps its outputs as the new state. It returns the metrics.
func (s *Search) run(program *xla.Executable, number int64) ([]float64, error) {
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

// Columns names the values in [Outcome].Extra: losses and rewards.
func (s *Search) Columns() []string { return picked(s.it, s.names()) }

// names are the names of all metrics, in field order.
func (s *Search) names() []string {
	loss := ""
	if s.it.method.Diversity != nil {
		loss = s.it.method.Diversity.Loss()
	}
	return []string{"critic_loss", "actor_loss", "alpha_loss", loss, "training_reward",
		"diversity_reward", "accepted_share", "task_reward"}
}

// picked selects the metrics that the method has, or values that belong to them.
func picked[T any](it iteration, all []T) []T {
	var some []T
	_, gate := it.method.Objective.(Gate)
	for i, x := range all {
		switch i {
		case 3, 5: // of the diversity reward
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

// Step runs the next iteration. The first call only measures the untrained skills.
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
					errors.Errorf("%s is %v in iteration %d: the last checkpoint is intact; lower learning_rate "+
						"or reward_scaling, or check the environment's rewards",
						s.Columns()[i], x, next)
			}
			s.sums[i] += x
		}
		s.summed++
	}
	for _, sum := range s.sums {
		outcome.Extra = append(outcome.Extra, sum/s.summed) // NaN before the first update
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

// programFor returns the program of an iteration: with random actions and without updates during
// warm-up.
func (s *Search) programFor(number int64) (*xla.Executable, error) {
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

// envSteps is the number of environment steps taken after an iteration.
func (s *Search) envSteps(iteration int64) int64 {
	return max(0, iteration) * int64(s.config.Environments)
}

// Iteration returns the newest iteration, 0 after the first evaluation and -1 before it.
func (s *Search) Iteration() int64 { return s.iteration }

// CompileTime is the time that XLA has spent on compiling the search.
func (s *Search) CompileTime() time.Duration {
	var total time.Duration
	for _, program := range s.programs() {
		total += program.CompileTime
	}
	return total
}

func (s *Search) programs() []*xla.Executable {
	all := slices.Concat(s.others, []*xla.Executable{s.program, s.warmup}, s.buffer.Programs())
	if s.measuring != nil {
		all = append(all, s.measuring.programs()...)
	}
	return slices.DeleteFunc(all, func(p *xla.Executable) bool { return p == nil })
}

// Close frees the device memory and the programs.
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
