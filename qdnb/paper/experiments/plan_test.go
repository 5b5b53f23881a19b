package experiments

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
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
		if len(planned) != len(records.Names(records.Later)) {
			t.Errorf("%+v: planned %v, want %v", o, planned, records.Names(records.Later))
		}
	}
}

// Numbers of runs from the paper's sections on each experiment, times five seeds.
func TestPaperPlansHaveThePapersRuns(t *testing.T) {
	for name, want := range map[string]struct{ training, rest int }{
		"training":      {8 * 7, 0},
		"smerl-targets": {7, 0},
		"adaptation":    {8 * 4, 8 * (3*2 + 1)},
		"hurdles":       {8, 8},
		"sensitivity":   {2 * 9 * 4, 0},
		"prior":         {2 * 2, 0},
		"reward":        {6 * 6, 6 * (3*2 + 1)},
	} {
		lines := plan(t, name, Options{})
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
		if training != 5*want.training || rest != 5*want.rest {
			t.Errorf("%s: %d and %d lines, want five times %d and %d", name, training, rest, want.training, want.rest)
		}
	}
	// In steps, each method gets the mean over environments of table 8. PGA methods get twice as many
	// steps where episodes are twice as long, and so the same number of generations.
	steps := map[string]map[string]int64{}
	for _, line := range plan(t, "training", Options{Budget: Steps, Seeds: 1}) {
		if steps[line.Label] == nil {
			steps[line.Label] = map[string]int64{}
		}
		errtest.Equal(t, line.Name(), line.Budget, (runs.Budget{EnvSteps: line.Budget.EnvSteps}))
		steps[line.Label][line.Run.Env] = line.Budget.EnvSteps
	}
	for label, want := range map[string]int64{"map-elites": 16e8, "pga-map-elites": 18e7,
		"aurora": 12e8, "pga-aurora": 11e7, "smerl-diayn": 1e7,
		"diayn-reward": 1e7, "smerl-dads": 85e5, "dads-reward": 85e5} {
		sum := int64(0)
		for _, n := range steps[label] {
			sum += n
		}
		if sum != 7*want || len(steps[label]) != 7 {
			t.Errorf("%s: %v, want a mean of %d steps as in table 8", label, steps[label], want)
		}
		maze := int64(1)
		if strings.HasPrefix(label, "pga-") {
			maze = 2
		}
		if steps[label]["ant-maze"] != maze*steps[label]["ant-uni"] ||
			steps[label]["pointmaze"] != steps[label]["ant-uni"] {
			t.Errorf("%s: %v", label, steps[label])
		}
	}
	if got := steps["pga-map-elites"]; got["ant-maze"] != 6300*100*500 || got["walker-uni"] != 6300*100*250 {
		t.Errorf("PGA-MAP-Elites: %v, want 6300 generations", got)
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
		budgets := map[string]runs.Budget{}
		trained := map[string]map[string]bool{}
		for _, name := range results.Experiments() {
			lines := plan(t, name, Options{Scale: scale, Targets: targetsOf(scale)})
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
						t.Errorf("%s %s: line %d needs %s, which is no line before it", scale, name, i,
							need.Run.Name())
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
			got, want := common(c.a, c.b), c.full*scale.seeds(c.a)
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

// Scale Medium is the paper's protocol except for network sizes, the evaluation interval and the
// time.
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
				if want := fmt.Sprint(100 + slices.Index(all, line.Run.Env)); got != want {
					t.Errorf("%s: %s is %s, want %s", line.Name(), name, got, want)
				}
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
		{"hurdles", Options{Envs: []string{"ant-uni"}},
			`hurdles at this scale: unknown environment "ant-uni"`},
		{"sensitivity", Options{Algorithms: []string{"diayn"}}, `unknown algorithm "diayn"`},
	} {
		errtest.Want(t, errtest.Of(Plan(c.name, c.o)), c.want)
	}
}

// The grids are those of the paper's section 6.4. The two priors differ only in what discriminates
// skills.
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
			if !s.Fix {
				t.Error("alpha is not kept at the grid's value")
			}
		}
	}
	for label, want := range map[string][4]float64{"map-elites": {0.001, 0.1, 0.01, 1},
		"dads-reward": {0.1, 10, 0.1, 1}} {
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
	if lines[0].Label != "dads-reward" || lines[1].Label != "dads-reward, no prior" || with.Full || !without.Full {
		t.Errorf("%q has %v, %q has %v", lines[0].Label, with.Full, lines[1].Label, without.Full)
	}
}

// All training runs at scale Small are valid, for every environment.
func TestSmallSettingsAreComplete(t *testing.T) {
	for _, algorithm := range qdnb.Algorithms() {
		if algorithm == "ppo" || must.Get(registry.Find(algorithm)).NeedsGradients() {
			continue // no plan trains the former alone; the latter needs other tasks
		}
		for _, env := range all {
			if _, err := (qdnb.Spec{Algorithm: algorithm, Env: env,
				Tune: runs.Assign(Small.settings(algorithm, env)...)}).Config(); err != nil {
				t.Errorf("%s on %s: %v", algorithm, env, err)
			}
		}
	}
}
