package paper

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// beyond returns the methods and environments of the experiment of that name: later methods, after
// those of the paper that do the same work, on the environments on which later ones have runs.
func beyond(d *Data) (methods, envs []string, err error) {
	for _, method := range allMethods {
		if slices.ContainsFunc(records.Names(records.Later), func(later string) bool {
			return records.Of(later).Work() == strings.TrimSuffix(method, "-reward")
		}) {
			methods = append(methods, method)
		}
	}
	methods = append(methods, records.Names(records.Later)...)
	envs = slices.DeleteFunc(slices.Clone(curveEnvs), func(env string) bool {
		return !slices.ContainsFunc(records.Names(records.Later),
			func(method string) bool { return len(d.FinishedRuns(method, env)) > 0 })
	})
	if len(envs) == 0 {
		err = d.noRuns(results.ExperimentBeyond)
	}
	return methods, envs, err
}

// BeyondCurvesOverSteps draws the metrics of later methods and of the paper's that do the same work over
// environment steps, for the environments on which a later method has runs. Steps that only measure are
// not among them. The axis is logarithmic if a method ends in its first fifth. The five methods with the best
// final QD scores, by their mean rank over environments, are in colour.
func BeyondCurvesOverSteps(d *Data) (figures.Grid, error) {
	return beyondCurves(d, stepsAxis(math.Inf(1)))
}

// BeyondCurvesOverTime draws the same over time, see [CurvesOverTime].
func BeyondCurvesOverTime(d *Data) (figures.Grid, error) { return beyondCurves(d, timeAxis) }

func beyondCurves(d *Data, axis curveAxis) (figures.Grid, error) {
	methods, envs, err := beyond(d)
	if err != nil {
		return figures.Grid{}, err
	}
	axis.coloured = 2
	return metricCurves(d, methods, envs, axis)
}

// emphasise leaves the colours of the methods with the first places by the final QD score on an environment, as
// archived or corrected, and draws the others in grey below them. Rows are the methods on the environments.
func emphasise(d *Data, envs []string, rows [][]seeds, places int) {
	var best []string
	for i, row := range rows {
		for _, of := range []func(method, env string) []float64{d.finalQDScores, d.correctedQDScores} {
			scores := map[string]float64{}
			for _, s := range row {
				if x := stats.Median(of(s.name, envs[i])); !math.IsNaN(x) {
					scores[s.name] = x
				}
			}
			names := slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
				return cmp.Or(cmp.Compare(scores[b], scores[a]), strings.Compare(a, b))
			})
			best = append(best, names[:min(places, len(names))]...)
		}
	}
	styles := figures.MethodStyles(best...)
	for _, row := range rows {
		slices.SortStableFunc(row, func(a, b seeds) int { // the last is drawn on top
			return cmp.Compare(place(best, b.name), place(best, a.name))
		})
		for i := range row {
			style, ok := styles[row[i].name]
			if row[i].named = ok; !ok {
				row[i].name = "others" // the legend has them last
				style = figures.Style{Name: "Others", Color: color.NRGBA{R: 0xc4, G: 0xc4, B: 0xc4, A: 0xff}}
			}
			row[i].style = &style
		}
	}
}

func (d *Data) finalQDScores(method, env string) []float64 {
	return d.Scores(method, env, results.QDScore)
}

// correctedQDScores are those of the seeds of a method on an environment that have a corrected repertoire of their
// end.
func (d *Data) correctedQDScores(method, env string) (scores []float64) {
	for _, trained := range d.FinishedRuns(method, env) {
		if corrected, err := d.corrected(trained); err == nil && corrected != nil { // else Corrected reports it
			scores = append(scores, corrected.Stats().QDScore)
		}
	}
	return scores
}

// corrected returns the corrected repertoire of the end of a run, nil if there is none.
func (d *Data) corrected(trained results.Trained) (*runs.Snapshot, error) {
	run, err := d.Run(trained.Run)
	if err != nil {
		return nil, err
	}
	all, err := run.Corrected()
	if n := len(all); n > 0 && all[n-1].Generation == trained.Generation { // not of before an extension
		return &all[n-1], err
	}
	return nil, err
}

// place is the index of a name in a list, which is its length for all others.
func place(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// BeyondRepertoires draws the repertoires of the methods of [BeyondCurvesOverTime]: rows of seven maps for each
// environment, with the seed of the best QD score and a common range of colours.
func BeyondRepertoires(d *Data) (figures.Grid, error) {
	methods, envs, err := beyond(d)
	if err != nil {
		return figures.Grid{}, err
	}
	envs = slices.DeleteFunc(envs, func(env string) bool { return !slices.Contains(mapEnvs, env) })
	var grid figures.Grid
	var failed unread
	for _, env := range envs {
		var maps []*figures.Panel
		bar := new(figures.ColorBar)
		for _, method := range methods {
			panel, err := d.finalMap(bestQDScore(d.FinishedRuns(method, env)), bar, figures.MethodName(method))
			if failed.add(err, method, env); panel != nil {
				maps = append(maps, panel)
			}
		}
		for row := range slices.Chunk(maps, 7) {
			grid.Panels, grid.Rows = append(grid.Panels, row), append(grid.Rows, env)
		}
	}
	if len(grid.Panels) == 0 {
		return grid, d.nothing(failed, "repertoires", results.ExperimentBeyond)
	}
	grid.Note = failed.note(d.missing(methods, envs))
	return grid, nil
}

// Corrected returns a table of metrics as archived and corrected (see [runs.Run.Corrected]):
// medians over seeds for the environments and methods whose runs have corrected repertoires. The
// best of a column on an environment is bold.
func Corrected(d *Data) (*tables.Table, error) {
	table := &tables.Table{
		Caption: "As archived and corrected: medians over seeds",
		Header: []string{"environment", "method", "seeds", "steps (10⁶)", "max fitness", "corrected", "coverage (%)",
			"corrected", "QD score", "corrected"},
		Grouped: true,
	}
	var episodes []string
	var failed unread
	for _, env := range curveEnvs {
		first := len(table.Rows)
		var columns [6][]float64
		for _, method := range slices.Concat(allMethods, records.Names(records.Later)) {
			var values [6][]float64
			var steps []float64
			for _, trained := range d.FinishedRuns(method, env) {
				last, err := d.corrected(trained)
				if failed.add(err, method, env); last == nil {
					continue
				}
				episodes = lists.With(episodes, fmt.Sprint(last.Correction))
				steps = append(steps, trained.EnvSteps/1e6)
				s := last.Stats()
				for i, x := range []float64{trained.MaxFitness, s.MaxFitness, trained.Coverage, s.Coverage,
					trained.QDScore, s.QDScore} {
					values[i] = append(values[i], x)
				}
			}
			if len(values[0]) == 0 {
				continue
			}
			for i := range columns {
				columns[i] = append(columns[i], stats.Median(values[i]))
			}
			table.Rows = append(table.Rows, tables.Row(env, figures.MethodName(method),
				fmt.Sprint(len(values[0])), tables.Short(stats.Median(steps), 3)))
		}
		rows := table.Rows[first:]
		for _, column := range columns {
			for i, entry := range tables.Column(column...) {
				entry.Bold = entry.Bold && len(column) > 1
				rows[i] = append(rows[i], entry)
			}
		}
	}
	switch {
	case len(table.Rows) == 0 && failed.err != nil:
		return nil, failed.err
	case len(table.Rows) == 0:
		return nil, absent{fmt.Sprintf("no run of %s has a corrected repertoire of its end: use "+
			"`qdnb eval RUN --corrected --save`, or train new runs with `qdnb sweep run --corrected 8`", d.Dir)}
	}
	table.Notes = notes(fmt.Sprintf("Corrected: the %s of each policy from fresh initial states, inserted into an empty "+
		"repertoire.", strings.Join(episodes, " or the ")), failed.note(""))
	return table, nil
}
