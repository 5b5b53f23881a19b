package qdnb

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/qdnb/exchange"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// smallest returns the spec of the shortest run of an algorithm. Tests of mistakes give unknown names, too.
func smallest(algorithm, folder string) Spec { return smallRun(algorithm, folder, 1) }

// No setting that is a choice takes an empty value.
func TestChoicesAreNotEmpty(t *testing.T) {
	for _, name := range registry.Names() {
		spec := smallest(name, "")
		for _, assignment := range must.Get(must.Get(spec.Config()).Assignments()) {
			key, value, _ := strings.Cut(assignment, "=")
			if strings.ToLower(value) != strings.ToUpper(value) && value != "true" && value != "false" {
				empty := spec
				empty.Tune = more(spec.Tune, key+"=")
				if _, err := empty.Config(); err == nil {
					t.Errorf("%s takes an empty %s", name, key)
				}
			}
		}
		empty := spec
		empty.Tune = more(spec.Tune, "weights= ")
		if _, err := empty.Config(); err == nil {
			t.Errorf("%s takes empty weights", name)
		}
	}
}

// A mistake in a spec gives one line, before anything is written.
func TestMistakesGiveOneLine(t *testing.T) {
	refuses := func(want string, spec Spec) {
		t.Helper()
		run, err := Train(background, spec)
		if start, ok := strings.CutPrefix(want, "qdnb: "); ok && err != nil && !strings.HasPrefix(err.Error(), start) {
			t.Errorf("%v does not begin with %q", err, start)
		}
		errtest.Want(t, err, strings.TrimPrefix(want, "qdnb: "))
		if left, _ := os.ReadDir(spec.Runs); run != nil || len(left) > 0 {
			t.Errorf("%q leaves %v, %v", want, run, left)
		}
	}
	for want, set := range map[string][]string{ // of an algorithm
		`"map-elite"; did you mean "map-elites"?`:                {"map-elite"},
		"`qdnb sweep plan --experiment hurdles`":                 {"hierarchical-control"},
		"qdnb.Adapt in a notebook":                               {"adaptation"},
		`did you mean "pga-aurora", "pga-map-elites" or "ppga"?`: {"pga"},
		`unknown field "batch_size"; did you mean "batch"?`:      {"map-elites", "batch_size=10"},
		"batch must be between 1 and 1048576":                    {"map-elites", "batch=0"},
		"cells must be between 1 and 131072":                     {"map-elites", "cells=1000000000"},
		"cvt_samples must be between 32":                         {"map-elites", "cvt_samples=5"},
		"iso_sigma must be a number from 0 to 1e6":               {"map-elites", "iso_sigma=-1"},
		"hidden layers must have between 1":                      {"map-elites", "hidden=[8,0]"},
		"batch: \"many\" is not an integer":                      {"map-elites", "batch=many"},
		`unknown weights "float16"; did you mean "bfloat16"?`:    {"map-elites", "weights=float16"},
		"memory": {"mome", "hidden=4096,4096", "front_size=4096", "cells=1024", "cvt_samples=1024"},

		"replay_buffer_size must be at least 320":            {"pga-map-elites", "replay_buffer_size=100"},
		"isoline_share must be a number from 0 to 1":         {"pga-map-elites", "isoline_share=1.5"},
		"isoline_share must be a number from 0 to 1, not -1": {"pga-map-elites", "isoline_share=-1"},
		"critic_learning_rate must be a number above 0":      {"pga-aurora", "critic_learning_rate=0"},
		`did you mean "no_sd"`:                               {"aurora", "observation=no_s"},
		"k must be between 1 and 64, not 0":                  {"dns", "k=0"},
		"front_size must be between 1 and 4096, not -1":      {"mome", "front_size=-1"},
		"must be a multiple of emitters, at least 2 times as many, not 16 of 5": {"cma-mae",
			"emitters=5"},
		"sigma0 must be a number above 0":                                 {"cma-mae", "sigma0=0"},
		"sigma0 is 1e-60, which is 0 in float32":                          {"cma-mae", "sigma0=1e-60"},
		"qdnb: policies of nn.GRU are not multilayer":                     {"ppga", "memory=8"},
		"archive_learning_rate must be a number":                          {"cma-mae", "archive_learning_rate=2"},
		"threshold_min must be a number":                                  {"cma-mae", "threshold_min=-1e31"},
		`did you mean "no_improvement"`:                                   {"cma-mae", "restart_rule=no_improvment"},
		`"iso_sigma"`:                                                     {"cma-mae", "iso_sigma=0.1"},
		`did you mean "lm-ma-es"`:                                         {"cma-mae", "strategy=lm-ma"},
		"vectors is a setting of lm-ma-es":                                {"cma-mae", "vectors=3"},
		"adam_l2_coeff are settings of openai-es: set strategy=openai-es": {"cma-mae", "adam_l2_coeff=0"},
		"batch/emitters must be even, not 3":                              {"cma-mae", "strategy=openai-es", "batch=12"},
		"adam_learning_rate must be":                                      {"cma-mae", "strategy=openai-es", "adam_learning_rate=0"},
		"lengthscale must be a number above 0":                            {"dcrl-map-elites", "lengthscale=0"},
		"injection_share must be at most the emitter's share of the offspring, 8 of 16, not 0.6": {"dcrl-map-elites",
			"injection_share=0.6"},
		"discount_epochs must be between 1 and":          {"dms", "discount_epochs=0"},
		"discount_cutoff must be":                        {"dms", "discount_cutoff=-1"},
		"negative_skills must be between 1 and":          {"csf", "negative_skills=0"},
		"clip_param must be a number from 0 to 1":        {"ascii-me", "clip_param=-1"},
		"num_envs must be between 2 and":                 {"ppga", "num_envs=1"},
		"num_envs must be a multiple of num_minibatch":   {"ppga", "num_envs=5"},
		"extinction_every must be between 0 and":         {"aurora-xcon", "extinction_every=-1"},
		`unknown loss "tripled"; did you mean "triplet"`: {"aurora-xcon", "loss=tripled"},
		"encoder_learning_rate must be a number above 0": {"aurora-xcon", "encoder_learning_rate=0"},
		"sampling must be between 1 and 10, not 15":      {"aurora", "sampling=15"},
		"episode_length must be between 2 and":           {"aurora", "episode_length=1", "sampling=1"},
		"threshold must be a number from 0 to 1e6":       {"pga-aurora", "threshold=-1"},
		`unknown field "critic_hidden"`:                  {"map-elites", "critic_hidden=8"},
		`unknown field "weights"`:                        {"diayn", "weights=bfloat16"},
		`unknown field "nm_skills"`:                      {"diayn", "nm_skills=3"},
		`unknown field "num_skills"`:                     {"sac", "num_skills=3"},
		`unknown field "diversity_reward_scale"`:         {"dads", "diversity_reward_scale=3"},
		"smerl_target: ":                                 {"smerl-diayn", "smerl_target=-Inf"}, // JSON has no infinity
		"must hold whole episodes of all environments":   {"smerl-dads", "replay_buffer_size=60"},
	} {
		spec := smallest(set[0], t.TempDir())
		spec.Tune = more(spec.Tune, set[1:]...)
		refuses(want, spec)
	}
	obstacle := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(obstacle, nil, 0o666))
	copies := emitting(evolution.Stateless(func(parents evolution.Parents, keys random.Key) *graph.Node {
		return parents.Sample(keys)
	}))
	own := func(env plane) func(*Spec) {
		return func(s *Spec) { s.Env, s.Environment = "", env }
	}
	diversity := skills.Parts{Diversity: skills.DIAYN{LearningRate: 1e-3, Hidden: []int{8}}}
	objective := skills.Parts{Objective: skills.PlusReward{Scale: 1}}
	const unnamed = "a variant needs a name that no algorithm has: set Name together with the parts"
	for _, c := range []struct {
		want, algorithm string
		change          func(*Spec)
	}{
		{`"pointmaz"; did you mean "pointmaze"?`, "map-elites", func(s *Spec) { s.Env = "pointmaz" }},
		{`"ant-maze", "ant-omni", "ant-trap" or "ant-uni"?`, "map-elites",
			func(s *Spec) { s.Env = "ant" }},
		{"the budget is negative", "map-elites", func(s *Spec) { s.Budget.Generations = -1 }},
		{`unknown backend "nonsense"`, "map-elites", func(s *Spec) { s.Backend = "nonsense" }},
		{obstacle + " is not a folder; ", "map-elites", func(s *Spec) { s.Runs = obstacle }},
		{": lower batch", "map-elites", assigned("pointmaze", "hidden=[16384,16384,16384]", "batch=1000000")},
		{"replay_buffer_size", "pga-map-elites", assigned("pointmaze", "replay_buffer_size=2000000000")},
		{"replay_buffer_size", "sac", assigned("pointmaze", "replay_buffer_size=2000000000")},
		{"env_batch_size", "smerl-dads", assigned("pointmaze", "env_batch_size=100000000", "replay_buffer_size=2000000000")},
		{"batch_size", "sac", assigned("pointmaze", "batch_size=1000000000", "hidden=[4096,4096]")},
		{"add --corrected", "map-elites", func(s *Spec) { s.CorrectedBy = runs.ByMedian }},
		{"qdnb: cma-es has matrices", "cma-mae", func(s *Spec) { s.Tune = runs.Assign("strategy=cma-es", "hidden=[64,64]") }},
		{"memory and weights have no effect in sphere", "cma-mae", assigned("sphere", "hidden=8")},
		{"memory and weights have no effect in arm", "map-elites", assigned("arm", "memory=8")},
		{"memory and weights have no effect in arm", "dns", assigned("arm", "weights=bfloat16")},
		{"episode_length have no effect in sphere", "dms", assigned("sphere", "starts=3")},
		{"episode_length have no effect in sphere", "cma-mega", assigned("sphere", "episode_length=5")},
		{"sphere has none", "pga-map-elites", func(s *Spec) { s.Env, s.Tune = "sphere", nil }},
		{"mine learns from observations, of which sphere has none", "map-elites", func(s *Spec) {
			s.Env, s.Name, s.Tune = "sphere", "mine", emitting(evolution.PolicyGradient{})
		}},
		{"qdnb: pointmaze has no gradients of fitness and descriptor", "cma-mega", func(s *Spec) { s.Env = "pointmaze" }},
		{"Every, the control steps of a decision, must be at least 1, not 0", "ppo", func(s *Spec) {
			options := mazeSkills(1)
			options.Every = 0
			s.Env, s.Environment = "", options
		}},
		{"pointmaze-options has discrete actions, which map-elites does not learn: use ppo", "map-elites",
			func(s *Spec) { s.Env, s.Environment = "", mazeSkills(1) }},
		{"sphere has none", "diayn-reward", func(s *Spec) { s.Env, s.Tune = "sphere", nil }},
		{"halfcheetah-hurdles has no descriptor, which", "diayn",
			func(s *Spec) { s.Env = "halfcheetah-hurdles" }},
		{"Env and Environment are mutually exclusive", "map-elites",
			func(s *Spec) { s.Environment = plane{"plane"} }},
		{`"pointmaze" is the name of a built-in environment`, "map-elites", own(plane{"pointmaze"})},
		{"the environment has no name", "map-elites", own(plane{})},
		{`env "my plane" is not a valid name`, "map-elites", own(plane{"my plane"})},
		{"smerl_target is unknown for this environment", "smerl-diayn", func(s *Spec) {
			s.Env, s.Environment, s.Tune = "", plane{"plane"}, smallDiscovery("diayn", "", 1).Tune
		}},
		{"Tune changes skills.Parts, but the hyperparameters are *skills.SAC", "sac",
			func(s *Spec) { s.Tune, s.Name = skilled(diversity), "mine" }},
		{"Tune changes skills.Parts, but the hyperparameters are *evolution.MapElites", "map-elites",
			func(s *Spec) { s.Tune, s.Name = skilled(objective), "mine" }},
		{`Name is "dns", which is an algorithm other than map-elites`, "map-elites", func(s *Spec) { s.Name = "dns" }},
		{`Name is "adaptation", which is`, "map-elites", func(s *Spec) { s.Name = "adaptation" }},
		{`Name is "hierarchical-control", which is`, "sac", func(s *Spec) { s.Name = "hierarchical-control" }},
		{unnamed, "map-elites", func(s *Spec) { s.Tune, s.Name = s.Tune.And(copies), "adaptation" }},
		{unnamed, "map-elites", func(s *Spec) { s.Tune = s.Tune.And(copies) }},
		{unnamed, "dads-reward", func(s *Spec) { s.Tune = s.Tune.And(skilled(diversity)) }},
		{unnamed, "diayn",
			func(s *Spec) { s.Tune, s.Name = s.Tune.And(skilled(objective)), "diayn-reward" }},
	} {
		spec := smallest(c.algorithm, t.TempDir())
		c.change(&spec)
		refuses(c.want, spec)
	}
	for _, c := range mistakenParts() {
		spec := smallest(c.algorithm, t.TempDir())
		spec.Name, spec.Tune = "mine", spec.Tune.And(c.parts)
		refuses(c.want, spec)
	}
	if os.Geteuid() != 0 { // root may write everywhere
		folder := t.TempDir()
		must.Do(os.Chmod(folder, 0o555))
		refuses("cannot write to", small(folder, 2))
	}
}

// mistakenParts are parts whose settings a user leaves out or mistypes, some of which would divide by zero on the
// host, or that are nil.
func mistakenParts() []struct {
	want, algorithm string
	parts           Tuning
} {
	aurora := defaultAurora()
	learned, actions := aurora, aurora
	learned.Every = 0
	actions.Features = &envs.Recorder{Width: 2}
	actions.Sampling, actions.Observation, actions.MaxObservation = 0, "", 0 // replaced by Features
	xcon := repertoire.XCon{Capacity: 24, K: 3, EncoderSettings: aurora.EncoderSettings, Epochs: 3,
		TrainingBatch: 8, LearningRate: 0.01}
	slow, dying := xcon, xcon
	slow.ExtinctionEvery, dying.Every, dying.ExtinctionEvery = 5, 5, -1
	forgetful := evolution.PolicyGradient{}
	forgetful.Config = td3.Default()
	forgetful.ReplayBufferSize = 5
	return []struct {
		want, algorithm string
		parts           Tuning
	}{
		{"capacity must be between 2 and 131072, not 0", "map-elites", archiving(repertoire.Aurora{})},
		{"loop must be between 1 and 1048576, not 0", "map-elites", archiving(learned)},
		{"loop must be between 1 and", "map-elites", archiving(struct{ repertoire.Aurora }{learned})},
		{"Every of Features must be between 1 and 20, not 0", "map-elites", archiving(actions)},
		{"loop must be between 1 and 1048576, not 0", "map-elites", archiving(slow)},
		{"extinction_every must be between 0 and 1048576, not -1", "map-elites", archiving(dying)},
		{"k must be between 1 and 64, not 0", "map-elites", archiving(repertoire.DominatedNovelty{Capacity: 24})},
		{"front_size must be between 1 and 4096, not 0", "map-elites", archiving(repertoire.Fronts{})},
		{"archive_learning_rate must be a number from 0 to 1, not NaN", "map-elites",
			archiving(repertoire.Annealed{LearningRate: math.NaN()})},
		{"number of discount_hidden layers must be between 1 and 16, not 0", "map-elites",
			archiving(repertoire.Discounted{Rate: 0.1})},
		{"critic_learning_rate must be a number above 0", "map-elites", emitting(evolution.PolicyGradient{})},
		{"critic_learning_rate must be a number above 0", "map-elites",
			emitting(struct{ evolution.Proposer }{evolution.PolicyGradient{}})},
		{"replay_buffer_size must be at least 320", "map-elites", emitting(forgetful)},
		{"share 1 of the emitters is Stateless(nil): give it a function", "map-elites", emitting(evolution.Stateless(nil))},
		{"iso_sigma must be a number from 0 to 1e6, not -1", "map-elites", emitting(evolution.IsoLineEmitter{IsoSigma: -1})},
		{"emitters must be between 1 and 1048576, not 0", "map-elites",
			emitting(evolution.StrategySettings{Sigma0: 1}.Emitter())},
		{"must be a multiple of emitters", "map-elites", emitting(evolution.StrategySettings{Sigma0: 1, Emitters: 3}.Emitter())},
		{"sigma0 must be a number above 0", "map-elites", emitting(evolution.StrategySettings{Emitters: 4}.Emitter())},
		{"adam_learning_rate must be above 0 for openai-es", "map-elites",
			emitting(evolution.StrategySettings{Sigma0: 1, Emitters: 4, Strategy: "openai-es"}.Emitter())},
		{"skills.DIAYN: LearningRate must be a number from 0", "diayn",
			skilled(skills.Parts{Diversity: skills.DIAYN{LearningRate: -1}})},
		{"skills.DADS: Components must be between", "diayn",
			skilled(skills.Parts{Diversity: skills.DADS{LearningRate: 1e-3, Hidden: []int{8}}})},
		{"dual_lambda must be a number above 0", "diayn", skilled(skills.Parts{Diversity: skills.METRA{LearningRate: 1e-3}})},
		{"continuous_skills must be between 1", "diayn",
			skilled(skills.Parts{Diversity: skills.CSF{LearningRate: 1e-3, Tau: 1}})},
		{"skill_distance must be a number above 0", "diayn",
			skilled(skills.Parts{Diversity: skills.QDAC{LearningRate: 1e-3, Tau: 1}})},
		{"smerl_margin must be at least 0, not -1", "diayn", skilled(skills.Parts{Objective: skills.SMERL{Margin: -1}})},
		{"nil", "diayn-reward", skilled(skills.Parts{Diversity: (*skills.DIAYN)(nil)})},
		{"nil", "diayn-reward", skilled(skills.Parts{Objective: (*skills.SMERL)(nil)})},
		{"nil", "map-elites", archiving((*repertoire.Grid)(nil))},
		{"nil", "map-elites", emitting((*evolution.IsoLineEmitter)(nil))},
		{"nil", "map-elites", Tune(func(m *evolution.MapElites) { m.Policy = (*pointed)(nil) })},
		{"nil", "map-elites", Tune[evolution.MapElites](nil)},
	}
}

// pointed is an architecture whose methods read it.
type pointed struct{ nn.MLP }

// nil where a value is expected by other functions is an error of one line, too.
func TestNilValues(t *testing.T) {
	var none context.Context
	var absent *runs.Run
	simulator := (*envs.Simulator)(nil)
	run, spec := finishedRun(t, t.TempDir(), "map-elites", "pointmaze", 1, 3), small(t.TempDir(), 1)
	for name, err := range map[string]error{
		"environment": errtest.Of(Train(background, Spec{Algorithm: "map-elites", Environment: simulator, Runs: spec.Runs})),
		"loop": errtest.Of(Train(background, Spec{Name: "own", Loop: (*evolution.MapElites)(nil), Env: "pointmaze",
			Runs: spec.Runs})),
		"play policy":      errtest.Of(Play(background, run, PlaySpec{Policy: (*pointed)(nil)})),
		"play environment": errtest.Of(Play(background, run, PlaySpec{Environment: simulator})),
		"adapt environment": errtest.Of(Adapt(background, AdaptSpec{Environment: simulator, Skills: run,
			Perturbation: envs.GravityMultiplier})),
		"context":    errtest.Of(Train(none, spec)),
		"contexts":   errtest.Of(TrainSeeds(none, spec, 1, 2)),
		"ask":        errtest.Of(Ask(none, simulated("dns", spec.Runs, 1))),
		"export":     errtest.Of(exchange.Export(nil, exchange.ExportSpec{Out: "x.npz"})),
		"repertoire": errtest.Of(absent.Repertoire()),
		"metrics":    errtest.Of(absent.Metrics()),
		"snapshots":  errtest.Of(absent.Snapshots()),
	} {
		t.Run(name, func(t *testing.T) { errtest.Want(t, err, "nil") })
	}
	spec.Tune = spec.Tune.And(nil)
	must.Get(spec.Config())
}

// Every number among the hyperparameters has limits, except for three of any sign and size.
func TestNumbersHaveLimits(t *testing.T) {
	env := must.Get(envs.Make("pointmaze")).Spec()
	for _, name := range Algorithms() {
		entry := must.Get(registry.Find(name))
		settings := map[string]any{}
		must.Do(json.Unmarshal(must.Get(parts.Marshal(must.Get(entry.Tuned(env, nil)))), &settings))
		for field, value := range settings {
			_, number := value.(float64)
			if !number || slices.Contains([]string{"cvt_seed", "smerl_target", "threshold_min"}, field) {
				continue
			}
			if _, err := entry.Tuned(env, runs.Assign(field+"=-1e18")); !strings.HasPrefix(fmt.Sprint(err), field+" must be ") {
				t.Errorf("%s: %s=-1e18: %v", name, field, err)
			}
		}
	}
}

// assigned is a Spec's change of the environment and of settings.
func assigned(env string, settings ...string) func(*Spec) {
	return func(s *Spec) { s.Env, s.Tune = env, runs.Assign(settings...) }
}
