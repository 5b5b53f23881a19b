package experiments

import (
	"math"
	"slices"
	"strings"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	settings "example.com/qdnb/internal/parts"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// Scale is the size of an experiment.
type Scale string

// The scales.
const (
	Paper Scale = "paper" // the paper's protocol: five seeds of two hours each
	// the paper's protocol with small networks and minutes per run: a day on two cores
	Medium Scale = "medium"
	Small  Scale = "small" // all methods and environments at laptop size: minutes per experiment
	Smoke  Scale = "smoke" // a few lines of each experiment, as a functional test
)

// Scales lists all scales.
func Scales() []Scale { return []Scale{Paper, Medium, Small, Smoke} }

// smallTargets are SMERL's target returns at scale Small: the best returns of SAC at that scale
// with seed 0, as measured by the experiment smerl-targets. The paper's targets are out of reach at
// this scale, so no episode would ever get a diversity reward.
var smallTargets = map[string]float64{
	"pointmaze": -157, "ant-uni": 167, "ant-omni": 241, "ant-trap": 232, "ant-maze": -17200,
	"walker-uni": 131, "halfcheetah-uni": 477,
}

// part is the settings that the scales change of the algorithms that have a setting.
type part struct {
	of                   string // "" for all algorithms
	medium, small, smoke string // assignments, separated by spaces
}

// parts have the settings of the scales below Paper. Later assignments replace earlier ones, and at the
// scales Small and Smoke those of the algorithm's record.
//
// Runs at scale Medium reach 10⁵ to 10⁶ environment steps (2.4 × 10⁵ to 2.8 × 10⁵ on two busy
// cores). The paper's evaluation of skills every 100 000 steps would happen only a few times. One
// every 10 000 steps fills the repertoire 25 times or more (101 in the paper) and costs a tenth of
// the time on ant-maze, where episodes are the most expensive.
var parts = []part{
	{"", "hidden=64,64",
		"hidden=64,64 cells=128 cvt_samples=5000",
		"hidden=16,16 cells=32 cvt_samples=500 episode_length=50"},
	{"batch", "", "batch=64", "batch=16"},
	{"critic_hidden", "critic_hidden=64,64",
		"batch=32 replay_buffer_size=100000 transitions_batch_size=128 critic_hidden=64,64 " +
			"num_critic_training_steps=100 num_pg_training_steps=30",
		"batch=16 replay_buffer_size=2000 transitions_batch_size=32 critic_hidden=16,16 " +
			"num_critic_training_steps=10 num_pg_training_steps=5"},
	{"late_epochs", "",
		"capacity=128 epochs=20 late_epochs=5 training_batch=128",
		"capacity=32 epochs=2 late_epochs=2 training_batch=16"},
	{"k", "", "capacity=128", "capacity=32"},
	{"ppo_iterations", smallPPGA, smallPPGA, ""},
	{"front_size", "", "front_size=16", "front_size=4"},
	{"random_skills", "", "num_skills=40", "num_skills=5"},
	{"evaluation_interval",
		"evaluation_interval=10000 early_interval=0",
		"env_batch_size=50 replay_buffer_size=50000 batch_size=128 evaluation_states=8 " +
			"evaluation_interval=2500 early_interval=500",
		"env_batch_size=10 replay_buffer_size=2000 batch_size=32 evaluation_states=2 evaluation_interval=500 early_interval=0"},
	{"diversity_hidden", "diversity_hidden=64,64", "diversity_hidden=64,64", "diversity_hidden=16,16"},
}

// smallPPGA are settings with which a generation of PPGA takes seconds, not minutes.
const smallPPGA = "batch=32 num_envs=64 unroll_length=50 num_minibatches=4 update_epochs=4 ppo_iterations=3 " +
	"value_hidden=64,64"

// settings returns an algorithm's hyperparameters that differ from the paper's on an environment,
// as assignments.
func (s Scale) settings(algorithm, env string) (set []string) {
	has := settingsOf(algorithm)
	record, _ := records.Find(algorithm) // the plan of an unknown algorithm is refused
	if s == Paper && has["early_interval"] {
		return []string{"early_interval=0"}
	}
	if s == Small || s == Smoke {
		set = append(set, record.Smoke...)
	}
	for _, p := range parts {
		if p.of == "" || has[p.of] {
			text := map[Scale]string{Medium: p.medium, Small: p.small, Smoke: p.smoke}[s]
			set = append(set, strings.Fields(text)...)
		}
	}
	if target, ok := smallTargets[env]; ok && s == Small && has["smerl_target"] {
		set = append(set, assign("smerl_target", target), assign("smerl_margin", math.Abs(target)/10))
	}
	return set
}

// settingsOf returns the names of an algorithm's settings; none if it is unknown.
func settingsOf(algorithm string) map[string]bool {
	entry, err := registry.Find(algorithm)
	if err != nil {
		return nil
	}
	has := map[string]bool{}
	for _, part := range settings.Of(entry.Defaults(envs.Spec{})) {
		for _, field := range part.Fields() {
			has[field.Name] = true
		}
	}
	return has
}

// Units of budgets.
const (
	Steps = "steps" // environment steps
	Time  = "time"
)

// budget returns the budget of a training run. In units of time all methods get the same; in steps
// a method gets as many as it does in that time.
func (s Scale) budget(algorithm, env, unit string) runs.Budget {
	switch {
	case s == Paper && unit == Time:
		return runs.Budget{Time: 2 * time.Hour}
	case s == Medium && unit == Steps && results.MediumSteps(algorithm, env) > 0:
		return runs.Budget{EnvSteps: results.MediumSteps(algorithm, env)}
	case s == Medium: // in units of time, or if nothing was measured
		return runs.Budget{CPU: results.MediumTime}
	case s == Paper:
		return runs.Budget{EnvSteps: results.PaperSteps(records.Of(algorithm).Work(), env)}
	case s == Small && unit == Time:
		return runs.Budget{Time: 20 * time.Second}
	case s == Smoke && unit == Time:
		return runs.Budget{Time: 5 * time.Second}
	case s == Smoke && records.Of(algorithm).Evolves():
		return runs.Budget{Generations: 4}
	case s == Smoke:
		return runs.Budget{EnvSteps: 1_000}
	case !records.Of(algorithm).Evolves():
		return runs.Budget{EnvSteps: 10_000}
	case slices.Contains(records.Of(algorithm).Columns, "critic_loss"):
		return runs.Budget{EnvSteps: 320_000}
	case env == "ant-maze": // walls are expensive, and episodes twice as long
		return runs.Budget{EnvSteps: 640_000}
	case env == "ant-trap":
		return runs.Budget{EnvSteps: 1_280_000}
	}
	return runs.Budget{EnvSteps: 2_560_000}
}

// seeds returns how many seeds an experiment runs. For grids at scale Medium one is enough: the
// settings are the sample.
func (s Scale) seeds(experiment string) int {
	switch {
	case s == Paper:
		return 5
	case s == Medium && experiment != results.ExperimentSensitivity:
		return 3
	}
	return 1
}

// adaptation returns the values of a perturbation, nil for the paper's, and the episodes per value.
func (s Scale) adaptation(p catalog.Perturbation) (values [][]float64, episodes int) {
	all := p.Values()
	near := func(wanted ...float64) [][]float64 { // in ascending order, as they are
		return slices.DeleteFunc(slices.Clone(all), func(v []float64) bool {
			same := func(w float64) bool { return math.Abs(v[0]-w) < 1e-9 }
			return !slices.ContainsFunc(wanted, same)
		})
	}
	switch {
	case s == Paper:
		return nil, 100
	case s == Medium && p == catalog.TargetPosition: // ant-maze is expensive
		return nil, 10
	case s == Medium:
		return nil, 20
	case s == Smoke && p == catalog.TargetPosition:
		return all[:2], 2
	case s == Smoke:
		return near(0.5, 1), 2
	case p == catalog.TargetPosition:
		return all[:4], 5
	case p == catalog.GravityMultiplier:
		return near(0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 5), 8
	}
	return near(0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 4.75), 8
}

// control returns the meta-controller's hyperparameters that differ from the paper's, and its
// budget.
func (s Scale) control() (set []string, budget runs.Budget) {
	switch s {
	case Paper:
		return nil, session.ControlBudget
	case Medium:
		return []string{"value_hidden=64,64"}, runs.Budget{CPU: results.MediumTime}
	case Small:
		return []string{
			"num_envs=128", "evaluation_envs=64", "evaluation_interval=4", "batch_size=32",
			"num_minibatches=8", "update_epochs=4", "learning_rate=0.001",
			"value_hidden=64,64",
		}, runs.Budget{EnvSteps: 2_048_000}
	}
	return []string{
		"num_envs=16", "evaluation_envs=8", "batch_size=8", "num_minibatches=2", "update_epochs=2",
		"policy_hidden=16,16", "value_hidden=16,16",
		"unroll_length=5",
	}, runs.Budget{Generations: 3}
}
