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
// [runs.Run.Corrected]), a line for each kind of average. A run without corrected repertoires is an error.
func CorrectedMetrics(trained []*runs.Run, axis Axis) (Grid, error) {
	panels, err := columnPanels(trained, axis, metrics...)
	if err != nil {
		return Grid{}, err
	}
	lines := make([][]Series, len(metrics))
	var kinds []string // of averages
	for _, run := range trained {
		corrected, err := run.Corrected()
		if err == nil && len(corrected) == 0 {
			err = fmt.Errorf("no corrected repertoires: train with Spec.Corrected, or use `qdnb eval %s "+
				"--corrected --save` for the final one", run.Dir)
		}
		if err != nil {
			return Grid{}, fmt.Errorf("figures: %s: %w", run.Name(), err)
		}
		of := map[string][]Series{}
		for _, s := range corrected {
			kind := s.Correction.String()
			if of[kind] == nil {
				of[kind] = make([]Series, len(metrics))
			}
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			series := of[kind]
			x, ok := map[string]float64{"evaluations": float64(s.Evaluations), "seconds": s.Seconds,
				"env_steps": float64(s.EnvSteps), "generation": float64(s.Generation)}[axis.Column]
			if !ok {
				return Grid{}, fmt.Errorf("figures: corrected repertoires have no column %q", axis.Column)
			}
			stats := s.Stats()
			for i, y := range []float64{stats.MaxFitness, stats.Coverage, stats.QDScore} {
				series[i].Name = run.Config.Algorithm + ", " + kind
				series[i].X, series[i].Y = append(series[i].X, x), append(series[i].Y, y)
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(of)) {
			for i, series := range of[kind] {
				lines[i] = append(lines[i], series)
			}
		}
	}
	for _, lines := range lines {
		for i, line := range lines {
			name, kind, _ := strings.Cut(line.Name, ", ")
			if lines[i].Name = name; len(kinds) > 1 { // else the axes name it
				lines[i].Name = MethodName(name) + ", " + kind
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
