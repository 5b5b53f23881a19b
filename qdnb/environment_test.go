package qdnb

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla/random"
)

// plane is a custom environment: a point that moves by its action and pays for it.
type plane struct{ name string }

func (p plane) Spec() envs.Spec {
	return envs.Spec{Name: p.name, Observations: 2, Actions: 2, Length: 20, Offset: 2,
		Descriptor: envs.Descriptor{
			Kind: envs.Final, Lower: []float32{-2, -2}, Upper: []float32{2, 2},
			Components: []string{"final east (m)", "final north (m)"}}}
}

func (plane) at(xy, reward *Node) envs.State {
	return envs.State{PhysicsState: []*Node{Transpose(xy, 0, 1)}, Observation: xy, Reward: reward,
		Done: ZerosLike(reward), Descriptor: xy}
}

func (p plane) Reset(keys random.Key) envs.State {
	xy := keys.Uniform(-0.1, 0.1, keys.Hi.Shape().Dimensions[0], 2)
	return p.at(xy, MulScalar(ReduceSum(xy, 1), 0))
}

func (p plane) Step(s envs.State, action *Node) envs.State {
	return p.at(Add(s.Observation, DivScalar(action, 10)), Neg(ReduceSum(Square(action), 1)))
}

// altered is an environment whose facts, and states after a step, are changed.
type altered struct {
	envs.Env
	facts func(*envs.Spec)
	step  func(envs.State) envs.State
}

func (a altered) Spec() envs.Spec {
	spec := a.Env.Spec()
	if a.facts != nil {
		a.facts(&spec)
	}
	return spec
}

func (a altered) Step(s envs.State, action *Node) envs.State {
	s = a.Env.Step(s, action)
	if a.step != nil {
		s = a.step(s)
	}
	return s
}

// deep is plane with another limit and with an offset that need not allow for the rewards: -0.5 each.
func deep(name string, offset float64, upper float32) envs.Env {
	return altered{plane{name},
		func(spec *envs.Spec) { spec.Offset, spec.Descriptor.Upper[0] = offset, upper },
		func(s envs.State) envs.State {
			s.Reward = AddScalar(ZerosLike(s.Reward), -0.5)
			return s
		}}
}

// beyond ends episodes where x is farther from 0 than an edge.
func beyond(edge float64, s envs.State) envs.State {
	x := Abs(Reshape(Slice(s.Observation, AxisRange(), AxisElem(0)), -1))
	s.Done = ConvertDType(GreaterThan(x, ConstAs(x, edge)), x.DType())
	return s
}

// own returns the spec of a run in a custom environment.
func own(folder string, env envs.Env) Spec {
	spec := small(folder, 4)
	spec.Env, spec.Environment = "", env
	return spec
}

// svg returns a figure as SVG.
func svg(t *testing.T, figure interface{ Save(path string) error }) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "figure.svg")
	must.Do(figure.Save(file))
	return string(nb.Must(os.ReadFile(file)))
}

func TestCustomEnvironment(t *testing.T) {
	env := plane{"plane"}
	spec := own(t.TempDir(), env)
	run := train(t, spec)
	if !strings.HasPrefix(run.Name(), "map-elites-plane-1-") || run.Config.Env != "plane" || run.Status.Generation != 4 ||
		!(run.Status.MaxFitness <= 0) || run.Status.Observations != 2 || run.Status.Actions != 2 {
		t.Errorf("%s: %+v", run.Name(), run.Status)
	}
	errtest.Equal(t, "the folder of the same spec", train(t, spec).Dir, run.Dir)
	if other := train(t, own(spec.Runs, plane{"plane-2"})); other.Dir == run.Dir {
		t.Error("another name is in the same folder")
	}

	repertoire := nb.Must(run.Repertoire())
	cells := repertoire.Filled()[:2]
	in := func(env envs.Env) PlaySpec { return PlaySpec{Environment: env, Seed: 3, Cells: cells} }
	played, err := Play(background, run, in(env))
	if err != nil || len(played.Results) != 2 || len(played.Results[0].Recorded[0].Path) != 20 ||
		!(played.Results[0].Fitnesses[0] < 0) {
		t.Fatalf("%+v, %v", played, err)
	}
	errtest.Want(t, errtest.Of(Play(background, run, in(nil))),
		"plane is not a built-in environment: new episodes need its code")
	errtest.Want(t, errtest.Of(Play(background, run, in(envs.AutoReset(plane{}, 5)))), "the environment has no name")
	ant := nb.Must(envs.Make("ant-uni"))
	errtest.Want(t, errtest.Of(Play(background, run, in(ant))), "for plane, which has 2 and 2")

	for _, figure := range []figures.Grid{nb.Must(played.Trajectories()), nb.Must(figures.Repertoire(run)),
		nb.Must(figures.Snapshots(run, 2))} {
		errtest.Contains(t, strings.ToLower(svg(t, figure)), "east (m)", "north (m)")
	}
}

// A fitness that the offset does not allow for, and descriptors outside of their limits, are
// reported once: by each algorithm, and for all seeds together.
func TestEvaluationsBeyondTheSpecAreReportedOnce(t *testing.T) {
	const tooLow = "fitness -10 in generation 0 is below -8, the lowest that the Offset of plane " +
		"allows: it lowers the QD score, and CMA-MAE and DCRL-MAP-Elites ignore it; Offset must be at least 0.5 (per step)\n"
	const outside = " evaluations in generation 0 have descriptors outside of the limits of " +
		"plane, \"final east (m)\" from -2 to -1.5: they enter cells at the border; "
	for _, c := range []struct {
		algorithm string
		offset    float64
		upper     float32
		wants     []string
		outside   int64
	}{
		{"map-elites", 0.5, 2, nil, 0},
		{"map-elites", 0.4, 2, []string{tooLow}, 0},
		{"map-elites", 0.5, -1.5, []string{"16 of 16" + outside}, 16 * 5},
		{"cma-mae", 0.4, -1.5, []string{tooLow, "16 of 16" + outside}, 16 * 5},
		{"diayn-reward", 0.4, -1.5, []string{tooLow, "6 of 6" + outside}, 6 * 3},
	} {
		spec := own(t.TempDir(), deep("plane", c.offset, c.upper))
		spec.Algorithm = c.algorithm
		switch c.algorithm {
		case "cma-mae":
			spec.Tune = more(spec.Tune, "emitters=2")
		case "diayn-reward":
			spec.Tune = smallDiscovery(c.algorithm, spec.Runs, 1).Tune
		}
		var found []*runs.Run
		said := stderr(t, func() { found = nb.Must(TrainSeeds(background, spec, 1, 2)) })
		if c.algorithm != "diayn-reward" { // which also says that it trained little
			errtest.Equal(t, c.algorithm+": lines", strings.Count(said, "\n"), len(c.wants))
		}
		errtest.Contains(t, said, c.wants...)
		errtest.Equal(t, c.algorithm, found[0].Status.Outside, c.outside)
	}
}

// Nobody can raise the offset of a built-in environment, so nothing is said about it.
func TestOffsetsOfBuiltInEnvironmentsAreNotReported(t *testing.T) {
	training := nb.Must(own(t.TempDir(), plane{"plane"}).Training(background))
	training.Env = deep("ant-omni", 0.4, 2)
	said := stderr(t, func() { nb.Must(training.Run(background)) })
	errtest.Equal(t, "said", said, "")
}

// lags has two objectives, one of which is below its Lowest reward.
func TestReturnsBelowTheReferencePointAreReportedOnce(t *testing.T) {
	task := nb.Must(envs.Make("rastrigin-multi")).(*envs.BlackBox)
	task.Facts.Name = "lags"
	task.Facts.Objectives[1].Lowest = -1
	spec := solving("mome", "", t.TempDir(), 3)
	spec.Environment = task
	said := stderr(t, func() { train(t, spec) })
	if want := ` in objective "fitness at lag 2.2" in generation 0 is below -1, which the Lowest reward ` +
		"of lags allows: hypervolumes leave it out; Lowest must be at most -"; strings.Count(said,
		"\n") != 1 || !strings.Contains(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	var needed float64
	last := said[strings.LastIndex(said, "at most ")+len("at most "):]
	must.Get(fmt.Sscan(last, &needed))
	task.Facts.Objectives[1].Lowest, spec.Runs, spec.Budget = needed, t.TempDir(), Generations(1)
	errtest.Equal(t, "with the reward that was asked for", stderr(t, func() { train(t, spec) }), "")
}

// The lowest thresholds of annealed archives follow the episode length, unless they are set, and the
// configuration shows them.
func TestLowestThresholdFollowsTheEpisodeLength(t *testing.T) {
	for _, algorithm := range []string{"cma-mae", "dms", "ppga"} {
		for want, assignments := range map[string][]string{
			"threshold_min=-585.775": nil, "threshold_min=-46.862": {"episode_length=20"},
			"threshold_min=-2343.1": {"episode_length=1000"},
			"threshold_min=-7":      {"episode_length=20", "threshold_min=-7"},
		} {
			spec := Spec{Algorithm: algorithm, Env: "pointmaze", Tune: runs.Assign(assignments...)}
			if got := nb.Must(nb.Must(spec.Config()).Assignments()); !slices.Contains(got, want) {
				t.Errorf("%s, %v: %v lacks %s", algorithm, assignments, got, want)
			}
		}
	}
	spec := Spec{Algorithm: "cma-maega", Env: "sphere"}
	if got := nb.Must(nb.Must(spec.Config()).Assignments()); !slices.Contains(got, "threshold_min=0") {
		t.Errorf("%v lacks threshold_min", got)
	}
}

// solving returns the spec of a small run of an algorithm on a task without physics.
func solving(algorithm, env, folder string, generations int) Spec {
	spec := small(folder, generations)
	spec.Algorithm, spec.Env = algorithm, env
	spec.Tune = runs.Assign("batch=30", "cells=32", "cvt_samples=500", "slice=5", "iso_sigma=0", "line_sigma=0")
	return spec
}

// Solutions are found, drawn from the task's initial range, and replayed with the same fitness and
// descriptor. They have no films.
func TestTasksWithoutPhysics(t *testing.T) {
	for env, limits := range map[string][2]float32{"arm": {0, 1}, "rastrigin": {-5.12, 5.12}} {
		run := train(t, solving("map-elites", env, t.TempDir(), 1))
		repertoire := must.Get(run.Repertoire())
		cell := repertoire.Best()
		best := repertoire.Genotype(cell)
		lowest, highest := slices.Min(best), slices.Max(best)
		third := (limits[1] - limits[0]) / 3
		if len(best) != 100 || lowest < limits[0] || highest > limits[1] ||
			lowest > limits[0]+third || highest < limits[1]-third {
			t.Errorf("%s: %d components from %g to %g", env, len(best), lowest, highest)
		}
		played := must.Get(Play(background, run, PlaySpec{Cells: []int{cell}}))
		result := played.Results[0]
		if off := result.Fitnesses[0] - repertoire.Fitnesses[cell]; math.Abs(float64(off)) > 1e-4 {
			t.Errorf("%s: cell %d has fitness %g, replayed %g", env, cell, repertoire.Fitnesses[cell], result.Fitnesses[0])
		}
		errtest.Equal(t, env+": the cell of replayed descriptors", repertoire.Near(result.Descriptors...), cell)
		errtest.Want(t, errtest.Of(played.Films()), "no bodies to film")
	}
}

// A search whose descriptors are all equal finds nothing, and says so.
func TestArchivesThatDoNotGrowAreReported(t *testing.T) {
	for _, algorithm := range []string{"aurora", "aurora-xcon", "map-elites", "dns"} {
		for _, ends := range []bool{false, true} {
			spec := smallest(algorithm, t.TempDir())
			standing := altered{plane{"standing"}, nil, func(s envs.State) envs.State {
				s.Observation, s.Descriptor = ZerosLike(s.Observation), ZerosLike(s.Descriptor)
				if ends {
					s.Done = OnesLike(s.Done)
				}
				return s
			}}
			spec.Env, spec.Environment, spec.Budget = "", standing, Generations(40)
			if ends {
				spec.Budget = Generations(7) // at the end of a short run, too
			}
			said := stderr(t, func() { train(t, spec) })
			// populations keep as many of the fittest as they have room for, but for extinctions
			want := algorithm == "aurora" || algorithm == "map-elites"
			errtest.Equal(t, algorithm+" says so", strings.Contains(said, "descriptors are nearly equal"), want)
		}
	}
	extinct := smallOf("aurora-xcon", t.TempDir(), 12)
	extinct.Tune = more(extinct.Tune, "extinction_every=10") // leaves one
	errtest.Equal(t, "after an extinction a run", stderr(t, func() { train(t, extinct) }), "")
	for _, setting := range []string{"grad_updates_per_step=0", "warmup_steps=1000000"} {
		idle := smallDiscovery("metra", t.TempDir(), 3)
		idle.Tune = more(idle.Tune, setting)
		errtest.Contains(t, stderr(t, func() { train(t, idle) }), "the networks were not updated")
	}
	errtest.Equal(t, "a run that learns", stderr(t, func() { train(t, smallDiscovery("metra", t.TempDir(), 3)) }), "")
	errtest.Equal(t, "a run that finds something", stderr(t, func() { train(t, smallOf("aurora", t.TempDir(), 20)) }), "")
}

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
	errtest.Equal(t, "skills", skills[0], skills[1])
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

// boundless is an emitter whose offspring are not finite.
type boundless struct{}

func (b boundless) Init(evolution.Start, random.Key) evolution.Emitter { return b }

func (boundless) Offspring(p evolution.Parents, _ *Node, keys random.Key) *Node {
	return MulScalar(p.Sample(keys), math.Inf(1))
}

func (b boundless) Update(evolution.Generation, random.Key) (evolution.Emitter, []evolution.Metric) {
	return b, nil
}

// Offspring that are not finite are blamed on who makes them, not on a built-in environment alone.
func TestInvalidOffspring(t *testing.T) {
	spec := small(t.TempDir(), 2)
	spec.Name, spec.Quiet = "own", false
	spec.Tune = spec.Tune.And(emitting(boundless{}))
	text := stderr(t, func() { _, _ = Train(background, spec) })
	if want := "were not finite, and are left out; see whether your code (Mix) returns"; !strings.Contains(text, want) {
		t.Errorf("%q is not in %q", want, text)
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
			errtest.Want(t, err, loss+"_loss is ", "there is no checkpoint yet")
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
