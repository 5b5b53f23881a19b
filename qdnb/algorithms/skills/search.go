package skills

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// memory returns the bytes of the replay buffer, the passive repertoire and the evaluated skills.
func (s SAC) memory(kind backend.Kind, task Problem) int64 {
	policies := int64(s.Cells + task.Skills.Count())
	return 4 * (int64(s.ReplayBufferSize)*int64(task.layout().StoredWidth(kind)) +
		policies*int64(task.policy(s.Hidden).Params()))
}

// search is a running skill discovery. Its state is on the first device. The repertoire is passive:
// evaluated skills are inserted like individuals of MAP-Elites.
type search struct {
	*algorithms.Learner
	it      iteration
	config  SAC // but for the length of an episode, which is the task's
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

// newSearch compiles the search of a method.
func newSearch(p *xla.Platform, method method, config SAC, seed int64) (algorithms.Search, error) {
	if err := method.Skills.check(); err != nil {
		return nil, err
	}
	switch {
	case method.Skills.OneHot > config.EnvBatchSize:
		return nil, fmt.Errorf("%d environments cannot play all of %d skills", config.EnvBatchSize, method.Skills.OneHot)
	case (method.Diversity == nil) != (method.Skills.Count() == 0) || (method.Diversity == nil) != (method.Objective == nil):
		return nil, errors.New("skills, a diversity reward and an objective go together: set all of them or none")
	case method.Objective != nil && method.Objective.NeedsReturns() &&
		config.ReplayBufferSize/config.EnvBatchSize < method.Length:
		return nil, fmt.Errorf("the replay buffer must hold whole episodes: at least %d "+
			"transitions, not %d", config.EnvBatchSize*method.Length, config.ReplayBufferSize)
	}
	if err := p.CheckMemory(config.memory(p.Kind, method.Problem), 0); err != nil {
		return nil, err
	}
	it := newIteration(method, config.Config)
	it.environments, it.updates = config.EnvBatchSize, config.Updates()
	task := scoring.Task{Env: method.Env, Policy: method.policy(config.Hidden), Length: method.Length}
	learner, err := algorithms.NewLearner(p, task, config.CVT, method.plan(config.EvaluationStates),
		picked(it, it.columns()), seed)
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
	s.skills, err = xla.Compile(s.Programs, "skills", s.actor(), func(actor xla.State[nn.Network]) policies {
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
	return xla.Compile(c, name, s.inputs(xla.Declare(dtypes.Int32)), func(in iterationIn) iterationOut {
		after, buffer, f := build(in.State.Tree, in.Buffer.Tree, random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree))
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
	names := []string{"critic_loss", "actor_loss", "alpha_loss", "", "training_reward", "", "", "task_reward", ""}
	if d := it.Diversity; d != nil {
		names[3], names[5] = cmp.Or(d.Loss(), "diversity_loss"), "diversity_reward"
	}
	if _, ok := it.Objective.(gate); ok {
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

// policies are an actor's skills as separate policies, see [Problem.Genotypes], and its row.
type policies struct{ Genotypes, Policy xla.Array }

// plan returns the episodes of an evaluation, which record positions in a plane.
func (p Problem) plan(states int) scoring.Plan {
	skills := max(1, p.Skills.Count())
	plan := scoring.Plan{Policies: skills, Episodes: skills * states}
	if d := p.Env.Spec().Descriptor; d.Kind == envs.Final && len(d.Lower) == 2 {
		plan.Recorders = []envs.Recorder{{Every: 1, Width: 2,
			Row: func(before envs.State, _ *graph.Node, _ envs.State) *graph.Node {
				return before.Descriptor
			}}}
	}
	return plan
}

// actor returns the actor on the device.
func (s *search) actor() xla.State[nn.Network] {
	return xla.Part(s.state, func(s state) nn.Network { return s.Learner.Actor.Params })
}

// policies returns the genotypes of the current skills.
func (s *search) policies() (xla.Array, error) {
	out, err := s.skills.Run(s.actor())
	out.Policy.Free()
	return out.Genotypes, err
}

// Evaluate rolls out the current skills without noise, in one episode from each initial state: episode i has
// skill i mod skills. It also returns the row of the actor, see [Problem.WithOneHotSkills]. The only record, if
// they are positions in a plane, is the state descriptors before each step. It does not change the search.
func (s *search) Evaluate() (policy []float32, found scoring.Results, err error) {
	out, err := s.skills.Run(s.actor())
	if err != nil {
		return nil, found, err
	}
	defer xla.Free(&out)
	if policy, err = out.Policy.Floats(); err != nil {
		return nil, found, err
	}
	found, err = s.Rollout(out.Genotypes)
	return policy, found, err
}

// State implements [algorithms.Search].
func (s *search) State() *xla.Checkpoint {
	c := &xla.Checkpoint{}
	c.Add(&s.state, 1, "")
	s.Store(c)
	return c
}

// Diversity returns the state of the diversity reward by the names of its pytree.
func (s *search) Diversity() (map[string]npz.Array, error) {
	c, part := &xla.Checkpoint{}, xla.Part(s.state, func(s state) Diversity { return s.Diversity })
	c.Add(&part, 1, "")
	return c.Arrays()
}

// Replay returns the replay buffer and the number of rows written so far.
func (s *search) Replay() (buffer *replay.Store, total int64) {
	return &s.buffer, s.EnvSteps(s.Generation)
}
