package qdnb

import (
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/evolution"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Replay runs the policies of some cells of a run's repertoire again, one episode each from an initial state that seed draws,
// and returns what they did.
func Replay(run *runs.Run, seed int64, cells ...int) ([]evolution.Episode, error) {
	repertoire, err := run.Repertoire()
	if err != nil {
		return nil, err
	}
	env, err := envs.Make(run.Config.Env)
	if err != nil {
		return nil, err
	}
	settings := evolution.DefaultMapElites(env.Spec())
	if err := run.Config.Settings(&settings); err != nil {
		return nil, err
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
	return evolution.Replay(platform, evolution.NewTask(env, settings.Hidden, settings.EpisodeLength), genotypes, seed)
}
