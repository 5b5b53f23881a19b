package figures

import (
	"fmt"
	"strings"

	"example.com/qdnb/qdnb/runs"
)

// CorrectedMetrics draws maximum fitness, coverage and QD score of runs in a row as they were
// logged, and in a second row with the same limits those of their corrected repertoires (see
// [runs.Run.Corrected]). A run without corrected repertoires is an error.
func CorrectedMetrics(trained []*runs.Run, axis Axis) (*Figure, error) {
	columns := []string{"max_fitness", "coverage", "qd_score"}
	panels, err := columnPanels(trained, axis, columns...)
	if err != nil {
		return nil, err
	}
	for _, column := range columns {
		panels = append(panels, Panel{XLabel: axis.Label, YLabel: "Corrected " + inSentence(
			columnLabel(column))})
	}
	for _, run := range trained {
		corrected, err := run.Corrected()
		if err == nil && len(corrected) == 0 {
			err = fmt.Errorf("no corrected repertoires: train with Spec.Corrected, or use `qdnb eval %s "+
				"--corrected --save` for the final one", run.Dir)
		}
		if err != nil {
			return nil, fmt.Errorf("figures: %s: %w", run.Name(), err)
		}
		series := make([]Series, len(columns))
		for _, s := range corrected {
			x, ok := map[string]float64{"evaluations": float64(s.Evaluations), "seconds": s.Seconds,
				"env_steps": float64(s.EnvSteps), "generation": float64(s.Generation)}[axis.Column]
			if !ok {
				return nil, fmt.Errorf("figures: corrected repertoires have no column %q", axis.Column)
			}
			stats := s.Stats()
			for i, y := range []float64{stats.MaxFitness, stats.Coverage, stats.QDScore} {
				series[i].Name = run.Config.Algorithm
				series[i].X, series[i].Y = append(series[i].X, x/axis.Unit), append(series[i].Y, y)
			}
		}
		for i := range columns {
			panel := &panels[len(columns)+i]
			panel.Series = append(panel.Series, series[i])
		}
	}
	for i := range columns {
		above, below := &panels[i], &panels[len(columns)+i]
		limits := func(of func(Series) []float64) [2]float64 {
			var values [][]float64
			for _, s := range append(above.Series[:len(above.Series):len(above.Series)], below.Series...) {
				values = append(values, of(s))
			}
			low, high := axisRange([2]float64{}, false, 0.05, values)
			return [2]float64{low, high}
		}
		above.XLimits = limits(func(s Series) []float64 { return s.X })
		above.YLimits = limits(func(s Series) []float64 { return s.Y })
		below.XLimits, below.YLimits = above.XLimits, above.YLimits
	}
	return Curves(panels, len(columns))
}

// inSentence returns a label as it is written within a sentence.
func inSentence(label string) string {
	if label[1:2] == strings.ToUpper(label[1:2]) { // an abbreviation
		return label
	}
	return strings.ToLower(label[:1]) + label[1:]
}
