package qdnb

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla/backend"
)

func TestMain(m *testing.M) {
	if os.Getenv(backend.BackendEnv) == "" {
		os.Setenv(backend.BackendEnv, string(backend.Go)) // XLA takes seconds for each program: see device
	}
	m.Run()
}

// A budget of processor time ends a run. The time adds up over sessions.
func TestProcessorTimeIsABudget(t *testing.T) {
	spec := small(t.TempDir(), 2)
	begun, err := Train(background, spec)
	if err != nil || begun.Status.CPUSeconds <= 0 {
		t.Fatalf("%v after %v s of the processor", err, begun.Status.CPUSeconds)
	}
	spec.Budget = runs.Budget{CPU: time.Duration((begun.Status.CPUSeconds + 0.05) * float64(time.Second))}
	run := must.Get(Train(background, spec))
	if s := run.Status; !s.Finished || s.Generation <= 2 ||
		s.CPUSeconds < spec.Budget.CPU.Seconds() || s.Budget != spec.Budget {
		t.Errorf("in %v: %+v", spec.Budget, s)
	}
	again, err := Train(background, spec)
	if err != nil || again.Status.Generation != run.Status.Generation {
		t.Errorf("a complete run continued to generation %d, %v", again.Status.Generation, err)
	}
}

func TestCheckpointPauseIsADuration(t *testing.T) {
	for _, text := range []string{"30", "-1s", "often"} {
		t.Setenv(session.CheckpointEnv, text)
		spec := small(t.TempDir(), 1)
		err := errtest.Of(Train(background, spec))
		if errtest.Want(t, err, session.CheckpointEnv, "such as 30s"); !errors.As(err, new(names.Wrong)) {
			t.Errorf("%v does not end a command as wrong usage", err)
		}
		if left, _ := os.ReadDir(spec.Runs); len(left) > 0 {
			t.Errorf("%q leaves %v", text, left)
		}
	}
}

// device returns the backend of tests of what XLA might compute otherwise, and of those that compute much: XLA on the
// processor, if it is installed.
func device() string {
	if backend.FindPlugin(backend.CPU) == "" {
		return string(backend.Go)
	}
	return string(backend.CPU)
}

// small returns the spec of a run that takes milliseconds.
func small(folder string, generations int) Spec {
	return Spec{
		Algorithm: "map-elites", Env: "pointmaze", Seed: 1, Budget: Generations(generations),
		Runs: folder, Backend: "go", Quiet: true,
		Tune: runs.Assign("batch=16", "cells=32", "cvt_samples=500", "hidden=[8,8]", "episode_length=20"),
	}
}

func train(t *testing.T, spec Spec) *runs.Run {
	return must.Get(Train(background, spec))
}

// stopped trains one generation, as an interrupted cell does.
func stopped(t *testing.T, spec Spec) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Train(ctx, spec); !errors.Is(err,
		ErrInterrupted) || !strings.Contains(err.Error(), "rerun the same command to resume") {
		t.Fatalf("a stopped run: %v", err)
	}
}

func repertoireBytes(t *testing.T, run *runs.Run) []byte {
	return must.Get(os.ReadFile(filepath.Join(run.Dir, "repertoire.npz")))
}

// stderr collects what f writes to standard error.
func stderr(t *testing.T, f func()) string {
	t.Helper()
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "stderr")))
	defer file.Close()
	before := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = before }()
	f()
	must.Get(file.Seek(0, io.SeekStart))
	text := must.Get(io.ReadAll(file))
	return string(text)
}

// The evaluations of generation 0 are part of a budget. 0 generations are the initial population, not the default budget.
func TestBudgetsCountTheInitialPopulation(t *testing.T) {
	evolved := []runs.Budget{{Evaluations: 16}, Generations(0), {EnvSteps: 17 * 20}, {Evaluations: 48, EnvSteps: 1e6}}
	for algorithm, budgets := range map[string][]runs.Budget{"map-elites": evolved, "pga-map-elites": evolved,
		"aurora": evolved, "diayn": {Generations(0), Generations(0), Generations(1)}} {
		spec := smallRun(algorithm, t.TempDir(), 0)
		spec.KeepReplay = true
		for i, budget := range budgets { // each extends the one before
			spec.Budget = budget
			s, want := train(t, spec).Status, int64(max(0, i-1))
			if s.Generation != want || s.Evaluations == 0 || !s.Finished ||
				algorithm != "diayn" && (s.Evaluations != 16*(want+1) || s.EnvSteps != 20*s.Evaluations) {
				t.Errorf("%s, %v: it ends with %+v, want generation %d", algorithm, budget, s.Progress, want)
			}
		}
	}
}

func TestSnapshotsAndMetrics(t *testing.T) {
	spec := small(t.TempDir(), 36)
	spec.KeepGenotypes = true
	run := train(t, spec)
	snapshots := must.Get(run.Snapshots())
	var at []int64
	for _, s := range snapshots {
		at = append(at, s.Generation)
	}
	errtest.Equal(t, "snapshots at generations", at, []int64{2, 4, 6, 8, 10, 12, 14, 16, 18, 36})
	history := must.Get(run.History())
	errtest.Equal(t, "snapshots with genotypes", len(history), len(snapshots))
	for i, s := range history {
		errtest.Equal(t, "fitnesses with genotypes", s.Fitnesses, snapshots[i].Fitnesses)
		for _, cell := range s.Filled() {
			if row := s.Genotype(cell); s.Params == 0 || len(row) != s.Params || slices.Max(row) == 0 {
				t.Fatalf("generation %d: the genotype of cell %d is %v", s.Generation, cell, row)
			}
		}
		if s.Generation == 36 {
			final := must.Get(run.Repertoire())
			for _, cell := range final.Filled() {
				errtest.Equal(t, "a genotype at the end", s.Genotype(cell), final.Genotype(cell))
			}
		}
	}
	table := must.Get(run.Metrics())
	column := func(name string) []float64 {
		values := must.Get(table.Column(name))
		errtest.Equal(t, name, len(values), 37)
		return values
	}
	for i, generation := range column("generation") {
		if generation != float64(i) || column("evaluations")[i] != (generation+1)*16 || column(
			"env_steps")[i] != (generation+1)*16*20 || column("invalid")[i] != 0 {
			t.Errorf("row %d is of generation %g", i, generation)
		}
	}
	for _, name := range []string{"seconds", "max_fitness", "coverage", "qd_score"} {
		if !slices.IsSorted(column(name)) {
			t.Errorf("%s falls: %v", name, column(name))
		}
	}
	repertoire := must.Get(run.RepertoireMap())
	if s, last := repertoire.Stats(),
		run.Status; s.MaxFitness != last.MaxFitness || s.Coverage != last.Coverage || s.QDScore != last.QDScore || s.Cells != 32 {
		t.Errorf("the repertoire has %+v, the status %+v", s, last)
	}
	if offset := 2.3431 * 20; repertoire.Offset < offset-1e-9 || repertoire.Offset > offset+1e-9 {
		t.Errorf("QD offset %g", repertoire.Offset)
	}
}

// The environment of a variant has the options of the algorithm that it is based on.
func TestEnvironmentOfAVariant(t *testing.T) {
	programs := func(env envs.Env) string {
		settings := evolution.DefaultMapElites(env.Spec())
		return nb.Must((&session.Training{Env: env, Algorithm: settings}).Fingerprint())
	}
	for base, options := range map[string][]envs.Option{
		"diayn": nil, "dads": {envs.WidePositions()}, "qdac": {envs.WidePositions()}} {
		run := &runs.Run{Config: runs.Config{Algorithm: "mine", Env: "ant-trap"}, Status: runs.Status{Base: base}}
		env := nb.Must(policies.Environment(run))
		errtest.Equal(t, "programs of a variant of "+base, programs(env), programs(nb.Must(envs.Make("ant-trap", options...))))
	}
}

// A run of a method that measures at intervals ends with a measurement of its final state.
// Extended, it equals a run that never ended there, to the bit.
func TestEndOfBudgetIsMeasured(t *testing.T) {
	for _, algorithm := range []string{"diayn-reward", "sac", "dns", "aurora"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			of := func(folder string, generations int) Spec {
				spec := smallRun(algorithm, folder, generations)
				spec.KeepReplay, spec.Corrected, spec.Seed = true, 2, 3
				return spec
			}
			whole := train(t, of(t.TempDir(), 18))
			spec := of(t.TempDir(), 9)
			run := train(t, spec)
			table := nb.Must(run.Metrics())
			final := nb.Must(table.Column(runs.FinalColumn))
			last := len(final) - 1
			errtest.Equal(t, "the first row of a measurement at the end", slices.Index(final, 1), last)
			if steps := nb.Must(table.Column(records.EvaluationSteps)); steps[last]-steps[last-1] != steps[0] {
				t.Errorf("the measurement at the end is not counted: evaluation steps %v", steps)
			}
			stored, status := nb.Must(run.RepertoireMap()).Stats(), run.Status
			snapshots, corrected := nb.Must(run.Snapshots()), nb.Must(run.Corrected())
			for what, stats := range map[string]runs.Stats{"repertoire.npz": stored,
				"the last snapshot": snapshots[len(snapshots)-1].Stats()} {
				for column, x := range map[string]float64{"max_fitness": stats.MaxFitness,
					"coverage": stats.Coverage, "qd_score": stats.QDScore, "generation": 9} {
					errtest.Equal(t, column+" of the last row and of "+what, nb.Must(table.Column(column))[last], x)
				}
			}
			if status.MaxFitness != stored.MaxFitness || status.Coverage != stored.Coverage ||
				status.QDScore != stored.QDScore || status.Generation != 9 {
				t.Errorf("status %+v of the repertoire %+v", status, stored)
			}
			if before := nb.Must(table.Column("qd_score"))[last-1]; before == stored.QDScore {
				t.Error("the measurement changed nothing: the test proves nothing")
			}
			if run.HasSkills() {
				best := slices.Max(nb.Must(run.Evaluation()).Fitnesses)
				if stored.MaxFitness < float64(best) {
					t.Errorf("max fitness %v, but a skill has %v", stored.MaxFitness, best)
				}
			}
			errtest.Equal(t, "generation of the last corrected repertoire", corrected[len(corrected)-1].Generation, 9)
			errtest.Equal(t, "when a finished run was changed", train(t, spec).Status.Updated, status.Updated)

			stopped(t, of(spec.Runs, 18))
			if run := nb.Must(runs.Open(run.Dir)); run.Status.Finished ||
				slices.Contains(nb.Must(nb.Must(run.Metrics()).Column(runs.FinalColumn)), 1) {
				t.Errorf("an extension shows the end of the shorter run: %+v", run.Status)
			}
			extended := train(t, of(spec.Runs, 18))
			sameEnd(t, "the extended run", extended, whole)
			for _, of := range []func(*runs.Run) ([]runs.Snapshot, error){(*runs.Run).Snapshots, (*runs.Run).Corrected} {
				have := map[int64][]float32{} // those of the shorter run have other points
				for _, s := range nb.Must(of(extended)) {
					have[s.Generation] = s.Fitnesses
				}
				for _, s := range nb.Must(of(whole)) {
					if s.Generation >= 9 && !slices.Equal(have[s.Generation], s.Fitnesses) {
						t.Errorf("the snapshot of generation %d of the extended run differs", s.Generation)
					}
				}
			}
		})
	}
}

// A run that ends with a measurement has no second one.
func TestMeasuredEndHasOneRow(t *testing.T) {
	final := nb.Must(nb.Must(train(t, smallOf("dns", t.TempDir(), 10)).Metrics()).Column(runs.FinalColumn))
	if len(final) != 11 || slices.Contains(final, 1) {
		t.Errorf("rows of a measurement at the end: %v", final)
	}
}

// background is the context of calls that are not interrupted.
var background = context.Background()

// more returns a tuning that makes assignments after another one.
func more(tune Tuning, assignments ...string) Tuning {
	return tune.And(runs.Assign(assignments...))
}

// films plays recorded episodes and returns their films.
func films(run *runs.Run, s PlaySpec) ([]*scene.Film, error) {
	s.Record = true
	recording, err := Play(background, run, s)
	if err != nil {
		return nil, err
	}
	return recording.Films()
}

// finishedRun returns a finished run with random policies: three skills, or if the algorithm is
// map-elites, three or four cells, the second of which is empty.
func finishedRun(t *testing.T, root, algorithm, env string, seed int64, cells int) *runs.Run {
	t.Helper()
	return finishedRunOn(t, root, algorithm, nb.Must(envs.Make(env)).Spec(), seed, cells)
}

// finishedRunOn is [finishedRun] on any environment.
func finishedRunOn(t *testing.T, root, algorithm string, spec envs.Spec, seed int64, cells int) *runs.Run {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(cells), 0))
	draw := func(n int) (row []float32) {
		for range n {
			row = append(row, float32(random.NormFloat64()/2))
		}
		return row
	}
	config := nb.Must(runs.NewConfig(algorithm, spec.Name, seed, map[string]any{"hidden": []int{8}, "episode_length": 20}))
	run := must.Get(runs.Import(root, config, func(w *runs.Writer) error {
		if algorithm == "map-elites" {
			params := runs.Row([]int{spec.Observations, 8, spec.Actions})
			r := &runs.Repertoire{
				Params: params, Dims: 2, Genotypes: draw(cells * params),
				Fitnesses:   []float32{1, float32(math.Inf(-1)), 2, 3}[:cells],
				Descriptors: draw(2 * cells), Centroids: draw(2 * cells),
				Lower: spec.Descriptor.Lower, Upper: spec.Descriptor.Upper,
			}
			if err := w.SaveRepertoire(r); err != nil {
				return err
			}
		} else {
			s := &runs.Skills{Observations: spec.Observations, Actions: spec.Actions, Count: 3, Hidden: []int{8}}
			s.Policy = draw(runs.Row(s.Sizes()))
			if err := w.SaveSkills(s); err != nil {
				return err
			}
		}
		return w.SaveStatus(runs.Status{Finished: true, Budget: Generations(1)})
	}))
	return run
}

// emitting returns a tuning that replaces the emitters of an algorithm by one.
func emitting(e evolution.Emitter) Tuning {
	return Tune(func(h *evolution.MapElites) { h.Mix = evolution.Mix{{Emitter: e, Of: 1}} })
}

// archiving returns a tuning that replaces the archive of an algorithm.
func archiving(a repertoire.Archive) Tuning {
	return Tune(func(h *evolution.MapElites) { h.Archive = a })
}

// skilled returns a tuning that replaces parts of a reinforcement-learning algorithm; nil keeps one.
func skilled(p skills.Parts) Tuning {
	return Tune(func(h *skills.Parts) {
		h.Diversity, h.Objective = cmp.Or(p.Diversity, h.Diversity), cmp.Or(p.Objective, h.Objective)
	})
}

// defaultAurora is the archive of AURORA on pointmaze.
func defaultAurora() repertoire.Aurora {
	entry := must.Get(registry.Find("aurora"))
	return entry.Defaults(envs.Pointmaze{}.Spec()).(*evolution.MapElites).Archive.(repertoire.Aurora)
}

// For the ledger of programs, and for variants of users.
var (
	Device   = device
	Smallest = smallest
	Lever    = lever
	OwnParts = ownParts
	Training = training
	Resumes  = resumes
)
