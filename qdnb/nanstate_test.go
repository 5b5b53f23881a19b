package qdnb

import (
	"bytes"
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla/random"
)

// Souring is an archive a part of which becomes NaN in generation 5.
type Souring struct {
	repertoire.Grid
	Fault string `json:"-"`
	Age   *Node
}

func (a Souring) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	a.Grid, a.Age = a.Grid.Empty(task, key).(repertoire.Grid), Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32))
	return a
}

func (a Souring) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	grid, in := a.Grid.Add(found)
	a.Grid, a.Age = grid.(repertoire.Grid), OnePlus(a.Age)
	at := map[string]**Node{"fitnesses": &a.Elites.Fitness, "descriptors": &a.Elites.Descriptors,
		"Archive.Age": &a.Age, "improvement": &in.Improvement}
	if x, ok := at[a.Fault]; ok {
		*x = sour(*x, a.Age)
	}
	return a, in
}

// sour returns NaN where an age is above 5.
func sour(x, age *Node) *Node {
	return Where(BroadcastToDims(GreaterThan(age, ConstAs(age, 5)), x.Shape().Dimensions...), ConstAs(x, math.NaN()), x)
}

// souringFronts is a [repertoire.Measurer] whose results become NaN.
type souringFronts struct {
	Souring
	Returns *Node
}

func (a souringFronts) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	a.Souring = a.Souring.Empty(task, key).(Souring)
	a.Returns = InsertAxes(a.Elites.Fitness, 1)
	return a
}

func (a souringFronts) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	after, in := a.Souring.Add(found)
	a.Souring = after.(Souring)
	a.Returns = InsertAxes(sour(a.Elites.Fitness, a.Age), 1)
	return a, in
}

func (a souringFronts) Cells() repertoire.Cells {
	cells := a.Souring.Cells()
	cells.Objectives = a.Returns
	return cells
}

func (souringFronts) Slots() int        { return 1 }
func (souringFronts) Columns() []string { return []string{"spread"} }

func (souringFronts) Measure(_ scoring.Task, objectives npz.Array) ([]float64, error) {
	x, err := objectives.Float32s()
	return []float64{float64(x[0])}, err
}

// souringEmitter is an emitter whose state becomes NaN, without a loss.
type souringEmitter struct{ Step, Age *Node }

func (e souringEmitter) Init(_ evolution.Start, key random.Key) evolution.Emitter {
	e.Step, e.Age = Const(key.Hi.Graph(), float32(0.1)), Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32))
	return e
}

func (e souringEmitter) Offspring(p evolution.Parents, _ *Node, keys random.Key) *Node {
	x := p.Sample(keys)
	return Add(x, Mul(e.Step, keys.FoldIn(1).Normal(x.Shape().Dimensions...)))
}

func (e souringEmitter) Update(evolution.Generation, random.Key) (evolution.Emitter, []evolution.Metric) {
	e.Age = OnePlus(e.Age)
	e.Step = sour(e.Step, e.Age)
	return e, nil
}

// A NaN in the state of a part ends the run, which names the part and keeps the checkpoint before.
func TestNaNStateIsNotSaved(t *testing.T) {
	t.Setenv(session.CheckpointEnv, "0s")
	for want, own := range map[string]Tuning{
		"fitnesses of qdnb.Souring is NaN in generation 5": archiving(Souring{Fault: "fitnesses"}),
		"descriptors of qdnb.Souring is NaN":               archiving(Souring{Fault: "descriptors"}),
		"Archive.Age of qdnb.Souring is NaN":               archiving(Souring{Fault: "Archive.Age"}),
		"spread of qdnb.souringFronts is NaN in gen":       archiving(souringFronts{}),
		"Step of qdnb.souringEmitter is NaN":               emitting(souringEmitter{}),
	} {
		spec := small(t.TempDir(), 3)
		spec.Name, spec.Tune = "own", spec.Tune.And(own)
		run := train(t, spec)
		before := repertoireBytes(t, run)
		spec.Budget = Generations(9)
		for range 2 { // also when it resumes
			_, err := Train(background, spec)
			errtest.Want(t, err, want, "the last checkpoint is generation")
			newest := must.Get(runs.Open(run.Dir)).Status
			if newest.Generation > 4 || newest.Finished || !bytes.Equal(repertoireBytes(t, run), before) {
				t.Errorf("%s: %+v", want, newest.Progress)
			}
		}
	}
}
