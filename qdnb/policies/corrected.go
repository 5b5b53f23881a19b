package policies

import (
	"context"
	"fmt"
	"math"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Corrected is a repertoire of repeated evaluations. Flageat and Cully 2023, "Uncertain
// quality-diversity", take the median of 512. A cell keeps the luckiest of many single episodes, so the metrics of a
// repertoire are too high where fitness or descriptors are noisy.
type Corrected struct {
	// Snapshot is what a run's folder stores. Its Repertoire holds the average fitness and the
	// average descriptor of each policy, inserted into empty cells: its metrics are the corrected
	// ones.
	runs.Snapshot
	Archived *runs.Repertoire // as training found it
	// Fitness and Descriptor are standard deviations over the episodes of each policy, [filled] in
	// the order of Filled of the archived repertoire. Descriptor is the root of the variances' sum
	// over components.
	Fitness, Descriptor []float64
}

// Correct evaluates the policies of a run's repertoire, which has genotypes. The episodes of a
// policy start in initial states that seed draws and all policies share. own is the architecture of
// policies with code of the user, else nil.
func Correct(ctx context.Context, platform *xla.Platform, run *runs.Run, at runs.Snapshot, env envs.Env,
	own nn.Architecture, seed int64) (*Corrected, error) {
	archived := &at.Repertoire
	set, err := selectCells(run, archived, archived.Filled())
	if err != nil || len(set.Policies) == 0 {
		return &Corrected{Snapshot: at, Archived: archived}, err
	}
	set.Architecture = own
	set.most = archived.Cells() // one program for a repertoire that fills up
	rollouts, err := NewRollouts(platform, set, env, int(at.Episodes), seed)
	if err != nil {
		return nil, err
	}
	defer rollouts.Close()
	results, err := rollouts.Run(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	return Reinsert(at, results)
}

// Reinsert returns the corrected repertoire of evaluations of all policies of a repertoire as
// archived, in the order of Filled. It is an error if they are not.
func Reinsert(at runs.Snapshot, results []Evaluated) (*Corrected, error) {
	archived := &at.Repertoire
	c, filled := &Corrected{Snapshot: at, Archived: archived}, archived.Filled()
	var fitnesses, descriptors []float32
	for i, result := range results {
		if len(filled) != len(results) || !result.Cell || result.Number != filled[i] {
			return nil, fmt.Errorf("the episodes are not those of the %d filled cells", len(filled))
		}
		fitnesses = append(fitnesses, float32(at.By.Of(result.fitnesses())))
		c.Fitness = append(c.Fitness, result.Std())
		variance := 0.0
		for k := range archived.Dims {
			component := make([]float64, len(result.Fitnesses))
			for e := range component {
				component[e] = float64(result.Descriptors[e*archived.Dims+k])
			}
			descriptors = append(descriptors, float32(at.By.Of(component)))
			variance += math.Pow(stats.Std(component), 2)
		}
		c.Descriptor = append(c.Descriptor, math.Sqrt(variance))
	}
	after, err := archived.Reinsert(fitnesses, descriptors)
	if err != nil {
		return nil, err
	}
	c.Repertoire, c.FitnessStd, c.DescriptorStd = *after, stats.Median(c.Fitness), stats.Median(c.Descriptor)
	return c, nil
}
