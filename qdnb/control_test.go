package qdnb

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// cheetahs returns a finished run on halfcheetah-uni with made-up skills: a policy with three
// skills, or a repertoire of four cells, one of them empty.
func cheetahs(t *testing.T, root string, algorithm string) *runs.Run {
	t.Helper()
	random := rand.New(rand.NewPCG(4, 0))
	draw := func(n int) (row []float32) {
		for range n {
			row = append(row, float32(random.NormFloat64()/2))
		}
		return row
	}
	spec := Must(envs.Make(hurdlesSkillEnv)).Spec()
	config := Must(runs.NewConfig(algorithm, hurdlesSkillEnv, 3,
		map[string]any{"hidden": []int{8}, "episode_length": 20}))
	run, err := runs.Import(root, config, func(w *runs.Writer) error {
		if algorithm == "map-elites" {
			params := runs.Row([]int{spec.Observations, 8, spec.Actions})
			r := &runs.Repertoire{
				Params: params, Dims: 2, Genotypes: draw(4 * params),
				Fitnesses: []float32{1, float32(math.Inf(-1)), 2, 3}, Descriptors: draw(8),
				Centroids: draw(8), Lower: spec.Descriptor.Lower, Upper: spec.Descriptor.Upper,
			}
			if err := w.SaveRepertoire(r); err != nil {
				return err
			}
		} else {
			s := &runs.Skills{Observations: spec.Observations, Actions: spec.Actions, Count: 3,
				Hidden: []int{8}}
			s.Policy = draw(runs.Row(s.Sizes()))
			if err := w.SaveSkills(s); err != nil {
				return err
			}
		}
		return w.SaveStatus(runs.Status{Finished: true, Budget: Generations(1)})
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// smallControl returns the spec of a run that takes seconds.
func smallControl(skills *runs.Run, folder string, iterations int) ControlSpec {
	return ControlSpec{
		Skills: skills, Runs: folder, Budget: Generations(iterations), Backend: "go", Quiet: true,
		Set: []string{
			"num_envs=2", "unroll_length=2", "batch_size=2", "num_minibatches=1", "update_epochs=2",
			"decision_length=2", "episode_length=6",
			"evaluation_envs=2", "policy_hidden=8", "value_hidden=8",
		},
	}
}

func controlled(t *testing.T, s ControlSpec) *runs.Run {
	t.Helper()
	run, err := Control(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func policyBytes(t *testing.T, run *runs.Run) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(run.Dir, controlPolicyFile))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A run is trained only once. Interrupted after every iteration, or extended, it ends with the same
// bytes.
func TestControl(t *testing.T) {
	for _, algorithm := range []string{"map-elites", "diayn"} {
		root := t.TempDir()
		skills := cheetahs(t, root, algorithm)
		spec := smallControl(skills, root, 3)
		whole := controlled(t, spec)
		if s := whole.Status; !s.Finished || s.Generation != 3 || s.EnvSteps !=
			3*2*2*2 || s.Evaluations != 4*2 || whole.Config.Env != hurdlesEnv || whole.Config.Seed != 3 {
			t.Errorf("%s: %+v of %+v", algorithm, s, whole.Config)
		}
		table := Must(whole.Metrics())
		if want := append(slices.Clone(controlColumns), "policy_loss", "value_loss",
			"entropy"); !slices.Equal(table.Columns, want) {
			t.Errorf("columns %v", table.Columns)
		}
		best := math.Inf(-1)
		for i, row := range table.Rows {
			mean, most := row[4], row[6]
			if row[0] != float64(i) || mean > most || most < best || row[7] != 0 || math.IsNaN(row[9]) !=
				(i == 0) {
				t.Errorf("row %v", row)
			}
			best = most
		}
		if entropy := table.Rows[1][11]; len(table.Rows) != 4 || best !=
			whole.Status.MaxFitness || entropy <= 0 || entropy > math.Log(3) {
			t.Errorf("%d rows, best %v, entropy %v of 3 skills", len(table.Rows), best, entropy)
		}

		spec.Backend = "nonsense"
		if _, err := Control(context.Background(), spec); err == nil || !strings.Contains(err.Error(),
			"unknown backend") {
			t.Errorf("a finished run and an unknown backend: %v", err)
		}
		spec.Backend = filepath.Join(t.TempDir(), "none.so")
		if again := controlled(t, spec); again.Dir != whole.Dir {
			t.Errorf("%s was trained again in %s", whole.Dir, again.Dir)
		}
		spec = smallControl(skills, t.TempDir(), 1)
		controlled(t, spec)
		spec.Budget = Generations(3)
		stopped, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := Control(stopped, spec); !errors.Is(err, ErrInterrupted) {
			t.Fatalf("a stopped run: %v", err)
		}
		if resumed := controlled(t, spec); !bytes.Equal(policyBytes(t, resumed), policyBytes(t, whole)) {
			t.Errorf("%s: the extended or interrupted run ends with other bytes", algorithm)
		}
	}
}

// The skills of a meta-controller have the same means as the genotypes of the run's skills.
func TestControlSkills(t *testing.T) {
	run := cheetahs(t, t.TempDir(), "diayn")
	skills := Must(run.Skills())
	set := Must(controlSkills(run))
	params, flat := set.task.Skills.Net.Params(), Must(set.rows.Float32s())
	for k := range skills.Count {
		row, want := flat[k*params:(k+1)*params], skills.Genotype(k)
		// The rows are the same up to the last layer, where half of each row gives the scales.
		a := skills.Actions
		first := len(want) - (8+1)*a
		means := slices.Clone(row[:first])
		for at := first; at < len(row); at += 2 * a {
			means = append(means, row[at:at+a]...)
		}
		if !slices.Equal(means, want) {
			t.Errorf("skill %d has other means than its genotype", k)
		}
	}
	set = Must(controlSkills(cheetahs(t, t.TempDir(), "map-elites")))
	if !slices.Equal(set.numbers, []int{0, 2, 3}) || set.task.Skills.Gaussian {
		t.Errorf("cells %v", set.numbers)
	}
}

func TestControlConfig(t *testing.T) {
	training := Must(Spec{Algorithm: "map-elites", Env: hurdlesSkillEnv, Seed: 2}.Config())
	config := Must(ControlConfig(training, PaperBudget, ControlSpec{}))
	if config.Algorithm != "ppo" || config.Env != hurdlesEnv || config.Seed != 2 || !strings.Contains(
		string(config.Hyperparameters), `"published_credit":false`) ||
		!strings.Contains(string(config.Hyperparameters), `"num_envs":2048`) {
		t.Errorf("%+v %s", config, config.Hyperparameters)
	}
	other := Must(ControlConfig(training, Generations(1), ControlSpec{}))
	set := Must(ControlConfig(training, PaperBudget,
		ControlSpec{Set: []string{"published_credit=true"}}))
	if names := []string{config.Name(), other.Name(),
		set.Name()}; len(slices.Compact(slices.Sorted(slices.Values(names)))) != 3 {
		t.Errorf("names %v", names)
	}
	elsewhere := Must(Spec{Algorithm: "map-elites", Env: "walker-uni"}.Config())
	for want, try := range map[string]func() error{
		"halfcheetah-hurdles needs skills of halfcheetah-uni": func() error {
			_,
				err := ControlConfig(elsewhere, PaperBudget, ControlSpec{})
			return err
		},
		`did you mean "num_envs"`: func() error {
			_, err := ControlConfig(training, PaperBudget, ControlSpec{Set: []string{"num_env=3"}})
			return err
		},
		"must be a multiple of num_envs": func() error {
			_, err := ControlConfig(training, PaperBudget, ControlSpec{Set: []string{"num_envs=3"}})
			return err
		},
		"set Skills": func() error { _, err := Control(context.Background(), ControlSpec{}); return err },
		"train it to the end first": func() error {
			_, err := Control(context.Background(), ControlSpec{Skills: &runs.Run{Config: training},
				Runs: t.TempDir()})
			return err
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestHurdlesPassed(t *testing.T) {
	for x, want := range map[float64]int{-5: 0, 0: 0, 3: 0, 3.001: 1, 5.9: 1, 6.1: 2, 29.9: 9,
		30.1: 10, 100: 10} {
		if got := hurdlesPassed((x - 15) / 15); got != want {
			t.Errorf("%d hurdles passed at %v m, want %d", got, x, want)
		}
	}
	if got := hurdlesPassed(math.NaN()); got != 0 {
		t.Errorf("%d hurdles passed at NaN", got)
	}
}

// Watch is deterministic, and the episode has the length of its decisions.
func TestWatch(t *testing.T) {
	t.Setenv(xla.BackendEnv, "go")
	root := t.TempDir()
	skills := cheetahs(t, root, "map-elites")
	run := controlled(t, smallControl(skills, root, 1))
	e := Must(Watch(run, 5))
	again, other := Must(Watch(run, 5)), Must(Watch(run, 6))
	if !slices.Equal(e.X, again.X) || !slices.Equal(e.Skills, again.Skills) || slices.Equal(e.X,
		other.X) {
		t.Error("episodes do not depend on their seeds alone")
	}
	if len(e.X) != 6 || len(e.Skills) != 3 || math.Abs(e.X[0]) > 0.5 || e.Z[0] < 0.2 || e.Z[0] >
		1.5 || !e.Cells {
		t.Errorf("%+v", e)
	}
	for _, cell := range e.Skills {
		if !slices.Contains([]int{0, 2, 3}, cell) {
			t.Errorf("cell %d is empty", cell)
		}
	}
	// The sum of the velocities is the distance, which bounds the return.
	if distance := (e.X[5] - e.X[0]) / 0.05; e.Fitness > distance+20 {
		t.Errorf("return %v for the positions %v", e.Fitness, e.X)
	}
	if _, err := Must(e.Figure()).PNG(figures.Resolution); err != nil {
		t.Error(err)
	}
	if _, err := Watch(skills, 0); err == nil || !strings.Contains(err.Error(), "no meta-controller") {
		t.Error(err)
	}
}
