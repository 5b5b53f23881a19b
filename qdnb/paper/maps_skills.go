package paper

import (
	"cmp"
	"slices"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
)

// SkillWays draws figures 9 and 10: the ways of all episodes in which the skills of methods were
// evaluated at the end of training on an environment where the descriptor is a position, those of
// one skill in one colour, a map for each method. The paper evaluates each of five skills from 40
// initial states. A map is that of the seed with the best QD score; the paper does not say which
// its are.
func SkillWays(d *Data, env string, methods ...string) (*figures.Figure, error) {
	var row []figures.Map
	var failed error
	for _, method := range methods {
		arena, err := d.ways(bestQDScore(d.FinishedRuns(method, env)))
		if err != nil {
			failed = err
			continue
		}
		if arena != nil {
			arena.Title = figures.MethodName(method) + " on " + env
			row = append(row, arena)
		}
	}
	if len(row) == 0 {
		return nil, nothing(failed, "ways of skills on "+env, results.ExperimentTraining)
	}
	zoom(row)
	if len(row) == 1 {
		return figures.Trajectories(*row[0].(*figures.Arena))
	}
	return figures.MapGrid(figures.Grid{Maps: [][]figures.Map{row}})
}

// ways are those of the skills of a run; nil without a run.
func (d *Data) ways(trained *results.Trained) (*figures.Arena, error) {
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

// zooms are the parts of the descriptor's limits that ways may be shown in, which make round
// numbers of 30 m.
var zooms = []float64{1. / 30, 1. / 15, 1. / 10, 1. / 6, 1. / 5, 1. / 3, 1. / 2, 1}

// zoom sets the limits of arenas of one environment to the smallest part of them that holds all
// ways and walls. Robots start at the origin, and those of runs of minutes do not come far: all
// limits would show a dot.
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

// shows tells whether a part of an arena's limits holds its ways and walls.
func shows(a *figures.Arena, part float64) bool {
	holds := func(x, y []float64) bool {
		return within(x, part*a.Lower[0], part*a.Upper[0]) && within(y, part*a.Lower[1], part*a.Upper[1])
	}
	return !slices.ContainsFunc(a.Walls, func(w figures.Rect) bool {
		return !holds([]float64{w.X0,
			w.X1}, []float64{w.Y0, w.Y1})
	}) &&
		!slices.ContainsFunc(a.Paths, func(p figures.Path) bool { return !holds(p.X, p.Y) })
}

// within tells whether values are between limits. A lower limit of 0, as that of x in ant-trap,
// cuts off what lies behind the start at any zoom, and does not count.
func within(values []float64, lower, upper float64) bool {
	return !slices.ContainsFunc(values,
		func(v float64) bool { return v > upper || v < lower && lower < 0 })
}

// priorMethods are those of figures 15 and 17, in the order in which figure 17 has them.
var priorMethods = []string{"dads-reward", "diayn-reward"}

// Prior draws figure 17: on ant-omni, the repertoires (above) and the ways of the skills (below) of
// DADS+REWARD and DIAYN+REWARD, without the prior and with it: told apart by the whole observation,
// or by the position. Of each it is the seed with the median final coverage, the lower of the two
// in the middle of an even number. All repertoires share the range of colours, which is that of the
// data; ways are drawn as by [SkillWays].
func Prior(d *Data) (*figures.Figure, error) {
	var grid figures.Grid
	var repertoires, ways []figures.Map
	var failed error
	for _, method := range priorMethods {
		for _, prior := range []bool{false, true} {
			run := d.medianCoverage(method, prior)
			if run == nil {
				continue
			}
			cells, err := d.finalCells(run)
			if err != nil {
				failed = err
				continue
			}
			arena, err := d.ways(run)
			if err != nil {
				failed = err
				continue
			}
			shorten(cells)
			repertoires, ways = append(repertoires, cells), append(ways, arena)
			with := "no prior"
			if prior {
				with = "prior"
			}
			grid.ColumnTitles = append(grid.ColumnTitles, figures.MethodName(method)+", "+with)
		}
	}
	if len(ways) == 0 {
		return nil, nothing(failed, "skills with and without prior", results.ExperimentPrior)
	}
	zoom(ways)
	grid.Maps = [][]figures.Map{repertoires, ways}
	grid.RowTitles = []string{"Repertoire", "Skills"}
	grid.Bar = figures.BarPerRow
	return figures.MapGrid(grid)
}

// medianCoverage is the run of the experiment prior with the median coverage; nil of none.
func (d *Data) medianCoverage(algorithm string, prior bool) *results.Trained {
	found := d.PriorRuns(algorithm, prior)
	if len(found) == 0 {
		return nil
	}
	slices.SortStableFunc(found, func(a, b results.Trained) int {
		return cmp.Compare(a.Coverage,
			b.Coverage)
	})
	return &found[(len(found)-1)/2]
}
