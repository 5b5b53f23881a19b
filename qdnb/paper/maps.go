package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
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

// SkillTrajectories draws figures 9 and 10: the trajectories of skills on an environment whose
// descriptor is a position, with one map for each method and one colour for each skill. They are
// all episodes of the final evaluation; the paper evaluates each of five skills from 40 initial
// states. Each map is the seed with the best QD score; the paper does not say which seed it used.
func SkillTrajectories(d *Data, env string, methods ...string) (figures.Grid, error) {
	var arenas []*figures.Arena
	var failed unread
	for _, method := range methods {
		arena, err := d.skillTrajectories(bestQDScore(d.FinishedRuns(method, env)))
		if failed.add(err, method, env); arena != nil {
			arena.Title = figures.MethodName(method) + " on " + env
			arenas = append(arenas, arena)
		}
	}
	if len(arenas) == 0 {
		return figures.Grid{}, d.nothing(failed, "skill trajectories of "+
			strings.Join(methodNames(methods), ", ")+" on "+env, results.ExperimentTraining)
	}
	row, err := zoomed(arenas)
	g := figures.Grid{Panels: [][]*figures.Panel{row}}
	if len(methods) > 1 {
		g.Note = failed.note(d.missing(methods, []string{env}))
	}
	return g, err
}

// skillTrajectories returns the skill trajectories of a run; nil without a run.
func (d *Data) skillTrajectories(trained *results.Trained) (*figures.Arena, error) {
	if trained == nil {
		return nil, nil
	}
	run, err := d.Run(trained.Run)
	if err != nil {
		return nil, err
	}
	arena, err := figures.ArenaOf(run.Config.Env)
	if err != nil {
		return nil, err
	}
	if err := arena.AddSkills(run); err != nil {
		return nil, err
	}
	return arena, nil
}

// zooms are the fractions of the descriptor limits that a map may show. They give round fractions
// of 30 m.
var zooms = []float64{1. / 30, 1. / 15, 1. / 10, 1. / 6, 1. / 5, 1. / 3, 1. / 2, 1}

// zoomed draws arenas of an environment within the smallest zoom that contains all trajectories and
// walls. Robots start at the origin and do not move far in short runs, where the full limits would
// show only a dot.
func zoomed(arenas []*figures.Arena) ([]*figures.Panel, error) {
	var row figures.Panels
	part := zooms[slices.IndexFunc(zooms, func(part float64) bool {
		return part == 1 || !slices.ContainsFunc(arenas, func(a *figures.Arena) bool { return !shows(a, part) })
	})]
	for _, a := range arenas {
		for d := range 2 {
			a.Lower[d], a.Upper[d] = part*a.Lower[d], part*a.Upper[d]
		}
		row.Add(figures.Trajectories(*a))
	}
	return row.Row()
}

// shows reports whether a fraction of an arena's limits contains its trajectories and walls.
func shows(a *figures.Arena, part float64) bool {
	holds := func(x, y []float64) bool {
		return within(x, part*a.Lower[0], part*a.Upper[0]) && within(y, part*a.Lower[1], part*a.Upper[1])
	}
	for _, w := range a.Walls {
		if !holds([]float64{w.X0, w.X1}, []float64{w.Y0, w.Y1}) {
			return false
		}
	}
	return !slices.ContainsFunc(a.Paths, func(p figures.Path) bool { return !holds(p.X, p.Y) })
}

// within reports whether values are between limits. A lower limit of 0, such as that of x in
// ant-trap, cuts off everything behind the start at any zoom, and is ignored.
func within(values []float64, lower, upper float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v > upper || v < lower && lower < 0 })
}

// priorMethods are the methods of figures 15 and 17, in the order of figure 17.
var priorMethods = []string{"dads-reward", "diayn-reward"}

// Prior draws figure 17: repertoires (above) and skill trajectories (below) of DADS+REWARD and
// DIAYN+REWARD on ant-omni, without and with the prior. Skills are discriminated by the position
// with the prior and by the whole observation without it. Each map is the seed with the median
// final coverage, the lower one for an even number of seeds. All repertoires share one colour
// range, from the data. Trajectories are drawn as in [SkillTrajectories].
func Prior(d *Data) (figures.Grid, error) {
	grid := figures.Grid{Rows: []string{"Repertoire", "Skills"}}
	var repertoires []*figures.Panel
	var arenas []*figures.Arena
	var failed unread
	bar := new(figures.ColorBar)
	for _, method := range priorMethods {
		for _, prior := range []bool{false, true} {
			run := d.medianCoverage(method, prior)
			if run == nil {
				continue
			}
			arena, err := d.skillTrajectories(run)
			if err != nil {
				failed.add(err, method, run.Env)
				continue
			}
			panel, err := d.finalMap(run, bar, "")
			if err != nil {
				failed.add(err, method, run.Env)
				continue
			}
			repertoires, arenas = append(repertoires, panel), append(arenas, arena)
			with := "no prior"
			if prior {
				with = "prior"
			}
			grid.Columns = append(grid.Columns, figures.MethodName(method)+", "+with)
		}
	}
	if len(arenas) == 0 {
		return grid, d.nothing(failed, "skills with and without prior", results.ExperimentPrior)
	}
	trajectories, err := zoomed(arenas)
	grid.Panels, grid.Note = [][]*figures.Panel{repertoires, trajectories}, failed.note(d.lackingPrior())
	return grid, err
}

// lackingPrior returns a sentence with the methods without complete runs with or without the prior.
func (d *Data) lackingPrior() string {
	return lacking(priorMethods, slices.DeleteFunc(slices.Clone(priorMethods), func(method string) bool {
		return len(d.PriorRuns(method, true)) == 0 || len(d.PriorRuns(method, false)) == 0
	}))
}

// medianCoverage returns the run of the experiment "prior" with the median coverage; nil without
// runs.
func (d *Data) medianCoverage(algorithm string, prior bool) *results.Trained {
	found := d.PriorRuns(algorithm, prior)
	if len(found) == 0 {
		return nil
	}
	slices.SortStableFunc(found, func(a, b results.Trained) int { return cmp.Compare(a.Coverage, b.Coverage) })
	return &found[(len(found)-1)/2]
}

// intermediatePoints are the snapshots that [Intermediate] draws, of the nine in the first half of
// training.
var intermediatePoints = []int{0, 2, 5, 8}

// Intermediate draws figures 11, 12a and 12b: the repertoires of methods on an environment at four
// points in the first half of training (in the paper, nine in the first of two hours). A row is the
// fraction of the budget spent, a column the seed of a method with the best final QD score. Above
// each map are its environment steps and the time since the first evaluation, as in
// [CurvesOverTime]. All maps share one colour range, from the data.
func Intermediate(d *Data, env string, methods ...string) (figures.Grid, error) {
	var columns [][]*figures.Panel
	var grid figures.Grid
	bar := new(figures.ColorBar)
	var failed unread
	time := clock
	for _, method := range methods {
		best := bestQDScore(d.FinishedRuns(method, env))
		if best == nil {
			continue
		}
		column, err := d.intermediate(best, bar)
		if err != nil {
			failed.add(err, method, env)
			continue
		}
		if best.CPUSeconds > 0 {
			time = cpuClock
		}
		columns = append(columns, column)
		grid.Columns = append(grid.Columns, figures.MethodName(method))
	}
	for _, point := range intermediatePoints {
		var row []*figures.Panel
		some := false
		for _, column := range columns {
			row = append(row, column[point])
			some = some || column[point] != nil
		}
		if some {
			grid.Panels = append(grid.Panels, row)
			grid.Rows = append(grid.Rows, fmt.Sprintf("%.0f %% of training", 100*float64(point+1)/(2*runs.SnapshotPoints)))
		}
	}
	if len(grid.Panels) == 0 {
		return grid, d.nothing(failed, "intermediate repertoires of "+
			strings.Join(methodNames(methods), ", ")+" on "+env, results.ExperimentTraining)
	}
	grid.Note = "s, min: " + time
	if missing := failed.note(d.missing(methods, []string{env})); missing != "" {
		grid.Note += ". " + missing
	}
	return grid, nil
}

// intermediate draws the cells of a run's snapshots by the point of the budget passed; nil where
// no snapshot was kept.
func (d *Data) intermediate(trained *results.Trained, bar *figures.ColorBar) ([]*figures.Panel, error) {
	run, err := d.Run(trained.Run)
	if err != nil {
		return nil, err
	}
	snapshots, err := run.Snapshots()
	if err != nil {
		return nil, err
	}
	column := make([]*figures.Panel, runs.SnapshotPoints)
	for i, snapshot := range snapshots {
		point := pointOf(run.Status.Budget, snapshot.Progress)
		if trained.CPUSeconds > 0 { // which snapshots do not record
			point = i
		}
		if point >= runs.SnapshotPoints || point < 0 || column[point] != nil {
			continue
		}
		title := fmt.Sprintf("%s steps, %s", tables.Count(float64(snapshot.EnvSteps)),
			tables.Duration(max(0, elapsed(*trained, float64(snapshot.EnvSteps), snapshot.Seconds))))
		if column[point], err = smallMap(run, &snapshot.Repertoire, bar, title); err != nil {
			return nil, err
		}
	}
	return column, nil
}

// pointOf returns the last point in the first half of the budget that a progress has passed: 0 for
// 1/18 of it, 8 for a half; -1 for none, and at the end.
func pointOf(b runs.Budget, p runs.Progress) int {
	fraction := b.Fraction(p)
	if fraction >= 1 {
		return -1
	}
	return min(int(math.Floor(fraction*2*runs.SnapshotPoints+1e-9)), runs.SnapshotPoints) - 1
}
