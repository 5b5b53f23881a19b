package paper

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/imagetest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
)

// frozen returns a few of the shipped runs, with settings of the sensitivity grids, which are not shipped.
func frozen() *Data {
	d := must.Get(Open("testdata/frozen"))
	for i, env := range sensitivityEnvs {
		for k, grid := range protocol.Grids() {
			for setting := range 9 {
				d.Trained = append(d.Trained, results.Trained{Experiment: results.ExperimentSensitivity,
					Label: grid.Method, Algorithm: grid.Method, Env: env, Finished: true,
					Point: results.Point{QDScore: 100 - float64(30*k+(setting*(7+i)+k)%20)},
					A:     results.Setting{Name: "a", Value: float64(setting / 3)},
					B:     results.Setting{Name: "b", Value: float64(setting % 3)}})
			}
		}
	}
	return d
}

// Every figure of the paper, and those beyond it, are as in testdata.
func TestFigures(t *testing.T) {
	data := frozen()
	draw := map[string]func(*Data) (figures.Grid, error){"beyond-curves": BeyondCurvesOverTime,
		"beyond-repertoires": BeyondRepertoires, "overall": Overall, "profiles": Profiles,
		"improvements": func(d *Data) (figures.Grid, error) { return Improvements(d) },
		"reproduction": func(d *Data) (figures.Grid, error) { return ReproductionFigure(d) }}
	for _, item := range Items() {
		if item.Figure != nil {
			draw[item.ID] = item.Figure
		}
	}
	for name, figure := range draw {
		t.Run(name, func(t *testing.T) {
			imagetest.Equal(t, name, must.Get(must.Get(must.Get(figure(data)).Figure()).Image(56)))
		})
	}
}

// folder is an experiments folder that a test fills with complete runs.
type folder struct {
	dir   string
	lines []sweep.Line
}

func newFolder(t *testing.T) *folder { return &folder{dir: t.TempDir()} }

// run writes the run of a line: its status, the text of metrics.csv if not empty, and the additions of fill.
func (f *folder) run(t *testing.T, line sweep.Line, status runs.Status, metrics string, fill ...func(*runs.Writer)) {
	t.Helper()
	w := must.Get(runs.Create(filepath.Join(f.dir, RunsFolder), line.Run))
	defer w.Close()
	if metrics != "" {
		must.Do(os.WriteFile(filepath.Join(w.Dir, "metrics.csv"), []byte(metrics), 0o666))
	}
	status.Finished = true
	must.Do(w.SaveStatus(status))
	for _, add := range fill {
		add(w)
	}
	f.lines = append(f.lines, line)
}

// open reads the folder by its plan. All runs must be complete.
func (f *folder) open(t *testing.T) *Data {
	t.Helper()
	file := must.Get(os.Create(filepath.Join(f.dir, PlanFile)))
	defer file.Close()
	must.Do(sweep.Write(file, f.lines))
	data := must.Get(Open(f.dir))
	if data.Complete != len(f.lines) || len(data.Problems) > 0 {
		t.Fatalf("%d of %d runs, problems %v", data.Complete, len(f.lines), data.Problems)
	}
	return data
}

// shown are the outputs of the figure notebooks.
func shown() map[string]func(*Data) (any, error) {
	all := map[string]func(*Data) (any, error){}
	for _, item := range Items() {
		if len(item.Experiments) == 0 {
			continue
		}
		all[item.ID] = func(d *Data) (any, error) {
			if item.Figure != nil {
				return item.Figure(d)
			}
			return item.Table(d)
		}
	}
	for name, figure := range map[string]func(*Data) (figures.Grid, error){"overall": Overall,
		"profiles": Profiles, "improvements": func(d *Data) (figures.Grid, error) { return Improvements(d) },
		"reproduction": func(d *Data) (figures.Grid, error) { return ReproductionFigure(d) }, "iqm": AdaptationIQM,
		"beyond steps": BeyondCurvesOverSteps, "beyond time": BeyondCurvesOverTime, "beyond repertoires": BeyondRepertoires,
		"trajectories": on(SkillTrajectories, "pointmaze", "diayn-reward", "dads-reward")} {
		all[name] = func(d *Data) (any, error) { return figure(d) }
	}
	for name, table := range map[string]func(*Data) (*tables.Table, error){
		"targets": AdaptationTargets, "impact": RewardImpact, "settings": SensitivitySettings, "corrected": Corrected,
		"order":              CompareOrder,
		"scores":             func(d *Data) (*tables.Table, error) { return CompareScores(d) },
		"scores on ant-trap": func(d *Data) (*tables.Table, error) { return CompareScores(d, "ant-trap", "ant-omni") },
		"pairs":              func(d *Data) (*tables.Table, error) { return Comparisons(d) },
		"skills":             func(d *Data) (*tables.Table, error) { return AdaptationSkills(d, results.Gravity, "") },
		"skills on walker":   func(d *Data) (*tables.Table, error) { return AdaptationSkills(d, results.Gravity, "walker-uni") },
	} {
		all[name] = func(d *Data) (any, error) { return table(d) }
	}
	all["page"] = func(d *Data) (any, error) { return ReproductionPage(unknown, d) }
	return all
}

// plans are experiments folders, and data without one, that lack methods, environments, seeds or whole experiments.
func plans(t *testing.T) map[string]*Data {
	one, two, beyond := newFolder(t), newFolder(t), newFolder(t)
	for f, lines := range map[*folder][][3]string{one: {{"training", "map-elites", "pointmaze"}},
		two: {{"training", "map-elites", "pointmaze"}, {"training", "pga-map-elites", "ant-omni"},
			{"training", "pga-map-elites", "pointmaze"}},
		beyond: {{"beyond", "dns", "pointmaze"}}} {
		for _, line := range lines {
			f.curve(t, line[0], line[1], line[2], 0, `{}`, [5]float64{0, 1, -5, 1, 1}, [5]float64{1000, 2, 10, 20, 100})
		}
	}
	dir, lines := shippable(t)
	return map[string]*Data{"one-method": one.open(t), "two-methods": two.open(t), "beyond": beyond.open(t),
		"adaptation": adapted(t), "curves": trainedCurves(t), "maps": mapped(t),
		"shipped": must.Get(Open(shipped(t, dir, lines))), "scores": scored(),
		"no-runs": {Tables: &results.Tables{}, Dir: t.TempDir()}}
}

var svgText = regexp.MustCompile(`>([^<>]+)</text>`)

// described returns what an output shows: a table as it is; the texts of a figure in the order in which they are drawn, and
// the numbers of its marks; or the error.
func described(t *testing.T, shown any, err error) (text string) {
	if err != nil {
		return err.Error() + "\n"
	}
	switch x := shown.(type) {
	case string:
		return "a page\n"
	case *tables.Table:
		return x.Markdown()
	case figures.Grid:
		for _, match := range svgText.FindAllStringSubmatch(says(t, x, nil), -1) {
			text += match[1] + " | "
		}
		for _, panel := range slices.Concat(x.Panels...) {
			if panel == nil {
				continue
			}
			for _, entry := range panel.Legend {
				switch m := entry.Mark.(type) {
				case *figures.Series:
					text += fmt.Sprintf("\n%s: %s: x %.4g y %.4g from %.4g to %.4g", panel.Title.Text, m.Name,
						m.X, m.Y, m.Low, m.High)
				case *figures.Box:
					text += fmt.Sprintf("\n%s: %s: %.4g", panel.Title.Text, m.Name, m.Values)
				}
			}
		}
	}
	return text + "\n"
}

// Every output of a plan is in testdata/shown: what it shows, the runs that its caption names, what it says is missing, or
// why it is absent, in one line. Absence is no failure of a notebook, unless the data are rows without a folder. After an
// intended change, run go test -update and read what changed.
func TestShown(t *testing.T) {
	outputs, all := shown(), plans(t)
	cell.Complete() // runs that were read before are not shown by the first output
	for name, data := range all {
		text := ""
		for _, output := range slices.Sorted(maps.Keys(outputs)) {
			drawn, err := outputs[output](data)
			if err != nil && data.Dir != "" && (!errors.As(err, &absent{}) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s of %s fails: %v", output, name, err)
			}
			text += "## " + output + "\n" + described(t, drawn, err)
			if runs, _, ok := strings.Cut(cell.Caption(), " of "); ok && err == nil && data.Dir != "" {
				text += "Caption: " + runs + "\n"
			}
			cell.Complete()
		}
		imagetest.Text(t, filepath.Join("shown", name+".txt"), strings.ReplaceAll(text, cmp.Or(data.Dir, "no folder"), "FOLDER"))
	}
}
