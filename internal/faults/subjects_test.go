package faults

import (
	"bytes"
	"fmt"
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
	args []string     // of the command, but for the folder of runs
	plan []sweep.Line // of `qdnb sweep run`
	run  runs.Config  // of `qdnb train`
	xla  bool         // it computes on XLA:CPU
}

func (s subject) trains() bool { return s.plan == nil }

// command writes the plan, if there is one, into the folder above root and returns the command that runs in root.
func (s subject) command(root string) []string {
	args := append(slices.Clone(s.args), "--runs", root)
	if !s.trains() {
		var text bytes.Buffer
		must.Do(sweep.Write(&text, s.plan))
		path := filepath.Join(filepath.Dir(root), "plan.jsonl")
		must.Do(os.WriteFile(path, text.Bytes(), 0o666))
		args = append(args, "--plan", path)
	}
	return args
}

// results returns the names of the runs' folders.
func (s subject) results() (names []string) {
	if s.trains() {
		return []string{s.run.Name()}
	}
	for _, line := range s.plan {
		names = append(names, line.Run.Name())
	}
	return names
}

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

// spec is a small run of an algorithm, whose generations take milliseconds.
func spec(algorithm string) run {
	s := run{qdnb.Spec{Algorithm: algorithm, Env: "pointmaze", Seed: 1, Budget: qdnb.Generations(60)},
		[]string{"cells=32", "cvt_samples=500", "hidden=[8,8]", "episode_length=20"}}
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
	args := []string{"train", "-q", "--algorithm", s.Algorithm, "--env", s.Env, "--seed", "1", "--generations",
		fmt.Sprint(s.Budget.Generations)}
	for _, set := range s.Set {
		args = append(args, "--set", set)
	}
	return subject{name: s.Algorithm, args: args, run: must.Get(s.Config())}
}

// planned is the subject `qdnb sweep run` of training runs, an adaptation of skills, and a controller that leads skills
// over hurdles.
func planned() subject {
	var lines []sweep.Line
	add := func(config runs.Config, budget runs.Budget, needs ...sweep.Line) sweep.Line {
		line := sweep.Line{Experiment: "training", Label: config.Algorithm, Run: config, Budget: budget}
		for _, other := range needs {
			line.Needs = append(line.Needs, sweep.Need{Run: other.Run, Budget: other.Budget})
		}
		lines = append(lines, line)
		return line
	}
	train := func(algorithm, env string, generations int, needs ...sweep.Line) sweep.Line {
		s := spec(algorithm)
		s.Env, s.Seed = env, int64(len(lines))
		return add(must.Get(s.Config()), qdnb.Generations(generations), needs...)
	}
	train("pga-map-elites", "pointmaze", 20)
	first := train("map-elites", "pointmaze", 20)
	train("map-elites", "pointmaze", 20, first)
	walkers, cheetahs := train("diayn", "walker-uni", 2), train("diayn", "halfcheetah-uni", 2)
	var values [][]float64
	for i := range 20 {
		values = append(values, []float64{0.5 + float64(i)/8})
	}
	adapted := qdnb.AdaptSpec{Perturbation: envs.GravityMultiplier, Values: values, Episodes: 6, Seed: 4}
	add(must.Get(adapted.Config(walkers.Run, walkers.Budget)), runs.Budget{}, walkers)
	led := qdnb.ControlSpec{Tune: runs.Assign("num_envs=2", "unroll_length=2", "batch_size=2", "num_minibatches=1",
		"update_epochs=2", "decision_length=2", "episode_length=6", "evaluation_envs=2", "policy_hidden=8", "value_hidden=8")}
	add(must.Get(led.Config(cheetahs.Run, cheetahs.Budget)), qdnb.Generations(12), cheetahs)
	return subject{name: "sweep", args: []string{"sweep", "run", "-q", "--poll", "100ms"}, plan: lines}
}

// subjects lists all subjects in pure Go.
func subjects() (all []subject) {
	for _, algorithm := range qdnb.Algorithms() {
		all = append(all, training(spec(algorithm)))
	}
	return append(all, planned())
}

// onXLA returns subjects on XLA:CPU: the named algorithms on ants, which also compile the physics of a robot; or
// without names all of them, a plan, and runs whose networks have the paper's sizes, so that XLA distributes their matrix
// products over all its threads.
func onXLA(t *testing.T, algorithms ...string) (all []subject) {
	if plugin == "" {
		t.Skip("SKIPPED: there is no XLA plugin; `make plugin` fetches it")
	}
	if len(algorithms) == 0 {
		pga := run{qdnb.Spec{Algorithm: "pga-map-elites"}, []string{"cells=64", "cvt_samples=500", "batch=40",
			"num_critic_training_steps=8", "num_pg_training_steps=5"}}
		dads := run{qdnb.Spec{Algorithm: "dads-reward"}, []string{"cells=64", "cvt_samples=500", "env_batch_size=50",
			"grad_updates_per_step=0.2", "evaluation_states=4", "early_interval=100", "num_skills=3"}}
		for _, s := range []run{pga, dads} {
			s.Env, s.Seed, s.Budget = "ant-uni", 1, qdnb.Generations(12)
			paperSized := training(s)
			paperSized.name += " of the paper's size"
			all = append(all, paperSized)
		}
		all, algorithms = append(all, planned()), qdnb.Algorithms()
	}
	for _, algorithm := range algorithms {
		s := spec(algorithm)
		if s.Env == "pointmaze" { // not one of those that need gradients
			s.Env = "ant-uni"
		}
		if i := slices.Index(s.Set, "smerl_target=-20"); i >= 0 {
			s.Set[i] = "smerl_target=18" // a return that some skills reach
		}
		all = append(all, training(s))
	}
	for i := range all {
		all[i].name, all[i].xla = all[i].name+" on XLA", true
		all[i].args = append(all[i].args, "--backend", plugin)
	}
	return all
}
