package evolution

import (
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// ArchivedStart is an environment whose episodes all start where the evaluation of one individual
// did: number individual of a generation of the run with the given seed.
func ArchivedStart(env envs.Env, seed int64, generation, individual int32) envs.Env {
	return archivedStart{env, seed, []int{int(generation), int(individual), scoring.StreamReset}}
}

// PassiveStart is an environment whose episodes start in the same state as those of a run's passive
// repertoire. Where [Archive.SameStart] is true these share one state, which the run's seed draws.
func PassiveStart(env envs.Env, seed int64) envs.Env {
	return archivedStart{env, seed, []int{streamPassive}}
}

// archivedStart resets all copies by one key: that of the run's seed, folded with some numbers.
type archivedStart struct {
	envs.Env
	seed int64
	path []int
}

// Unwrap returns the wrapped environment, see [envs.Inner].
func (a archivedStart) Unwrap() envs.Env { return a.Env }

// Reset implements [envs.Env].
func (a archivedStart) Reset(keys xla.Key) envs.State {
	key := xla.NewKey(keys.Hi.Graph(), a.seed)
	for _, number := range a.path {
		key = key.FoldIn(number)
	}
	same := func(word, like *graph.Node) *graph.Node {
		return graph.BroadcastToDims(word, like.Shape().Dimensions...)
	}
	return a.Env.Reset(xla.Key{Hi: same(key.Hi, keys.Hi), Lo: same(key.Lo, keys.Lo)})
}
