package paper

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/internal/imagetest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// frozen returns a few of the shipped runs, with settings of the sensitivity grids, which are not
// shipped.
func frozen() *Data {
	d := must.Get(Open("testdata/frozen"))
	for i, env := range sensitivityEnvs {
		for k, grid := range protocol.Grids() {
			for setting := range 9 {
				d.Trained = append(d.Trained, results.Trained{Experiment: results.ExperimentSensitivity,
					Label: grid.Method, Algorithm: grid.Method, Env: env, Finished: true,
					QDScore: 100 - float64(30*k+(setting*(7+i)+k)%20),
					A:       results.Setting{Name: "a", Value: float64(setting / 3)},
					B:       results.Setting{Name: "b", Value: float64(setting % 3)}})
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

// run writes the run of a line: its status, the text of metrics.csv if not empty, and the additions
// of fill.
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
