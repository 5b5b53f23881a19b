package evolution

import (
	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/scoring"
)

// ArchivedStart is an environment whose episodes all start where the evaluation of one individual
// did: number individual of a generation of the run with the given seed.
func ArchivedStart(env envs.Env, seed int64, generation, individual int32) envs.Env {
	return envs.StartAt(env, seed, int(generation), int(individual), scoring.StreamReset)
}

// PassiveStart is an environment whose episodes start in the same state as those of a run's passive
// repertoire. Where [Archive.SameStart] is true these share one state, which the run's seed draws.
func PassiveStart(env envs.Env, seed int64) envs.Env {
	return envs.StartAt(env, seed, streamPassive)
}
