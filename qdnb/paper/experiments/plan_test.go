package experiments

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/qdnb/stats"
)

func plan(t *testing.T, name string, o Options) []sweep.Line {
	t.Helper()
	lines, err := Plan(name, o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return lines
}

// Later methods get the budgets of the methods that they are compared with.
func TestLaterMethodsHaveBudgets(t *testing.T) {
	for _, o := range []Options{{}, {Budget: Steps}, {Scale: Medium}, {Scale: Small}} {
		planned := map[string]bool{}
		for _, line := range plan(t, results.ExperimentBeyond, o) {
			if planned[line.Label] = true; line.Budget == (runs.Budget{}) {
				t.Errorf("%+v: %s has no budget", o, line.Name())
			}
		}
		errtest.Equal(t, fmt.Sprintf("%+v: planned", o), len(planned), len(records.Names(records.Later)))
	}
}

// Numbers of runs from the paper's sections on each experiment, times five seeds.
func TestPaperPlansHaveThePapersRuns(t *testing.T) {
	for name, want := range map[string]struct{ seeds, training, rest int }{ // one experiment with the seeds of its scale
		"hurdles":       {0, 8, 8},
		"training":      {1, 8 * 7, 0},
		"smerl-targets": {1, 7, 0},
		"adaptation":    {1, 8 * 4, 8 * (3*2 + 1)},
		"sensitivity":   {1, 2 * 9 * 4, 0},
		"prior":         {1, 2 * 2, 0},
		"reward":        {1, 6 * 6, 6 * (3*2 + 1)},
	} {
		lines := plan(t, name, Options{Seeds: want.seeds})
		var training, rest int
		for i, line := range lines {
			if len(line.Needs) == 0 {
				training++
				if rest > 0 {
					t.Errorf("%s: line %d needs nothing and comes after one that does", name, i)
				}
				errtest.Equal(t, fmt.Sprintf("%s: line %d", name, i), line.Budget, (runs.Budget{Time: 2 * time.Hour}))
			} else {
				rest++
			}
			errtest.Equal(t, fmt.Sprintf("%s: line %d says that it", name, i), line.Experiment, name)
		}
		errtest.Equal(t, name+": lines of training and others", fmt.Sprint(training, rest),
			fmt.Sprint(cmp.Or(want.seeds, 5)*want.training, cmp.Or(want.seeds, 5)*want.rest))
	}
	// In steps, each method gets the paper's, see paper.TestPublishedTablesAreComplete; PGA methods as many generations in
	// longer episodes.
	for _, line := range plan(t, "training", Options{Budget: Steps, Seeds: 1}) {
		errtest.Equal(t, line.Name(), line.Budget, (runs.Budget{EnvSteps: results.PaperSteps(line.Label, line.Run.Env)}))
	}
	if of := results.PaperSteps; of("pga-map-elites", "ant-maze") != 6300*100*500 ||
		of("pga-map-elites", "walker-uni") != 6300*100*250 {
		t.Error("PGA-MAP-Elites does not have 6300 generations")
	}
}

// The passive repertoire of skills is offered as many candidates as the paper's: 101 checkpoints of
// 200 episodes in ten million steps.
func TestPaperPlansFillThePassiveRepertoireAsThePaper(t *testing.T) {
	lines := plan(t, "training", Options{Budget: Steps, Seeds: 1, Algorithms: []string{"diayn-reward"}})
	for _, line := range lines {
		var s struct {
			Environments int64 `json:"env_batch_size"`
			Every        int64 `json:"evaluation_interval"`
			Early        int64 `json:"early_interval"`
			States       int64 `json:"evaluation_states"`
			Skills       int64 `json:"num_skills"`
		}
		lenient(t, line.Run, &s)
		checkpoints := int64(1) // before the first step
		for steps := s.Environments; steps <= line.Budget.EnvSteps; steps += s.Environments {
			every := s.Every
			if s.Early > 0 && steps < s.Every {
				every = s.Early
			}
			if (steps-s.Environments)/every != steps/every {
				checkpoints++
			}
		}
		errtest.Equal(t, line.Name(), checkpoints*s.Skills*s.States, 20_200)
	}
	for _, line := range plan(t, "smerl-targets", Options{Seeds: 1}) {
		s := struct{ Early int }{-1}
		lenient(t, line.Run, &struct {
			Early *int `json:"early_interval"`
		}{&s.Early})
		errtest.Equal(t, fmt.Sprintf("%s: early_interval", line.Name()), s.Early, 0)
	}
}

// This program can make every line of every plan, needs come before the lines that need them, and
// each folder has one budget.
func TestPlansAreCompleteAndShareTheirRuns(t *testing.T) {
	for _, scale := range Scales() {
		seeds := 1
		if scale == Small {
			seeds = 2
		}
		budgets := map[string]runs.Budget{}
		trained := map[string]map[string]bool{}
		for _, name := range results.Experiments() {
			lines := plan(t, name, Options{Scale: scale, Targets: targetsOf(scale), Seeds: seeds})
			trained[name] = map[string]bool{}
			seen := map[string]bool{}
			hashes := map[string]bool{}
			for i, line := range lines {
				if hashes[line.Hash] || line.Hash == "" {
					t.Errorf("%s %s: line %d is repeated", scale, name, i)
				}
				hashes[line.Hash] = true
				for _, need := range line.Needs {
					if !seen[need.Run.Name()] {
						t.Errorf("%s %s: line %d needs %s, which is no line before it", scale, name, i, need.Run.Name())
					}
					if need.Budget != budgets[need.Run.Name()] {
						t.Errorf("%s %s: line %d needs %s for %v, another line has it for %v", scale, name, i,
							need.Run.Name(), need.Budget, budgets[need.Run.Name()])
					}
				}
				run := line.Run.Name()
				if before, ok := budgets[run]; ok && before != line.Budget {
					t.Errorf("%s %s: line %d has %v, the same run had %v", scale, name, i, line.Budget, before)
				}
				seen[run], budgets[run] = true, line.Budget
				if len(line.Needs) == 0 {
					trained[name][run] = true
					must.Get(session.SpecOf(line.Run))
				}
			}
		}
		common := func(a, b string) (n int) {
			for run := range trained[a] {
				if trained[b][run] {
					n++
				}
			}
			return n
		}
		for _, c := range []struct {
			a, b string
			full int // shared runs per seed, at all scales but the smallest
		}{{"adaptation", "training", 8 * 4}, {"hurdles", "training", 8}, {"prior", "training", 2},
			{"reward", "training", 4 * 6}, {"reward", "adaptation", 4 * 4}} {
			got, want := common(c.a, c.b), c.full*seeds
			if scale == Smoke {
				if got == 0 && c.a != "prior" {
					t.Errorf("%s: %s and %s have no run in common", scale, c.a, c.b)
				}
				continue
			}
			errtest.Equal(t, fmt.Sprintf("%s: %s and %s", scale, c.a, c.b), got, want)
		}
	}
}

// targetsOf returns made-up SAC results for scales that need them.
func targetsOf(scale Scale) (list []results.SMERLTarget) {
	if scale == Medium {
		for i, env := range all {
			list = append(list, results.SMERLTarget{Env: env, Seeds: 3, Target: float64(100 + i), Margin: 10})
		}
	}
	return list
}

// Scale Medium is the paper's protocol except for network sizes, the evaluation interval and the time.
func TestMediumPlans(t *testing.T) {
	paper := plan(t, "training", Options{Seeds: 3})
	for i, line := range plan(t, "training", Options{Scale: Medium, Targets: targetsOf(Medium)}) {
		budget := runs.Budget{EnvSteps: results.MediumSteps(line.Run.Algorithm, line.Run.Env)}
		if budget.EnvSteps == 0 {
			budget.CPU = 6 * time.Minute
		}
		if line.Budget != budget || line.CPUSeconds < 360 {
			t.Errorf("%s has %v and is to cost %v s", line.Name(), line.Budget, line.CPUSeconds)
		}
		var have, want map[string]any
		lenient(t, line.Run, &have)
		lenient(t, paper[i].Run, &want)
		for name, value := range want {
			switch got := fmt.Sprint(have[name]); name {
			case "hidden", "critic_hidden", "diversity_hidden":
				errtest.Equal(t, fmt.Sprintf("%s: %s", line.Name(), name), got, "[64 64]")
			case "evaluation_interval":
				errtest.Equal(t, fmt.Sprintf("%s: %s", line.Name(), name), got, "10000")
			case "smerl_target":
				errtest.Equal(t, line.Name()+": "+name, got, fmt.Sprint(100+slices.Index(all, line.Run.Env)))
			case "smerl_margin":
			default:
				errtest.Equal(t, fmt.Sprintf("%s: %s", line.Name(), name), got, fmt.Sprint(value))
			}
		}
	}
	for _, line := range plan(t, "adaptation", Options{Scale: Medium, Targets: targetsOf(Medium), Seeds: 1}) {
		var s struct{ Values [][]float64 }
		lenient(t, line.Run, &s)
		if n := len(s.Values); len(line.Needs) > 0 && n != 20 && !(line.Run.Env == "ant-maze" && n == 10) {
			t.Errorf("%s has %d values", line.Name(), n)
		}
		if line.CPUSeconds == 0 {
			t.Errorf("%s has no estimate", line.Name())
		}
	}
	errtest.Equal(t, "the corners of the grids", len(plan(t, "sensitivity", Options{Scale: Medium})), 4*2*4)
	grids := map[string]int64{}
	for _, line := range plan(t, "sensitivity", Options{Scale: Medium, Envs: []string{"walker-uni"}}) {
		grids[line.Label] = line.Budget.EnvSteps
	}
	of := func(method string) int64 { return results.MediumSteps(method, "walker-uni") }
	errtest.Equal(t, "steps of a grid's settings", grids,
		map[string]int64{"dads-reward": 200_000, "map-elites": of("map-elites") * 200_000 / of("dads-reward")})
	for _, o := range []Options{{Scale: Medium}, {Scale: Medium, Targets: targetsOf(Medium)[:1]}} {
		errtest.Want(t, errtest.Of(Plan("training", o)), "--targets")
	}
	for _, line := range plan(t, "sensitivity", Options{Scale: Medium, Budget: Time}) {
		errtest.Equal(t, line.Name(), line.Budget, (runs.Budget{CPU: 6 * time.Minute}))
	}

	var cost bytes.Buffer
	WriteCost(&cost, plan(t, "sensitivity", Options{Scale: Medium}))
	if !strings.HasPrefix(cost.String(), "32 runs, about ") {
		t.Errorf("the cost is %q", cost.String())
	}
	cost.Reset()
	if WriteCost(&cost, plan(t, "sensitivity", Options{Scale: Small})); cost.Len() > 0 {
		t.Errorf("for a plan without estimates: %q", cost.String())
	}
}

// Estimates agree with the processor times of the shipped runs.
func TestEstimatesOfAdaptation(t *testing.T) {
	const dir = "../../../notebooks/results/"
	lines := must.Get(sweep.ReadFile(dir + "plan.jsonl"))
	rates := map[string][]float64{}
	for _, line := range lines {
		if line.Run.Algorithm != "adaptation" {
			continue
		}
		run := must.Get(runs.Open(dir + "runs/" + line.Run.Name()))
		if s := run.Status; s.EnvSteps > 5e6 { // in shorter runs, other work counts
			rates[line.Run.Env] = append(rates[line.Run.Env], float64(s.EnvSteps)/s.CPUSeconds)
		}
	}
	for env, measured := range rates {
		const episodes = 1000
		steps := float64(episodes * protocol.EpisodeLength(env))
		if got := steps / results.EvaluationSeconds(env, episodes); !(math.Abs(stats.Median(measured)/got-1) < 0.1) {
			t.Errorf("%s: %g steps a second, the shipped runs had %v", env, got, measured)
		}
	}
	errtest.Equal(t, "environments with runs", len(rates), 4)
}

func TestPlanOptions(t *testing.T) {
	lines := plan(t, "adaptation", Options{Scale: Small, Seeds: 2, Envs: []string{"ant-maze"},
		Algorithms: []string{"smerl-dads", "aurora"}})
	errtest.Equal(t, "lines of two seeds of two algorithms, trained and adapted", len(lines), 2*2*2)
	errtest.Equal(t, "the first are of", []string{lines[0].Label, lines[1].Label}, []string{"aurora", "smerl-dads"})
	if timed := plan(t, "training", Options{Scale: Small,
		Budget: Time}); timed[0].Budget.Time == 0 || timed[0].Budget.EnvSteps != 0 {
		t.Errorf("in time the budget is %v", timed[0].Budget)
	}
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"trainin", Options{}, `did you mean "training"?`},
		{"training", Options{Scale: "tiny"}, `unknown scale "tiny"; known: medium, paper, small, smoke`},
		{"training", Options{Seeds: -1}, "1 to 1000, not -1"},
		{"training", Options{Budget: "hours"}, `unknown unit of budgets "hours"; known: steps, time`},
		{"training", Options{Envs: []string{"ant-umi"}}, `did you mean "ant-uni"?`},
		{"hurdles", Options{Envs: []string{"ant-uni"}}, "experiments that do: training, smerl-targets, adaptation, " +
			"sensitivity, reward, beyond (`qdnb sweep plan --experiment training --scale paper --envs ant-uni`)"},
		{"reward", Options{Scale: Smoke, Algorithms: []string{"dads"}, Envs: []string{"ant-uni"}}, `environment "ant-uni"; ` +
			"scales that do: paper, medium, small (`qdnb sweep plan --experiment reward --scale small --algorithms dads " +
			"--envs ant-uni`)"},
		{"sensitivity", Options{Algorithms: []string{"diayn"}, Envs: []string{"moon"}},
			`at scale paper: unknown algorithm "diayn"`},
	} {
		errtest.Want(t, errtest.Of(Plan(c.name, c.o)), c.want)
	}
}

// The grids are those of the paper's section 6.4. The two priors differ only in what discriminates skills.
func TestGridsAndPriors(t *testing.T) {
	points := map[string]map[[2]float64]bool{}
	for _, line := range plan(t, "sensitivity", Options{Envs: []string{"ant-uni"}, Seeds: 1}) {
		var s struct {
			Iso   float64 `json:"iso_sigma"`
			Line  float64 `json:"line_sigma"`
			Beta  float64 `json:"diversity_reward_scale"`
			Alpha float64 `json:"alpha_init"`
			Fix   bool    `json:"fix_alpha"`
		}
		lenient(t, line.Run, &s)
		if points[line.Label] == nil {
			points[line.Label] = map[[2]float64]bool{}
		}
		if line.Label == "map-elites" {
			points[line.Label][[2]float64{s.Iso, s.Line}] = true
		} else {
			points[line.Label][[2]float64{s.Beta, s.Alpha}] = true
			errtest.Equal(t, "alpha is kept at the grid's value", s.Fix, true)
		}
	}
	for label, want := range map[string][4]float64{"map-elites": {0.001, 0.1, 0.01, 1}, "dads-reward": {0.1, 10, 0.1, 1}} {
		if p := points[label]; len(p) != 9 || !p[[2]float64{want[0], want[3]}] || !p[[2]float64{want[1], want[2]}] {
			t.Errorf("%s has the settings %v", label, p)
		}
	}
	lines := plan(t, "prior", Options{Seeds: 1, Algorithms: []string{"dads-reward"}})
	var with, without struct {
		Full bool `json:"descriptor_full_state"`
	}
	lenient(t, lines[0].Run, &with)
	lenient(t, lines[1].Run, &without)
	errtest.Equal(t, "labels", lines[0].Label+"; "+lines[1].Label, "dads-reward; dads-reward, no prior")
	errtest.Equal(t, "which prior is full", fmt.Sprint(with.Full, without.Full), "false true")
}

// lenient decodes some of a run's hyperparameters.
func lenient(t *testing.T, c runs.Config, into any) {
	t.Helper()
	must.Do(json.Unmarshal(c.Hyperparameters, into))
}

// tiny returns a line that trains for a second.
func tiny(t *testing.T, seed int64, generations int) sweep.Line {
	t.Helper()
	config := must.Get(qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Seed: seed, Tune: runs.Assign(
		"batch=8", "cells=16", "cvt_samples=100", "hidden=4", "episode_length=10")}.Config())
	line := must.Get(sweep.Line{Experiment: "training", Label: "map-elites", Run: config,
		Budget: qdnb.Generations(generations)}.Sealed())
	return line
}

// edited returns a line with other hyperparameters.
func edited(t *testing.T, line sweep.Line, old, new string) sweep.Line {
	t.Helper()
	line.Run.Hyperparameters = json.RawMessage(strings.Replace(string(line.Run.Hyperparameters), old, new, 1))
	line = must.Get(line.Sealed())
	return line
}

func done(t *testing.T, root string, line sweep.Line) bool {
	return must.Get(sweep.IsDone(root, line.Run, line.Budget))
}

func TestAFailureStopsOnlyWhatNeedsIt(t *testing.T) {
	good, bad := tiny(t, 0, 2), edited(t, tiny(t, 1, 2), `"batch":8`, `"batch":0`)
	unknown := edited(t, tiny(t, 2, 2), `"batch":8`, `"batch":8,"bach":8`)
	older := edited(t, tiny(t, 3, 2), `"batch":8,`, ``) // from a version without this hyperparameter
	needs := tiny(t, 4, 2)
	needs.Needs = []sweep.Need{{Run: bad.Run, Budget: bad.Budget}}
	last := tiny(t, 5, 2)
	lines := []sweep.Line{bad, unknown, older, needs, good, last}
	root := t.TempDir()
	var log bytes.Buffer
	o := RunOptions{Runs: root, Quiet: true, Log: &log}
	err := Run(context.Background(), lines, o)
	if !errors.Is(err, ErrFailed) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v; want %v", err, ErrFailed)
	}
	for _, want := range []string{"4 of 6 lines failed", "batch must be between 1",
		`unknown field "bach"; did you mean "batch"?`,
		"write the plan again", "which failed"} {
		errtest.Contains(t, err.Error(), want)
	}
	again := bad
	again.Experiment = "reward" // the same run
	log.Reset()
	err = Run(context.Background(), []sweep.Line{bad, again}, o)
	if !errors.Is(err, ErrFailed) || strings.Contains(log.String(), "line 1/2: ") {
		t.Errorf("two lines of a run that fails: %v\n%s", err, log.String())
	}
	for i, line := range lines {
		errtest.Equal(t, fmt.Sprintf("line %d is done", i), done(t, root, line), i >= 4)
	}

	log.Reset()
	if err := Run(context.Background(), lines[4:], o); err != nil || strings.Contains(log.String(), "line 0") {
		t.Errorf("a complete line was repeated: %v, %s", err, log.String())
	}
	for _, index := range []int{-1, 6} {
		errtest.Want(t, RunIndex(context.Background(), lines, index, o), "6 lines, 0 to 5")
	}
}

// A folder held by another process is left for the end, and then waited for.
func TestHeldFoldersAreWaitedFor(t *testing.T) {
	held, free := tiny(t, 0, 2), tiny(t, 1, 2)
	root := t.TempDir()
	writer := must.Get(runs.Create(root, held.Run))
	var log bytes.Buffer
	ended := make(chan error)
	go func() {
		ended <- Run(context.Background(), []sweep.Line{held, free},
			RunOptions{Runs: root, Quiet: true, Log: &log, Poll: 20 * time.Millisecond})
	}()
	for deadline := time.Now().Add(5 * time.Minute); !done(t, root, free); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the free line is not done while the other is held")
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	writer.Close()
	must.Do(<-ended)
	if !done(t, root, held) || !strings.Contains(log.String(), "which holds "+held.Run.Name()) {
		t.Errorf("done: %v; %s", done(t, root, held), log.String())
	}
}

// When stopped, it saves the current run, also while it waits. The same call resumes.
func TestStopAndGoOn(t *testing.T) {
	line := tiny(t, 0, 1_000_000)
	root := t.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	o := RunOptions{Runs: root, Quiet: true, Log: new(bytes.Buffer), Poll: time.Hour}
	ended := make(chan error)
	go func() { ended <- Run(ctx, []sweep.Line{line}, o) }()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if s := sweep.Inspect(root, []sweep.Line{line})[0]; s.Status == sweep.Running {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the line is still %s after minutes", s.Status)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, qdnb.ErrInterrupted) {
		t.Fatalf("stopped: %v", err)
	}
	run, err := runs.Open(filepath.Join(root, line.Run.Name()))
	if err != nil || run.Status.Finished {
		t.Fatalf("finished %v, %v", run.Status.Finished, err)
	}
	line.Budget = qdnb.Generations(int(run.Status.Generation) + 1)
	if err := Run(context.Background(), []sweep.Line{line}, o); err != nil || !done(t, root, line) {
		t.Errorf("resuming: %v", err)
	}

	more := tiny(t, 0, int(line.Budget.Generations)+1)
	writer := must.Get(runs.Create(root, more.Run))
	defer writer.Close()
	ctx, stop = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	if err := RunIndex(ctx, []sweep.Line{more}, 0, o); !errors.Is(err, qdnb.ErrInterrupted) {
		t.Errorf("stopped while waiting: %v", err)
	}
}

// An existing plan decides what to run. Missing runs are made once, and complete runs are only reported.
func TestPrepareMakesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	var plan bytes.Buffer
	must.Do(sweep.Write(&plan, []sweep.Line{tiny(t, 0, 2), tiny(t, 1, 2)}))
	path := filepath.Join(dir, paper.PlanFile)
	must.Do(os.WriteFile(path, plan.Bytes(), 0o666))
	for _, want := range []string{"running the 2 missing of 2 runs", "all 2 runs are complete in"} {
		var log bytes.Buffer
		must.Do(PrepareIn(context.Background(), dir, RunOptions{Quiet: true, Log: &log}, "training"))
		errtest.Contains(t, log.String(), want, "all 2 runs")
		if want == "all 2 runs are complete in" && strings.Contains(log.String(), "missing") {
			t.Errorf("repeated a complete run: %q", log.String())
		}
	}
	data := must.Get(paper.Open(dir))
	errtest.Equal(t, "complete lines and training runs", fmt.Sprint(data.Complete, len(data.Trained)), "2 2")
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(after, plan.Bytes()) {
		t.Errorf("the plan was changed (%v)", err)
	}
}

// Missing experiments are added to the plan, and an interrupted Prepare leaves a plan that the same call resumes.
func TestPreparePlansWhatIsNot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, experiment := range []string{"smerl-targets", "prior"} {
		err := PrepareIn(ctx, dir, RunOptions{Scale: Smoke, Quiet: true, Log: new(bytes.Buffer)}, experiment)
		if !errors.Is(err, qdnb.ErrInterrupted) {
			t.Fatalf("%v; want %v", err, qdnb.ErrInterrupted)
		}
	}
	lines := must.Get(sweep.ReadFile(filepath.Join(dir, paper.PlanFile)))
	found := map[string]int{}
	for _, line := range lines {
		found[line.Experiment]++
	}
	if found["smerl-targets"] == 0 || found["prior"] == 0 || len(found) != 2 {
		t.Errorf("the plan has %v", found)
	}
	errtest.Want(t, PrepareIn(ctx, dir, RunOptions{Log: new(bytes.Buffer)}, "trainig"), `"training"`)
}

func TestPrepareRefusesADamagedPlan(t *testing.T) {
	dir := t.TempDir()
	must.Do(os.WriteFile(filepath.Join(dir, paper.PlanFile), []byte("{\n"), 0o666))
	errtest.Want(t, PrepareIn(context.Background(), dir, RunOptions{Log: new(bytes.Buffer)}, "training"), paper.PlanFile)
}

// Prepare describes shipped runs and trains nothing. Code that needs their policies gets an error that says to train
// them again.
func TestPrepareShipped(t *testing.T) {
	dir := t.TempDir()
	lines := []sweep.Line{tiny(t, 0, 3), tiny(t, 1, 3)}
	root := filepath.Join(dir, paper.RunsFolder)
	must.Do(Run(context.Background(), lines[:1], RunOptions{Runs: root, Quiet: true, Log: new(bytes.Buffer)}))
	out := filepath.Join(t.TempDir(), "results")
	about := paper.About{Scale: "smoke", Machine: "a test"}
	must.Get(paper.Ship(out, lines, root, about))
	var log bytes.Buffer
	must.Do(PrepareIn(context.Background(), out, RunOptions{Log: &log}, "training"))
	if !strings.HasPrefix(log.String(), "Runs shipped with qdnb: scale smoke, trained on a test") ||
		!strings.Contains(log.String(), "training: 1 run, 16 cells") ||
		!strings.Contains(log.String(), "MAP-Elites on pointmaze, seed 0\n") {
		t.Errorf("said %q", log.String())
	}
	data := must.Get(paper.Open(out))
	shipped := must.Get(data.Run(lines[0].Run.Name()))
	_, err := qdnb.Play(context.Background(), shipped, qdnb.PlaySpec{Backend: "go"})
	errtest.Want(t, err, "shipped without its policies: train it again with `qdnb sweep run --plan "+
		filepath.Join(out, paper.PlanFile)+" --runs runs --index 0`")
}

// A measurement extrapolates to six minutes, and leaves nothing behind.
func TestMeasure(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	half := 500 * time.Millisecond
	if got := must.Get(Measure(t.Context(), "map-elites", "pointmaze", half)); got < 1e6 || got > 1e10 {
		t.Errorf("%d steps", got)
	}
	errtest.Want(t, errtest.Of(Measure(t.Context(), "map-elite", "pointmaze", half)), "map-elites")
	errtest.Want(t, errtest.Of(Measure(t.Context(), "map-elites", "pointmazes", half)), "pointmaze")
}
