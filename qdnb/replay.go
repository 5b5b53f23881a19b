package qdnb

import (
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/evolution"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Replay runs the policies of some cells of a run's repertoire again, one episode each from an initial state that seed draws,
// and returns what they did.
func Replay(run *runs.Run, seed int64, cells ...int) ([]evolution.Episode, error) {
	env, err := environmentOf(run)
	if err != nil {
		return nil, err
	}
	return ReplayIn(env, run, seed, cells...)
}

// environmentOf makes the environment that a run was trained in.
func environmentOf(run *runs.Run) (envs.Env, error) {
	if !slices.Contains(envs.Names(), run.Config.Env) {
		return nil, errors.Errorf("%s is an environment of your own: give it to ReplayIn or TrajectoriesIn", run.Config.Env)
	}
	return envs.Make(run.Config.Env)
}

// ReplayIn is [Replay] in a given environment: in one of one's own that the run was trained in, or in a changed one. It must have
// as many observations and actions as that.
func ReplayIn(env envs.Env, run *runs.Run, seed int64, cells ...int) ([]evolution.Episode, error) {
	if err := env.Spec().Validate(); err != nil {
		return nil, err
	}
	repertoire, err := run.Repertoire()
	if err != nil {
		return nil, err
	}
	settings := evolution.DefaultMapElites(env.Spec())
	if err := run.Config.Settings(&settings); err != nil {
		return nil, err
	}
	task := evolution.NewTask(env, settings.Hidden, settings.EpisodeLength)
	if params := task.Policy.Params(); params != repertoire.Params {
		return nil, errors.Errorf("policies for %s have %d parameters, those of %s %d: it was trained in another environment", env.Spec().Name, params, run.Name(), repertoire.Params)
	}
	var genotypes [][]float32
	for _, cell := range cells {
		if cell < 0 || cell >= repertoire.Cells() {
			return nil, errors.Errorf("there is no cell %d: the repertoire has %d", cell, repertoire.Cells())
		}
		genotypes = append(genotypes, repertoire.Genotype(cell))
	}
	platform, err := xla.Open("")
	if err != nil {
		return nil, err
	}
	return evolution.Replay(platform, task, genotypes, seed)
}
