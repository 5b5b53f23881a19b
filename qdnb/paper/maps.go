package paper

import (
	"fmt"
	"slices"
	"strings"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// mapEnvs are the paper's environments with a two-dimensional descriptor, in its order.
var mapEnvs = protocol.Where(func(t catalog.Task) bool { return len(t.Descriptor.Components) == 2 })

// Repertoires draws figure 2: final repertoires, with a row for each method and a column for each
// environment with a two-dimensional descriptor. Each map is the seed with the best QD score. The
// Voronoi cells of the centroids are coloured by fitness, from the lowest to the highest of the
// column, with the first descriptor on the horizontal axis and the second on the vertical axis.
// AURORA and the reinforcement-learning methods show their passive repertoires. Methods and
// environments without trained runs have no row or column.
func Repertoires(d *Data) (figures.Grid, error) {
	methods, envs := allMethods, mapEnvs
	panels := make([][]*figures.Panel, len(methods))
	var failed unread
	for _, env := range envs {
		bar := new(figures.ColorBar)
		for i, method := range methods {
			panel, err := d.finalMap(bestQDScore(d.FinishedRuns(method, env)), bar, "")
			failed.add(err, method, env)
			panels[i] = append(panels[i], panel)
		}
	}
	grid := table(panels, methodNames(methods), envs)
	if len(grid.Panels) == 0 {
		return grid, d.nothing(failed, "repertoires", results.ExperimentTraining)
	}
	grid.Note = failed.note(d.missing(methods, envs))
	return grid, nil
}

// table returns a grid of panels without the rows and columns that have none.
func table(panels [][]*figures.Panel, rows, columns []string) (g figures.Grid) {
	var filled []int // columns
	has := func(p *figures.Panel) bool { return p != nil }
	for j, name := range columns {
		if slices.ContainsFunc(panels, func(row []*figures.Panel) bool { return has(row[j]) }) {
			filled, g.Columns = append(filled, j), append(g.Columns, name)
		}
	}
	for i, row := range panels {
		if !slices.ContainsFunc(row, has) {
			continue
		}
		var kept []*figures.Panel
		for _, j := range filled {
			kept = append(kept, row[j])
		}
		g.Panels, g.Rows = append(g.Panels, kept), append(g.Rows, rows[i])
	}
	return g
}

// finalMap draws a run's repertoire with the colours of a bar; nil without a run.
func (d *Data) finalMap(trained *results.Trained, bar *figures.ColorBar, title string) (*figures.Panel, error) {
	if trained == nil {
		return nil, nil
	}
	run, err := d.Run(trained.Run)
	if err != nil {
		return nil, err
	}
	r, err := run.RepertoireMap()
	if err != nil {
		return nil, err
	}
	return smallMap(run, r, bar, title)
}

// smallMap draws cells without the dots of solutions and with short names of descriptors, to fit
// small maps.
func smallMap(run *runs.Run, r *runs.Repertoire, bar *figures.ColorBar, title string) (*figures.Panel, error) {
	return figures.MapOf(run, r, func(cells *figures.Cells) {
		cells.Descriptors, cells.Bar, cells.Title = nil, bar, title
		for _, label := range []*string{&cells.XLabel, &cells.YLabel} {
			*label = strings.TrimPrefix(strings.TrimPrefix(*label, "final "), "contact of ")
		}
	})
}

// Best opens the training run of a method on an environment with the best QD score over seeds.
func (d *Data) Best(label, env string) (*runs.Run, error) {
	best := bestQDScore(d.FinishedRuns(label, env))
	if best == nil {
		return nil, fmt.Errorf("%s on %s: %w", label, env, d.noRuns(results.ExperimentTraining))
	}
	return d.Run(best.Run)
}

// bestQDScore returns the run with the highest QD score, the first of equals; nil without runs.
func bestQDScore(trained []results.Trained) *results.Trained {
	var best *results.Trained
	for i := range trained {
		if best == nil || trained[i].QDScore > best.QDScore {
			best = &trained[i]
		}
	}
	return best
}

// unread are the runs that a figure lacks because their files cannot be read.
type unread struct {
	err error // of the last one
	of  []string
}

func (u *unread) add(err error, method, env string) {
	if err != nil {
		u.err, u.of = err, append(u.of, figures.MethodName(method)+" on "+env)
	}
}

// note adds the runs to the note of a figure.
func (u *unread) note(note string) string {
	if len(u.of) == 0 {
		return note
	}
	return strings.TrimSpace("Unreadable: " + strings.Join(u.of, ", ") + ". " + note)
}

// nothing returns why a figure cannot be drawn: the error of reading the runs, or that no run is
// complete.
func (d *Data) nothing(failed unread, what, experiment string) error {
	if failed.err != nil {
		return failed.err
	}
	return fmt.Errorf("no %s: %w", what, d.noRuns(experiment))
}
