package scoring

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
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
	*xla.Program
	platform  *xla.Platform
	task      Task
	policies  int
	states    int // initial states shared by all policies; 0: one per episode
	batch     int
	slice     int
	recorders []envs.Recorder
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
	e := &Evaluator{platform: p, task: task, policies: policies, states: states, batch: batch,
		slice: slice, recorders: recorders}
	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Float32, policies, params)},
		{Shape: shapes.Make(dtypes.Uint32, 2)}, {Shape: shapes.Make(dtypes.Int32)}}
	if live, ok := task.Env.(envs.Perturbable); ok {
		inputs = append(inputs, xla.Input{Shape: shapes.Make(dtypes.Float32, live.Width())})
	}
	var err error
	e.Program, err = p.CompileParallel("evaluation", inputs, func(in []*Node) []*Node {
		var conditions *Node
		if len(in) > 3 {
			conditions = in[3]
		}
		return e.build(in[0], xla.KeyOf(in[1]), in[2], conditions)
	}, task.Axes(batch, slice, 0)...)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Slice is the number of policies rolled out together.
func (e *Evaluator) Slice() int { return e.slice }

// build returns the fitness [batch], the descriptors [batch, d] if the task has any, and the
// records [batch, rows * width].
func (e *Evaluator) build(genotypes *Node, key xla.Key, worker, conditions *Node) []*Node {
	type state struct {
		Genotypes            *Node
		Key                  xla.Key
		Worker               *Node
		Conditions           *Node   // see envs.Perturbable; nil for other tasks
		Fitness, Descriptors *Node   // [turns, slice], [turns, slice, d]
		Records              []*Node // [turns, slice, rows * width]
	}
	g, workers, env := worker.Graph(), e.platform.Workers, e.task.Env
	turns, d := (e.batch+e.slice*workers-1)/(e.slice*workers), len(env.Spec().Descriptor.Lower)
	start := state{Genotypes: genotypes, Key: key, Worker: worker, Conditions: conditions,
		Fitness: Zeros(g, shapes.Make(dtypes.Float32, turns, e.slice))}
	if d > 0 {
		start.Descriptors = Zeros(g, shapes.Make(dtypes.Float32, turns, e.slice, d))
	}
	width := func(r envs.Recorder) int { return r.Rows(e.task.Length) * r.Width }
	for _, r := range e.recorders {
		start.Records = append(start.Records, Zeros(g,
			shapes.Make(dtypes.Float32, turns, e.slice, width(r))))
	}
	local := xla.ForSlices(turns, worker, start, func(turn *Node, s state) state {
		first := MulScalar(Add(MulScalar(turn, workers), s.Worker), e.slice)
		first = MinScalar(first, e.batch-e.slice) // the last slice may repeat some episodes
		episodes := Add(Iota(g, shapes.Make(dtypes.Int32, e.slice), 0), first)
		states := episodes
		var genotypes *Node
		switch {
		case e.states > 0:
			states = ModScalar(episodes, int32(e.states))
			genotypes = Gather(s.Genotypes, InsertAxes(DivScalar(Sub(episodes, states), int32(e.states)),
				-1))
		case e.policies == e.batch:
			genotypes = xla.Rows(s.Genotypes, first, e.slice)
		default:
			genotypes = Gather(s.Genotypes, InsertAxes(ModScalar(episodes, int32(e.policies)), -1))
		}
		start := envs.Reset(env, s.Key.FoldInEach(states).FoldIn(StreamReset))
		if live, ok := env.(envs.Perturbable); ok {
			start = live.Under(start, s.Conditions)
		}
		fitness, descriptors, records := envs.Record(env, e.task.Policy.View(genotypes), start,
			e.task.Length, e.recorders...)
		for i, record := range records {
			s.Records[i] = xla.SetRows(s.Records[i], turn, Reshape(record, 1, e.slice, -1))
		}
		s.Fitness = xla.SetRows(s.Fitness, turn, InsertAxes(fitness, 0))
		if d > 0 {
			s.Descriptors = xla.SetRows(s.Descriptors, turn, InsertAxes(descriptors, 0))
		}
		return s
	})
	ordered := func(x *Node, tail ...int) *Node {
		all := xla.AllGather(x, worker, workers) // [workers, turns, slice, ...]
		axes := []int{1, 0, 2, 3}[:all.Rank()]
		flat := Reshape(TransposeAllAxes(all, axes...),
			append([]int{turns * workers * e.slice}, tail...)...)
		return e.place(flat, turns)
	}
	out := []*Node{ordered(local.Fitness)}
	if d > 0 {
		out = append(out, ordered(local.Descriptors, d))
	}
	for i, r := range e.recorders {
		out = append(out, ordered(local.Records[i], width(r)))
	}
	return out
}

// place reorders the slices' results by episode: the last slices may have been shifted back to stay
// within the batch.
func (e *Evaluator) place(flat *Node, turns int) *Node {
	slices := turns * e.platform.Workers
	index := make([]int32, e.batch)
	for i := range slices {
		first := min(i*e.slice, e.batch-e.slice)
		for k := range e.slice {
			index[first+k] = int32(i*e.slice + k)
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
	live, ok := e.task.Env.(envs.Perturbable)
	if conditions != nil && !ok {
		return nil, nil, nil, errors.Errorf("the conditions of %s cannot be changed",
			e.task.Env.Spec().Name)
	}
	var under []xla.Sharded
	if ok {
		c := live.Nominal()
		if conditions != nil {
			c = *conditions
		}
		values, err := live.Values(c)
		if err != nil {
			return nil, nil, nil, err
		}
		under = []xla.Sharded{e.platform.Replicated(func() *tensors.Tensor {
			return tensors.FromValue(
				values)
		})}
		defer under[0].Free()
	}
	worker := e.platform.WorkerNumbers()
	words := e.platform.Replicated(func() *tensors.Tensor {
		return tensors.FromValue(xla.SeedWords(
			seed))
	})
	out, err := e.Run(append([]xla.Sharded{genotypes, words, worker}, under...)...)
	words.Free()
	worker.Free()
	if err != nil {
		return nil, nil, nil, err
	}
	var columns [][]float32
	for _, value := range out {
		flat, err := xla.Floats(value)
		if err != nil {
			return nil, nil, nil, err
		}
		columns = append(columns, flat)
		value.Free()
	}
	fitness, columns = columns[0], columns[1:]
	if len(e.task.Env.Spec().Descriptor.Lower) > 0 {
		descriptors, columns = columns[0], columns[1:]
	}
	return fitness, descriptors, columns, nil
}
