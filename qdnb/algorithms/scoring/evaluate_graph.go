package scoring

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// DefaultSlice is the slice size for a backend. On a CPU it is the number of policies whose weights
// fit the cache of one core, but at least two, because XLA multiplies a single row slowly. On other
// backends it is the whole batch.
func DefaultSlice(kind xla.Kind, batch, params int) int {
	if kind != xla.CPU {
		return batch
	}
	const cache = 1536 << 10 // bytes of weights; a core has 1 to 2 MB of private cache
	slice := 8               // a power of two, so that the physics fills vector registers
	for slice > 2 && slice*4*params > cache {
		slice /= 2
	}
	return min(batch, slice)
}

// Evaluator rolls out given policies in slices on all workers, like a generation. It is used for
// repertoires in changed environments and for timings.
type Evaluator struct {
	*xla.Program[evaluatorIn, evaluatorOut]
	batch    Batch
	platform *xla.Platform
	policies int
	states   int // initial states shared by all policies; 0: one per episode
}

// evaluatorIn are the inputs of an evaluator's program.
type evaluatorIn struct {
	Genotypes    xla.Array // [policies, N]
	Seed, Worker xla.Array
	Conditions   xla.Array // see envs.Perturbable; none for other tasks
}

// evaluatorOut are its outputs: [Scores] of the episodes.
type evaluatorOut struct {
	Fitness, Descriptors xla.Array
	Records              xla.State[[]*Node]
}

// NewEvaluator compiles the rollout of a batch of policies for whole episodes. A slice of 0 means
// [DefaultSlice].
func NewEvaluator(p *xla.Platform, task Task, batch, slice int) (*Evaluator, error) {
	return NewRepeatedEvaluator(p, task, batch, batch, slice)
}

// NewRepeatedEvaluator is [NewEvaluator] for fewer policies than episodes: episode i is played by
// policy i mod policies. [Evaluator.Record] returns what the recorders kept.
func NewRepeatedEvaluator(p *xla.Platform, task Task, policies, batch, slice int,
	recorders ...envs.Recorder) (*Evaluator, error) {
	return newEvaluator(p, task, policies, 0, batch, slice, recorders)
}

// NewCrossedEvaluator is [NewEvaluator] for every policy from each of several initial states, the
// same for all policies. Episode i is played by policy i / states from initial state i mod states.
// The results for a policy do not depend on the other policies.
func NewCrossedEvaluator(p *xla.Platform, task Task, policies, states, slice int,
	recorders ...envs.Recorder) (*Evaluator, error) {
	if states < 1 {
		return nil, errors.Errorf("states must be at least 1, not %d", states)
	}
	return newEvaluator(p, task, policies, states, policies*states, slice, recorders)
}

func newEvaluator(p *xla.Platform, task Task, policies, states, batch, slice int,
	recorders []envs.Recorder) (*Evaluator, error) {
	params := task.Policy.Params()
	if slice == 0 {
		slice = DefaultSlice(p.Kind, batch, params)
	}
	if policies < 1 || policies > batch || slice < 1 || task.Length < 1 {
		return nil, errors.Errorf("a rollout needs at least 1 policy, 1 step and slices of 1, not %d, "+
			"%d and %d", policies, task.Length, slice)
	}
	slice = min(slice, batch)
	if err := p.CheckMemory(4 * int64(params) * int64(policies+slice)); err != nil {
		return nil, err
	}
	e := &Evaluator{platform: p, policies: policies, states: states,
		batch: Batch{task, recorders, xla.Slices{N: batch, Size: slice, Workers: p.Workers}}}
	in := evaluatorIn{Genotypes: xla.Declare(dtypes.Float32, policies, params),
		Seed: xla.Declare(dtypes.Uint32, 2), Worker: xla.Declare(dtypes.Int32)}
	if live, ok := task.Env.(envs.Perturbable); ok {
		in.Conditions = xla.Declare(dtypes.Float32, live.Width())
	}
	var err error
	e.Program, err = xla.CompileParallel(p, "evaluation", in, e.build, task.Axes(batch, slice, 0)...)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Slice is the number of policies rolled out together.
func (e *Evaluator) Slice() int { return e.batch.Slices.Size }

// build returns the scores of the episodes.
func (e *Evaluator) build(in evaluatorIn) evaluatorOut {
	type carried struct {
		Genotypes  *Node
		Key        xla.Key
		Worker     *Node
		Conditions *Node
	}
	env, slices, worker := e.batch.Env, e.batch.Slices, in.Worker.Tree
	start := carried{in.Genotypes.Tree, xla.KeyOf(in.Seed.Tree), worker, in.Conditions.Tree}
	local := Score(e.batch, worker, start, func(turn *Node, c carried) (carried, nn.Net, envs.State) {
		// the last slice may repeat some episodes
		first := MinScalar(slices.First(turn, c.Worker), slices.N-slices.Size)
		episodes := slices.From(first)
		states := episodes
		var genotypes *Node
		switch {
		case e.states > 0:
			states = ModScalar(episodes, int32(e.states))
			genotypes = Gather(c.Genotypes, InsertAxes(DivScalar(Sub(episodes, states), int32(e.states)),
				-1))
		case e.policies == slices.N:
			genotypes = xla.Rows(c.Genotypes, first, slices.Size)
		default:
			genotypes = Gather(c.Genotypes, InsertAxes(ModScalar(episodes, int32(e.policies)), -1))
		}
		start := envs.Reset(env, c.Key.FoldInEach(states).FoldIn(StreamReset))
		if live, ok := env.(envs.Perturbable); ok {
			start = live.Under(start, c.Conditions)
		}
		return c, e.batch.Policy.View(genotypes), start
	})
	all := xla.Map(local, func(x *Node) *Node { return e.place(slices.Gather(x, worker)) })
	return evaluatorOut{xla.Out(all.Fitness), xla.Out(all.Descriptors), xla.Out(all.Records)}
}

// place reorders the slices' results by episode: the last slices may have been shifted back to stay
// within the batch.
func (e *Evaluator) place(flat *Node) *Node {
	n, size := e.batch.Slices.N, e.batch.Slices.Size
	index := make([]int32, n)
	for i := range e.batch.Slices.Turns() * e.batch.Slices.Workers {
		first := min(i*size, n-size)
		for k := range size {
			index[first+k] = int32(i*size + k)
		}
	}
	return Gather(flat, InsertAxes(Const(flat.Graph(), index), -1))
}

// Evaluate rolls out the policies: genotypes [policies, N] on every worker, with initial states
// drawn from the seed. It returns the fitness and the descriptors [batch * d] of the episodes.
func (e *Evaluator) Evaluate(genotypes xla.Sharded, seed int64) (fitness, descriptors []float32,
	err error) {
	fitness, descriptors, _, err = e.Record(genotypes, seed)
	return fitness, descriptors, err
}

// RecordUnder is [Evaluator.Record] under changed conditions, for a task that is
// [envs.Perturbable].
func (e *Evaluator) RecordUnder(genotypes xla.Sharded, seed int64,
	conditions envs.Conditions) (fitness, descriptors []float32, records [][]float32, err error) {
	return e.record(genotypes, seed, &conditions)
}

// Record is [Evaluator.Evaluate] with the records of each recorder, [batch * rows * width].
func (e *Evaluator) Record(genotypes xla.Sharded, seed int64) (fitness, descriptors []float32,
	records [][]float32, err error) {
	return e.record(genotypes, seed, nil)
}

// record uses the task's nominal conditions if conditions is nil.
func (e *Evaluator) record(genotypes xla.Sharded, seed int64, conditions *envs.Conditions) (fitness,
	descriptors []float32, records [][]float32, err error) {
	live, ok := e.batch.Env.(envs.Perturbable)
	if conditions != nil && !ok {
		return nil, nil, nil, errors.Errorf("the conditions of %s cannot be changed",
			e.batch.Env.Spec().Name)
	}
	in := evaluatorIn{Genotypes: xla.Value(genotypes), Seed: e.platform.Seed(seed),
		Worker: xla.Value(e.platform.WorkerNumbers())}
	defer in.Seed.Free()
	defer in.Worker.Free()
	if ok {
		c := live.Nominal()
		if conditions != nil {
			c = *conditions
		}
		values, err := live.Values(c)
		if err != nil {
			return nil, nil, nil, err
		}
		in.Conditions = xla.Value(e.platform.Replicated(func() *tensors.Tensor {
			return tensors.FromValue(values)
		}))
		defer in.Conditions.Free()
	}
	out, err := e.Run(in)
	if err != nil {
		return nil, nil, nil, err
	}
	defer xla.Free(&out)
	if fitness, err = out.Fitness.Floats(); err == nil {
		descriptors, err = out.Descriptors.Floats()
	}
	for _, record := range out.Records.Leaves() {
		var flat []float32
		if err == nil {
			flat, err = record.Floats()
		}
		records = append(records, flat)
	}
	return fitness, descriptors, records, err
}
