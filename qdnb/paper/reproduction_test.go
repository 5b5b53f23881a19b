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
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// trained adds a complete training run.
func (f *folder) trained(t *testing.T, method, env string, seed int64, hidden int,
	budget runs.Budget,
	status runs.Status) {
	t.Helper()
	c := must.Get(runs.NewConfig(method, env, seed, map[string]any{"hidden": []int{hidden, hidden}}))
	status.CPUSeconds = max(status.CPUSeconds, budget.CPU.Seconds())
	status.EnvSteps = max(status.EnvSteps, budget.EnvSteps)
	f.run(t, sweep.Line{Experiment: results.ExperimentTraining, Label: method, Run: c, Budget: budget},
		status, "env_steps,seconds,max_fitness,coverage,qd_score\n1,2,3,4,5\n")
}

// ended returns a status with scores and the paper's steps times a share.
func ended(method, env string, share, fitness, score float64) runs.Status {
	status := runs.Status{Progress: runs.Progress{Generation: 1, Seconds: 600,
		EnvSteps: int64(share * float64(results.PaperSteps(method, env)))},
		MaxFitness: fitness, QDScore: score}
	status.UseBackend("xla:cpu", -1)
	return status
}

func page(t *testing.T, folders ...*Data) string {
	t.Helper()
	record := must.Get(Reproduce(folders...))
	return record.Markdown()
}

// has checks that a page has texts.
func has(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

var twelveMinutes = runs.Budget{CPU: 12 * time.Minute}

func TestReproduction(t *testing.T) {
	f := &folder{dir: t.TempDir()}
	for seed, fitness := range []float64{370, 392, 400} {
		s := ended("map-elites", "ant-trap", 0.25, fitness, 398_960)
		if seed == 1 {
			s.UseMachine(runs.MachineUse{Machine: "Xeon, 2 cores", Version: "v1", Commit: "abc", After: -1})
			s.UseMachine(runs.MachineUse{Machine: "EPYC, 8 cores", Version: "v1", Commit: "abc", After: 3})
		}
		f.trained(t, "map-elites", "ant-trap", int64(seed), 64, twelveMinutes, s)
	}
	f.trained(t, "aurora", "ant-trap", 0, 64, twelveMinutes,
		ended("aurora", "ant-trap", 1, 458, 300_000))
	f.trained(t, "pga-aurora", "ant-omni", 0, 64, twelveMinutes,
		ended("pga-aurora", "ant-omni", 0.1, 249, 275_000))
	d := f.open(t)
	got := page(t, d)
	has(t, got,
		"## Scale medium: 12m0s of processor time a run, networks of 64 × 64 units\n",
		"3 of 56 cells have complete runs. Of their numbers, 3 are inside the paper's spread, 1 below "+
			"and "+
			"2\nabove. One seed of the other cells costs about 5.3 h on two cores.\n",
		"1. machine and commit not recorded; xla:cpu.\n2. Xeon, 2 cores; qdnb v1; commit abc; xla:cpu.\n"+
			"3. EPYC, 8 cores; qdnb v1; commit abc; xla:cpu.\n",
		"| MAP-Elites | 381 (± 11.0) | 392 (± 12.7), inside | 453000 (± 54000) | 399000 (± 0), inside "+
			"| 3 | "+
			"400M (0.25) | 10 min (12 min) | 1, 2, 3 |  |\n",
		"| AURORA | 405 (± 52.0) | 458, above | 354000 (± 11000) | 300000, below | 1 | 1.2G (1) | "+
			"10 min (12 min) | 1 | smaller networks; max fitness above by 1.0 deviations: "+
			"perhaps chance |\n",
		"| QD score above by 2.5 deviations: reason unknown |\n",
		"| PGA-AURORA | 472 (± 31.0) | – | 440000 (± 64000) | – | 0 |  |  |  | not run: about 6 min on "+
			"two "+
			"cores |\n",
		"### walker-uni\n\n| method | max fitness, paper | QD score, paper | remarks |\n",
		"## Scale paper: budgets of environment steps, networks of 256 × 256 units\n\n0 of 56 cells",
		"| not run: about 66 min on two cores (estimate: 2.0 h or less on an H100-class GPU) |\n",
	)
	if rows := strings.Count(got, ": about "); rows != 2*56-3 {
		t.Errorf("%d cells are marked as not run", rows)
	}
	for line := range strings.Lines(strings.TrimPrefix(got, recordIntro)) {
		if !strings.HasPrefix(line, "|") && len([]rune(line)) > 101 {
			t.Errorf("the line %q is too long", line)
		}
	}
	if again := page(t, f.open(t)); again != got {
		t.Error("a second page differs")
	}
	record, err := Reproduce(d)
	must.Do(err)
	var pictures [2][]byte
	for i := range pictures {
		figure, err := record.Figure()
		if err == nil {
			pictures[i], err = figure.PNG(50)
		}
		must.Do(err)
	}
	if !bytes.Equal(pictures[0], pictures[1]) {
		t.Error("a second figure differs")
	}

	// Two folders have a section each, and the second is at the paper's scale.
	p := &folder{dir: t.TempDir()}
	p.trained(t, "dads-reward", "ant-trap", 0, 256, runs.Budget{EnvSteps: 8_500_000},
		ended("dads-reward", "ant-trap", 1, 1280, 242_000))
	got = page(t, d, p.open(t))
	has(t, got, "## Scale medium: ",
		"1280, inside | 242000 (± 80000) | 242000, inside | 1 | 8.5M (1) | ")
	if strings.Count(got, "## Scale ") != 2 {
		t.Error("the page has sections too many")
	}
}

func TestCellsNotComplete(t *testing.T) {
	f := &folder{dir: t.TempDir()}
	f.trained(t, "map-elites", "ant-trap", 0, 64, twelveMinutes,
		ended("map-elites", "ant-trap", 0.1, 1, 1))
	f.trained(t, "aurora", "ant-trap", 0, 64, twelveMinutes, ended("aurora", "ant-trap", 0.1, 1, 1))
	f.lines[1].Budget.CPU *= 2 // the second is unfinished
	file, err := os.Create(filepath.Join(f.dir, "other.jsonl"))
	if err == nil {
		err = sweep.Write(file, f.lines)
	}
	must.Do(err)
	d := must.Get(OpenPlan(file.Name()))
	has(t, page(t, d), "| – | 0 |  |  |  | not complete: about 6 min on two cores |\n")
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

// Known reasons are shown only for numbers outside the paper's spread.
func TestReasons(t *testing.T) {
	rows, err := reasons()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d reasons, %v", len(rows), err)
	}
	known := [][]string{{"", "paper", "medium", "small"}, append(protocol.Compared(), ""),
		append(protocol.Environments(), ""), {"", "max_fitness", "qd_score"}, {"", below, above}}
	for i, row := range rows {
		for k, values := range known {
			if !slices.Contains(values, row[k]) {
				t.Errorf("reason %d: %q is none of %q", i, row[k], values)
			}
		}
		if !strings.HasSuffix(row[5], ".") {
			t.Errorf("reason %d is not a sentence: %q", i, row[5])
		}
	}
	for fitness, want := range map[float64]bool{-24: false, -157: true} {
		f := &folder{dir: t.TempDir()}
		f.trained(t, "aurora", "pointmaze", 0, 256, runs.Budget{Time: 2 * time.Hour},
			runs.Status{Progress: runs.Progress{Seconds: 7200, EnvSteps: results.PaperSteps("aurora",
				"pointmaze")}, MaxFitness: fitness, QDScore: 4.58e5})
		got := page(t, f.open(t))
		if strings.Contains(got, "below the upper wall") != want {
			t.Errorf("fitness %g: the reason is shown: %v", fitness, !want)
		}
		has(t, got, "## Scale paper: 2h0m0s a run")
		if want {
			has(t, got, "| 1 | [2] |\n")
		}
	}
}

func TestRecordOfDamagedRuns(t *testing.T) {
	for name, text := range map[string]string{"status.json": "{", "metrics.csv": "env_steps\n1\n"} {
		f := &folder{dir: t.TempDir()}
		for seed := range int64(2) {
			f.trained(t, "map-elites", "ant-trap", seed, 64, twelveMinutes,
				ended("map-elites", "ant-trap", 0.1, 1, 1))
		}
		f.open(t)
		dir := filepath.Join(f.dir, RunsFolder, f.lines[1].Run.Name())
		must.Do(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
		d := must.Get(Open(f.dir))
		record, err := Reproduce(d)
		if err == nil || record != nil {
			t.Fatalf("%s: no error", name)
		}
		for _, want := range []string{dir, name} {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q in a line", name, err, want)
			}
		}
	}
	errtest.Want(t, errtest.Of(Reproduce(&Data{Tables: new(results.Tables)})), "make experiments")
}

// The committed page is what the command writes from the shipped runs.
func TestCommittedRecord(t *testing.T) {
	root := filepath.Join("..", "..")
	committed, err := os.ReadFile(filepath.Join(root, "docs", "reproduction.md"))
	must.Do(err)
	var folders []*Data
	for _, dir := range []string{shippedFolder, shippedFolder + "-paper"} {
		data := must.Get(Open(filepath.Join(root, dir)))
		folders = append(folders, data)
	}
	if page(t, folders...) != string(committed) {
		t.Error("docs/reproduction.md is out of date: run `make reproduction`")
	}
}
