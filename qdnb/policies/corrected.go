package policies

import (
	"context"
	"fmt"
	"math"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/xla"
)

// Corrected is a repertoire of repeated evaluations. Flageat and Cully 2023, "Uncertain
// quality-diversity", take the median of 512. A cell keeps the luckiest of many single episodes, so the metrics of a
// repertoire are too high where fitness or descriptors are noisy.
type Corrected struct {
	// Repertoire holds the average fitness and the average descriptor of each policy, inserted into empty
	// cells. Its metrics are the corrected ones.
	Repertoire *runs.Repertoire
	By         runs.Average
	// Fitness and Descriptor are standard deviations over the episodes of each policy, [filled] in
	// the order of Filled of the archived repertoire. Descriptor is the root of the variances' sum
	// over components.
	Fitness, Descriptor []float64
}

// Correct evaluates the policies of a run's repertoire, which has genotypes. The episodes of a
// policy start in initial states that seed draws and all policies share.
func Correct(ctx context.Context, platform *xla.Platform, run *runs.Run, archived *runs.Repertoire,
	env envs.Env, episodes int, by runs.Average, seed int64) (*Corrected, error) {
	set, err := selectCells(run, archived, archived.Filled())
	if err != nil || len(set.Policies) == 0 {
		return &Corrected{Repertoire: archived, By: by}, err
	}
	set.most = archived.Cells() // one program for a repertoire that fills up
	rollouts, err := NewRollouts(platform, set, env, episodes, seed)
	if err != nil {
		return nil, err
	}
	defer rollouts.Close()
	results, err := rollouts.Run(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	return Reinsert(archived, results, by)
}

// Reinsert returns the corrected repertoire of evaluations of all policies of a repertoire, in the
// order of Filled. It is an error if they are not.
func Reinsert(archived *runs.Repertoire, results []Evaluated, by runs.Average) (*Corrected, error) {
	c := &Corrected{By: by}
	filled := archived.Filled()
	var fitnesses, descriptors []float32
	for i, result := range results {
		if len(filled) != len(results) || !result.Cell || result.Number != filled[i] {
			break
		}
		fitnesses = append(fitnesses, float32(by.Of(result.fitnesses())))
		c.Fitness = append(c.Fitness, result.Std())
		variance := 0.0
		for k := range archived.Dims {
			component := make([]float64, len(result.Fitnesses))
			for e := range component {
				component[e] = float64(result.Descriptors[e*archived.Dims+k])
			}
			descriptors = append(descriptors, float32(by.Of(component)))
			variance += math.Pow(stats.Std(component), 2)
		}
		c.Descriptor = append(c.Descriptor, math.Sqrt(variance))
	}
	if len(fitnesses) != len(filled) {
		return nil, fmt.Errorf("the episodes are not those of the %d filled cells", len(filled))
	}
	var err error
	c.Repertoire, err = archived.Reinsert(fitnesses, descriptors)
	return c, err
}

// Snapshot returns the corrected repertoire as a run's folder stores it.
func (c *Corrected) Snapshot(at runs.Progress, episodes int) runs.Snapshot {
	return runs.Snapshot{Progress: at, Repertoire: *c.Repertoire, Correction: runs.Correction{
		Episodes: int64(episodes), By: c.By, FitnessStd: median(c.Fitness), DescriptorStd: median(c.Descriptor)}}
}

// median is 0 for a repertoire without policies.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return stats.Median(x)
}
