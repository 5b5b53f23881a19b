package figures

import (
	"fmt"
	"strings"

	"example.com/qdnb/qdnb/runs"
)

// Columns draws columns of metrics.csv of runs, whatever they log: a panel for each column, against
// the axis, up to three in a row. A column that one of the runs does not have is an error, which
// names those that it has.
func Columns(trained []*runs.Run, axis Axis, columns ...string) (*Figure, error) {
	if len(trained) == 0 || len(columns) == 0 {
		return nil, fmt.Errorf("figures: %d columns of %d runs: want at least one of each", len(columns),
			len(trained))
	}
	var panels []Panel
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
	return Curves(panels, rowsOf(len(panels)))
}

// rowsOf is how many of n panels stand in a row: at most three, and as evenly as possible, so that
// four are two rows of two.
func rowsOf(n int) int {
	rows := (n + 2) / 3
	return (n + rows - 1) / rows
}

// columnLabel is the name of a column as figures print it.
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
