package qdnb

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/qdnb/watch"
)

// halfcheetahUni is the environment that supplies the skills of [Control].
const halfcheetahUni = "halfcheetah-uni"

// cheetahs returns a finished run on halfcheetah-uni with random policies, see finishedRun.
func cheetahs(t *testing.T, root, algorithm string) *runs.Run {
	t.Helper()
	return finishedRun(t, root, algorithm, halfcheetahUni, 3, 4)
}

// smallControl returns the spec of a run that takes seconds.
func smallControl(skills *runs.Run, folder string, iterations int) ControlSpec {
	return ControlSpec{
		Skills: skills, Runs: folder, Budget: Generations(iterations), Backend: "go", Quiet: true,
		Tune: runs.Assign(
			"num_envs=2", "unroll_length=2", "batch_size=2", "num_minibatches=1", "update_epochs=2",
			"decision_length=2", "episode_length=6",
			"evaluation_envs=2", "policy_hidden=8", "value_hidden=8"),
	}
}

func controlled(t *testing.T, s ControlSpec) *runs.Run {
	return must.Get(Control(context.Background(), s))
}

// The columns, counts and scores of hierarchical control are those of its iterations and evaluations. A run is
// trained only once.
func TestControl(t *testing.T) {
	for _, algorithm := range []string{"map-elites", "diayn"} {
		root := t.TempDir()
		skills := cheetahs(t, root, algorithm)
		if algorithm == "map-elites" { // those of a variant, too
			skills = imported(t, skills)
		}
		spec := smallControl(skills, root, 3)
		whole := controlled(t, spec)
		if s := whole.Status; !s.Finished || s.Generation != 3 || s.EnvSteps != 3*2*2*2 ||
			s.Evaluations != 4*2 || whole.Config.Env != policies.HurdlesEnv || whole.Config.Seed != 3 {
			t.Errorf("%s: %+v of %+v", algorithm, s, whole.Config)
		}
		table := nb.Must(whole.Metrics())
		errtest.Equal(t, "columns", table.Columns, []string{"generation", "evaluations", "env_steps", "seconds", "max_fitness",
			"coverage", "qd_score", "invalid", "fitness_mean", "fitness_std", "hurdles_mean", "hurdles_max",
			"policy_loss", "value_loss", "entropy", "evaluation_steps", "final"})
		best := math.Inf(-1)
		for i, row := range table.Rows {
			mean, most := row[8], row[4]
			if row[0] != float64(i) || mean > most || most < best || row[10] != 0 ||
				row[16] != 0 || math.IsNaN(row[12]) != (i == 0) {
				t.Errorf("row %v", row)
			}
			best = most
		}
		if entropy := table.Rows[1][14]; len(table.Rows) != 4 || best != whole.Status.MaxFitness ||
			entropy <= 0 || entropy > math.Log(3) {
			t.Errorf("%d rows, best %v, entropy %v of 3 skills", len(table.Rows), best, entropy)
		}
		spec.Backend = filepath.Join(t.TempDir(), "none.so")
		errtest.Equal(t, "folder of the same run", controlled(t, spec).Dir, whole.Dir)
	}
}

// A run that was killed between its first checkpoint and its status, or whose damaged status was
// removed, resumes from the checkpoint, which knows its skills.
func TestControlResumesWithoutStatus(t *testing.T) {
	root := t.TempDir()
	skills := cheetahs(t, root, "map-elites")
	whole := controlled(t, smallControl(skills, t.TempDir(), 3))
	run := controlled(t, smallControl(skills, root, 1))
	must.Do(os.Remove(filepath.Join(run.Dir, "status.json")))
	errtest.Want(t, errtest.Of(Play(background, must.Get(runs.Open(run.Dir)), PlaySpec{Backend: "go"})),
		"has no status.json", "repeat its Control")
	other := smallControl(finishedRun(t, t.TempDir(), "map-elites", halfcheetahUni, 3, 3), root, 3)
	errtest.Want(t, errtest.Of(Control(background, other)), "was trained with other skills")
	sameEnd(t, "the resumed run", controlled(t, smallControl(skills, root, 3)), whole)
}

// A run that ends between two evaluations ends with one.
func TestEndOfControlIsEvaluated(t *testing.T) {
	spec := smallControl(cheetahs(t, t.TempDir(), "diayn"), t.TempDir(), 5)
	spec.Tune = more(spec.Tune, "evaluation_interval=3")
	run := controlled(t, spec)
	rows := nb.Must(run.Metrics()).Rows
	last := rows[len(rows)-1]
	if len(rows) != 3 || last[0] != 5 || last[16] != 1 || last[4] != run.Status.MaxFitness ||
		math.IsNaN(last[12]) || run.Status.Evaluations != 4 {
		t.Errorf("rows %v, status %+v", rows, run.Status)
	}
}

// The skills of a meta-controller have the same means as the genotypes of the run's skills.
func TestControlSkills(t *testing.T) {
	run := cheetahs(t, t.TempDir(), "diayn")
	skills := nb.Must(run.Skills())
	set := must.Get(policies.ForControl(run))
	params, flat := set.Net.Params(), nb.Must(set.Rows.Float32s())
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
	set = must.Get(policies.ForControl(cheetahs(t, t.TempDir(), "map-elites")))
	if !slices.Equal(set.Numbers, []int{0, 2, 3}) || set.Gaussian {
		t.Errorf("cells %v", set.Numbers)
	}
}

// A meta-controller acts with the weights with which the cells' policies were trained.
func TestControlWeights(t *testing.T) {
	run := cheetahs(t, t.TempDir(), "map-elites")
	run.Config.Hyperparameters = []byte(`{"hidden":[8],"episode_length":20,"weights":"bfloat16"}`)
	set := must.Get(policies.ForControl(run))
	genotype := nb.Must(run.Repertoire()).Genotype(0)
	row := nb.Must(set.Rows.Float32s())[:len(genotype)]
	if slices.Equal(row, genotype) || !slices.Equal(row, set.Net.RoundBFloat16(genotype)) {
		t.Error("the skill's weights are not rounded")
	}
}

func TestControlConfig(t *testing.T) {
	training := nb.Must(Spec{Algorithm: "map-elites", Env: halfcheetahUni, Seed: 2}.Config())
	config := nb.Must(ControlSpec{}.Config(training, session.PaperBudget))
	if config.Algorithm != records.HierarchicalControl || config.Env != policies.HurdlesEnv || config.Seed != 2 ||
		!strings.Contains(string(config.Hyperparameters), `"sample_skills":true`) ||
		!strings.Contains(string(config.Hyperparameters), `"num_envs":2048`) {
		t.Errorf("%+v %s", config, config.Hyperparameters)
	}
	other := nb.Must(ControlSpec{}.Config(training, Generations(1)))
	set := nb.Must(ControlSpec{Tune: runs.Assign("sample_skills=false")}.Config(training, session.PaperBudget))
	if names := []string{config.Name(), other.Name(),
		set.Name()}; len(slices.Compact(slices.Sorted(slices.Values(names)))) != 3 {
		t.Errorf("names %v", names)
	}
	elsewhere := nb.Must(Spec{Algorithm: "map-elites", Env: "walker-uni"}.Config())
	refused := func(training runs.Config, assignments ...string) error {
		return errtest.Of(ControlSpec{Tune: runs.Assign(assignments...)}.Config(training, session.PaperBudget))
	}
	for want, err := range map[string]error{
		"halfcheetah-hurdles needs skills of halfcheetah-uni": refused(elsewhere),
		`did you mean "num_envs"`:                             refused(training, "num_env=3"),
		"must be a multiple of num_envs":                      refused(training, "num_envs=3"),
		"set Skills":                                          errtest.Of(Control(background, ControlSpec{})),
		"finish training first": errtest.Of(Control(background, ControlSpec{Skills: &runs.Run{Config: training},
			Runs: t.TempDir()})),
	} {
		errtest.Want(t, err, want)
	}
}

// A meta-controller is played deterministically, and the episode has the length of its decisions. Its film shows its
// trajectory.
func TestPlayOfAMetaController(t *testing.T) {
	root := t.TempDir()
	run := controlled(t, smallControl(cheetahs(t, root, "map-elites"), root, 1))
	play := func(seed int64) (*Recording, []float32, *watch.Choices) {
		r := nb.Must(Play(background, run, PlaySpec{Seed: seed}))
		e := r.Results[0].Recorded[0]
		var x []float32
		for _, at := range e.Path {
			x = append(x, at[0])
		}
		return r, x, e.Choices
	}
	e, x, choices := play(5)
	_, again, same := play(5)
	_, other, _ := play(6)
	if !slices.Equal(x, again) || !slices.Equal(choices.Skills, same.Skills) || slices.Equal(x, other) {
		t.Error("episodes do not depend on their seeds alone")
	}
	z := e.Results[0].Recorded[0].Path[0][1]
	if len(x) != 6 || len(choices.Skills) != 3 || math.Abs(float64(x[0])) > 0.5 ||
		z < 0.2 || z > 1.5 || !choices.Cells {
		t.Errorf("%+v", e)
	}
	for _, cell := range choices.Skills {
		if !slices.Contains([]int{0, 2, 3}, cell) {
			t.Errorf("cell %d is empty", cell)
		}
	}
	// The sum of the velocities is the distance, which bounds the return.
	if distance := (x[5] - x[0]) / 0.05; e.Results[0].Fitnesses[0] > distance+20 {
		t.Errorf("return %v for the positions %v", e.Results[0].Fitnesses, x)
	}
	must.Get(nb.Must(nb.Must(e.Trajectories()).Figure()).PNG(figures.Resolution))
	path, film := e.Results[0].Recorded[0].Path, e.Results[0].Recorded[0].Film
	if len(film.Frames) != len(path) || !strings.HasPrefix(film.Subtitle, "Return ") {
		t.Fatalf("%d frames of %d steps, %q", len(film.Frames), len(path), film.Subtitle)
	}
	for i, frame := range film.Frames {
		if at := frame[film.Follow].Position; math.Abs(at[0]-float64(path[i][0])) > 1e-4 ||
			math.Abs(at[2]-float64(path[i][1])) > 1e-5 {
			t.Errorf("step %d: the torso is at %v, not at %v", i, at, path[i])
		}
	}
	sumsTo(t, film, e.Results[0].Fitnesses[0])
	if _, err := films(run, PlaySpec{Cells: []int{0}}); err == nil {
		t.Error("a meta-controller has cells")
	}
	if several := nb.Must(Play(background, run, PlaySpec{Seed: 5, Episodes: 3})); len(
		several.Results[0].Fitnesses) != 3 || several.Results[0].Recorded != nil {
		t.Errorf("%+v", several)
	}

	changed := smallControl(finishedRun(t, t.TempDir(), "map-elites", halfcheetahUni, 3, 3), root, 2)
	errtest.Want(t, errtest.Of(Control(background, changed)), "was trained with other skills")
	run.Status.Choices++
	errtest.Want(t, errtest.Of(Play(background, run, PlaySpec{})), "was trained with other skills")
}
