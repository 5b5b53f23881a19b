package paper

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// trained adds a complete training run.
func (f *folder) trained(t *testing.T, method, env string, seed int64, hidden int,
	budget runs.Budget, status runs.Status, metrics ...string) {
	t.Helper()
	c := must.Get(runs.NewConfig(method, env, seed, map[string]any{"hidden": []int{hidden, hidden}}))
	status.CPUSeconds = max(status.CPUSeconds, budget.CPU.Seconds())
	status.EnvSteps = max(status.EnvSteps, budget.EnvSteps)
	f.run(t, sweep.Line{Experiment: results.ExperimentTraining, Label: method, Run: c, Budget: budget},
		status, strings.Join(append(metrics, "env_steps,seconds,max_fitness,coverage,qd_score\n1,2,3,4,5\n")[:1], ""))
}

// ended returns a status with scores and the paper's steps times a share.
func ended(method, env string, share, fitness, score float64) runs.Status {
	status := runs.Status{Progress: runs.Progress{Generation: 1, Seconds: 600,
		EnvSteps: int64(share * float64(results.PaperSteps(method, env)))},
		MaxFitness: fitness, QDScore: score}
	status.UseBackend("xla:cpu", -1)
	return status
}

var twelveMinutes = runs.Budget{CPU: 12 * time.Minute}

func TestCompare(t *testing.T) {
	d := scoresData()
	table := must.Get(CompareScores(d))
	for _, want := range []string{
		"seeds × share,\"max fitness, paper\",ours,equal shares,\"QD score, paper\",ours," +
			"equal shares,remarks\nant-trap (6.3e-05 %),MAP-Elites,3 × 6.3e-07,381 (± 11.0)," +
			"200 (± 497) ↓,200 (± 497),453000 (± 54000),453000 (± 0) =,453000 (± 0),\n",
		"1000000,[1]\n",
		"my-variant,1,–,5.00,–,–,7.00,–,\n",
	} {
		if got := table.CSV(); !strings.Contains(got, want) {
			t.Errorf("%slacks\n%s", got, want)
		}
	}
	some, err := CompareScores(d, "ant-uni", "pointmaze")
	if err != nil || len(some.Rows) != 4 || !strings.HasPrefix(some.Rows[0][0].Text, "ant-uni") {
		t.Errorf("%v, %v", some, err)
	}
	errtest.Want(t, errtest.Of(CompareScores(d, "pointmaze")), "no run on pointmaze is complete; there are "+
		"runs on ant-trap, ant-uni")

	// Notes are text: a table shows Markdown as it is written.
	if found := unlinked("in the code ([measurements](algorithms/aurora.md#differences)), `cvt_seed` 0"); found !=
		"in the code (measurements in docs/algorithms/aurora.md), cvt_seed 0" {
		t.Error(found)
	}
	// Notes mention the misprints.
	maze := &Data{Tables: &results.Tables{Trained: seededRuns("training", "smerl-diayn", "pointmaze",
		1, [2]float64{-40, 38_900})}}
	if table, err := CompareScores(maze); err != nil || len(table.Notes) != 2 ||
		!strings.Contains(table.Notes[1], "Ten times what table 11 prints") {
		t.Errorf("%v, %v", table, err)
	}

	// On ant-uni the paper's order of QD scores is PGA-MAP-Elites, MAP-Elites, SMERL(DADS), as here.
	// Its order of max fitness is SMERL(DADS), PGA-MAP-Elites, MAP-Elites; here the first is last.
	for i, r := range d.Trained {
		d.Trained[i].EnvSteps = results.PaperSteps(r.Algorithm, r.Env)
	}
	if got, want := csvOf(t, CompareOrder, d), "environment,methods,share (%),max fitness,QD score\n"+
		"ant-trap,2,100,–,–\nant-uni,3,100,-0.50,1.00\nmean,,,-0.50,1.00\n"; got != want {
		t.Errorf("%swant\n%s", got, want)
	}
}

// unknown is the origin of the programs of runs that do not record them.
func unknown(*runs.Run) string { return "unknown" }

func TestReproductionPage(t *testing.T) {
	f := &folder{dir: filepath.Join(t.TempDir(), "medium")}
	for seed, fitness := range []float64{370, 392, 400} {
		f.trained(t, "map-elites", "ant-trap", int64(seed), 64, twelveMinutes,
			ended("map-elites", "ant-trap", 0.25, fitness, 398_960))
	}
	f.trained(t, "aurora", "ant-trap", 0, 64, twelveMinutes,
		ended("aurora", "ant-trap", 1, 458, 300_000),
		"env_steps,seconds,max_fitness,coverage,qd_score\n200000000,2,333,4,111000\n"+
			"1200000000,2,458,4,300000\n")
	p := &folder{dir: filepath.Join(t.TempDir(), "paper")}
	p.trained(t, "dads-reward", "ant-trap", 0, 256, runs.Budget{EnvSteps: 8_500_000},
		ended("dads-reward", "ant-trap", 1, 1280, 242_000),
		"env_steps,seconds,max_fitness,coverage,qd_score\n4250000,2,1280,4,5\n8500000,3,1280,4,242000\n")
	d, own := f.open(t), p.open(t)
	page := must.Get(ReproductionPage(unknown, d, own))
	errtest.Contains(t, page,
		"## Scores at scale medium\n\n2 of 56 cells; 4 runs, hidden layers of 64 and 64 units, 12m of processor time each. ",
		" Runs by the programs that computed them: unknown: 4.\n",
		"| max fitness | seeds | share | ant-trap |",
		"| MAP-Elites | 3 | 0.25 | 392 = (381) | – |", "| MAP-Elites | 3 | 0.25 | 399000 = (453000) | – |",
		"| AURORA | 1 | 1 | 458 ↑ (405) [1] | – |",
		"\n## Remarks\n\n[1] 1.0 deviations above: perhaps chance.\n",
		"## Scores at the paper's settings\n", "| DADS+REWARD | 1 | 1 | 1280 = (1280 at 0.5) | – |")
	if again := must.Get(ReproductionPage(unknown, f.open(t), p.open(t))); again != page {
		t.Error("a second page differs")
	}
	var pictures [2][]byte
	for i := range pictures {
		pictures[i] = must.Get(must.Get(must.Get(ReproductionFigure(d, own)).Figure()).PNG(50))
	}
	if !bytes.Equal(pictures[0], pictures[1]) {
		t.Error("a second figure differs")
	}

	// A damaged run is an error.
	for name, text := range map[string]string{"status.json": "{", "metrics.csv": "env_steps\n1\n"} {
		path := filepath.Join(f.dir, RunsFolder, f.lines[1].Run.Name(), name)
		whole := must.Get(os.ReadFile(path))
		must.Do(os.WriteFile(path, []byte(text), 0o666))
		errtest.Want(t, errtest.Of(ReproductionPage(unknown, must.Get(Open(f.dir)))), filepath.Dir(path), name)
		must.Do(os.WriteFile(path, whole, 0o666))
	}
	errtest.Want(t, errtest.Of(ReproductionFigure(&Data{Tables: new(results.Tables)})), "make experiments")
}

func TestSideOf(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		own         []float64
		median, std float64
		want        string
	}{
		{[]float64{392}, 381, 11, inside},
		{[]float64{392.49}, 381, 11, inside}, // prints as 392
		{[]float64{392.5001}, 381, 11, above},
		{[]float64{370}, 381, 11, inside},
		{[]float64{369.4}, 381, 11, below},
		{[]float64{-23.3}, -23, 0.3, inside}, // although -23.3 - -23 is more than 0.3 in float64
		{[]float64{-23.4}, -23, 0.3, below},
		{[]float64{249.4, 248.6, 249}, 249, 0, inside},
		{[]float64{250}, 249, 0, above},
		{[]float64{398_960}, 453_000, 54_000, inside},
		{nil, 1, 1, ""}, {[]float64{1}, 1, nan, ""}, {[]float64{nan}, 1, 1, ""},
	} {
		if got := sideOf(c.own, PublishedScore{Median: c.median, Std: c.std}); got != c.want {
			t.Errorf("%v of %g ± %g: %q, want %q", c.own, c.median, c.std, got, c.want)
		}
	}
}

// Known reasons are sentences and have keys that exist.
func TestReasons(t *testing.T) {
	known := [][]string{{"", "paper", "medium", "small"}, append(records.Compared(), ""),
		append(protocol.Environments(), ""), {"", "max_fitness", "qd_score"}, {"", below, above}}
	for i, row := range reasons() {
		for k, values := range known {
			if !slices.Contains(values, row[k]) {
				t.Errorf("reason %d: %q is none of %q", i, row[k], values)
			}
		}
		if !strings.HasSuffix(row[5], ".") {
			t.Errorf("reason %d is not a sentence: %q", i, row[5])
		}
	}
	if reasonFor("small", "aurora", "pointmaze", "qd_score", below) == "" ||
		reasonFor("small", "aurora", "pointmaze", "qd_score", above) != "" {
		t.Error("a reason is for the other side")
	}
}
