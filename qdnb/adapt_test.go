package qdnb

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
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

// walkers returns a finished run on walker-uni with random policies, see finishedRun.
func walkers(t *testing.T, root, algorithm string) *runs.Run {
	t.Helper()
	return finishedRun(t, root, algorithm, "walker-uni", 0, 3)
}

// rowsOf returns the metrics of an adaptation, [value, skill], as rows by column name.
func rowsOf(t *testing.T, run *runs.Run) []map[string]float64 {
	t.Helper()
	table := nb.Must(run.Metrics())
	var rows []map[string]float64
	for _, row := range table.Rows {
		named := map[string]float64{}
		for i, column := range table.Columns {
			named[column] = row[i]
		}
		rows = append(rows, named)
	}
	return rows
}

// The results under nominal conditions equal those of the unperturbed environment to the bit, and
// those under other conditions equal those of the perturbed one.
func TestAdapt(t *testing.T) {
	root := t.TempDir()
	for algorithm, backend := range map[string]string{"map-elites": device(), "diayn-reward": "go"} {
		skills := walkers(t, root, algorithm)
		if algorithm == "map-elites" { // those of a variant, too
			skills = imported(t, skills)
		}
		spec := AdaptSpec{
			Backend: backend, Skills: skills, Perturbation: envs.GravityMultiplier, Values: [][]float64{{0.5}, {1}, {3}},
			Episodes: 6, Seed: 4, Runs: root, Quiet: true,
		}
		run := nb.Must(Adapt(context.Background(), spec))
		if !run.Status.Finished || !strings.HasPrefix(run.Name(), "adaptation-walker-uni-0-") {
			t.Fatalf("%+v", run)
		}
		all := nb.Must(policies.All(skills)).Policies
		rows := rowsOf(t, run)
		if len(rows) != 3*len(all) || len(all) < 2 {
			t.Fatalf("%d rows of %d policies", len(rows), len(all))
		}
		for i, k := range []float64{0.5, 1, 3} {
			evaluated := PlaySpec{Episodes: 6, Seed: 4, Backend: backend, Conditions: envs.Conditions{envs.GravityMultiplier: {k}}}
			if k == 1 {
				evaluated.Conditions = nil
			}
			for _, policy := range all {
				if policy.Cell {
					evaluated.Cells = append(evaluated.Cells, policy.Number)
				}
			}
			found := nb.Must(Play(background, skills, evaluated))
			for j, r := range found.Results {
				row := rows[i*len(all)+j]
				low, high := r.Quartiles()
				want := map[string]float64{"index": float64(i), "x": k, "skill": float64(r.Number),
					"fitness_median": r.Median(),
					"fitness_mean":   r.Mean(), "fitness_std": r.Std(), "fitness_q1": low, "fitness_q3": high}
				for name, x := range want {
					errtest.Equal(t, fmt.Sprintf("%s: value %d, skill %d: %s", algorithm, i, j, name), row[name], x)
				}
				if !math.IsNaN(row["y"]) || !(low < high) {
					t.Errorf("value %d, skill %d: y is %v, quartiles %v and %v", i, j, row["y"], low, high)
				}
			}
			if i > 0 && rows[i*len(all)]["fitness_median"] == rows[0]["fitness_median"] {
				t.Errorf("gravity times %v changes nothing", k)
			}
		}
		if best := run.Status.MaxFitness; best != slices.MaxFunc(rows, func(a, b map[string]float64) int {
			return int(math.Copysign(1, a["fitness_median"]-b["fitness_median"]))
		})["fitness_median"] {
			t.Errorf("best median %v", best)
		}

		errtest.Equal(t, "when an existing run was computed", nb.Must(Adapt(context.Background(), spec)).Status.Updated,
			run.Status.Updated)
	}
}

// A run in a custom environment adapts in it, and changed code is another adaptation.
func TestAdaptInACustomEnvironment(t *testing.T) {
	root := t.TempDir()
	walker := func(leg ...string) envs.Env {
		env := *nb.Must(envs.Make("walker-uni")).(*envs.Rigid)
		env.Settings.Name, env.Leg = "tin-walker", leg
		return &env
	}
	skills := finishedRunOn(t, root, "map-elites", walker("leg_joint").Spec(), 0, 3)
	spec := AdaptSpec{Skills: skills, Environment: walker("leg_joint"), Perturbation: envs.ActuatorsMultiplier,
		Values: [][]float64{{1}, {0}}, Episodes: 2, Runs: root, Quiet: true}
	run := nb.Must(Adapt(context.Background(), spec))
	if rows := rowsOf(t, run); len(rows) != 4 || rows[0]["fitness_median"] == rows[2]["fitness_median"] {
		t.Errorf("a broken leg has no effect: %v", rows)
	}
	again := nb.Must(Adapt(context.Background(), spec))
	spec.Environment = walker("thigh_joint")
	other := nb.Must(Adapt(context.Background(), spec))
	if again.Dir != run.Dir || other.Dir == run.Dir {
		t.Errorf("the folders are %s, %s and, with another leg, %s", run.Dir, again.Dir, other.Dir)
	}
	spec.Environment = nil
	errtest.Want(t, errtest.Of(Adapt(context.Background(), spec)), "set Environment")
	spec.Environment = nb.Must(envs.Make("walker-uni"))
	errtest.Want(t, errtest.Of(Adapt(context.Background(), spec)), "are those of tin-walker")
}

func TestAdaptRefuses(t *testing.T) {
	root := t.TempDir()
	skills := walkers(t, root, "map-elites")
	unfinished := *skills
	unfinished.Status.Finished = false
	maze := nb.Must(Spec{Algorithm: "map-elites", Env: "pointmaze"}.Config())
	for want, change := range map[string]func(*AdaptSpec){
		"set Skills":          func(s *AdaptSpec) { s.Skills = nil },
		"is not finished":     func(s *AdaptSpec) { s.Skills = &unfinished },
		"neither gravity":     func(s *AdaptSpec) { s.Skills = &runs.Run{Config: maze} },
		`perturbation "wind"`: func(s *AdaptSpec) { s.Perturbation = "wind" },
		"has no target": func(s *AdaptSpec) {
			s.Perturbation = envs.TargetPosition
		},
		"and not negative, not -1": func(s *AdaptSpec) {
			s.Values = [][]float64{{1}, {-1}}
		},
		"episodes must be between 1 and 1048576": func(s *AdaptSpec) { s.Episodes = -3 },
		"unknown backend":                        func(s *AdaptSpec) { s.Backend = "abacus" },
	} {
		spec := AdaptSpec{Skills: skills, Perturbation: envs.GravityMultiplier, Runs: t.TempDir(), Quiet: true}
		change(&spec)
		errtest.Want(t, errtest.Of(Adapt(context.Background(), spec)), want)
	}
}

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
		errtest.Equal(t, fmt.Sprintf("means of skill %d", k), means, want)
	}
	set = must.Get(policies.ForControl(cheetahs(t, t.TempDir(), "map-elites")))
	errtest.Equal(t, "cells", fmt.Sprint(set.Numbers, set.Gaussian), fmt.Sprint([]int{0, 2, 3}, false))
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
	if len(x) != 6 || len(choices.Skills) != 3 || math.Abs(float64(x[0])) > 0.5 || z < 0.2 || z > 1.5 || !choices.Cells {
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
	errtest.Want(t, errtest.Of(films(run, PlaySpec{Cells: []int{0}})))
	if several := nb.Must(Play(background, run, PlaySpec{Seed: 5, Episodes: 3})); len(
		several.Results[0].Fitnesses) != 3 || several.Results[0].Recorded != nil {
		t.Errorf("%+v", several)
	}

	changed := smallControl(finishedRun(t, t.TempDir(), "map-elites", halfcheetahUni, 3, 3), root, 2)
	errtest.Want(t, errtest.Of(Control(background, changed)), "was trained with other skills")
	run.Status.Choices++
	errtest.Want(t, errtest.Of(Play(background, run, PlaySpec{})), "was trained with other skills")
}

// lever is an arm of 1 m and 1 kg on a hinge, whose motor should hold it level. Its policies get its angle
// and velocity.
func lever() *envs.Rigid {
	angle := func(m envs.StepView) *Node {
		angles, _ := m.Joint("hinge")
		return Reshape(angles, -1)
	}
	return &envs.Rigid{
		Settings: envs.Spec{Name: "lever", Observations: 2, Actions: 1, Length: 30, Offset: 2,
			Descriptor: envs.Descriptor{Kind: envs.Mean, Lower: []float32{-1.5}, Upper: []float32{1.5},
				Components: []string{"mean angle (rad)"}}},
		System: must.Get(physics.NewSystem(physics.Model{TimeStep: 0.05, Substeps: 10, Gravity: physics.Vec{0, 0, -9.81},
			Bodies: []physics.Body{{Name: "base", Fixed: true}, {Name: "arm", Mass: 1, Inertia: physics.Vec{0.1, 0.1, 0.1}}},
			Joints: []physics.Joint{{Name: "hinge", Parent: "base", Child: "arm", ChildOffset: physics.Vec{-0.5, 0, 0},
				Rotation: physics.Vec{0, 0, 90}, Limits: [][2]float64{{-80, 80}}, Stiffness: 5000, Damping: 1}},
			Actuators: []physics.Actuator{{Joint: "hinge", Strength: 12}},
			Pose:      map[string]physics.Vec{"base": {0, 0, 2}}})),
		Observe: func(m envs.StepView) *Node {
			angles, velocities := m.Joint("hinge")
			return Concatenate([]*Node{angles, velocities}, 0)
		},
		Reward:   func(_, after envs.StepView, _ *Node) *Node { return Neg(MinScalar(Abs(angle(after)), 2)) },
		Describe: angle,
	}
}

// Training under other conditions finds policies for them, and the conditions are part of the run's
// identity. Adaptation replaces those that episodes draw.
func TestTrainingUnderConditions(t *testing.T) {
	root, plain := t.TempDir(), lever()
	strong := func(gravity float64) envs.Env {
		return must.Get(envs.WithVariations(plain, "strong", envs.Vary(envs.GravityMultiplier, gravity, gravity)))
	}
	spec := func(env envs.Env) Spec {
		return Spec{Algorithm: "map-elites", Environment: env, Runs: root, Backend: "go", Quiet: true,
			Budget: Generations(15), Tune: runs.Assign("batch=32", "hidden=[4]", "cells=8", "cvt_samples=200", "iso_sigma=0.1",
				"episode_length=20")}
	}
	one, other := must.Get(spec(strong(2)).Config()), must.Get(spec(strong(1.9)).Config())
	if again := must.Get(spec(strong(2)).Config()); one.Name() != again.Name() || one.Name() == other.Name() {
		t.Errorf("%s, %s and %s", one.Name(), again.Name(), other.Name())
	}
	under := func(env envs.Env) (run *runs.Run, fitness []float64) { // of the best policy, under both gravities
		run = must.Get(Train(t.Context(), spec(env)))
		adapted := must.Get(Adapt(t.Context(), AdaptSpec{Skills: run, Environment: env, Values: [][]float64{{1}, {2}},
			Perturbation: envs.GravityMultiplier, Episodes: 1, Runs: root, Backend: "go", Quiet: true}))
		medians := must.Get(must.Get(adapted.Metrics()).Column("fitness_median"))
		n := len(medians) / 2
		return run, []float64{slices.Max(medians[:n]), slices.Max(medians[n:])}
	}
	_, usual := under(plain)
	run, adjusted := under(strong(2))
	if adjusted[1] < usual[1]+1 || math.Abs(adjusted[1]-run.Status.MaxFitness) > 0.1 || adjusted[0] == adjusted[1] {
		t.Errorf("trained under gravity 1 the best have %.4g under gravities 1 and 2, "+
			"trained under gravity 2 %.4g; archived %.4g", usual, adjusted, run.Status.MaxFitness)
	}
}
