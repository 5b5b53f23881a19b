package scoring

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
	}, task.Axes(batch, batch, 0)...)
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
