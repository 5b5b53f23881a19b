package algorithms

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Rule is a learner as functions that build graphs: the shortest way to a new one, see [Rule.New].
// T is the pytree of all that it remembers: networks, environments, replay buffer. It stays on the
// first device.
type Rule[T any] struct {
	Start func(key random.Key) T // what it remembers before the first iteration
	// Iterate runs an iteration. It returns the metrics, float32 or int32 scalars, and behind them
	// the number of steps that were not finite.
	Iterate func(state T, key random.Key) (T, []*graph.Node)
	Policy  func(state T) *graph.Node // the current policy, [1, N], a genotype of the task

	Metrics  []string // names of the metrics
	Steps    int64    // environment steps of an iteration
	Every    int64    // environment steps between evaluations
	Episodes int      // of an evaluation
}

// Inputs and outputs of the program of an iteration.
type (
	ruleIn[T any] struct {
		Seed, Number xla.Array
		State        xla.State[T] `xla:"donate"`
	}
	ruleOut[T any] struct {
		State   xla.State[T]
		Metrics xla.State[[]*graph.Node]
	}
)

// ruled is the search of a [Rule].
type ruled[T any] struct {
	*Learner
	state   xla.State[T]
	iterate *xla.Program[ruleIn[T], ruleOut[T]]
	policy  *xla.Program[xla.State[T], xla.Array]
}

// New compiles a search that trains in a task and inserts the policies that it evaluates into
// cells. It has checkpoints, metrics, progress and a repertoire like that of any other [Algorithm].
func (r Rule[T]) New(p *xla.Platform, task scoring.Task, cells repertoire.CVT, seed int64) (Search, error) {
	switch {
	case r.Start == nil || r.Iterate == nil || r.Policy == nil:
		return nil, errors.New("a Rule needs Start, Iterate and Policy: one of them is nil")
	case r.Episodes < 1:
		return nil, fmt.Errorf("Episodes of a Rule must be at least 1, not %d", r.Episodes)
	}
	learner, err := NewLearner(p, task, cells, scoring.Plan{Policies: 1, Episodes: r.Episodes}, r.Metrics, seed)
	if err != nil {
		return nil, err
	}
	s := &ruled[T]{Learner: learner}
	s.Steps, s.Every, s.Train, s.Describes = r.Steps, r.Every, s.train, true
	s.Policies = func() (xla.Array, error) { return s.policy.Run(s.state) }
	if err := s.build(r); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// streamStart is the random stream of a run that [Rule] starts from; those of iterations are their
// numbers.
const streamStart = -1

// build compiles the programs and makes the state before the first iteration.
func (s *ruled[T]) build(r Rule[T]) error {
	start, err := xla.Compile(s.Programs, "start", s.Seed, func(seed xla.Array) xla.State[T] {
		state := r.Start(random.KeyOf(seed.Tree).FoldIn(streamStart))
		if len(xla.Flatten(state)) == 0 {
			panic(xla.Misfit(r.Start, "", "it returns %T without tensors", state))
		}
		return xla.Out(state)
	})
	if err != nil {
		return err
	}
	if s.state, err = start.Run(s.Seed); err != nil {
		return err
	}
	s.iterate, err = xla.Compile(s.Programs, "iteration", ruleIn[T]{s.Seed, xla.Declare(dtypes.Int32), s.state},
		func(in ruleIn[T]) ruleOut[T] {
			state, metrics := r.Iterate(in.State.Tree, random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree))
			xla.CheckLike(r.Iterate, "", "the state", xla.Flatten(state), xla.Flatten(in.State.Tree))
			names := append(slices.Clone(r.Metrics), "the number of steps that were not finite")
			xla.CheckCount(r.Iterate, "", fmt.Sprintf("metrics %q", names), metrics, len(names))
			for i, metric := range metrics {
				dtype := dtypes.Float32
				if metric.DType() == dtypes.Int32 {
					dtype = dtypes.Int32
				}
				xla.CheckShape(r.Iterate, "", names[i], metric, dtype)
			}
			return ruleOut[T]{xla.Out(state), xla.Out(metrics)}
		})
	if err != nil {
		return err
	}
	s.policy, err = xla.Compile(s.Programs, "policy", s.state, func(state xla.State[T]) xla.Array {
		policy := r.Policy(state.Tree)
		xla.CheckShape(r.Policy, "", "genotypes", policy, dtypes.Float32, 1, s.task.Policy.Params())
		return xla.Out(policy)
	})
	return err
}

// train runs an iteration.
func (s *ruled[T]) train(iteration int64) ([]float64, error) {
	number := s.Programs.Number(iteration)
	defer number.Free()
	out, err := s.iterate.Run(ruleIn[T]{s.Seed, number.First(), s.state})
	if err != nil {
		return nil, err
	}
	s.state = out.State
	return out.Metrics.Scalars(), nil
}

// State implements [Search].
func (s *ruled[T]) State() *xla.Checkpoint {
	c := &xla.Checkpoint{}
	c.Add(&s.state, 1, "state.")
	s.Store(c)
	return c
}

// Close implements [Search].
func (s *ruled[T]) Close() {
	s.state.Free()
	s.Learner.Close()
}
