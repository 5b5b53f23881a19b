package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/watch"
)

// answer decodes the last line of a command's output as JSON.
func answer(t *testing.T, into any, args ...string) {
	t.Helper()
	stdout, _ := succeed(t, args...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	must.Do(json.Unmarshal([]byte(lines[len(lines)-1]), into))
}

func TestImportEvalOfSkills(t *testing.T) {
	root := t.TempDir()
	row := make([]float32, (2+5+1)*3+(3+1)*4) // of five skills, with a hidden layer of 3 units
	for i := range row {
		row[i] = float32(math.Sin(float64(3 * i)))
	}
	path := filepath.Join(t.TempDir(), "policy.npy")
	must.Do(npz.WriteNPY(path, npz.Of(row)))
	args := []string{"import", "--json", "--runs", root, "--policy", path, "--algorithm", "dads",
		"--env", "pointmaze", "--set", "hidden=[3]", "--set", "episode_length=40"}
	var made, again importResult
	answer(t, &made, args...)
	answer(t, &again, args...)
	if made.Run != again.Run || made.Params != len(row) || *made.Skills != 5 || made.Cells != nil ||
		made.MaxFitness != nil || made.Env != "pointmaze" {
		t.Errorf("%+v, then %+v", made, again)
	}
	if stdout, _ := succeed(t, "show", "dads", "--runs", root); !strings.Contains(stdout, made.Run) {
		t.Errorf("show: %s", stdout)
	}

	var all, one, same evaluation
	var standard evaluation
	answer(t, &standard, "eval", "dads", "--json", "--backend", "go", "--runs", root)
	errtest.Equal(t, "run and episodes", fmt.Sprint(standard.Run, standard.Episodes), fmt.Sprint(made.Run, 100))
	eval := []string{"eval", "--json", "--backend", "go", "--runs", root, "--run", "dads", "--episodes", "3"}
	answer(t, &all, append(eval, "--seed", "2")...)
	answer(t, &same, append(eval, "--seed", "3")...)
	answer(t, &one, append(eval, "--seed", "2", "--skill", "4,1")...)
	if all.Run != made.Run || all.Env != "pointmaze" || all.Episodes != 3 || all.Steps != 40 ||
		all.Backend != "go" || len(all.Results) != 5 || len(one.Results) != 2 || *one.Results[1].Skill != 1 ||
		!slices.Equal(one.Results[0].Lengths, []int{40, 40, 40}) || len(one.Results[0].Fitnesses) != 3 {
		t.Fatalf("%+v and %+v", all, one)
	}
	for k, r := range all.Results {
		if *r.Skill != k || r.Cell != nil || *r.FitnessMean >= 0 || *r.FitnessStd <= 0 ||
			*r.FitnessMedian >= 0 || len(r.DescriptorMean) != 2 {
			t.Errorf("skill %d: %+v", k, r)
		}
	}
	if *one.Results[0].Skill != 4 || *one.Results[0].FitnessMean != *all.Results[4].FitnessMean ||
		*same.Results[4].FitnessMean == *all.Results[4].FitnessMean {
		t.Errorf("skill 4 has fitness %g alone, %g among all, %g from another seed",
			*one.Results[0].FitnessMean, *all.Results[4].FitnessMean, *same.Results[4].FitnessMean)
	}

	// The text output has the same numbers.
	stdout, _ := succeed(t, "eval", "--backend", "go", "--runs", root, "--run", "dads", "--episodes", "3", "--seed", "2")
	errtest.Contains(t, stdout, "run            "+made.Run+"\n", "environment    pointmaze\n",
		"episodes       3 of 40 steps\n", "backend        go\n",
		fmt.Sprintf("skill 4        fitness %.6g, std %.4g, median %.6g; descriptor [",
			*all.Results[4].FitnessMean, *all.Results[4].FitnessStd, *all.Results[4].FitnessMedian))
}

func TestImportEvalExportOfARepertoire(t *testing.T) {
	root := t.TempDir()
	source := must.Get(runs.LoadFrom(trained(), "map-elites-pointmaze-0")).Dir
	var made importResult
	answer(t, &made, "import", "--json", "--runs", root, "--repertoire", source, "--algorithm",
		"aurora", "--env", "pointmaze", "--set", "hidden=[8,8]", "--set", "episode_length=8")
	if made.Run == source || *made.Cells != 32 || *made.Filled < 1 || made.MaxFitness == nil ||
		made.QDScore <= 0 || made.Skills != nil {
		t.Errorf("%+v", made)
	}
	var found [2]evaluation
	for i, run := range []string{source, made.Run} { // the same policies
		answer(t, &found[i], "eval", "--json", "--backend", "go", "--run", run, "--episodes", "2")
	}
	a, b := found[0].Results[0], found[1].Results[0]
	errtest.Equal(t, "cell, fitness and skill", fmt.Sprint(*a.Cell, *a.FitnessMean, a.Skill),
		fmt.Sprint(*b.Cell, *b.FitnessMean, nil))
	out := filepath.Join(root, "all.npz")
	stdout, _ := succeed(t, "export", "--run", made.Run, "--repertoire", "--out", out)
	errtest.Contains(t, stdout, "genotypes")
}

// An imported fitness below the offset, and descriptors outside of the limits, are reported.
func TestImportOfWhatTheEnvironmentDoesNotProvideFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "repertoire.npz")
	const params = 3*4 + 5*2
	must.Do(npz.Write(file, map[string]npz.Array{
		"genotypes":   npz.Of(make([]float32, 3*params), 3, params),
		"fitnesses":   npz.Of([]float32{-60, -10, float32(math.Inf(-1))}),
		"descriptors": npz.Of([]float32{0, 0, 2, 0, 0, 0}, 3, 2),
		"centroids":   npz.Of([]float32{0, 0, 1, 0, 0, 1}, 3, 2)}))
	for length, want := range map[string]string{
		"20": "qdnb: the lowest fitness, -60, is below -46.862, which the offset of pointmaze allows: it " +
			"lowers the QD score; if episodes are longer, set episode_length\n" +
			"qdnb: 1 of 2 descriptors are outside of the limits of pointmaze, \"final x\" from -1 to 1\n",
		"30": "qdnb: 1 of 2 descriptors are outside of the limits of pointmaze, \"final x\" from -1 to 1\n",
	} {
		_, stderr := succeed(t, "import", "--runs", t.TempDir(), "--repertoire", file, "--algorithm", "map-elites",
			"--env", "pointmaze", "--set", "hidden=[4]", "--set", "episode_length="+length)
		errtest.Equal(t, fmt.Sprintf("%s steps", length), stderr, want)
	}
}

// A robot's gaits are trained, shown, evaluated and exported; its run keeps what that needs.
func TestTrainRobot(t *testing.T) {
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "my hopper.json"), filepath.Join(dir, "runs")
	must.Do(os.WriteFile(file, must.Get(os.ReadFile("../../envs/robots/gymnasium/hopper.json")), 0o600))
	train := []string{"train", "--robot", file, "--runs", folder, "--backend", "go", "--generations", "1", "--steps", "5",
		"--set", "batch=8", "--set", "cells=8", "--set", "hidden=[4]", "--set", "cvt_samples=100"}
	stdout, stderr := succeed(t, train...)
	errtest.Contains(t, stderr, "torso walks along x; feet foot, which alone touch the ground", "map-elites-my-hopper-0")
	small := []string{"num_envs=2", "unroll_length=5", "batch_size=2", "num_minibatches=1", "policy_hidden=[4]",
		"value_hidden=[4]", "evaluation_envs=2", "cells=8", "cvt_samples=100"}
	follow := []string{"train", "--robot", file, "--task", "velocity", "--runs", folder, "--backend", "go",
		"--generations", "1", "--steps", "5"}
	for _, setting := range small {
		follow = append(follow, "--set", setting)
	}
	_, stderr = succeed(t, follow...)
	errtest.Contains(t, stderr, "torso follows the velocities", "ppo-my-hopper-velocity-0", "normalize_advantages=true")
	if strings.Contains(stderr, "stepping in place") {
		t.Errorf("a robot without position servos steps in place: %s", stderr)
	}
	refuses(t, mistake{append(follow, "--stride", "1"), exitUsage, "made by position servos"})
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
	errtest.Contains(t, stdout, "next           qdnb play "+run+", or qdnb show "+run+"\n")
	again, _ := succeed(t, append([]string{"train", "--robot", filepath.Join(run, "robot.json")}, train[3:]...)...)
	errtest.Equal(t, "trained from its folder", again, stdout)
	succeed(t, "show", run)
	succeed(t, "eval", run, "--episodes", "2", "--backend", "go", "--actuators", "0.5")
	stdout, _ = succeed(t, "eval", run, "--episodes", "2", "--backend", "go")
	errtest.Contains(t, stdout, fmt.Sprintf(" (in training %.6g), std", must.Get(runs.Open(run)).Status.MaxFitness))
	succeed(t, "export", run, "--out", filepath.Join(dir, "gait.onnx"))
	var contract struct{ Observations []envs.Component }
	must.Do(json.Unmarshal(must.Get(os.ReadFile(filepath.Join(dir, "gait.json"))), &contract))

	extended := append(append([]string{}, train[:2]...), filepath.Join(run, "robot.json"))
	extended = append(append(extended, train[3:]...), "--generations", "2")
	_, stderr = succeed(t, extended...)
	errtest.Contains(t, stderr, "qdnb: resuming "+filepath.Base(run)+" at generation 1\n")

	disturbed := append(slices.Clone(train), "--terrain", "rough:0.03", "--vary", "friction=0.5:1.5,mass/torso=0.9:1.1")
	disturbed[2] = filepath.Join(run, "robot.json")
	stdout, _ = succeed(t, disturbed...)
	other := strings.Fields(stdout)[1]
	if other == run {
		t.Errorf("terrain and randomisation do not make another run")
	}
	disturbed[2] = filepath.Join(other, "robot.json")
	again, _ = succeed(t, disturbed[:len(disturbed)-4]...)
	errtest.Equal(t, "randomised as stored", again, strings.ReplaceAll(stdout, run, other))
	const said = "terrain of 64 x 64 cells of 0.25 m, 0.000 to 0.030 m high; each episode draws friction 0.5 to 1.5, " +
		"mass/torso 0.9 to 1.1\n"
	stdout, _ = succeed(t, "show", other)
	errtest.Contains(t, stdout, "\ntask           torso walks along x; feet foot", said)
	task := must.Get(envs.ReadRobot(t.Context(), disturbed[2], envs.RobotTask{}))
	robot, _ := envs.Robot(task)
	errtest.Equal(t, "MuJoCo plays it", leftOut(robot.Task),
		"without what each episode draws (friction 0.5 to 1.5, mass/torso 0.9 to 1.1)")
	adapted := must.Get(qdnb.Adapt(t.Context(), qdnb.AdaptSpec{Skills: must.Get(runs.Open(other)), Backend: "go", Episodes: 2,
		Perturbation: envs.FrictionMultiplier, Values: [][]float64{{0.5}}, Runs: folder, Quiet: true}))
	errtest.Equal(t, "adapted", adapted.Status.Finished, true)

	refuses(t, []mistake{
		{[]string{"train", "--robot", disturbed[2], "--vary", "mass"}, exitUsage, "neither none nor a list of quantities"},
		{[]string{"train", "--robot", disturbed[2], "--vary", "mas=1:2"}, exitUsage, `did you mean "mass"`},
		{[]string{"train", "--robot", disturbed[2], "--terrain", "hills"}, exitUsage, "known: none, rough, stairs"},
		{[]string{"train", "--robot", disturbed[2], "--terrain", "rough:x"}, exitUsage, "such as rough:0.05:0.25"},
		{[]string{"train", "--robot", disturbed[2], "--terrain", "rough:inf"}, exitUsage, "such as rough:0.05:0.25"},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--feet", "toe"}, exitUsage, "unknown foot"},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--task", "walc"}, exitUsage, `did you mean "walk"`},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--commands", "1,0"}, 2, "neither drawn nor a list"},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--commands", "drawn"}, exitUsage,
			"of the task velocity"},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--stride", "1"}, exitUsage, "of the task velocity"},
		{[]string{"train", "--robot", filepath.Join(run, "robot.json"), "--task", "velocity", "--stride=-1"}, exitUsage,
			"between 0 and 25 a second"},
		{[]string{"robot", filepath.Join(run, "robot.json"), "--picture", "robot.bmp"}, exitUsage, "ends in .png"},
	}...)
}

// What compared nothing does not agree, and what disagrees says in which stage most.
func TestVerificationsAreJudged(t *testing.T) {
	found := []mujoco.Agreement{{Stage: "forces", Median: 1e-6, Worst: 1e-5, Errors: []float64{1e-7, 5e-7}},
		{Stage: "rollouts", Median: 1e-3, Worst: 1e-3, Errors: []float64{1e-4}}}
	agrees := verification{File: "a.xml"}
	if err := agrees.judge(found); err != nil || !agrees.Agrees || agrees.disagrees() != nil {
		t.Errorf("%v, %+v", err, agrees)
	}
	found[1].Errors = []float64{4e-3}
	differs := verification{File: "a.xml"}
	errtest.Equal(t, "judged", differs.judge(found), nil)
	errtest.Contains(t, fmt.Sprint(differs.disagrees()), "a.xml moves otherwise than in MuJoCo (rollouts: 4.0 times",
		"qdnb play")
	differs.searched = 2
	errtest.Contains(t, fmt.Sprint(differs.disagrees()), "--ignore-pairs leaves out 2 pairs")
	nothing := verification{File: "a.xml"}
	errtest.Contains(t, fmt.Sprint(nothing.judge([]mujoco.Agreement{{Stage: "rollouts"}})), "a.xml: nothing was compared")
	errtest.Equal(t, "agrees", nothing.Agrees, false)
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

// Figures, pages, animations, exports and results that a disk has no space for, or that exceed a limit, are one line that
// says what helps.
func TestFullDisk(t *testing.T) {
	root := t.TempDir()
	succeed(t, append([]string{"train", "--runs", filepath.Join(root, "runs"), "--generations", "1"}, small...)...)
	shipped := must.Get(filepath.Abs("../../notebooks/results-paper"))
	for _, command := range []string{"show map-elites --figures figures", "show map-elites --html a.html",
		"show map-elites --gif a.gif --films 1", "export --run map-elites --repertoire --out a.npz",
		"sweep results --plan " + shipped + "/plan.jsonl --out results",
		"figures --in " + shipped + " --only table-3 --out figures"} {
		cmd := exec.Command("sh", append([]string{"-c", `ulimit -f 0; exec "$@"`, "sh", program}, strings.Fields(command)...)...)
		cmd.Dir = root
		out, _ := cmd.CombinedOutput()
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out)), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "error: coverage ") // of `make coverage`, whose counters do not fit, either
		})
		last := lines[len(lines)-1]
		if errtest.Equal(t, command, cmd.ProcessState.ExitCode(), 1); !strings.HasPrefix(last, "qdnb: ") ||
			!strings.HasSuffix(last, "file too large: free space, or choose another folder") || strings.Contains(last, ".writing") {
			t.Errorf("%s: %s", command, last)
		}
	}
}

// What is not shown is a note with what helps.
func TestUnshown(t *testing.T) {
	missing := errors.New("No module named 'glfw'")
	errtest.Contains(t, unshown(missing, ""), "python3 -m pip install mujoco==", "--out gait.gif")
	errtest.Contains(t, unshown(errors.New("there is no screen"), ""), "(there is no screen): --out gait.gif")
	errtest.Equal(t, "a file", unshown(missing, "a.gif"), "MuJoCo cannot draw on this machine: a.gif is drawn as by "+
		"`qdnb show`")
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
