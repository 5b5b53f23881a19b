package envs

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// tracedCopies is the batch size of traced environments.
const tracedCopies = 2

// Fingerprint hashes the Spec of an environment and the graphs of its Reset and Step. It leaves out
// what does not change the results of a run: the names of descriptor components, the range of
// colour maps, objectives, and which components of an observation are always 0.
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
	err := traceStep(t, env, func(s State) State { return s })
	if err != nil {
		return "", fmt.Errorf("the environment cannot be built: %w", err)
	}
	return t.Sum(), nil
}

// FingerprintObjectives hashes the objectives of an environment, which [Fingerprint] leaves out,
// and the graphs that return them.
func FingerprintObjectives(env Env) (string, error) {
	t, spec := xla.NewTrace(), env.Spec()
	t.Note(spec.Objectives)
	err := traceStep(t, env, func(s State) State { return s.WithObjectives(spec) })
	if err != nil {
		return "", fmt.Errorf("the objectives cannot be built: %w", err)
	}
	return t.Sum(), nil
}

// traceStep adds the Reset of an environment and a Step from it to a trace. start changes the state
// in between.
func traceStep(t *xla.Trace, env Env, start func(State) State) error {
	states, err := traceReset(t, env, start)
	if err != nil {
		return err
	}
	type stepIn struct {
		State  xla.State[State]
		Action xla.Array
	}
	_, err = xla.TraceGraph(t, stepIn{states, tracedAction(env)}, func(in stepIn) xla.State[State] {
		return xla.Out(env.Step(in.State.Tree, in.Action.Tree))
	})
	return err
}

// tracedAction declares the actions of traced environments.
func tracedAction(env Env) xla.Array {
	return xla.Declare(dtypes.Float32, tracedCopies, env.Spec().Actions)
}

// traceReset adds the Reset of an environment, changed by start, to a trace.
func traceReset(t *xla.Trace, env Env, start func(State) State) (xla.State[State], error) {
	words := xla.Declare(dtypes.Uint32, tracedCopies)
	keys := xla.Pack(func(in []*Node) random.Key { return random.Key{Hi: in[0], Lo: in[1]} }, words, words)
	return xla.TraceGraph(t, keys, func(keys xla.State[random.Key]) xla.State[State] {
		return xla.Out(start(env.Reset(keys.Tree)))
	})
}

// TraceRecorder adds the graph of a recorder's Row to a trace, independent of the environment's own
// computations.
func TraceRecorder(t *xla.Trace, env Env, r Recorder) error {
	t.Note(r.Every, r.Width)
	states, err := traceReset(xla.NewTrace(), env, func(s State) State { return s })
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
