package paper

import (
	"cmp"
	"slices"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
)

// SkillTrajectories draws figures 9 and 10: the trajectories of skills on an environment whose
// descriptor is a position, with one map for each method and one colour for each skill. They are
// all episodes of the final evaluation; the paper evaluates each of five skills from 40 initial
// states. Each map is the seed with the best QD score; the paper does not say which seed it used.
func SkillTrajectories(d *Data, env string, methods ...string) (*figures.Figure, error) {
	var row []figures.Map
	var failed unread
	for _, method := range methods {
		arena, err := d.skillTrajectories(bestQDScore(d.FinishedRuns(method, env)))
		if err != nil {
			failed.add(err, method, env)
			continue
		}
		if arena != nil {
			arena.Title = figures.MethodName(method) + " on " + env
			row = append(row, arena)
		}
	}
	if len(row) == 0 {
		return nil, d.nothing(failed, "skill trajectories on "+env, results.ExperimentTraining)
	}
	zoom(row)
	if len(methods) == 1 {
		return figures.Trajectories(*row[0].(*figures.Arena))
	}
	return figures.MapGrid(figures.Grid{Maps: [][]figures.Map{row},
		Note: failed.note(d.missing(methods, []string{env}))})
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
	return arena, arena.AddSkills(run)
}

// zooms are the fractions of the descriptor limits that a map may show. They give round fractions
// of 30 m.
var zooms = []float64{1. / 30, 1. / 15, 1. / 10, 1. / 6, 1. / 5, 1. / 3, 1. / 2, 1}

// zoom sets the limits of an environment's arenas to the smallest zoom that contains all
// trajectories and walls. Robots start at the origin and do not move far in short runs, where the
// full limits would show only a dot.
func zoom(arenas []figures.Map) {
	for _, part := range zooms {
		if part < 1 && slices.ContainsFunc(arenas,
			func(m figures.Map) bool { return !shows(m.(*figures.Arena), part) }) {
			continue
		}
		for _, m := range arenas {
			a := m.(*figures.Arena)
			for d := range 2 {
				a.Lower[d], a.Upper[d] = part*a.Lower[d], part*a.Upper[d]
			}
		}
		return
	}
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
	return !slices.ContainsFunc(values,
		func(v float64) bool { return v > upper || v < lower && lower < 0 })
}

// priorMethods are the methods of figures 15 and 17, in the order of figure 17.
var priorMethods = []string{"dads-reward", "diayn-reward"}

// Prior draws figure 17: repertoires (above) and skill trajectories (below) of DADS+REWARD and
// DIAYN+REWARD on ant-omni, without and with the prior. Skills are discriminated by the position
// with the prior and by the whole observation without it. Each map is the seed with the median
// final coverage, the lower one for an even number of seeds. All repertoires share one colour
// range, from the data. Trajectories are drawn as in [SkillTrajectories].
func Prior(d *Data) (*figures.Figure, error) {
	var grid figures.Grid
	var repertoires, trajectories []figures.Map
	var failed unread
	for _, method := range priorMethods {
		for _, prior := range []bool{false, true} {
			run := d.medianCoverage(method, prior)
			if run == nil {
				continue
			}
			cells, err := d.finalCells(run)
			arena, wrong := d.skillTrajectories(run)
			if err = cmp.Or(err, wrong); err != nil {
				failed.add(err, method, run.Env)
				continue
			}
			shorten(cells)
			repertoires, trajectories = append(repertoires, cells), append(trajectories, arena)
			with := "no prior"
			if prior {
				with = "prior"
			}
			grid.ColumnTitles = append(grid.ColumnTitles, figures.MethodName(method)+", "+with)
		}
	}
	if len(trajectories) == 0 {
		return nil, d.nothing(failed, "skills with and without prior", results.ExperimentPrior)
	}
	zoom(trajectories)
	grid.Maps = [][]figures.Map{repertoires, trajectories}
	grid.RowTitles = []string{"Repertoire", "Skills"}
	grid.Bar, grid.Note = figures.BarPerRow, failed.note("")
	return figures.MapGrid(grid)
}

// medianCoverage returns the run of the experiment "prior" with the median coverage; nil without
// runs.
func (d *Data) medianCoverage(algorithm string, prior bool) *results.Trained {
	found := d.PriorRuns(algorithm, prior)
	if len(found) == 0 {
		return nil
	}
	slices.SortStableFunc(found,
		func(a, b results.Trained) int { return cmp.Compare(a.Coverage, b.Coverage) })
	return &found[(len(found)-1)/2]
}
