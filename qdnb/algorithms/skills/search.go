package skills

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// config holds the settings of a search apart from its method. The length of an episode is the
// task's.
type config struct {
	SAC
	Seed      int64
	Centroids npz.Array // of the passive repertoire, float32 [cells, d]
}

// memory returns the bytes of the replay buffer, the passive repertoire and the evaluated skills.
func (c config) memory(kind backend.Kind, task Problem) int64 {
	policies := int64(c.Centroids.Shape[0] + task.Skills.Count())
	return 4 * (int64(c.ReplayBufferSize)*int64(task.layout().StoredWidth(kind)) +
		policies*int64(task.policy(c.Hidden).Params()))
}

// search is a running skill discovery. Its state is on the first device. The repertoire is passive:
// evaluated skills are inserted like individuals of MAP-Elites.
type search struct {
	*algorithms.Learner
	it      iteration
	config  config
	state   xla.State[state]
	buffer  replay.Store
	program *program
	warmup  *program // program with random actions and without updates; nil until needed
	skills  *xla.Program[xla.State[nn.Network], policies]
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
func newSearch(p *xla.Platform, method method, config config) (*search, error) {
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
	if err := p.CheckMemory(config.memory(p.Kind, method.Problem), 0); err != nil {
		return nil, err
	}
	it := newIteration(method, config.SAC.Config)
	it.environments, it.updates = config.EnvBatchSize, config.Updates()
	task := scoring.Task{Env: method.Env, Policy: method.policy(config.Hidden), Length: method.Length}
	learner, err := algorithms.NewLearner(p, task, config.Centroids, method.plan(config.EvaluationStates),
		picked(it, it.columns()), config.Seed)
	if err != nil {
		return nil, err
	}
	s := &search{Learner: learner, it: it, config: config,
		buffer: replay.Store{Programs: learner.Programs, Width: method.layout().Width()}}
	learner.Steps, learner.Every = int64(config.EnvBatchSize), config.EvaluationInterval
	learner.Early, learner.Train, learner.Policies = config.EarlyInterval, s.train, s.policies
	if err := s.build(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// build compiles the programs and creates the state before the first iteration.
func (s *search) build() error {
	start, err := xla.Compile(s.Programs, "start", s.Seed, func(seed xla.Array) startOut {
		first, buffer := s.it.start(random.KeyOf(seed.Tree), s.config.ReplayBufferSize)
		return startOut{xla.Out(first), xla.Out(buffer)}
	}, s.it.axes()...)
	if err != nil {
		return err
	}
	out, err := start.Run(s.Seed)
	if err != nil {
		return err
	}
	s.state, s.buffer.State = out.State, out.Buffer
	if s.program, err = s.compile(s.Programs, "iteration", s.it.build); err != nil {
		return err
	}
	s.skills, err = xla.Compile(s.Programs, "skills", s.actor(),
		func(actor xla.State[nn.Network]) policies {
			numbered := s.it.WithOneHotSkills(actor.Tree)
			return policies{xla.Out(s.it.Genotypes(numbered)), xla.Out(numbered.Join())}
		})
	return err
}

// inputs are the inputs of a program on the whole state.
func (s *search) inputs(number xla.Array) iterationIn {
	return iterationIn{s.Seed, number, s.state, s.buffer.State}
}

// compile compiles a program on the whole state.
func (s *search) compile(c xla.Compiler, name string, build func(state, replay.Buffer,
	random.Key) (state, replay.Buffer, metrics)) (*program, error) {
	return xla.Compile(c, name, s.inputs(xla.Declare(dtypes.Int32)),
		func(in iterationIn) iterationOut {
			after, buffer, f := build(in.State.Tree, in.Buffer.Tree,
				random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree))
			return iterationOut{startOut{xla.Out(after), xla.Out(buffer)}, xla.Out(f)}
		}, s.it.axes()...)
}

// run executes such a program and keeps its outputs as the new state. It returns the metrics.
func (s *search) run(program *program, number int64) ([]float64, error) {
	at := s.Programs.Number(number).First()
	defer at.Free()
	out, err := program.Run(s.inputs(at))
	if err != nil {
		return nil, err
	}
	s.state, s.buffer.State = out.State, out.Buffer
	return out.Metrics.Scalars(), nil
}

// columns are the names of the [metrics] in field order; "" for those that the method lacks.
func (it iteration) columns() []string {
	names := []string{"critic_loss", "actor_loss", "alpha_loss", "", "training_reward", "", "",
		"task_reward", ""}
	if d := it.Diversity; d != nil {
		names[3], names[5] = cmp.Or(d.Loss(), "diversity_loss"), "diversity_reward"
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

// train runs an iteration. It returns the metrics and the number of transitions that were not finite.
func (s *search) train(number int64) ([]float64, error) {
	if s.warming(number-1) && !s.warming(number) {
		s.Forget() // losses are those of updates only
	}
	program, err := s.programFor(number)
	if err != nil {
		return nil, err
	}
	means, err := s.run(program, number)
	if err != nil {
		return nil, err
	}
	return append(picked(s.it, means), means[len(means)-1]), nil
}

// programFor returns the program of an iteration: with random actions and without updates during
// warm-up.
func (s *search) programFor(number int64) (*program, error) {
	if !s.warming(number) {
		return s.program, nil
	}
	if s.warmup == nil {
		acting := s.it
		acting.updates, acting.random = 0, true
		var err error
		if s.warmup, err = s.compile(s.Programs, "warm-up", acting.build); err != nil {
			return nil, err
		}
	}
	return s.warmup, nil
}

// warming reports whether an iteration belongs to the warm-up.
func (s *search) warming(number int64) bool { return s.EnvSteps(number) <= s.config.WarmupSteps }

// Skills is the number of skills, 0 without.
func (s *search) Skills() int { return s.it.Skills.Count() }

// Close frees the device memory and the programs.
func (s *search) Close() {
	xla.Free(&s.state, &s.buffer.State)
	s.Learner.Close()
}
