package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// Evaluator rolls out given policies, in slices and on all workers as a generation does: for repertoires in changed
// environments, and for timings.
type Evaluator struct {
	*xla.Program
	platform *xla.Platform
	task     Task
	batch    int
	slice    int
}

// NewEvaluator compiles the rollout of batch policies for whole episodes. A slice of 0 is [DefaultSlice].
func NewEvaluator(p *xla.Platform, task Task, batch, slice int) (*Evaluator, error) {
	params := task.Policy.Params()
	if slice == 0 {
		slice = DefaultSlice(p.Kind, batch, params)
	}
	if batch < 1 || slice < 1 || task.Length < 1 {
		return nil, errors.Errorf("a rollout needs at least 1 policy, 1 step and slices of 1, not %d, %d and %d", batch, task.Length, slice)
	}
	slice = min(slice, batch)
	if err := p.CheckMemory(4 * int64(params) * int64(batch+slice)); err != nil {
		return nil, err
	}
	e := &Evaluator{platform: p, task: task, batch: batch, slice: slice}
	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Float32, batch, params)}, {Shape: shapes.Make(dtypes.Uint32, 2)}, {Shape: shapes.Make(dtypes.Int32)}}
	var err error
	e.Program, err = p.CompileParallel("evaluation", inputs, func(in []*Node) []*Node {
		return e.build(in[0], xla.KeyOf(in[1]), in[2])
	})
	return e, err
}

// Slice is the number of policies that are rolled out together.
func (e *Evaluator) Slice() int { return e.slice }

// build returns the fitness [batch] and the descriptors [batch, d], where the task has any.
func (e *Evaluator) build(genotypes *Node, key xla.Key, worker *Node) []*Node {
	type state struct {
		Genotypes            *Node
		Key                  xla.Key
		Worker               *Node
		Fitness, Descriptors *Node // [turns, slice], [turns, slice, d]
	}
	g, workers, env := worker.Graph(), e.platform.Workers, e.task.Env
	turns, d := (e.batch+e.slice*workers-1)/(e.slice*workers), len(env.Spec().Descriptor.Lower)
	start := state{Genotypes: genotypes, Key: key, Worker: worker, Fitness: Zeros(g, shapes.Make(dtypes.Float32, turns, e.slice))}
	if d > 0 {
		start.Descriptors = Zeros(g, shapes.Make(dtypes.Float32, turns, e.slice, d))
	}
	local := xla.For(g, turns, start, func(turn *Node, s state) state {
		first := MulScalar(Add(MulScalar(turn, workers), s.Worker), e.slice)
		first = MinScalar(first, e.batch-e.slice) // the last slice may do some again
		keys := s.Key.Fold(Add(Iota(g, shapes.Make(dtypes.Int32, e.slice), 0), first))
		fitness, descriptors := envs.Rollout(env, e.task.Policy.View(xla.Rows(s.Genotypes, first, e.slice)), env.Reset(keys.FoldInt(streamReset)), e.task.Length)
		s.Fitness = xla.SetRows(s.Fitness, turn, InsertAxes(fitness, 0))
		if d > 0 {
			s.Descriptors = xla.SetRows(s.Descriptors, turn, InsertAxes(descriptors, 0))
		}
		return s
	})
	ordered := func(x *Node, tail ...int) *Node {
		all := xla.Gathered(x, worker, workers) // [workers, turns, slice, ...]
		axes := []int{1, 0, 2, 3}[:all.Rank()]
		flat := Reshape(TransposeAllAxes(all, axes...), append([]int{turns * workers * e.slice}, tail...)...)
		return e.place(flat, turns)
	}
	out := []*Node{ordered(local.Fitness)}
	if d > 0 {
		out = append(out, ordered(local.Descriptors, d))
	}
	return out
}

// place puts what the slices found in the order of the policies: the last slices may have moved back to stay inside.
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

// Evaluate rolls the policies out: genotypes [batch, N] on every worker, initial states drawn by a seed. It returns their
// fitness and their descriptors [batch * d].
func (e *Evaluator) Evaluate(genotypes xla.Value, seed int64) (fitness, descriptors []float32, err error) {
	var worker xla.Value
	for i := range e.platform.Workers {
		worker = append(worker, tensors.FromScalar(int32(i)))
	}
	words := e.platform.Replicated(func() *tensors.Tensor { return tensors.FromValue(xla.SeedWords(seed)) })
	out, err := e.Run(genotypes, words, worker)
	words.Free()
	worker.Free()
	if err != nil {
		return nil, nil, err
	}
	columns := make([][]float32, 2)
	for i, value := range out {
		if columns[i], err = download(value); err != nil {
			return nil, nil, err
		}
		value.Free()
	}
	return columns[0], columns[1], nil
}
