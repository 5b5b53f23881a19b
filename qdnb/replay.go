package qdnb

import (
	"encoding/json"
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Replay plays one episode with the policy of each of the given cells of a run's repertoire. seed
// draws the initial state.
func Replay(run *runs.Run, seed int64, cells ...int) ([]scoring.Episode, error) {
	env, err := environmentOf(run)
	if err != nil {
		return nil, err
	}
	return ReplayIn(env, run, seed, cells...)
}

// environmentOf makes the environment that a run was trained in.
func environmentOf(run *runs.Run) (envs.Env, error) {
	if !slices.Contains(envs.Names(), run.Config.Env) {
		return nil, errors.Errorf("%s is a custom environment: pass it to ReplayIn or TrajectoriesIn",
			run.Config.Env)
	}
	env, err := envs.Make(run.Config.Env)
	if err != nil {
		return nil, err
	}
	if algorithm, err := findAlgorithm(run.Config.Algorithm); err == nil { // else a variant
		if options := algorithm.defaults(env.Spec()).options(); len(options) > 0 {
			return envs.Make(run.Config.Env, options...)
		}
	}
	return env, nil
}

// ReplayIn is [Replay] in a given environment: the custom environment that the run was trained in,
// or a changed one with as many observations and actions.
func ReplayIn(env envs.Env, run *runs.Run, seed int64, cells ...int) ([]scoring.Episode, error) {
	if err := env.Spec().Validate(); err != nil {
		return nil, err
	}
	if err := ownPolicies(run); err != nil {
		return nil, err
	}
	repertoire, err := run.Repertoire()
	if err != nil {
		return nil, err
	}
	task, err := taskOf(env, run.Config)
	if err != nil {
		return nil, err
	}
	if err := fits(task, run, repertoire.Params); err != nil {
		return nil, err
	}
	policies, err := policiesIn(run, repertoire, cells)
	if err != nil {
		return nil, err
	}
	var genotypes [][]float32
	for _, policy := range policies {
		genotypes = append(genotypes, policy.Genotype)
	}
	platform, err := xla.Open("")
	if err != nil {
		return nil, err
	}
	return scoring.Replay(platform, task, genotypes, seed)
}

// taskOf returns the task in which the policies of a run were evaluated. The settings of every
// algorithm and variant hold the hidden layers of the policies and the length of an episode.
func taskOf(env envs.Env, config runs.Config) (scoring.Task, error) {
	base := evolution.DefaultMapElites(env.Spec())
	settings := struct {
		Hidden        *[]int `json:"hidden"`
		EpisodeLength *int   `json:"episode_length"`
	}{&base.Hidden, &base.EpisodeLength}
	if err := json.Unmarshal(config.Hyperparameters, &settings); err != nil {
		return scoring.Task{}, errors.Errorf("cannot read the settings of %s: %v", config.Name(), err)
	}
	return scoring.NewTask(env, base.Hidden, base.EpisodeLength), nil
}
