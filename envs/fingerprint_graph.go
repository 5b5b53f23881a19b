package envs

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/xla"
)

// tracedCopies is the batch size of traced environments.
const tracedCopies = 2

// traced describes the states of a traced batch: their tree structure, for [xla.Unflatten], and the
// shapes of their leaves.
type traced struct {
	form   State
	shapes []shapes.Shape
}

// Fingerprint hashes the Spec of an environment and the graphs of its Reset and Step. It leaves out
// the names of descriptor components and the range of colour maps, which do not change a run.
func Fingerprint(env Env) (string, error) {
	t := xla.NewTrace()
	type Spec catalog.Spec // noted as envs.Spec, as in the hashes of existing runs
	spec := Spec(env.Spec())
	spec.FitnessRange, spec.Descriptor.Components = [2]float64{}, nil
	t.Note(spec)
	states, err := traceReset(t, env)
	if err != nil {
		return "", errors.WithMessage(err, "the environment cannot be built")
	}
	action := shapes.Make(dtypes.Float32, tracedCopies, spec.Actions)
	_, err = t.Graph(append(states.shapes, action), func(in []*Node) []*Node {
		n := len(in) - 1
		return xla.Flatten(env.Step(xla.Unflatten(states.form, in[:n]), in[n]))
	})
	return t.Sum(), errors.WithMessage(err, "the environment cannot be built")
}

// traceReset adds the Reset of an environment to a trace.
func traceReset(t *xla.Trace, env Env) (states traced, err error) {
	words := shapes.Make(dtypes.Uint32, tracedCopies)
	states.shapes, err = t.Graph([]shapes.Shape{words, words}, func(in []*Node) []*Node {
		states.form = env.Reset(xla.Key{Hi: in[0], Lo: in[1]})
		return xla.Flatten(states.form)
	})
	return states, err
}

// TraceRecorder adds the graph of a recorder's Row to a trace, independent of the environment's own
// computations.
func TraceRecorder(t *xla.Trace, env Env, r Recorder) error {
	t.Note(r.Every, r.Width)
	states, err := traceReset(xla.NewTrace(), env)
	if err != nil {
		return err
	}
	n := len(states.shapes)
	inputs := append(append(states.shapes[:n:n], states.shapes...),
		shapes.Make(dtypes.Float32, tracedCopies, env.Spec().Actions))
	_, err = t.Graph(inputs, func(in []*Node) []*Node {
		before, after := xla.Unflatten(states.form, in[:n]), xla.Unflatten(states.form, in[n:2*n])
		return []*Node{r.Row(before, in[2*n], after)}
	})
	return err
}
