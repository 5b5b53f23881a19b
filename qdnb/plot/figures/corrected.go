package figures

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"example.com/qdnb/qdnb/runs"
)

// CorrectedMetrics draws maximum fitness, coverage and QD score of runs in a row as they were
// logged, and in a second row with the same limits those of their corrected repertoires (see
// [runs.Run.Corrected]), a line for each kind of average. Runs that differ only in their seeds are one
// line with a band. A run without corrected repertoires is an error.
func CorrectedMetrics(trained []*runs.Run, axis Axis) (Grid, error) {
	panels, err := columnPanels(trained, axis, metrics...)
	if err != nil {
		return Grid{}, err
	}
	lines := make([][]Series, len(metrics))
	var kinds, kindOf []string // kinds of averages; the kind of each line
	for _, group := range groupsOf(trained) {
		curves := map[string][][]Series{} // of a kind of average, by metric, one per run
		for _, run := range group.runs {
			of, err := corrected(run, axis)
			if err != nil {
				return Grid{}, fmt.Errorf("figures: %s: %w", run.Name(), err)
			}
			for kind, series := range of {
				if curves[kind] == nil {
					curves[kind] = make([][]Series, len(metrics))
				}
				for i, s := range series {
					curves[kind][i] = append(curves[kind][i], s)
				}
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(curves)) {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			kindOf = append(kindOf, kind)
			for i, curves := range curves[kind] {
				line, err := median(group.name, curves)
				if err != nil {
					return Grid{}, err
				}
				lines[i] = append(lines[i], line)
			}
		}
	}
	if len(kinds) > 1 { // else the axes name it
		for _, lines := range lines {
			for k := range lines {
				lines[k].Name = MethodName(lines[k].Name) + ", " + kindOf[k]
			}
		}
	}
	for i, column := range metrics {
		label := "Corrected " + inSentence(columnLabel(column))
		if len(kinds) == 1 {
			label = columnLabel(column) + ", " + kinds[0]
		}
		below, err := Lines(Axes{XLabel: axis.Label, YLabel: label},
			lines[i]...)
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

// inSentence returns a label as it is written within a sentence.
func inSentence(label string) string {
	if label[1:2] == strings.ToUpper(label[1:2]) { // an abbreviation
		return label
	}
	return strings.ToLower(label[:1]) + label[1:]
}
