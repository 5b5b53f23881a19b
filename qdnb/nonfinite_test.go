package qdnb

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
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

// faulty is a plane where something is not finite beyond an edge in x, which some episodes start with: of any kind, by y.
type faulty struct {
	plane
	fault string
	edge  float64
	speed float64
}

func (f faulty) Reset(keys random.Key) envs.State {
	return f.broken(f.plane.Reset(keys))
}

func (f faulty) Step(s envs.State, action *Node) envs.State {
	return f.broken(f.plane.Step(s, MulScalar(action, f.speed)))
}

func (f faulty) broken(s envs.State) envs.State {
	at := Transpose(s.Observation, 0, 1)
	x, y := Reshape(Slice(at, AxisElem(0)), -1), Reshape(Slice(at, AxisElem(1)), -1)
	beyond := GreaterThan(x, ConstAs(x, f.edge))
	set := func(x, here *Node, value float64) *Node { // [2, B] or [B]
		if x.Rank() == 2 {
			here = BroadcastToDims(InsertAxes(here, 0), x.Shape().Dimensions...)
		}
		return Where(here, ConstAs(x, value), x)
	}
	north, far := GreaterThan(y, ZerosLike(y)), GreaterThan(Abs(y), ConstAs(y, 0.05))
	for kind, half := range []*Node{And(north, far), And(north, LogicalNot(far)), And(LogicalNot(north), far),
		And(LogicalNot(north), LogicalNot(far))} {
		fault, here := f.fault, beyond
		if fault == "any" {
			fault, here = []string{"reward", "state", "observation", "done"}[kind], And(beyond, half)
		} else if kind > 0 {
			break
		}
		switch fault {
		case "reward":
			s.Reward = set(s.Reward, here, math.NaN())
		case "infinity":
			s.Reward = set(s.Reward, here, math.Inf(1))
		case "done":
			s.Done = set(s.Done, here, math.NaN())
		case "scale":
			s.Reward = set(s.Reward, here, 1e30)
		case "state":
			s.PhysicsState[0] = set(s.PhysicsState[0], here, math.Inf(1))
		case "observation":
			s.Observation = Transpose(set(Transpose(s.Observation, 0, 1), here, math.NaN()), 0, 1)
		}
	}
	if f.fault == "state" || f.fault == "observation" { // the reward does not tell
		s.Reward = OnesLike(s.Reward)
	}
	return s
}

// An infinite return passes no gate: SMERL learns the same from infinite rewards as from NaN.
func TestInfiniteReturnsPassNoGate(t *testing.T) {
	var skills [2][]byte
	for i, fault := range []string{"reward", "infinity"} {
		spec := smallDiscovery("smerl-diayn", t.TempDir(), 40)
		spec.Env, spec.Environment = "", faulty{plane{"faulty"}, fault, 0.09, 2}
		skills[i] = finished(t, train(t, spec))
	}
	if !bytes.Equal(skills[0], skills[1]) {
		t.Error("they differ")
	}
}

// A run whose evaluations are all invalid says so, each time, and does not count as a success.
func TestAllInvalid(t *testing.T) {
	for _, algorithm := range []string{"map-elites", "pga-map-elites", "diayn-reward"} {
		spec := smallOf(algorithm, filepath.Join(t.TempDir(), "runs"), 2)
		if algorithm == "diayn-reward" {
			spec = smallDiscovery(algorithm, spec.Runs, 8)
		}
		spec.Env, spec.Environment = "", faulty{plane{"faulty"}, "observation", -9, 1}
		for range 2 {
			run, err := Train(background, spec)
			if want := "no evaluation was finite: see what envtest.Check says"; err == nil ||
				!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%s: %v, want %q", algorithm, err, want)
			}
			if !run.Status.Finished || run.Status.Invalid == 0 {
				t.Errorf("%s: %+v", algorithm, run.Status)
			}
		}
	}
}

// A loss that overflows on finite rewards ends the run, which says what is left of it.
func TestDivergedLoss(t *testing.T) {
	for algorithm, loss := range map[string]string{"pga-map-elites": "critic", "ppga": "value", "sac": "critic"} {
		spec := smallOf(algorithm, t.TempDir(), 4)
		if algorithm == "sac" {
			spec = smallDiscovery(algorithm, spec.Runs, 40)
		}
		spec.Env, spec.Environment = "", faulty{plane{"faulty"}, "scale", -9, 1}
		for range 2 {
			_, err := Train(background, spec)
			if err == nil || !strings.HasPrefix(err.Error(), loss+"_loss is ") ||
				!strings.HasSuffix(err.Error(), "there is no checkpoint yet") {
				t.Errorf("%s: %v", algorithm, err)
			}
		}
	}
}

// Souring is an archive a part of which becomes NaN in generation 5, or what it measures as a [repertoire.Measurer].
type Souring struct {
	repertoire.Grid
	Fault        string `json:"-"`
	Age, Returns *Node
}

func (a Souring) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	a.Grid, a.Age = a.Grid.Empty(task, key).(repertoire.Grid), Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32))
	a.Returns = InsertAxes(a.Elites.Fitness, 1)
	return a
}

func (a Souring) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	grid, in := a.Grid.Add(found)
	a.Grid, a.Age = grid.(repertoire.Grid), OnePlus(a.Age)
	a.Returns = InsertAxes(a.Elites.Fitness, 1)
	at := map[string]**Node{"fitnesses": &a.Elites.Fitness, "descriptors": &a.Elites.Descriptors,
		"Archive.Age": &a.Age, "spread": &a.Returns}
	x := at[a.Fault]
	*x = sour(*x, a.Age)
	return a, in
}

func (a Souring) Cells() repertoire.Cells {
	cells := a.Grid.Cells()
	cells.Objectives = a.Returns
	return cells
}

func (Souring) Slots() int        { return 1 }
func (Souring) Columns() []string { return []string{"spread"} }

func (Souring) Measure(_ scoring.Task, objectives npz.Array) ([]float64, error) {
	x, err := objectives.Float32s()
	return []float64{float64(x[0])}, err
}

// sour returns NaN where an age is above 5.
func sour(x, age *Node) *Node {
	return Where(BroadcastToDims(GreaterThan(age, ConstAs(age, 5)), x.Shape().Dimensions...), ConstAs(x, math.NaN()), x)
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
		"spread of qdnb.Souring is NaN in gen":             archiving(Souring{Fault: "spread"}),
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
