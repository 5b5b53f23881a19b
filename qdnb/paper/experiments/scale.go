package experiments

import (
	"math"
	"slices"
	"strings"
	"time"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/runs"
)

// Scale is the size of an experiment.
type Scale string

// The scales.
const (
	Paper Scale = "paper" // the paper's protocol: five seeds of two hours each
	// the paper's protocol with small networks and minutes per run: two days on two cores
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

// settings returns an algorithm's hyperparameters that differ from the paper's on an environment,
// as assignments.
func (s Scale) settings(algorithm, env string) (set []string) {
	if s == Paper {
		if slices.Contains(protocol.Neuroevolution(), algorithm) {
			return nil
		}
		return []string{"early_interval=0"}
	}
	if s == Medium {
		return mediumSettings(algorithm)
	}
	small := s == Small
	choose := func(ifSmall, ifSmoke string) string {
		if small {
			return ifSmall
		}
		return ifSmoke
	}
	set = append(set, choose("hidden=64,64", "hidden=16,16"), choose("cells=128", "cells=32"),
		choose("cvt_samples=5000", "cvt_samples=500"))
	if !small {
		set = append(set, "episode_length=50")
	}
	if slices.Contains(protocol.Neuroevolution(), algorithm) {
		if strings.HasPrefix(algorithm, "pga-") {
			set = append(set, choose("batch=32", "batch=16"),
				choose("replay_buffer_size=100000", "replay_buffer_size=2000"),
				choose("transitions_batch_size=128", "transitions_batch_size=32"),
				choose("critic_hidden=64,64", "critic_hidden=16,16"),
				choose("num_critic_training_steps=100", "num_critic_training_steps=10"),
				choose("num_pg_training_steps=30", "num_pg_training_steps=5"))
		} else {
			set = append(set, choose("batch=64", "batch=16"))
		}
		if strings.HasSuffix(algorithm, "aurora") {
			set = append(set, choose("capacity=128", "capacity=32"), choose("epochs=20", "epochs=2"),
				choose("late_epochs=5", "late_epochs=2"),
				choose("training_batch=128", "training_batch=16"))
		}
		return set
	}
	set = append(set, choose("env_batch_size=50", "env_batch_size=10"),
		choose("replay_buffer_size=50000", "replay_buffer_size=2000"),
		choose("batch_size=128", "batch_size=32"), choose("evaluation_states=8", "evaluation_states=2"),
		choose("evaluation_interval=2500", "evaluation_interval=500"),
		choose("early_interval=500", "early_interval=0"))
	if target, ok := smallTargets[env]; ok && small && strings.HasPrefix(algorithm, "smerl-") {
		set = append(set, assign("smerl_target", target), assign("smerl_margin", math.Abs(target)/10))
	}
	if algorithm != "sac" {
		set = append(set, choose("diversity_hidden=64,64", "diversity_hidden=16,16"))
	}
	return set
}

// mediumSettings are the settings of scale Medium: small networks and a shorter interval between
// evaluations of skills, everything else as in the paper. Runs reach 10⁵ to 10⁶ environment steps
// (2.4 × 10⁵ to 2.8 × 10⁵ on two busy cores). The paper's evaluation every 100 000 steps would
// happen only a few times. One every 10 000 steps fills the repertoire 25 times or more (101 in the
// paper) and costs a tenth of the time on ant-maze, where episodes are the most expensive.
func mediumSettings(algorithm string) []string {
	set := []string{"hidden=64,64"}
	switch {
	case strings.HasPrefix(algorithm, "pga-"):
		return append(set, "critic_hidden=64,64")
	case slices.Contains(protocol.Neuroevolution(), algorithm):
		return set
	}
	if algorithm != "sac" {
		set = append(set, "diversity_hidden=64,64")
	}
	return append(set, "evaluation_interval=10000", "early_interval=0")
}

// mediumBudget and mediumControl are the budgets of a training run and of a meta-controller at
// scale Medium. They are in processor time, so all methods get the same whatever the machine's
// load.
var (
	mediumBudget  = runs.Budget{CPU: 12 * time.Minute}
	mediumControl = runs.Budget{CPU: 24 * time.Minute}
)

// Units of budgets.
const (
	Steps = "steps" // environment steps
	Time  = "time"
)

// budget returns the budget of a training run. In units of time all methods get the same; in steps
// a method gets as many as it does in that time.
func (s Scale) budget(algorithm, env, unit string) runs.Budget {
	evolves := slices.Contains(protocol.Neuroevolution(), algorithm)
	switch {
	case s == Paper && unit == Time:
		return runs.Budget{Time: 2 * time.Hour}
	case s == Medium:
		return mediumBudget
	case s == Paper:
		return runs.Budget{EnvSteps: results.PaperSteps(algorithm, env)}
	case s == Small && unit == Time:
		return runs.Budget{Time: 20 * time.Second}
	case s == Smoke && unit == Time:
		return runs.Budget{Time: 5 * time.Second}
	case s == Smoke && evolves:
		return runs.Budget{Generations: 4}
	case s == Smoke:
		return runs.Budget{EnvSteps: 1_000}
	case !evolves:
		return runs.Budget{EnvSteps: 10_000}
	case strings.HasPrefix(algorithm, "pga-"):
		return runs.Budget{EnvSteps: 320_000}
	case env == "ant-maze": // walls are expensive, and episodes twice as long
		return runs.Budget{EnvSteps: 640_000}
	case env == "ant-trap":
		return runs.Budget{EnvSteps: 1_280_000}
	}
	return runs.Budget{EnvSteps: 2_560_000}
}

// sensitivityBudget returns the budget of a setting of a grid. There are 72 settings per seed.
func (s Scale) sensitivityBudget(algorithm, env, unit string) runs.Budget {
	b := s.budget(algorithm, env, unit)
	if s == Small || s == Medium {
		b.Time /= 2
		b.EnvSteps /= 2
		b.CPU /= 2
	}
	return b
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
	near := func(wanted ...float64) (some [][]float64) {
		for _, w := range wanted {
			for _, v := range all {
				if math.Abs(v[0]-w) < 1e-9 {
					some = append(some, v)
				}
			}
		}
		return some
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
