package hierarchy

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Evaluation holds the results of a meta-controller for one episode from each of n initial states.
type Evaluation struct {
	Fitnesses []float32 // [n], returns of the episodes
	Steps     []float32 // [n], length of each episode
	Choices   []int32   // [n * decisions], chosen skills
	// Positions is [n * length * (2 + looks)], after each step; see [Task].Place. Entries beyond Steps
	// are undefined.
	Positions []float32
	length    int
	looks     int
	decisions int
}

// Position returns the robot's position in episode i after a step.
func (e Evaluation) Position(i, step int) [2]float32 {
	return [2]float32(e.kept(i, step)[:2])
}

// Looked returns the output of [Task].Look in episode i after a step.
func (e Evaluation) Looked(i, step int) []float32 { return e.kept(i, step)[2:] }

func (e Evaluation) kept(i, step int) []float32 {
	width := 2 + e.looks
	at := width * (i*e.length + step)
	return e.Positions[at : at+width]
}

// Chosen returns the skills chosen in episode i.
func (e Evaluation) Chosen(i int) []int32 { return e.Choices[i*e.decisions : (i+1)*e.decisions] }

// Farthest returns the greatest first coordinate of episode i's positions.
func (e Evaluation) Farthest(i int) float32 {
	far := float32(math.Inf(-1))
	for step := range int(e.Steps[i]) {
		far = max(far, e.Position(i, step)[0])
	}
	return far
}

// Policy is a meta-controller on the host, as a run stores it: its arrays by name.
type Policy map[string]npz.Array

// Chooses returns an error if the policy was not trained with these skills, rows [skills, N].
func (p Policy) Chooses(skills npz.Array) error {
	rows, err := skills.Float32s()
	if err != nil {
		return err
	}
	return matches(p, checksum(rows))
}

// Arrays of a policy, besides the checksum of its skills: its row (see [nn.MLP.Layout]) and, if
// observations are normalised, their statistics.
var actorNames = []string{"policy", "observation_mean", "observation_squares", "observation_count"}

// Evaluator evaluates meta-controllers.
type Evaluator struct {
	platform  *xla.Platform
	task      Task
	algorithm ppo.PPO
	shared    xla.Slices
	program   *xla.Program[evaluateIn, xla.State[episode]]
	actor     xla.State[actor] // declared
}

// evaluateIn are the inputs of an evaluation.
type evaluateIn struct {
	Seed, Worker, Number xla.Array
	Skills               xla.Array // [skills, N]
	Actor                xla.State[actor]
}

// NewEvaluator compiles the evaluation of policies for skills of shape [skills, N], with n episodes
// each.
func NewEvaluator(p *xla.Platform, task Task, settings Settings, skills []int, n int) (*Evaluator,
	error) {
	task = task.with(settings)
	if n < 1 {
		return nil, fmt.Errorf("an evaluation needs at least 1 episode, not %d", n)
	}
	if err := cmp.Or(settings.Check(), task.check(skills)); err != nil {
		return nil, err
	}
	e := &Evaluator{
		platform: p, task: task, shared: share(p, n, settings.Slice),
		algorithm: ppo.New(settings.Config, task.Env.Spec().Observations, skills[0]),
	}
	e.actor = declareActor(e.algorithm)
	number := xla.Declare(dtypes.Int32)
	in := evaluateIn{xla.Declare(dtypes.Uint32, 2), number, number,
		xla.Declare(dtypes.Float32, skills...), e.actor}
	var err error
	e.program, err = xla.CompileParallel(p, "evaluation of decisions", in,
		func(in evaluateIn) xla.State[episode] {
			root := random.KeyOf(in.Seed.Tree).FoldIn(streamEvaluation)
			return xla.Out(e.episodes(in.Actor.Tree, in.Skills.Tree, root,
				root.FoldIn(streamDecisions).FoldInEach(in.Number.Tree), in.Worker.Tree))
		}, e.task.axes(settings, e.shared)...)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// declareActor declares an actor as an input.
func declareActor(algorithm ppo.PPO) xla.State[actor] {
	leaves := []xla.Array{xla.Declare(dtypes.Float32, 1, algorithm.Policy.Params())}
	if algorithm.NormalizeObservations {
		o := algorithm.Policy.Sizes[0]
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

// Evaluate plays one episode from each initial state. The seed alone draws the initial states, so
// they are the same every time; seed and number together draw the choices. skills are rows [skills,
// N], see [Upload].
func (e *Evaluator) Evaluate(policy Policy, skills xla.Array, seed, number int64) (Evaluation,
	error) {
	act, err := e.upload(policy)
	if err != nil {
		return Evaluation{}, err
	}
	defer act.Free()
	return e.evaluate(act, skills, seed, number)
}

// upload copies a policy to where the workers read it.
func (e *Evaluator) upload(policy Policy) (xla.State[actor], error) {
	act, c := e.actor.First(), &xla.Checkpoint{}
	c.Add(&act, e.platform.Copies(), "", actorNames[:len(act.Leaves())]...)
	if err := c.Restore(policy); err != nil {
		return act, fmt.Errorf("the policy does not fit the settings: %w", err)
	}
	return act, nil
}

func (e *Evaluator) evaluate(act xla.State[actor], skills xla.Array, seed,
	number int64) (Evaluation, error) {
	in := evaluateIn{e.platform.Seed(seed), xla.Value(e.platform.WorkerNumbers()),
		e.platform.Number(number), skills, act}
	defer xla.Free(&in.Seed, &in.Worker, &in.Number)
	out, err := e.program.Run(in)
	if err != nil {
		return Evaluation{}, err
	}
	defer out.Free()
	result := Evaluation{length: e.task.length, looks: e.task.Looks, decisions: e.task.decisions()}
	var failed [4]error
	read := func(field func(episode) *graph.Node) ([]float32, error) {
		return xla.Part(out, field).Floats()
	}
	result.Fitnesses, failed[0] = read(func(e episode) *graph.Node { return e.Return })
	result.Steps, failed[1] = read(func(e episode) *graph.Node { return e.Length })
	result.Positions, failed[2] = read(func(e episode) *graph.Node { return e.Positions })
	choices, err := xla.Download(xla.Part(out,
		func(e episode) *graph.Node { return e.Choices }).Value())
	if err == nil {
		result.Choices, failed[3] = choices.Int32s()
	}
	return result, cmp.Or(append(failed[:], err)...)
}

// Upload copies the rows of skills, [skills, N], to where the workers read them.
func Upload(p *xla.Platform, rows npz.Array) (none xla.Array, err error) {
	if len(rows.Shape) != 2 || rows.Shape[0] < 1 {
		return none, fmt.Errorf("skills must have shape [skills, parameters] with at least one "+
			"skill, not %v", rows.Shape)
	}
	if err := p.CheckMemory(4*int64(rows.Len()), 0); err != nil {
		return none, err
	}
	value, err := xla.Uploads(rows, p.Copies())
	if err != nil {
		return none, err
	}
	return xla.Value(value), nil
}

// Close frees the program.
func (e *Evaluator) Close() {
	if e.program != nil {
		e.program.Free()
	}
}
