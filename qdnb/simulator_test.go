package qdnb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// throw evaluates a solution of four numbers: the fitness is minus their squared distance from 0.3, the
// descriptor the first two.
func throw(x []float32) envs.Result {
	r := envs.Result{Descriptor: x[:2]}
	for _, x := range x {
		r.Fitness -= (x - 0.3) * (x - 0.3)
	}
	return r
}

func throws(ctx context.Context, genotypes [][]float32) ([]envs.Result, error) {
	results := make([]envs.Result, len(genotypes))
	var group sync.WaitGroup
	for i, x := range genotypes {
		group.Go(func() { results[i] = throw(x) })
	}
	group.Wait()
	return results, ctx.Err()
}

// simulator is the task of throw.
func simulator() *envs.Simulator {
	return &envs.Simulator{Bounded: true, Evaluate: throws, Facts: envs.Spec{Name: "throw", Actions: 4, Length: 1,
		Initial: [2]float64{-1, 1}, Offset: 8, Descriptor: envs.Descriptor{Kind: envs.Outcome,
			Lower: []float32{-1, -1}, Upper: []float32{1, 1}, Components: []string{"x", "y"}}}}
}

// simulated returns the spec of a small run of a simulator.
func simulated(algorithm, folder string, generations int) Spec {
	spec := small(folder, generations)
	spec.Algorithm, spec.Env, spec.Environment = algorithm, "", simulator()
	spec.Tune = variation(algorithm)
	return spec
}

// variation returns settings of a small run on a task without observations.
func variation(algorithm string) Tuning {
	tune := Tuning(runs.Assign("batch=30", "cells=32", "cvt_samples=500", "slice=5"))
	if algorithm == "cma-mae" {
		return more(tune, "emitters=3", "sigma0=0.3")
	}
	return more(tune, "iso_sigma=0.3", "line_sigma=0.5")
}

// A Go function that evaluates genotypes on many goroutines.
func ExampleTrain_simulator() {
	folder, _ := os.MkdirTemp("", "runs")
	defer os.RemoveAll(folder)
	run, err := Train(context.Background(), simulated("map-elites", folder, 20))
	fmt.Println(run.Status.Evaluations, run.Status.Coverage > 80, run.Status.MaxFitness > -0.1, err)
	// Output: 630 true true <nil>
}

// The unit of a descriptor component changes neither the cells nor what is novel: with metres or
// millimetres the fitnesses of the cells are the same.
func TestUnitsOfDescriptorsDoNotMatter(t *testing.T) {
	for _, algorithm := range []string{"map-elites", "dns"} {
		of := func(unit float32) []byte {
			spec := simulated(algorithm, t.TempDir(), 20)
			own := simulator()
			own.Facts.Descriptor.Lower[1], own.Facts.Descriptor.Upper[1] = -unit, unit
			own.Evaluate = func(ctx context.Context, genotypes [][]float32) ([]envs.Result, error) {
				results, err := throws(ctx, genotypes)
				for i, r := range results {
					results[i].Descriptor = []float32{r.Descriptor[0], unit * r.Descriptor[1]}
				}
				return results, err
			}
			spec.Environment = own
			if algorithm == "dns" {
				spec.Tune = more(spec.Tune, "capacity=24")
			}
			return fmt.Append(nil, must.Get(train(t, spec).Repertoire()).Fitnesses)
		}
		if !bytes.Equal(of(1), of(1024)) {
			t.Errorf("%s: they differ", algorithm)
		}
	}
}

// A simulator in a wrapper is that simulator, for Train and for Ask.
func TestWrappedSimulators(t *testing.T) {
	type mine struct{ *envs.Simulator }
	var want string
	for _, env := range []envs.Env{simulator(), mine{simulator()}, envs.StartAt(mine{simulator()}, 1)} {
		spec := simulated("map-elites", t.TempDir(), 2)
		spec.Environment = env
		run := train(t, spec)
		spec.Runs = t.TempDir()
		search := must.Get(Ask(background, spec))
		for !search.Done() {
			must.Do(search.Tell(must.Get(throws(background, must.Get(search.Ask())))))
		}
		asked := must.Get(search.Close())
		if !bytes.Equal(repertoireBytes(t, run), repertoireBytes(t, asked)) || asked.Name() != run.Name() ||
			want != "" && want != run.Name() {
			t.Errorf("%T: %s is another run than %s or %s", env, asked.Name(), run.Name(), want)
		}
		want = run.Name()
	}
}

// Who edits the function of a simulator is told that its run is of the former one, until that is trained again.
func TestEditedSimulators(t *testing.T) {
	spec, edited := simulated("map-elites", t.TempDir(), 2), simulator()
	edited.Evaluate = func(ctx context.Context, genotypes [][]float32) ([]envs.Result, error) {
		return throws(ctx, genotypes)
	}
	const said = "Evaluate of throw was edited after map-elites-throw-1-"
	says := func(edit, want bool) {
		t.Helper()
		of := spec
		if edit {
			of.Environment = edited
		}
		for _, get := range []func() (*runs.Run, error){
			func() (*runs.Run, error) { return Load(of) }, func() (*runs.Run, error) { return Train(background, of) },
		} {
			if text := stderr(t, func() { must.Get(get()) }); strings.Contains(text, said) != want {
				t.Errorf("edited %v: %q", edit, text)
			}
		}
	}
	train(t, spec)
	says(false, false)
	says(true, true)
	again := spec
	again.Environment, again.Fresh = edited, true
	if text := stderr(t, func() { train(t, again) }); strings.Contains(text, said) {
		t.Error(text)
	}
	says(true, false)
	says(false, true)
}

// Each algorithm without transitions learns from a simulator, stores what it evaluated within the
// bounds, and resumes to the byte when every generation is interrupted between Ask and Tell.
func TestSimulators(t *testing.T) {
	for _, algorithm := range []string{"map-elites", "cma-mae", "dns", "mome"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			const generations = 5
			folder := t.TempDir()
			first := train(t, simulated(algorithm, t.TempDir(), 1))
			whole := train(t, simulated(algorithm, t.TempDir(), generations))
			if s := whole.Status; s.QDScore <= first.Status.QDScore || s.Evaluations != 30*(generations+1) {
				t.Errorf("QD score %g after %g, %d evaluations", s.QDScore, first.Status.QDScore, s.Evaluations)
			}
			r := must.Get(whole.Repertoire())
			for _, cell := range r.Filled() {
				x := r.Genotype(cell)
				if want := throw(x); want.Fitness != r.Fitnesses[cell] || !slices.Equal(want.Descriptor, r.Descriptor(cell)) ||
					slices.Min(x) < -1 || slices.Max(x) > 1 {
					t.Errorf("cell %d: genotype %g has fitness %g and descriptor %g", cell, x, r.Fitnesses[cell], r.Descriptor(cell))
				}
			}
			spec := simulated(algorithm, folder, generations)
			spec.Environment.(*envs.Simulator).Evaluate = nil
			for done := false; !done; {
				lost := must.Get(Ask(background, spec))
				asked := must.Get(lost.Ask())
				must.Get(lost.Close())
				search := must.Get(Ask(background, spec))
				again := must.Get(search.Ask())
				if !slices.EqualFunc(asked, again, slices.Equal) {
					t.Fatal("Ask after a loss returns other genotypes")
				}
				must.Do(search.Tell(must.Get(throws(background, again))))
				done = search.Done()
				run := must.Get(search.Close())
				if done && !bytes.Equal(finished(t, run), finished(t, whole)) {
					t.Error("the interrupted run ends differently")
				}
			}
		})
	}
}

// Evolution strategies learn from what was evaluated, so that they find an optimum within bounds as well as
// without them. pyribs 0.7.1, which resamples, has -0.12 to -0.05 and QD scores of 4387 to 4391 after 500
// generations of sep-CMA-ES, and -1.7 to -1.3 and 4137 to 4158 of LM-MA-ES.
func TestStrategiesWithinBounds(t *testing.T) {
	task := func(optimum float32) *envs.Simulator {
		return &envs.Simulator{Bounded: true, Facts: envs.Spec{Name: "box", Actions: 20, Length: 1,
			Initial: [2]float64{-1, 1}, Offset: 45, Descriptor: envs.Descriptor{Kind: envs.Outcome,
				Lower: []float32{-1, -1}, Upper: []float32{1, 1}, Components: []string{"x", "y"}}},
			Evaluate: func(_ context.Context, genotypes [][]float32) (results []envs.Result, _ error) {
				for _, x := range genotypes {
					r := envs.Result{Descriptor: []float32{max(-1, min(1, x[0])), max(-1, min(1, x[1]))}}
					for _, x := range x {
						r.Fitness -= (x - optimum) * (x - optimum)
					}
					results = append(results, r)
				}
				return results, nil
			}}
	}
	for _, c := range []struct {
		strategy, batch  string
		generations      int
		optimum          float32
		fitness, qdScore float64
	}{{"sep-cma-es", "batch=108", 400, 0.5, -0.2, 4360}, {"cma-es", "batch=108", 200, 0.5, -0.5, 4330},
		{"lm-ma-es", "batch=60", 200, 0.5, -1, 4220}, {"openai-es", "batch=108", 300, 1, -0.2, 4180}} {
		t.Run(c.strategy, func(t *testing.T) {
			t.Parallel()
			spec := Spec{Algorithm: "cma-mae", Environment: task(c.optimum), Runs: t.TempDir(), Backend: "go",
				Quiet: true, Budget: Generations(c.generations), Tune: runs.Assign("emitters=3", "cells=100",
					"cvt_samples=2000", c.batch, "strategy="+c.strategy)}
			if s := train(t, spec).Status; s.MaxFitness < c.fitness || s.QDScore < c.qdScore {
				t.Errorf("max fitness %g, QD score %g", s.MaxFitness, s.QDScore)
			}
		})
	}
}

// Results have the parts of their fitness if the task has several objectives.
func TestSimulatorOfTwoObjectives(t *testing.T) {
	spec := simulated("mome", t.TempDir(), 3)
	two := spec.Environment.(*envs.Simulator)
	two.Facts.Objectives = []envs.Objective{{Name: "near", Lowest: -8}, {Name: "left", Lowest: -1}}
	two.Evaluate = func(ctx context.Context, genotypes [][]float32) ([]envs.Result, error) {
		results, err := throws(ctx, genotypes)
		for i, r := range results {
			results[i].Objectives = []float32{r.Fitness, -genotypes[i][0]}
			results[i].Fitness = r.Fitness - genotypes[i][0]
		}
		return results, err
	}
	r := must.Get(train(t, spec).Repertoire())
	parts := must.Get(r.Objectives.Float32s())
	slots := len(parts) / r.Cells()
	for _, cell := range r.Filled() {
		x, found := r.Genotype(cell), false
		for slot := range slices.Chunk(parts[cell*slots:(cell+1)*slots], 2) {
			found = found || slot[0] == throw(x).Fitness && slot[1] == -x[0]
		}
		errtest.Equal(t, fmt.Sprintf("cell %d: a slot has the objectives of %g", cell, x), found, true)
	}
}

// Mistakes are one line and lose nothing; results that are not finite are invalid.
func TestMistakesOfSimulators(t *testing.T) {
	folder := t.TempDir()
	spec := simulated("map-elites", folder, 1)
	search := must.Get(Ask(background, spec))
	errtest.Want(t, search.Tell(nil), "Tell needs the genotypes of Ask")
	results := must.Get(throws(background, must.Get(search.Ask())))
	errtest.Want(t, search.Tell(results[1:]), "29 results do not fit the 30 genotypes of a generation")
	short := slices.Clone(results)
	short[3].Descriptor = []float32{1}
	errtest.Want(t, search.Tell(short), "result 3 has 1 descriptor components")
	results[0] = envs.Result{Fitness: float32(math.NaN())}
	results[1].Descriptor = []float32{float32(math.Inf(1)), 0}
	said := stderr(t, func() { must.Do(search.Tell(results)) })
	if !strings.Contains(said, "2 of 30 evaluations in generation 0 were not finite") ||
		!strings.HasSuffix(said, "see what the simulator returned\n") {
		t.Errorf("results that are not finite: %q", said)
	}
	must.Do(search.Tell(must.Get(throws(background, must.Get(search.Ask())))))
	errtest.Want(t, errtest.Of(search.Ask()), "the budget is spent")
	for range 2 {
		if run := must.Get(search.Close()); run.Status.Invalid != 2 || !run.Status.Finished {
			t.Errorf("%d invalid", run.Status.Invalid)
		}
	}
	if again := must.Get(Ask(background, spec)); !again.Done() {
		t.Error("a complete run continues")
	}
	failing := simulated("map-elites", t.TempDir(), 2)
	failing.Environment.(*envs.Simulator).Evaluate = func(context.Context, [][]float32) ([]envs.Result, error) {
		return nil, errors.New("no licence")
	}
	errtest.Want(t, errtest.Of(Train(background, failing)), "no licence")
	errtest.Want(t, errtest.Of(Ask(background, small(folder, 1))), "Ask needs an envs.Simulator")
	errtest.Want(t, errtest.Of(Train(background, simulated("pga-map-elites", folder, 1))), "needs transitions")
	errtest.Want(t, errtest.Of(Train(background, simulated("diayn", folder, 1))), "needs transitions")
	part := simulated("map-elites", folder, 1)
	part.Tune = runs.Assign("Initial=[[1]]")
	errtest.Want(t, errtest.Of(part.Config()), `unknown field "Initial"`)
	starts := simulated("map-elites", folder, 1)
	starts.Tune = more(starts.Tune, "starts=2")
	errtest.Want(t, errtest.Of(Train(background, starts)), "starts, memory and weights are settings of rollouts")
}

// A generation after which the search cannot learn is not saved: the run resumes before it.
func TestAskAfterADivergence(t *testing.T) {
	of := func(folder string) Spec {
		spec := simulated("map-elites", folder, 4)
		spec.Name, spec.Tune = "fragile", spec.Tune.And(emitting(reporting{"loss", func(g evolution.Generation) *Node {
			return ReduceAllMax(Square(g.Found.Fitness)) // infinite after fitnesses of 1e30
		}}))
		return spec
	}
	whole, spec := train(t, of(t.TempDir())), of(t.TempDir())
	search := must.Get(Ask(background, spec))
	for range 2 {
		must.Do(search.Tell(must.Get(throws(background, must.Get(search.Ask())))))
	}
	must.Get(search.Close())
	search = must.Get(Ask(background, spec))
	asked := slices.Clone(must.Get(search.Ask()))
	results := must.Get(throws(background, asked))
	results[0].Fitness = 1e30
	for _, err := range []error{search.Tell(results), search.Tell(results), errtest.Of(search.Ask()),
		errtest.Of(search.Close())} {
		errtest.Want(t, err, "loss is +Inf in generation 2", "the last checkpoint is generation 1")
	}
	search = must.Get(Ask(background, spec))
	if !slices.EqualFunc(must.Get(search.Ask()), asked, slices.Equal) {
		t.Error("the resumed search asks for other genotypes")
	}
	for !search.Done() {
		must.Do(search.Tell(must.Get(throws(background, must.Get(search.Ask())))))
	}
	if !bytes.Equal(finished(t, must.Get(search.Close())), finished(t, whole)) {
		t.Error("the resumed run ends differently")
	}
}

// bomb is MAP-Elites that panics on the host when armed.
type bomb struct {
	*evolution.MapElites
	armed *bool
}

func (b *bomb) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	search, err := b.MapElites.New(p, env, seed)
	return fuse{search, b.armed}, err
}

type fuse struct {
	algorithms.Search
	armed *bool
}

func (f fuse) Step() (scoring.Outcome, error) {
	if *f.armed {
		panic("boom")
	}
	return f.Search.Step()
}

// overdue is an archive that panics when it is asked for the maintenance after a generation.
type overdue struct {
	repertoire.Grid
	Boom int64
}

func (o overdue) Due(generation int64) string {
	if generation == o.Boom {
		panic("boom")
	}
	return ""
}

func (o overdue) Maintain(string, *Node, random.Key) repertoire.Archive { return o }

func (o overdue) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	o.Grid = o.Grid.Empty(task, key).(repertoire.Grid)
	return o
}

func (o overdue) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	grid, inserted := o.Grid.Add(found)
	o.Grid = grid.(repertoire.Grid)
	return o, inserted
}

// A panic of the user's code on the host is an error of one line, and the next training resumes.
func TestPanicsOfTheUser(t *testing.T) {
	calls, own := 0, simulator()
	own.Evaluate = func(ctx context.Context, genotypes [][]float32) ([]envs.Result, error) {
		if calls++; calls == 3 {
			panic("boom")
		}
		return throws(ctx, genotypes)
	}
	spec := simulated("map-elites", t.TempDir(), 4)
	spec.Environment = own
	errtest.Want(t, errtest.Of(Train(background, spec)), "the training panicked: ", "simulator_test.go", "boom", "rerun")
	train(t, spec)
	for generation, want := range map[int64]string{2: "the Spec cannot be used: qdnb.overdue", 50: "the training panicked: "} {
		spec := smallRun("map-elites", t.TempDir(), 60)
		spec.Name, spec.Tune = "mine", spec.Tune.And(archiving(overdue{Boom: generation}))
		errtest.Want(t, errtest.Of(Train(background, spec)), want, "overdue.Due at ", "boom")
	}
}

// However a search ends, its training ends with it: closed, interrupted between Ask and Tell, or by
// a panic, which is that of Tell. Results before an interruption are saved.
func TestAskEndsItsTraining(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(background)
	spec := simulated("map-elites", t.TempDir(), 4)
	search := must.Get(Ask(ctx, spec))
	asked := must.Get(search.Ask())
	cancel()
	for _, err := range []error{search.Tell(must.Get(throws(background, asked))), errtest.Of(search.Ask())} {
		if errtest.Want(t, err, "is saved at generation 0"); !errors.Is(err, ErrInterrupted) || search.Done() {
			t.Errorf("%v, done: %v", err, search.Done())
		}
	}
	saved := must.Get(search.Close())
	errtest.Equal(t, "evaluations that are saved", saved.Status.Evaluations, 30)
	must.Get(figures.Repertoire(saved)) // which has no snapshot yet, and whose task has no name here
	armed := false
	of := func() Spec {
		entry := must.Get(registry.Find("map-elites"))
		settings := entry.Defaults(simulator().Spec()).(*evolution.MapElites)
		must.Do(variation("map-elites")(settings))
		spec.Algorithm, spec.Tune, spec.Name, spec.Loop = "", nil, "bomb", &bomb{settings, &armed}
		return spec
	}
	search = must.Get(Ask(background, of()))
	asked, armed = must.Get(search.Ask()), true
	func() {
		defer func() {
			errtest.Equal(t, "Tell recovers", recover(), "boom")
		}()
		t.Error("a panic is lost: ", search.Tell(must.Get(throws(background, asked))))
	}()
	errtest.Want(t, errtest.Of(search.Close()), "the training panicked")
	armed = false
	search = must.Get(Ask(background, of())) // the folder is free
	must.Get(search.Close())
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// A run starts from the genotypes of another one, all of which are evaluated, and resumes to the byte.
func TestStartFromGenotypes(t *testing.T) {
	folder := t.TempDir()
	from := train(t, simulated("map-elites", folder, 20))
	before := must.Get(from.Repertoire())
	for name, of := range map[string]func(folder string, generations int) Spec{
		"cma-mae": func(folder string, n int) Spec { return simulated("cma-mae", folder, n) },
		"device": func(folder string, n int) Spec {
			spec := solving("cma-mae", "sphere", folder, n)
			spec.Tune = variation("cma-mae")
			return spec
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := from.Dir
			if name == "device" {
				source = train(t, solving("map-elites", "sphere", t.TempDir(), 8)).Dir
			}
			started := func(folder string, generations int) Spec {
				spec := of(folder, generations)
				spec.Start = source
				spec.Tune = more(spec.Tune, "batch=12", "cells=64")
				return spec
			}
			whole := resumes(t, training(started), 6)
			if plain := must.Get(of(folder, 6).Config()); plain.Name() == whole.Name() || whole.Config.Parts["start"] == "" {
				t.Error("Start is not part of the identity")
			}
			old, best := must.Get(must.Get(runs.Open(source)).RepertoireMap()), whole.Status.MaxFitness
			if highest := float64(slices.Max(old.Fitnesses)); best < highest {
				t.Errorf("the best fitness is %g, at the start %g", best, highest)
			}
		})
	}
	grid := simulated("map-elites", t.TempDir(), 2)
	grid.Start = from.Dir
	grid.Tune = more(grid.Tune, "batch=12", "cells=1000", "cvt_samples=1000")
	after, kept := must.Get(train(t, grid).Repertoire()), 0
	for _, cell := range before.Filled() {
		if slices.Equal(before.Genotype(cell), after.Genotype(after.Near(before.Descriptor(cell)...))) {
			kept++
		}
	}
	if n := len(before.Filled()); n <= 24 || kept < n-2 {
		t.Errorf("%d of %d genotypes are in the repertoire after three generations of 12", kept, n)
	}
	write := func(a npz.Array) string {
		path := filepath.Join(t.TempDir(), "some.npz")
		must.Do(npz.Write(path, map[string]npz.Array{"genotypes": a}))
		return path
	}
	start := func(path, algorithm string) error {
		spec := simulated(algorithm, folder, 1)
		spec.Start = path
		return errtest.Of(Train(background, spec))
	}
	must.Do(start(write(npz.Of(slices.Clone(before.Genotype(before.Best())), 1, 4)), "map-elites"))
	must.Do(start(filepath.Join(from.Dir, "repertoire.npz"), "map-elites"))
	errtest.Want(t, start(write(npz.Of(make([]float32, 6), 2, 3)), "dns"), "its genotypes have 3 parameters")
	errtest.Want(t, start(write(npz.Of([]float32{0, 0, 0, float32(math.NaN())}, 1, 4)), "dns"),
		"parameter 3 of genotype 0 is NaN")
	other := filepath.Join(t.TempDir(), "other.npz")
	must.Do(npz.Write(other, map[string]npz.Array{"weights": npz.Of([]float32{1})}))
	errtest.Want(t, start(other, "dns"), "cannot start from", "genotypes")
	errtest.Want(t, start("nowhere", "dns"), "cannot start from nowhere: no run")
	// genotypes that Tune sets are checked and hashed, too
	initial := func(rows ...[]float32) Spec {
		spec := simulated("dns", t.TempDir(), 1)
		spec.Tune = spec.Tune.And(Tune(func(h *evolution.MapElites) { h.Initial = rows }))
		return spec
	}
	errtest.Want(t, errtest.Of(Train(background, initial([]float32{1, 2}))), "Initial: its genotypes have 2 parameters")
	errtest.Want(t, errtest.Of(Train(background, initial([]float32{0, 0, 0, float32(math.Inf(1))}))),
		"parameter 3 of genotype 0 is +Inf")
	both := initial(before.Genotype(before.Best()))
	both.Start = from.Dir
	errtest.Want(t, errtest.Of(Train(background, both)), "mutually exclusive")
	names := map[string]bool{}
	for _, x := range []float32{0, 0, 1} {
		names[must.Get(initial([]float32{0, 0, 0, x}).Config()).Name()] = true
	}
	errtest.Equal(t, "names of runs from two populations", len(names), 2)
	spec := smallDiscovery("diayn", folder, 1)
	spec.Start = from.Dir
	errtest.Want(t, errtest.Of(Train(background, spec)), "diayn does not start from genotypes")
}
