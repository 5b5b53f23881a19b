package paper

import (
	"fmt"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

var mapItems = []Item{
	{ID: "figure-2", Title: "Repertoires of all methods at the end of training",
		Experiments: []string{results.ExperimentTraining},
		Figure:      Repertoires},
	{ID: "figure-9", Title: "Ways of the skills of DADS+REWARD on ant-omni",
		Experiments: []string{results.ExperimentTraining},
		Figure: func(d *Data) (*figures.Figure,
			error) {
			return SkillWays(d, "ant-omni", "dads-reward")
		}},
	{ID: "figure-10", Title: "Ways of the skills of DIAYN+REWARD and DADS+REWARD on ant-trap",
		Experiments: []string{results.ExperimentTraining},
		Figure: func(d *Data) (*figures.Figure, error) {
			return SkillWays(d, "ant-trap", "diayn-reward", "dads-reward")
		}},
	{ID: "figure-11", Title: "Repertoires of the first half of training on ant-trap",
		Experiments: []string{results.ExperimentTraining},
		Figure: func(d *Data) (*figures.Figure, error) {
			return Intermediate(d, "ant-trap", "map-elites", "pga-map-elites", "dads-reward")
		}},
	{ID: "figure-12a", Title: "Repertoires of the first half of training on halfcheetah-uni",
		Experiments: []string{results.ExperimentTraining},
		Figure: func(d *Data) (*figures.Figure, error) {
			return Intermediate(d, "halfcheetah-uni", "map-elites", "smerl-diayn")
		}},
	{ID: "figure-12b", Title: "Repertoires of the first half of training on ant-omni",
		Experiments: []string{results.ExperimentTraining},
		Figure: func(d *Data) (*figures.Figure, error) {
			return Intermediate(d, "ant-omni", "pga-map-elites", "dads-reward")
		}},
	{ID: "figure-17", Title: "Repertoires and ways of skills with and without prior",
		Experiments: []string{results.ExperimentPrior},
		Figure:      Prior},
}

// mapEnvs are the environments of the paper whose descriptor has two dimensions, in its order.
var mapEnvs = slices.DeleteFunc(results.Environments(),
	func(env string) bool { return env == "ant-uni" })

// PublishedRanges are the fitnesses at the ends of the colours of the paper's repertoires, by
// environment: for runs of its scale.
func PublishedRanges() map[string][2]float64 {
	return map[string][2]float64{
		"pointmaze": {-1000, 0}, "ant-uni": {-1000, 2500}, "ant-omni": {-500, 250},
		"ant-trap": {-200, 2000}, "ant-maze": {-20000, 0},
		"walker-uni": {-200, 1500}, "halfcheetah-uni": {-1000, 2200},
	}
}

// Repertoires draws figure 2: the repertoire at the end of training, a row for each method and a
// column for each environment with a descriptor of two dimensions. A map is that of the seed with
// the best QD score. Voronoi cells of the centroids are coloured by fitness, from the lowest to the
// highest of the column; the horizontal axis is the first descriptor, the vertical one the second.
// What AURORA and the methods of reinforcement learning show is their passive repertoire. Methods
// and environments of which nothing is trained have no row and no column.
func Repertoires(d *Data) (*figures.Figure, error) { return RepertoiresWithin(d, nil) }

// RepertoiresWithin is [Repertoires] with the fitness at the ends of the colours, by environment,
// as in [PublishedRanges]. An environment that the ranges lack has that of its data.
func RepertoiresWithin(d *Data, ranges map[string][2]float64) (*figures.Figure, error) {
	var rows [][]*figures.Cells
	var failed error
	for _, method := range allMethods {
		var row []*figures.Cells
		for _, env := range mapEnvs {
			cells, err := d.finalCells(bestQDScore(d.FinishedRuns(method, env)))
			if err != nil {
				failed = err
			}
			if cells != nil {
				cells.Min, cells.Max = ranges[env][0], ranges[env][1]
				shorten(cells)
			}
			row = append(row, cells)
		}
		rows = append(rows, row)
	}
	grid := table(rows, allMethods, mapEnvs)
	if len(grid.Maps) == 0 {
		return nil, nothing(failed, "repertoires", results.ExperimentTraining)
	}
	grid.Bar, grid.Dense = figures.BarPerColumn, true
	return figures.MapGrid(grid)
}

// table is a grid of maps of methods (rows) by environments (columns) without empty rows and
// columns.
func table(rows [][]*figures.Cells, methods, envs []string) figures.Grid {
	var g figures.Grid
	var filled []int // columns
	for j := range envs {
		for _, row := range rows {
			if row[j] != nil {
				filled = append(filled, j)
				g.ColumnTitles = append(g.ColumnTitles, envs[j])
				break
			}
		}
	}
	for i, row := range rows {
		var maps []figures.Map
		some := false
		for _, j := range filled {
			maps = append(maps, row[j])
			some = some || row[j] != nil
		}
		if some {
			g.Maps = append(g.Maps, maps)
			g.RowTitles = append(g.RowTitles, figures.MethodName(methods[i]))
		}
	}
	return g
}

// finalCells are the cells of a run's repertoire; nil without a run.
func (d *Data) finalCells(trained *results.Trained) (*figures.Cells, error) {
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
	return smallCells(run, r)
}

// smallCells are cells without the dots of solutions, which small maps have no room for.
func smallCells(run *runs.Run, r *runs.Repertoire) (*figures.Cells, error) {
	cells, err := figures.CellsOf(run, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", run.Name(), err)
	}
	cells.Descriptors = nil
	return cells, nil
}

// shorten leaves of the names of descriptors what small maps have room for.
func shorten(c *figures.Cells) {
	for _, label := range []*string{&c.XLabel, &c.YLabel} {
		*label = strings.TrimPrefix(strings.TrimPrefix(*label, "final "), "contact of ")
	}
}

// Best opens the training run of a method on an environment whose seed has the best QD score.
func (d *Data) Best(label, env string) (*runs.Run, error) {
	best := bestQDScore(d.FinishedRuns(label, env))
	if best == nil {
		return nil, fmt.Errorf("%s on %s: %w", label, env, noRuns(results.ExperimentTraining))
	}
	return d.Run(best.Run)
}

// bestQDScore is the run with the highest QD score, the first of equals; nil of none.
func bestQDScore(trained []results.Trained) *results.Trained {
	var best *results.Trained
	for i := range trained {
		if best == nil || trained[i].QDScore > best.QDScore {
			best = &trained[i]
		}
	}
	return best
}

// nothing is why a figure cannot be drawn: no run of an experiment is complete, or what reading
// them said.
func nothing(failed error, what, experiment string) error {
	if failed != nil {
		return failed
	}
	return fmt.Errorf("there are no %s to draw: %w", what, noRuns(experiment))
}
