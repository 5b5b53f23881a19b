package ppo

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Discrete is an environment whose actions are the rows of a matrix. A policy chooses among them.
type Discrete interface {
	envs.Env
	Choices() npz.Array // float32 [choices, Spec().Actions]
}

// Episodic is an environment that resets automatically, such as [envs.Episodes].
type Episodic interface {
	envs.Env
	// Truncation is 1 where the newest step ended an episode by its length only, [B].
	Truncation(envs.State) *graph.Node
}

// Extended is an environment whose steps are several control steps.
type Extended interface {
	envs.Env
	ControlSteps() int
	// Episodes returns the environment with episodes of a number of control steps. For learning, it is
	// [Episodic].
	Episodes(length int, learning bool) envs.Env
	// Credit returns what is learnt from rewards, dones and truncations [T, B] of consecutive steps, of
	// which last is the final state.
	Credit(reward, done, truncation *graph.Node, last envs.State) (_, _, _ *graph.Node)
}

// controlSteps is the number of control steps of a step.
func controlSteps(env envs.Env) int {
	if e, ok := env.(Extended); ok {
		return e.ControlSteps()
	}
	return 1
}

// learningEnv returns the environment for the collection of data.
func learningEnv(env envs.Env, length int) (Episodic, error) {
	if e, ok := env.(Extended); ok {
		if episodic, ok := e.Episodes(length, true).(Episodic); ok {
			return episodic, nil
		}
		return nil, fmt.Errorf("episodes of %s do not restart", env.Spec().Name)
	}
	return envs.AutoReset(env, length), nil
}

// Evaluator plays episodes with policies of a [Search].
type Evaluator struct {
	*xla.Program[evaluateIn, evaluateOut]
	platform *xla.Platform
	task     scoring.Task
	agent    agent
	choices  xla.Array        // see [Discrete]; empty for other environments
	checksum float64          // of the choices
	actor    xla.State[actor] // declared
	n        int
}

// Inputs and outputs of an evaluation.
type (
	evaluateIn struct {
		Seed, Worker, Number xla.Array
		Choices              xla.Array
		Actor                xla.State[actor]
	}
	evaluateOut struct{ Scores xla.State[scoring.Scores] }
)

// NewEvaluator compiles the evaluation of policies, with n episodes each.
func NewEvaluator(p *xla.Platform, env envs.Env, c Config, n int,
	recorders ...envs.Recorder) (*Evaluator, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("an evaluation needs at least 1 episode, not %d", n)
	}
	spec := env.Spec()
	if spec.Observations == 0 {
		return nil, fmt.Errorf("it learns from observations, of which %s has none: use an algorithm that "+
			"does not, such as map-elites", spec.Name)
	}
	if checked, ok := env.(interface{ Check() error }); ok {
		if err := checked.Check(); err != nil {
			return nil, err
		}
	}
	steps := (c.EpisodeLength + controlSteps(env) - 1) / controlSteps(env)
	if e, ok := env.(Extended); ok {
		env = e.Episodes(c.EpisodeLength, false)
	}
	e := &Evaluator{platform: p, n: n, task: scoring.Task{Env: env, Length: steps,
		Policy: nn.Policy(spec.Observations, c.PolicyHidden, spec.Actions)}}
	e.agent = newAgent(c, spec.Observations, spec.Actions, false)
	played := e.task
	if d, ok := env.(Discrete); ok {
		choices := d.Choices()
		e.agent = newAgent(c, spec.Observations, choices.Shape[0], true)
		draws := drawing{env, choices.Shape[0]}
		e.task.Policy, played.Env = e.agent.policy, draws
		recorders = slices.Clone(recorders)
		for i, r := range recorders {
			recorders[i] = draws.recorder(r)
		}
		var err error
		if e.choices, e.checksum, err = upload(p, choices); err != nil {
			return nil, err
		}
	}
	e.actor = declareActor(e.agent)
	b := scoring.Batch{Task: played, Recorders: recorders, Slices: share(p, n, c.Slice)}
	number := xla.Declare(dtypes.Int32)
	in := evaluateIn{xla.Declare(dtypes.Uint32, 2), number, number, e.choices, e.actor}
	var err error
	e.Program, err = xla.CompileParallel(p, "evaluation", in, func(in evaluateIn) evaluateOut {
		root := random.KeyOf(in.Seed.Tree).FoldIn(streamEvaluation)
		return evaluateOut{xla.Out(e.agent.evaluated(b, in.Actor.Tree, in.Choices.Tree, root,
			root.FoldIn(streamDecisions).FoldInEach(in.Number.Tree), in.Worker.Tree))}
	}, e.axes(b.Slices)...)
	if err != nil {
		e.choices.Free()
		return nil, err
	}
	return e, nil
}

// axes names the axis sizes for environments that are divided among workers.
func (e *Evaluator) axes(shared xla.Slices) []xla.Axis {
	return append([]xla.Axis{
		{Size: shared.Size, Meaning: "environments of a slice"},
		{Size: shared.N, Meaning: "environments"},
		{Size: e.agent.UnrollLength, Meaning: "decisions of a sequence"},
		{Size: e.task.Length, Meaning: "decisions of an episode"},
		{Size: controlSteps(e.task.Env), Meaning: "steps of a decision"},
	}, envs.Axes(e.task.Env.Spec())...)
}

// declareActor declares an actor as an input.
func declareActor(a agent) xla.State[actor] {
	leaves := []xla.Array{xla.Declare(dtypes.Float32, 1, a.policy.Params())}
	if a.NormalizeObservations {
		o := a.policy.Sizes[0]
		leaves = append(leaves, xla.Declare(dtypes.Float32, o), xla.Declare(dtypes.Float32, o),
			xla.Declare(dtypes.Float32))
	}
	return xla.Pack(func(in []*graph.Node) actor {
		if len(in) == 1 {
			return actor{Policy: in[0]}
		}
		return actor{in[0], &nn.Statistics{Mean: in[1], Squares: in[2], Count: in[3]}}
	}, leaves...)
}

// upload copies choices to where the workers read them, and returns a checksum.
func upload(p *xla.Platform, choices npz.Array) (none xla.Array, checksum float64, err error) {
	flat, err := choices.Float32s()
	if err != nil || len(choices.Shape) != 2 || choices.Shape[0] < 1 {
		return none, 0, fmt.Errorf("choices must be float32 [choices, actions] with at least one choice, "+
			"not %v", choices.Shape)
	}
	if err := p.CheckMemory(4*int64(len(flat)), 0); err != nil {
		return none, 0, err
	}
	value, err := xla.Uploads(choices, p.Copies())
	return xla.Value(value), sum(flat), err
}

// Evaluate plays one episode from each initial state. The seed alone draws the initial states, so
// they are the same every time; seed and number together draw the choices.
func (e *Evaluator) Evaluate(policy Policy, seed, number int64) (r scoring.Results, err error) {
	if err := policy.matches(e.checksum); err != nil {
		return r, err
	}
	act, c := e.actor.First(), &xla.Checkpoint{}
	c.Add(&act, e.platform.Copies(), "", actorNames[:len(act.Leaves())]...)
	if err := c.Restore(policy); err != nil {
		return r, fmt.Errorf("the policy does not fit the settings: %w", err)
	}
	defer act.Free()
	return e.evaluate(act, seed, number)
}

func (e *Evaluator) evaluate(act xla.State[actor], seed, number int64) (r scoring.Results, err error) {
	in := evaluateIn{e.platform.Seed(seed), xla.Value(e.platform.WorkerNumbers()),
		e.platform.Number(number), e.choices, act}
	defer xla.Free(&in.Seed, &in.Worker, &in.Number)
	out, err := e.Run(in)
	if err != nil {
		return r, err
	}
	defer xla.Free(&out)
	part := func(of func(scoring.Scores) *graph.Node) ([]float32, error) {
		return xla.Part(out.Scores, of).Floats()
	}
	var failed [3]error
	r.Fitnesses, failed[0] = part(func(s scoring.Scores) *graph.Node { return s.Fitness })
	if len(e.task.Env.Spec().Descriptor.Lower) > 0 {
		r.Descriptors, failed[1] = part(func(s scoring.Scores) *graph.Node { return s.Descriptors })
	}
	r.Records, failed[2] = xla.Part(out.Scores,
		func(s scoring.Scores) []*graph.Node { return s.Records }).Lists()
	return r, cmp.Or(failed[:]...)
}

// Close frees the program and the memory on the devices.
func (e *Evaluator) Close() {
	e.choices.Free()
	e.Program.Free()
}

// Policy is a trained policy on the host: its arrays by name.
type Policy map[string]npz.Array

// Arrays of a policy: its row (see [nn.MLP.Layout]) and, if observations are normalised, their
// statistics. The checksum is that of the choices in a discrete environment.
var actorNames = []string{"policy", "observation_mean", "observation_squares", "observation_count"}

const checksumName = "choices_checksum"

// matches returns an error if the policy was trained with choices of another checksum.
func (p Policy) matches(checksum float64) error {
	if had, err := p[checksumName].Float64s(); err != nil || len(had) != 1 || had[0] != checksum {
		return errOtherChoices
	}
	return nil
}

var errOtherChoices = errors.New("this meta-controller was trained with other skills: restore these, or " +
	"move its folder away and retrain")
