package paper

import (
	"cmp"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
)

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
	slices.SortStableFunc(found,
		func(a, b results.Trained) int { return cmp.Compare(a.Coverage, b.Coverage) })
	return &found[(len(found)-1)/2]
}
