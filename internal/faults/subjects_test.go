package faults

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// subject is a command whose runs are disturbed.
type subject struct {
	name string
	// command returns the arguments for a folder, which may be new, and puts there what the runs need.
	command func(t *testing.T, root string) []string
	// results returns the names of the runs' folders.
	results func(t *testing.T) []string
}

// smallSettings, shared by all algorithms, make a generation take milliseconds.
var smallSettings = []string{"cells=32", "cvt_samples=500", "hidden=[8,8]", "episode_length=20"}

// run is a Spec whose hyperparameters are assignments, as on the command line.
type run struct {
	qdnb.Spec
	Set []string
}

// Config replaces [qdnb.Spec.Config].
func (r run) Config() (runs.Config, error) {
	r.Tune = runs.Assign(r.Set...)
	return r.Spec.Config()
}

// spec is a small run of an algorithm.
func spec(algorithm string) run {
	s := run{qdnb.Spec{Algorithm: algorithm, Env: "pointmaze", Seed: 1, Budget: qdnb.Generations(60)},
		slices.Clone(smallSettings)}
	switch {
	case records.Of(algorithm).Evolves():
		s.Set = append(s.Set, "batch=16")
	case algorithm == "ppo":
		s.Budget = qdnb.Generations(40)
		s.Set = []string{"cells=32", "cvt_samples=200", "episode_length=10", "num_envs=2", "unroll_length=4",
			"batch_size=4", "num_minibatches=1", "update_epochs=2", "evaluation_envs=2", "policy_hidden=8",
			"value_hidden=8"}
	default:
		s.Budget = qdnb.Generations(240)
		s.Set = append(s.Set, "env_batch_size=6", "grad_updates_per_step=0.5", "batch_size=16",
			"replay_buffer_size=180", "learning_rate=0.01",
			"evaluation_states=2", "evaluation_interval=60", "early_interval=12")
		if algorithm != "sac" {
			s.Set = append(s.Set, "num_skills=3", "diversity_hidden=[8]")
		}
		if strings.Contains(algorithm, "smerl") {
			s.Set = append(s.Set, "smerl_target=-20", "smerl_margin=2")
		}
	}
	if algorithm == "map-elites" {
		s.Budget = qdnb.Generations(200)
	}
	entry, _ := registry.Find(algorithm)
	if entry.Defaults != nil && entry.NeedsGradients() {
		s.Env, s.Set = "sphere", []string{"cells=32", "cvt_samples=500", "batch=16"}
	}
	s.Set = append(s.Set, entry.Smoke...)
	return s
}

// training is the subject `qdnb train` of a specification.
func training(s run) subject {
	return subject{
		name:    s.Algorithm,
		command: func(_ *testing.T, root string) []string { return trainArgs(s, root) },
		results: func(t *testing.T) []string { return []string{configOf(t, s).Name()} },
	}
}

func trainArgs(s run, root string) []string {
	args := []string{"train", "-q", "--runs", root, "--algorithm", s.Algorithm, "--env", s.Env,
		"--seed", "1", "--generations"}
	args = append(args, fmt.Sprint(s.Budget.Generations))
	for _, set := range s.Set {
		args = append(args, "--set", set)
	}
	return args
}

func configOf(t *testing.T, s run) runs.Config {
	return must.Get(s.Config())
}

// planned is the subject `qdnb sweep run` of a plan.
func planned(name string, lines func(t *testing.T) []sweep.Line,
	needed func(t *testing.T, root string), more ...string) subject {
	return subject{
		name: name,
		command: func(t *testing.T, root string) []string {
			must.Do(os.MkdirAll(root, 0o777))
			plan := filepath.Join(root, "plan.jsonl")
			if _, err := os.Stat(plan); err != nil {
				var text bytes.Buffer
				must.Do(sweep.Write(&text, lines(t)))
				must.Do(os.WriteFile(plan, text.Bytes(), 0o666))
			}
			if needed != nil {
				needed(t, root)
			}
			return append([]string{"sweep", "run", "-q", "--plan", plan, "--runs", root, "--poll", "100ms"}, more...)
		},
		results: func(t *testing.T) (names []string) {
			for _, line := range lines(t) {
				names = append(names, line.Run.Name())
			}
			return names
		},
	}
}

// skillsConfig returns the configuration of an imported run of three skills.
func skillsConfig(t *testing.T, env string) runs.Config {
	return must.Get(runs.NewConfig("diayn", env, 3, map[string]any{"hidden": []int{8}, "episode_length": 20}))
}

// importSkills makes that run, with made-up skills.
func importSkills(env string) func(t *testing.T, root string) {
	return func(t *testing.T, root string) {
		t.Helper()
		e, err := envs.Make(env)
		must.Do(err)
		s := &runs.Skills{Observations: e.Spec().Observations, Actions: e.Spec().Actions, Count: 3, Hidden: []int{8}}
		random := rand.New(rand.NewPCG(4, 0))
		for range runs.Row(s.Sizes()) {
			s.Policy = append(s.Policy, float32(random.NormFloat64()/2))
		}
		_, err = runs.Import(root, skillsConfig(t, env), func(w *runs.Writer) error {
			if err := w.SaveSkills(s); err != nil {
				return err
			}
			return w.SaveStatus(runs.Status{Finished: true, Budget: qdnb.Generations(1),
				Progress: runs.Progress{Generation: 1}})
		})
		must.Do(err)
	}
}

// adaptation evaluates skills of walker-uni under changed gravity.
var adaptation = planned("adaptation", func(t *testing.T) []sweep.Line {
	trained := skillsConfig(t, "walker-uni")
	budget := qdnb.Generations(1)
	var values [][]float64
	for i := range 20 {
		values = append(values, []float64{0.5 + float64(i)/8})
	}
	c, err := qdnb.AdaptSpec{Perturbation: envs.GravityMultiplier, Values: values, Episodes: 6,
		Seed: 4}.Config(trained, budget)
	must.Do(err)
	return []sweep.Line{{Experiment: "adaptation", Label: "diayn", Run: c,
		Needs: []sweep.Need{{Run: trained, Budget: budget}}}}
}, importSkills("walker-uni"))

// control trains a hierarchical controller that leads skills over hurdles.
var control = planned("hierarchical-control", func(t *testing.T) []sweep.Line {
	trained := skillsConfig(t, "halfcheetah-uni")
	budget := qdnb.Generations(1)
	c, err := qdnb.ControlSpec{Tune: runs.Assign(
		"num_envs=2", "unroll_length=2", "batch_size=2", "num_minibatches=1", "update_epochs=2",
		"decision_length=2", "episode_length=6",
		"evaluation_envs=2", "policy_hidden=8", "value_hidden=8")}.Config(trained, budget)
	must.Do(err)
	return []sweep.Line{{Experiment: "hurdles", Label: "diayn", Run: c, Budget: qdnb.Generations(12),
		Needs: []sweep.Need{{Run: trained, Budget: budget}}}}
}, importSkills("halfcheetah-uni"))

// plan is a small plan of different runs, one of which needs another.
var plan = planned("sweep", planLines, nil)

func planLines(t *testing.T) (lines []sweep.Line) {
	for i, algorithm := range []string{"map-elites", "pga-map-elites", "smerl-dads", "map-elites"} {
		s := spec(algorithm)
		s.Seed, s.Budget = int64(i), qdnb.Generations(20)
		line := sweep.Line{Experiment: "training", Label: algorithm, Run: configOf(t, s), Budget: s.Budget}
		if i == 3 {
			line.Needs = []sweep.Need{{Run: lines[0].Run, Budget: lines[0].Budget}}
		}
		lines = append(lines, line)
	}
	return lines
}

// subjects lists all subjects.
func subjects() (all []subject) {
	for _, algorithm := range qdnb.Algorithms() {
		all = append(all, training(spec(algorithm)))
	}
	return append(all, adaptation, control, plan)
}
