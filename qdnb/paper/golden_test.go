package paper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		"claims":             func(d *Data) (*tables.Table, error) { return Claims(d) },
		"page": func(d *Data) (*tables.Table, error) {
			_, err := ReproductionPage(unknown, d)
			return nil, err
		},
		"skills": func(d *Data) (*tables.Table, error) { return AdaptationSkills(d, results.Gravity, "") },
	} {
		all[name] = func(d *Data) (any, error) { return table(d) }
	}
	return all
}

// Every output of a plan that lacks methods, experiments or all runs is drawn, and says what is missing, or
// is absent, which is no failure of a notebook.
func TestOwnPlansLackWhatTheyDoNotHave(t *testing.T) {
	one, two, three := newFolder(t), newFolder(t), newFolder(t)
	for f, lines := range map[*folder][][3]string{one: {{"training", "map-elites", "pointmaze"}},
		two:   {{"training", "map-elites", "pointmaze"}, {"training", "pga-map-elites", "ant-omni"}},
		three: {{"beyond", "dns", "pointmaze"}}} {
		for _, line := range lines {
			f.curve(t, line[0], line[1], line[2], 0, `{}`, [5]float64{0, 1, -5, 1, 1}, [5]float64{1000, 2, 10, 20, 100})
		}
		for _, line := range f.lines {
			w := must.Get(runs.Create(filepath.Join(f.dir, RunsFolder), line.Run))
			must.Do(w.SaveRepertoire(fourCells(1, [2]float32{0, 0}, [2]float32{1, 1})))
			must.Do(w.Close())
		}
	}
	hurdles := three.open(t)
	hurdles.Controlled = []results.Controlled{{Label: "map-elites", Curve: []results.ControlPoint{
		{EnvSteps: 1, FitnessMean: 1, HurdlesMean: 1}, {EnvSteps: 2, FitnessMean: 2, HurdlesMean: 1}}}}

	missing := map[string]string{} // without runs, one line says how to make them
	for _, item := range Items() {
		if len(item.Experiments) > 0 {
			missing[item.ID] = fmt.Sprintf("experiments.Prepare(%q)", item.Experiments[0])
		}
	}
	for name, experiment := range map[string]string{"overall": "training", "profiles": "training", "improvements": "training",
		"order": "training", "scores": "training", "pairs": "training", "targets": "adaptation", "skills": "adaptation",
		"settings": "sensitivity", "impact": "reward", "beyond time": "beyond", "page": "training"} {
		missing[name] = fmt.Sprintf("experiments.Prepare(%q)", experiment)
	}
	dir, lines := shippable(t)

	others := "PGA-MAP-Elites, AURORA, PGA-AURORA, DIAYN+REWARD, DADS+REWARD, SMERL(DIAYN), SMERL(DADS)"
	for _, c := range []struct {
		data *Data
		want map[string]string // by output
	}{
		{one.open(t), map[string]string{"figure-2": others, "figure-6": others, "table-1": others + "; ant-trap",
			"table-8": others, "order": others, "overall": others, "scores": others, "claims": "needs MAP-Elites on ant-trap",
			"figure-5": `no run of the experiment "hurdles" is complete: make runs with experiments.Prepare("hurdles")`,
			"figure-10": "no skill trajectories of DIAYN+REWARD, DADS+REWARD on ant-trap: of the experiment \"training\" only " +
				"runs of MAP-Elites on pointmaze are complete",
			"pairs": "no pair of methods has runs", "scores on ant-trap": "there are runs on pointmaze",
			"skills": `no run of the experiment "adaptation" is complete`}},
		{two.open(t), map[string]string{"figure-6": "on pointmaze PGA-MAP-Elites", "table-11": "on ant-omni MAP-Elites",
			"overall":    "no method has complete runs on all of pointmaze, ant-omni",
			"figure-12b": "no intermediate repertoires of PGA-MAP-Elites, DADS+REWARD on ant-omni"}},
		{adapted(t), map[string]string{"figure-4": "No complete runs: PGA-MAP-Elites, AURORA, PGA-AURORA, DADS+REWARD",
			"figure-13": "AURORA", "figure-18": "AURORA", "targets": "DIAYN+REWARD", "skills": "SMERL(DADS)",
			"figure-16": "No complete runs: SMERL(DIAYN), DADS", "figure-2": `no run of the experiment "training"`}},
		{hurdles, map[string]string{"figure-5": "No complete runs: " + others, "figure-4": "adaptation"}},
		{must.Get(Open(shipped(t, dir, lines))),
			map[string]string{"figure-4": "not shipped yet", "figure-17": "not shipped yet", "corrected": "--corrected",
				"beyond time": "beyond", "beyond repertoires": "beyond"}},
		{&Data{Tables: &results.Tables{}, Dir: t.TempDir()}, missing},
	} {
		for name, draw := range shown() {
			drawn, err := draw(c.data)
			said := ""
			var absence interface{ Absent() bool }
			switch x := drawn.(type) {
			case figures.Grid:
				said = x.Note
			case *tables.Table:
				if x != nil {
					said = strings.Join(x.Notes, " ")
				}
			}
			if err != nil {
				said = err.Error()
				if !errors.As(err, &absence) || strings.Contains(said, "\n") {
					t.Errorf("%s fails: %v", name, err)
				}
			}
			if want := c.want[name]; !strings.Contains(said, want) {
				t.Errorf("%s says %q, not %q", name, said, want)
			}
		}
	}
}
