package watch

import (
	"fmt"
	"math"

	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// Corrected compares a repertoire with repeated evaluations of its policies (Flageolat and Cully
// 2023, "Uncertain quality-diversity"). A cell keeps the luckiest of many single episodes, so the
// metrics of a repertoire are too high where fitness or descriptors are noisy.
type Corrected struct {
	Archived *runs.Repertoire // as the run stored it
	// Repertoire holds the mean fitness and the mean descriptor of each policy, inserted into empty
	// cells. Its metrics are the corrected ones.
	Repertoire *runs.Repertoire
	Episodes   int
	// Fitness and Descriptor are standard deviations over the episodes of each policy, [filled] in
	// the order of Archived.Filled. Descriptor is the root of the variances' sum over components.
	Fitness, Descriptor []float64

	run *runs.Run
}

// Corrected returns the corrected repertoire of a run. The recording must hold the episodes of all
// filled cells, as Play records them for PlaySpec.Cells = Repertoire.Filled().
func (r *Recording) Corrected(run *runs.Run) (*Corrected, error) {
	archived, err := run.RepertoireMap()
	if err != nil {
		return nil, err
	}
	c := &Corrected{Archived: archived, Episodes: r.Episodes, run: run}
	filled := archived.Filled()
	var fitnesses, descriptors []float32
	for i, result := range r.Results {
		if len(filled) != len(r.Results) || !result.Cell || result.Number != filled[i] {
			break
		}
		fitnesses = append(fitnesses, float32(result.Mean()))
		for _, x := range result.Descriptor() {
			descriptors = append(descriptors, float32(x))
		}
		c.Fitness = append(c.Fitness, result.Std())
		variance := 0.0
		for k := range archived.Dims {
			component := make([]float64, r.Episodes)
			for e := range component {
				component[e] = float64(result.Descriptors[e*archived.Dims+k])
			}
			variance += math.Pow(stats.Std(component), 2)
		}
		c.Descriptor = append(c.Descriptor, math.Sqrt(variance))
	}
	if len(fitnesses) != len(filled) {
		return nil, errors.Errorf("the episodes are not those of the %d filled cells of %s", len(filled),
			run.Name())
	}
	c.Repertoire, err = archived.Reinsert(fitnesses, descriptors)
	return c, err
}

// Figure draws the archived and the corrected repertoire side by side.
func (c *Corrected) Figure() (*figures.Figure, error) {
	var maps []figures.Map
	for _, r := range []*runs.Repertoire{c.Archived, c.Repertoire} {
		cells, err := figures.CellsOf(c.run, r)
		if err != nil {
			return nil, err
		}
		maps = append(maps, cells)
	}
	return figures.MapGrid(figures.Grid{Maps: [][]figures.Map{maps}, ColumnTitles: []string{
		"as archived", fmt.Sprintf("mean of %d episodes", c.Episodes)}})
}
