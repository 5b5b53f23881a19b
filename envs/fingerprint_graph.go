package envs

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/xla"
)

// tracedCopies is the batch size of traced environments.
const tracedCopies = 2

// Fingerprint hashes the Spec of an environment and the graphs of its Reset and Step. It leaves out
// the names of descriptor components and the range of colour maps, which do not change a run.
func Fingerprint(env Env) (string, error) {
	t := xla.NewTrace()
	type Spec struct { // noted as envs.Spec with these fields, as in the hashes of existing runs
		Name                          string
		Observations, Actions, Length int
		Descriptor                    catalog.Descriptor
		Offset                        float64
		FitnessRange                  [2]float64
	}
	spec := env.Spec()
	spec.Descriptor.Components = nil
	t.Note(Spec{Name: spec.Name, Observations: spec.Observations, Actions: spec.Actions,
		Length: spec.Length, Descriptor: spec.Descriptor, Offset: spec.Offset})
	if spec.Initial != [2]float64{} {
		t.Note(spec.Initial)
	}
	states, err := traceReset(t, env)
	if err != nil {
		return "", errors.WithMessage(err, "the environment cannot be built")
	}
	type stepIn struct {
		State  xla.State[State]
		Action xla.Array
	}
	_, err = xla.TraceGraph(t, stepIn{states, tracedAction(env)}, func(in stepIn) xla.State[State] {
		return xla.Out(env.Step(in.State.Tree, in.Action.Tree))
	})
	return t.Sum(), errors.WithMessage(err, "the environment cannot be built")
}

// tracedAction declares the actions of traced environments.
func tracedAction(env Env) xla.Array {
	return xla.Declare(dtypes.Float32, tracedCopies, env.Spec().Actions)
}

// traceReset adds the Reset of an environment to a trace.
func traceReset(t *xla.Trace, env Env) (xla.State[State], error) {
	words := xla.Declare(dtypes.Uint32, tracedCopies)
	keys := xla.Pack(func(in []*Node) xla.Key { return xla.Key{Hi: in[0], Lo: in[1]} }, words, words)
	return xla.TraceGraph(t, keys, func(keys xla.State[xla.Key]) xla.State[State] {
		return xla.Out(env.Reset(keys.Tree))
	})
}

// TraceRecorder adds the graph of a recorder's Row to a trace, independent of the environment's own
// computations.
func TraceRecorder(t *xla.Trace, env Env, r Recorder) error {
	t.Note(r.Every, r.Width)
	states, err := traceReset(xla.NewTrace(), env)
	if err != nil {
		return err
	}
	type rowIn struct {
		Before, After xla.State[State]
		Action        xla.Array
	}
	_, err = xla.TraceGraph(t, rowIn{states, states, tracedAction(env)}, func(in rowIn) xla.Array {
		return xla.Out(r.Row(in.Before.Tree, in.Action.Tree, in.After.Tree))
	})
	return err
}
