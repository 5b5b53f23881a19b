package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// Episode is the record of a replayed episode, up to and including its last step.
type Episode struct {
	Fitness     float64
	Descriptors [][]float32 // descriptors of the state before each valid step, [steps][d]
	Rewards     []float32   // rewards of each valid step
}

// Replay rolls out policies, given as genotype rows, for one episode each. The seed draws the
// initial states.
func Replay(p *xla.Platform, task Task, genotypes [][]float32, seed int64) ([]Episode, error) {
	n, params := len(genotypes), task.Policy.Params()
	if n == 0 {
		return nil, nil
	}
	batch := max(n, 2) // XLA multiplies a single row slowly
	flat := make([]float32, batch*params)
	for i, genotype := range genotypes {
		if len(genotype) != params {
			return nil, errors.Errorf("genotype %d has %d parameters, but the policy needs %d", i,
				len(genotype), params)
		}
		copy(flat[i*params:], genotype)
	}
	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Float32, batch, params)},
		{Shape: shapes.Make(dtypes.Uint32, 2)}}
	program, err := p.Compile("replay", inputs, func(in []*graph.Node) []*graph.Node {
		keys := xla.KeyOf(in[1]).FoldInEach(graph.Iota(in[0].Graph(), shapes.Make(dtypes.Int32, batch),
			0))
		descriptors, rewards, dones := envs.Trace(task.Env, task.Policy.View(in[0]),
			envs.Reset(task.Env, keys), task.Length)
		return []*graph.Node{descriptors, rewards, dones}
	}, task.axes(batch, batch, 0)...)
	if err != nil {
		return nil, err
	}
	defer program.Free()
	out, err := program.Run(xla.Sharded{tensors.FromFlatDataAndDimensions(flat, batch, params)},
		xla.Sharded{tensors.FromValue(xla.SeedWords(seed))})
	if err != nil {
		return nil, err
	}
	var columns [3][]float32
	for i, value := range out {
		if columns[i], err = xla.Floats(value); err != nil {
			return nil, err
		}
		value.Free()
	}
	descriptors, rewards, dones := columns[0], columns[1], columns[2]
	d := len(task.Env.Spec().Descriptor.Lower)
	episodes := make([]Episode, n)
	for i := range episodes {
		for step := range task.Length {
			at := step*batch + i
			episodes[i].Descriptors = append(episodes[i].Descriptors, descriptors[at*d:(at+1)*d])
			episodes[i].Rewards = append(episodes[i].Rewards, rewards[at])
			episodes[i].Fitness += float64(rewards[at])
			if dones[at] > 0 {
				break
			}
		}
	}
	return episodes, nil
}

// ArchivedStart is an environment whose episodes all start where the evaluation of one individual
// did: number individual of a generation of the run with the given seed.
func ArchivedStart(env envs.Env, seed int64, generation, individual int32) envs.Env {
	return archivedStart{env, seed, []int{int(generation), int(individual), streamReset}}
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
