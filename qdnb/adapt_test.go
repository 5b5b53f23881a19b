package qdnb

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
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
			evaluated := PlaySpec{Episodes: 6, Seed: 4, Backend: backend,
				Conditions: envs.Conditions{envs.GravityMultiplier: {k}}}
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

		if loaded := nb.Must(Adapt(context.Background(), spec)); loaded.Status.Updated != run.Status.Updated {
			t.Error("an existing run was computed again")
		}
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
