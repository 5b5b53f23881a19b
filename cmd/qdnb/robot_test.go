package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/watch"
)

// A robot's gaits are trained, shown, evaluated and exported; its run keeps what that needs.
func TestTrainRobot(t *testing.T) {
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "my hopper.json"), filepath.Join(dir, "runs")
	must.Do(os.WriteFile(file, must.Get(os.ReadFile("../../envs/robots/gymnasium/hopper.json")), 0o600))
	train := []string{"train", "--robot", file, "--runs", folder, "--backend", "go", "--generations", "1", "--steps", "5",
		"--set", "batch=8", "--set", "cells=8", "--set", "hidden=[4]", "--set", "cvt_samples=100"}
	stdout, stderr := succeed(t, train...)
	errtest.Contains(t, stderr, "torso walks along x; feet foot, which alone touch the ground",
		"map-elites-my-hopper-0")
	small := []string{"num_envs=2", "unroll_length=5", "batch_size=2", "num_minibatches=1", "policy_hidden=[4]",
		"value_hidden=[4]", "evaluation_envs=2", "cells=8", "cvt_samples=100"}
	follow := []string{"train", "--robot", file, "--task", "velocity", "--runs", folder, "--backend", "go",
		"--generations", "1", "--steps", "5"}
	for _, setting := range small {
		follow = append(follow, "--set", setting)
	}
	_, stderr = succeed(t, follow...)
	errtest.Contains(t, stderr, "torso follows the velocities", "stepping in place 2 times a second",
		"ppo-my-hopper-velocity-0", "normalize_advantages=true")
	_, stderr = succeed(t, append(follow, "--commands", "drawn")...)
	errtest.Contains(t, stderr, "which each episode draws")

	// A Spec has the command's defaults.
	spec := qdnb.Spec{Robot: file, Task: envs.RobotTask{Task: envs.Velocity, Steps: 5}, Runs: folder}
	errtest.Equal(t, "budget", must.Get(spec.Training(t.Context())).Spec.Budget, qdnb.Generations(400))
	spec.Tune, spec.Budget = runs.Assign(small...), qdnb.Generations(1)
	errtest.Equal(t, "algorithm", must.Get(qdnb.Load(spec)).Config.Algorithm, "ppo")
	spec.Task.Task, spec.Tune = envs.Walk, runs.Assign("batch=8", "cells=8", "hidden=[4]", "cvt_samples=100")
	errtest.Equal(t, "algorithm", must.Get(qdnb.Load(spec)).Config.Algorithm, "map-elites")

	must.Do(os.Remove(file))
	run := must.Get(filepath.Glob(filepath.Join(folder, "map-elites-my-hopper-0-*")))[0]
	again, _ := succeed(t, append([]string{"train", "--robot", filepath.Join(run, "robot.json")}, train[3:]...)...)
	errtest.Equal(t, "trained from its folder", again, stdout)
	succeed(t, "show", run)
	succeed(t, "eval", run, "--episodes", "2", "--backend", "go", "--actuators", "0.5")
	succeed(t, "export", run, "--out", filepath.Join(dir, "gait.onnx"))
	var contract struct{ Observations []envs.Component }
	must.Do(json.Unmarshal(must.Get(os.ReadFile(filepath.Join(dir, "gait.json"))), &contract))

	extended := append(append([]string{}, train[:2]...), filepath.Join(run, "robot.json"))
	extended = append(append(extended, train[3:]...), "--generations", "2")
	succeed(t, extended...)

	refuses(t, []mistake{
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--feet", "toe"}, 1, "unknown foot"},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--task", "walc"}, 1, `did you mean "walk"`},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--commands", "1,0"}, 2, "neither drawn nor a list"},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--commands", "drawn"}, 1, "of the task velocity"},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--stride", "1"}, 1, "of the task velocity"},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--task", "velocity", "--stride=-1"}, 1,
			"between 0 and 25 a second"},
		{[]string{"robot", filepath.Join(run, "robot.json"), "--picture", "robot.bmp"}, 1, "ends in .png"},
	}...)
}

// A comparison says how often more contacts between links touched than act at a time, and which flag helps.
func TestCrowdedContacts(t *testing.T) {
	errtest.Equal(t, "never", crowded([]int{0, 12, 3}, 12), "")
	errtest.Contains(t, crowded([]int{0, 16, 12, 14}, 12), "after 2 of 4 control steps", "more than 12 contacts",
		"add --link-contacts 16")
}

// An interrupted comparison does not wait for XLA.
func TestUntilInterrupted(t *testing.T) {
	failure := errors.New("a failure")
	errtest.Equal(t, "its error", untilInterrupted(t.Context(), func() error { return failure }, nil), failure)
	ctx, interrupt := context.WithCancel(t.Context())
	compiled := make(chan error)
	defer close(compiled)
	ticked := false
	errtest.Equal(t, "interrupted", untilInterrupted(ctx, func() error { return <-compiled }, func() {
		ticked = true
		interrupt()
	}), context.Canceled)
	errtest.Equal(t, "ticked before", ticked, true)
}

// A full disk is one line that says what helps.
func TestSaveOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robot.png")
	_, err := save(path, func(string) error { return &os.PathError{Op: "write", Path: "robot.png~", Err: syscall.ENOSPC} })
	errtest.Want(t, err, "no space left to write "+path, "free space")
}

// A gait is compared by its distances, and a policy that follows commands by its fitnesses.
func TestComparisonOfEngines(t *testing.T) {
	walked := func(fitness float64) watch.Walked {
		return watch.Walked{Distances: []float64{1, 1, 3, 3}, Fitnesses: []float64{fitness, fitness, fitness + 2, fitness + 2}}
	}
	played := watch.Compared{Here: walked(10), Same: walked(11), MuJoCo: walked(31), Task: envs.RobotTask{Task: envs.Walk}}
	errtest.Equal(t, "a gait", comparisonOf("run", played).String(),
		"here           2.00 m ± 1.00, median 2.00, in 4 episodes\n"+
			"MuJoCo         2.00 m ± 1.00, median 2.00, in 4 episodes\n"+
			"difference     0.00 m, 0.0 standard errors: equal within the spread\n")
	played.Task.Task = envs.Velocity
	errtest.Contains(t, comparisonOf("run", played).String(),
		"here           fitness 11.00 ± 1.00, median 11.00, in 4 episodes",
		"difference     fitness 1.00, 1.4 standard errors: equal within the spread",
		"difference     fitness 21.00, 29.7 standard errors: the gait touches what the task leaves out")
}
