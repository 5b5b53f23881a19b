package figures

import (
	"fmt"
	"strings"

	"example.com/qdnb/qdnb/runs"
)

// Columns draws arbitrary columns of the metrics.csv of runs against the axis: one panel per
// column, up to three in a row. If a run lacks a column, it returns an error that lists the columns
// of the run.
func Columns(trained []*runs.Run, axis Axis, columns ...string) (*Figure, error) {
	if len(trained) == 0 || len(columns) == 0 {
		return nil, fmt.Errorf("figures: %d columns of %d runs: want at least one of each", len(columns),
			len(trained))
	}
	panels, err := columnPanels(trained, axis, columns...)
	if err != nil {
		return nil, err
	}
	return Curves(panels, rowsOf(len(panels)))
}

// columnPanels returns a panel for each column of the metrics of runs.
func columnPanels(trained []*runs.Run, axis Axis, columns ...string) (panels []Panel, err error) {
	for _, column := range columns {
		panel := Panel{XLabel: axis.Label, YLabel: columnLabel(column)}
		for _, run := range trained {
			series, err := seriesOf(run, axis, column)
			if err != nil {
				return nil, fmt.Errorf("figures: %s: %w", run.Name(), err)
			}
			panel.Series = append(panel.Series, series)
		}
		panels = append(panels, panel)
	}
	return panels, nil
}

// rowsOf returns how many of n panels to put in a row: at most three, and as evenly as possible, so
// that four panels make two rows of two.
func rowsOf(n int) int {
	rows := (n + 2) / 3
	return (n + rows - 1) / rows
}

func columnLabel(column string) string {
	switch column {
	case "coverage":
		return "Coverage (%)"
	case "qd_score":
		return "QD score"
	}
	words := strings.ReplaceAll(column, "_", " ")
	if words == "" {
		return words
	}
	return strings.ToUpper(words[:1]) + words[1:]
}
