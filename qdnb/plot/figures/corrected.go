package figures

import (
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/plot"

	"example.com/qdnb/qdnb/runs"
)

// CorrectedMetrics draws maximum fitness, coverage and QD score of runs in a row as they were
// logged, and in a second row with the same limits those of their corrected repertoires (see
// [runs.Run.Corrected]), a line for each kind of average. Runs that differ only in their seeds are one
// line with a band. A run without corrected repertoires is an error.
func CorrectedMetrics(trained []*runs.Run, axis Axis) (Grid, error) {
	panels, err := columnPanels(trained, axis, false, metrics...)
	if err != nil {
		return Grid{}, err
	}
	curves := map[*runs.Run]map[string][]Series{} // of each run and kind of average, by metric
	var kinds []string
	for _, run := range trained {
		if curves[run], err = corrected(run, axis); err != nil {
			return Grid{}, fmt.Errorf("figures: %s: %w", run.Name(), err)
		}
		kinds = slices.AppendSeq(kinds, maps.Keys(curves[run]))
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	for i, column := range metrics {
		label := "corrected " + columnLabel(column)
		if len(kinds) == 1 {
			label = columnLabel(column) + ", " + kinds[0]
		}
		var lines []Series
		for _, kind := range kinds {
			with := slices.DeleteFunc(slices.Clone(trained), func(run *runs.Run) bool { return curves[run][kind] == nil })
			more, err := curvesOf(with, func(run *runs.Run) (Series, error) { return curves[run][kind][i], nil })
			if err != nil {
				return Grid{}, err
			}
			for k := range more {
				if len(kinds) > 1 { // else the axes name it
					more[k].Name = MethodName(more[k].Name) + ", " + kind
				}
			}
			lines = append(lines, more...)
		}
		below, err := Lines(Axes{XLabel: axis.Label, YLabel: label}, lines...)
		if err != nil {
			return Grid{}, err
		}
		shareLimits(panels[i], below)
		panels = append(panels, below)
	}
	return InRows(len(metrics), panels...), nil
}

// corrected returns the metrics of a run's corrected repertoires by the kind of their averages.
func corrected(run *runs.Run, axis Axis) (map[string][]Series, error) {
	snapshots, err := run.Corrected()
	if err == nil && len(snapshots) == 0 {
		err = fmt.Errorf("no corrected repertoires: train with Spec.Corrected, or use `qdnb eval %s "+
			"--corrected --save` for the final one", run.Dir)
	}
	of := map[string][]Series{}
	for _, s := range snapshots {
		x, ok := map[string]float64{"evaluations": float64(s.Evaluations), "seconds": s.Seconds,
			"env_steps": float64(s.EnvSteps), "generation": float64(s.Generation)}[axis.Column]
		if !ok {
			return nil, fmt.Errorf("corrected repertoires have no column %q", axis.Column)
		}
		kind, stats := s.Correction.String(), s.Stats()
		if of[kind] == nil {
			of[kind] = make([]Series, len(metrics))
		}
		for i, y := range []float64{stats.MaxFitness, stats.Coverage, stats.QDScore} {
			of[kind][i].X, of[kind][i].Y = append(of[kind][i].X, x), append(of[kind][i].Y, y)
		}
	}
	return of, err
}

// shareLimits gives two panels axes that cover the data of both.
func shareLimits(a, b *Panel) {
	for _, axes := range [][2]*plot.Axis{{&a.X, &b.X}, {&a.Y, &b.Y}} {
		low, high := min(axes[0].Min, axes[1].Min), max(axes[0].Max, axes[1].Max)
		for _, axis := range axes {
			axis.Min, axis.Max = low, high
		}
	}
}
