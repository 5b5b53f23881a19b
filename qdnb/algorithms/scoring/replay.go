package scoring

import (
	"cmp"

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
	type in struct{ Genotypes, Seed xla.Array }
	type out struct{ Descriptors, Rewards, Dones xla.Array }
	given := in{xla.Single(tensors.FromFlatDataAndDimensions(flat, batch, params)),
		p.Seed(seed).First()}
	defer xla.Free(&given)
	program, err := xla.Compile(p, "replay", given, func(in in) out {
		genotypes := in.Genotypes.Tree
		keys := xla.KeyOf(in.Seed.Tree).FoldInEach(graph.Iota(genotypes.Graph(),
			shapes.Make(dtypes.Int32, batch), 0))
		descriptors, rewards, dones := envs.Trace(task.Env, task.Policy.View(genotypes),
			envs.Reset(task.Env, keys), task.Length)
		return out{xla.Out(descriptors), xla.Out(rewards), xla.Out(dones)}
	}, task.Axes(batch, batch, 0)...)
	if err != nil {
		return nil, err
	}
	defer program.Free()
	found, err := program.Run(given)
	if err != nil {
		return nil, err
	}
	defer xla.Free(&found)
	descriptors, err1 := found.Descriptors.Floats()
	rewards, err2 := found.Rewards.Floats()
	dones, err3 := found.Dones.Floats()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
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
