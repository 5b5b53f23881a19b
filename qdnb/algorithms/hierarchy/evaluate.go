package hierarchy

import (
	"cmp"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/xla"
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
const policyKey = "policy"

var statisticsKeys = []string{"observation_mean", "observation_squares", "observation_count"}

// Evaluator evaluates meta-controllers.
type Evaluator struct {
	platform *xla.Platform
	task     Task
	program  *xla.Executable
	inputs   []xla.Input // leaves of the actor
}

// NewEvaluator compiles the evaluation of policies for skills of shape [skills, N], with n episodes
// each.
func NewEvaluator(p *xla.Platform, task Task, settings Settings, skills []int, n int) (*Evaluator,
	error) {
	task = task.with(settings)
	if n < 1 {
		return nil, errors.Errorf("an evaluation needs at least 1 episode, not %d", n)
	}
	if err := cmp.Or(settings.Check(), task.check(skills)); err != nil {
		return nil, err
	}
	ev := &Evaluator{platform: p, task: task}
	e := &evaluating{
		task: task, algorithm: ppo.New(settings.Config, task.Env.Spec().Observations, skills[0]),
		shared: share(p, n, settings.Slice),
	}
	ev.inputs = actorInputs(e.algorithm)
	words := xla.Input{Shape: shapes.Make(dtypes.Uint32, 2)}
	number := xla.Input{Shape: shapes.Make(dtypes.Int32)}
	rows := xla.Input{Shape: shapes.Make(dtypes.Float32, skills...)}
	inputs := append([]xla.Input{words, number, number, rows}, ev.inputs...)
	var err error
	ev.program, err = p.CompileParallel("evaluation of decisions", inputs,
		func(in []*graph.Node) []*graph.Node {
			e.form = e.algorithm.Start(xla.NewKey(in[0].Graph(), 0))
			root := xla.KeyOf(in[0]).FoldIn(streamEvaluation)
			return xla.Flatten(e.evaluate(actor{in[4], in[5:]}, in[3], root,
				root.FoldIn(streamDecisions).FoldInEach(in[2]), in[1]))
		}, e.task.axes(settings, e.shared)...)
	if err != nil {
		return nil, err
	}
	return ev, nil
}

// actorInputs declares the leaves of an actor as inputs.
func actorInputs(algorithm ppo.PPO) []xla.Input {
	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Float32, 1, algorithm.Policy.Params())}}
	if algorithm.NormalizeObservations {
		o := algorithm.Policy.Sizes[0]
		for _, dims := range [][]int{{o}, {o}, {}} {
			inputs = append(inputs, xla.Input{Shape: shapes.Make(dtypes.Float32, dims...)})
		}
	}
	return inputs
}

// Evaluate plays one episode from each initial state. The seed alone draws the initial states, so
// they are the same every time; seed and number together draw the choices. skills are rows [skills,
// N] on every worker.
func (e *Evaluator) Evaluate(policy Policy, skills xla.Sharded, seed, number int64) (Evaluation,
	error) {
	act, err := e.upload(policy)
	if err != nil {
		return Evaluation{}, err
	}
	defer freeAll(act)
	return e.evaluate(act, skills, seed, number)
}

// upload copies a policy to every worker.
func (e *Evaluator) upload(policy Policy) ([]xla.Sharded, error) {
	var act []xla.Sharded
	for i, name := range append([]string{policyKey}, statisticsKeys...)[:len(e.inputs)] {
		array, ok := policy[name]
		want := e.inputs[i].Shape
		flat, err := array.Float32s()
		if !ok || err != nil || len(flat) != want.Size() {
			freeAll(act)
			return nil, errors.Errorf("%s of the policy has shape %v, but %v is needed: it was trained "+
				"with other skills", name, array.Shape, want.Dimensions)
		}
		act = append(act, e.platform.Replicated(func() *tensors.Tensor {
			return tensors.FromFlatDataAndDimensions(slices.Clone(flat), want.Dimensions...)
		}))
	}
	return act, nil
}

func (e *Evaluator) evaluate(act []xla.Sharded, skills xla.Sharded, seed, number int64) (Evaluation,
	error) {
	words := e.platform.Replicated(func() *tensors.Tensor {
		return tensors.FromValue(xla.SeedWords(
			seed))
	})
	at := e.platform.Replicated(func() *tensors.Tensor { return tensors.FromScalar(int32(number)) })
	workers := e.platform.WorkerNumbers()
	defer freeAll([]xla.Sharded{words, at, workers})
	out, err := e.program.Run(append([]xla.Sharded{words, workers, at, skills}, act...)...)
	if err != nil {
		return Evaluation{}, err
	}
	defer freeAll(out)
	result := Evaluation{length: e.task.length, looks: e.task.Looks, decisions: e.task.decisions()}
	for i, into := range []*[]float32{&result.Fitnesses, &result.Steps, nil, &result.Positions} {
		array, err := xla.Download(out[i])
		if err != nil {
			return Evaluation{}, err
		}
		if into == nil {
			result.Choices, err = array.Int32s()
		} else {
			*into, err = array.Float32s()
		}
		if err != nil {
			return Evaluation{}, err
		}
	}
	return result, nil
}

// Upload copies the rows of skills, [skills, N], to every worker.
func Upload(p *xla.Platform, rows npz.Array) (xla.Sharded, error) {
	flat, err := rows.Float32s()
	if err != nil {
		return nil, err
	}
	if len(rows.Shape) != 2 || rows.Shape[0] < 1 {
		return nil, errors.Errorf("skills must have shape [skills, parameters] with at least one skill, "+
			"not %v", rows.Shape)
	}
	if err := p.CheckMemory(4 * int64(len(flat))); err != nil {
		return nil, err
	}
	return p.Replicated(func() *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(flat,
			rows.Shape...)
	}), nil
}

func freeAll(values []xla.Sharded) {
	for _, v := range values {
		v.Free()
	}
}

// Close frees the program.
func (e *Evaluator) Close() {
	if e.program != nil {
		e.program.Free()
	}
}
