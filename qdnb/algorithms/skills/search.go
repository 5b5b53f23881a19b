package skills

import (
	"errors"
	"fmt"
	"time"

	"github.com/gomlx/compute/dtypes"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// config holds the settings of a search apart from its method. The length of an episode is the
// task's.
type config struct {
	SAC
	Seed      int64
	Centroids npz.Array // of the passive repertoire, float32 [cells, d]
}

// due reports whether to measure skills after an iteration that went from one number of environment
// steps to another: they are evaluated and inserted into a repertoire of cells like individuals of
// MAP-Elites. This does not affect learning.
func (s SAC) due(before, after int64) bool {
	every := s.EvaluationInterval
	if s.EarlyInterval > 0 && after < every {
		every = s.EarlyInterval
	}
	return after == 0 || before/every != after/every
}

// memory returns the bytes of the replay buffer, the passive repertoire and the evaluated skills.
func (c config) memory(kind backend.Kind, task Task) int64 {
	policies := int64(c.Centroids.Shape[0] + task.Skills.Count())
	return 4 * (int64(c.ReplayBufferSize)*int64(task.layout().StoredWidth(kind)) +
		policies*int64(task.policy(c.Hidden).Params()))
}

// Search is a running skill discovery. Its state is on the first device.
type Search struct {
	programs  *xla.Scope
	it        iteration
	config    config
	state     xla.State[state]
	buffer    replay.Store
	program   *program
	warmup    *program // program with random actions and without updates; nil until needed
	measuring *measuring
	seed      xla.Array
	iteration int64 // newest iteration; 0 after the first evaluation, -1 before it

	evaluations int64         // evaluation episodes so far
	means       scoring.Means // of the metrics since the last evaluation
	dropped     float64       // transitions that were not finite since then
}

// program is a program on the whole state.
type program = xla.Program[iterationIn, iterationOut]

// Inputs and outputs of the programs.
type (
	startOut struct {
		State  xla.State[state]
		Buffer xla.State[replay.Buffer]
	}
	iterationIn struct {
		Seed, Number xla.Array
		State        xla.State[state]         `xla:"donate"`
		Buffer       xla.State[replay.Buffer] `xla:"donate"`
	}
	iterationOut struct {
		startOut
		Metrics xla.State[metrics]
	}
)

// newSearch compiles a search.
func newSearch(p *xla.Platform, method method, config config) (*Search, error) {
	if err := method.Skills.check(); err != nil {
		return nil, err
	}
	switch {
	case method.Skills.OneHot > config.EnvBatchSize:
		return nil, fmt.Errorf("%d environments cannot play all of %d skills", config.EnvBatchSize,
			method.Skills.OneHot)
	case (method.Diversity == nil) != (method.Skills.Count() == 0) ||
		(method.Diversity == nil) != (method.Objective == nil):
		return nil, errors.New("skills, a diversity reward and an objective go together: set all of " +
			"them or none")
	case method.Objective != nil && method.Objective.NeedsReturns() &&
		config.ReplayBufferSize/config.EnvBatchSize < method.Length:
		return nil, fmt.Errorf("the replay buffer must hold whole episodes: at least %d "+
			"transitions, not %d", config.EnvBatchSize*method.Length, config.ReplayBufferSize)
	}
	programs := &xla.Scope{Platform: p}
	s := &Search{programs: programs, it: newIteration(method, config.SAC.Config),
		config: config, iteration: -1,
		buffer: replay.Store{Programs: programs, Width: method.layout().Width()}}
	s.it.environments, s.it.updates = config.EnvBatchSize, config.Updates()
	if err := p.CheckMemory(config.memory(p.Kind, method.Task), 0); err != nil {
		return nil, err
	}
	s.means.Sums = make([]float64, len(s.Columns()))
	if err := s.build(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// build compiles the programs and creates the state before the first iteration.
func (s *Search) build() error {
	s.seed = s.programs.Seed(s.config.Seed).First()
	start, err := xla.Compile(s.programs, "start", s.seed, func(seed xla.Array) startOut {
		first, buffer := s.it.start(random.KeyOf(seed.Tree), s.config.ReplayBufferSize)
		return startOut{xla.Out(first), xla.Out(buffer)}
	}, s.it.axes()...)
	if err != nil {
		return err
	}
	out, err := start.Run(s.seed)
	if err != nil {
		return err
	}
	s.state, s.buffer.State = out.State, out.Buffer
	if s.program, err = s.compile(s.programs, "iteration", s.it.build); err != nil {
		return err
	}
	s.measuring, err = s.newMeasuring()
	return err
}

// inputs are the inputs of a program on the whole state.
func (s *Search) inputs(number xla.Array) iterationIn {
	return iterationIn{s.seed, number, s.state, s.buffer.State}
}

// compile compiles a program on the whole state.
func (s *Search) compile(c xla.Compiler, name string, build func(state, replay.Buffer,
	random.Key) (state, replay.Buffer, metrics)) (*program, error) {
	return xla.Compile(c, name, s.inputs(xla.Declare(dtypes.Int32)),
		func(in iterationIn) iterationOut {
			after, buffer, f := build(in.State.Tree, in.Buffer.Tree,
				random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree))
			return iterationOut{startOut{xla.Out(after), xla.Out(buffer)}, xla.Out(f)}
		}, s.it.axes()...)
}

// run executes such a program and keeps its outputs as the new state. It returns the metrics.
func (s *Search) run(program *program, number int64) ([]float64, error) {
	at := s.programs.Number(number).First()
	defer at.Free()
	out, err := program.Run(s.inputs(at))
	if err != nil {
		return nil, err
	}
	s.state, s.buffer.State = out.State, out.Buffer
	return out.Metrics.Scalars(), nil
}

// Columns names the values in [scoring.Outcome].Extra: losses and rewards.
func (s *Search) Columns() []string { return picked(s.it, s.it.columns()) }

// columns are the names of the [metrics] in field order; "" for those that the method lacks.
func (it iteration) columns() []string {
	names := []string{"critic_loss", "actor_loss", "alpha_loss", "", "training_reward", "", "",
		"task_reward", ""}
	if d := it.Diversity; d != nil {
		names[3], names[5] = d.Loss(), "diversity_reward"
	}
	if _, ok := it.Objective.(Gate); ok {
		names[6] = "accepted_share"
	}
	return names
}

// picked selects the values of the columns that the method has.
func picked[T any](it iteration, all []T) (some []T) {
	for i, name := range it.columns() {
		if name != "" {
			some = append(some, all[i])
		}
	}
	return some
}

// Step runs the next iteration. The first call only measures the untrained skills.
func (s *Search) Step() (scoring.Outcome, error) {
	next := s.iteration + 1
	after := s.envSteps(next)
	if next > 0 {
		if s.warming(s.iteration) && !s.warming(next) {
			s.means.Reset() // losses are those of updates only
		}
		program, err := s.programFor(next)
		if err != nil {
			return scoring.Outcome{}, err
		}
		means, err := s.run(program, next)
		if err != nil {
			return scoring.Outcome{}, err
		}
		if err := s.means.Add(s.Columns(), picked(s.it, means)); err != nil {
			return scoring.Outcome{},
				fmt.Errorf("%w in iteration %d: lower learning_rate or reward_scaling", err, next)
		}
		s.dropped += means[len(means)-1]
	}
	outcome := scoring.Outcome{Extra: s.means.Values()}
	s.iteration = next
	if s.Measured() {
		var err error
		if outcome, err = s.Conclude(); err != nil {
			return scoring.Outcome{}, err
		}
		s.evaluations += int64(s.measuring.episodes)
		s.dropped = 0
		s.means.Reset()
	}
	outcome.Generation, outcome.EnvSteps, outcome.Evaluations = next, after, s.evaluations
	return outcome, nil
}

// Measured reports whether the skills of the newest iteration are in the passive repertoire, which
// gets them at intervals.
func (s *Search) Measured() bool {
	return s.config.due(s.envSteps(s.iteration-1), s.envSteps(s.iteration))
}

// Conclude evaluates the skills of the newest iteration and inserts them into the passive
// repertoire. It returns the fitnesses of its cells and the means of the metrics since the last
// evaluation. The evaluations of a search that continues would differ afterwards.
func (s *Search) Conclude() (outcome scoring.Outcome, err error) {
	evaluation, err := s.Evaluate()
	if err != nil {
		return outcome, err
	}
	outcome = scoring.Outcome{Generation: s.iteration, Dropped: int(s.dropped), Extra: s.means.Values()}
	return outcome, s.measuring.passive.Add(xla.Value(evaluation.Genotypes), evaluation.Results, &outcome)
}

// programFor returns the program of an iteration: with random actions and without updates during
// warm-up.
func (s *Search) programFor(number int64) (*program, error) {
	if !s.warming(number) {
		return s.program, nil
	}
	if s.warmup == nil {
		acting := s.it
		acting.updates, acting.random = 0, true
		var err error
		if s.warmup, err = s.compile(s.programs, "warm-up", acting.build); err != nil {
			return nil, err
		}
	}
	return s.warmup, nil
}

// warming reports whether an iteration belongs to the warm-up.
func (s *Search) warming(number int64) bool { return s.envSteps(number) <= s.config.WarmupSteps }

// envSteps is the number of environment steps taken after an iteration.
func (s *Search) envSteps(iteration int64) int64 {
	return max(0, iteration) * int64(s.config.EnvBatchSize)
}

// Skills is the number of skills, 0 without.
func (s *Search) Skills() int { return s.it.Skills.Count() }

// CompileTime is the time that XLA has spent on compiling the search.
func (s *Search) CompileTime() time.Duration { return s.programs.CompileTime() }

// Close frees the device memory and the programs.
func (s *Search) Close() {
	xla.Free(&s.state, &s.buffer.State, &s.seed)
	if s.measuring != nil {
		if s.measuring.passive != nil {
			s.measuring.passive.Free()
		}
		s.measuring.current.Free()
	}
	s.programs.Free()
}
