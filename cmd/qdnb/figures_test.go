package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/claims"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// experimentsFolder writes made-up training runs of two methods on ant-trap.
func experimentsFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var lines []sweep.Line
	for seed := range int64(3) {
		for algorithm, fitness := range map[string]float64{"map-elites": 381, "dads-reward": 1280} {
			lines = append(lines, made(t, filepath.Join(dir, paper.RunsFolder), algorithm, seed,
				fitness+float64(seed), 50+float64(seed)))
		}
	}
	file := must.Get(os.Create(filepath.Join(dir, paper.PlanFile)))
	must.Do(sweep.Write(file, lines))
	must.Do(file.Close())
	return dir
}

func TestFigures(t *testing.T) {
	dir, out := experimentsFolder(t), filepath.Join(t.TempDir(), "figures")
	stdout, _ := succeed(t, "figures", "--in", dir, "--out", out, "--only", "fig 6,table-1,table-3", "--format",
		"png,svg,pdf")
	for name, begins := range map[string]string{
		"figure-6.png": "\x89PNG", "figure-6.svg": "<?xml", "figure-6.pdf": "%PDF", "table-1.md": "",
		"table-1.csv": "", "table-1.tex": "", "table-3.md": "",
	} {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || len(data) == 0 || !strings.HasPrefix(string(data),
			begins) || !strings.Contains(stdout, name) {
			t.Errorf("%s: %d bytes, %v; output %q", name, len(data), err, stdout)
		}
	}
	text := string(must.Get(os.ReadFile(filepath.Join(out, "table-1.csv"))))
	if !strings.Contains(text, "382") || !strings.Contains(text, "1280") { // the medians over seeds
		t.Errorf("table 1 is\n%s", text)
	}
}

// Each failure is reported in one line, and the other items are still drawn.
func TestFiguresOfMissingRuns(t *testing.T) {
	dir, out := experimentsFolder(t), filepath.Join(t.TempDir(), "figures")
	_, stderr, status := invoke(t, "figures", "--in", dir, "--out", out, "--only", "figure-5,table-1")
	if status != 1 || !strings.Contains(stderr, "figure-5") || !strings.Contains(stderr,
		"failed to draw 1 of 2 items") {
		t.Errorf("status %d: %s", status, stderr)
	}
	must.Get(os.Stat(filepath.Join(out, "table-1.md")))
	for _, c := range []mistake{
		{[]string{"--in", t.TempDir()}, 1, "make experiments"},
		{[]string{"--in", dir, "--only", "figure-99"}, 1, "figure-99"},
		{[]string{"--in", dir, "--experiment", "smerl-targets"}, 1,
			"no selected figure or table uses the experiment smerl-targets"},
		{[]string{"--in", dir, "--only", "figure-2", "--experiment", "hurdles,prior"}, 1,
			"uses the experiment hurdles or prior"},
		{[]string{"--in", dir, "--experiment", "trainig"}, 1, `"training"`},
		{[]string{"--in", dir, "--only", "table-3", "--tables", "xls"}, 1, "xls"},
		{[]string{"--in", dir, "--only", "table-3", "--out", filepath.Join(dir, paper.PlanFile)}, 1,
			"choose another one"},
	} {
		c.args = append([]string{"figures"}, c.args...)
		refuses(t, c)
	}
	// Items that are the same for all runs need no runs.
	succeed(t, "figures", "--in", t.TempDir(), "--out", out, "--only", "table-2")
}

// made writes a complete training run on ant-trap with made-up numbers and returns its plan line.
func made(t *testing.T, root, algorithm string, seed int64, fitness, coverage float64) sweep.Line {
	t.Helper()
	c := must.Get(runs.NewConfig(algorithm, "ant-trap", seed, map[string]int{"batch": 7}))
	w := must.Get(runs.Create(root, c))
	defer w.Close()
	must.Do(w.Begin(-1, "generation", "env_steps", "seconds", "max_fitness", "coverage", "qd_score"))
	steps := results.PaperSteps(algorithm, "ant-trap")
	must.Do(w.Log(1, float64(steps), 2, fitness, coverage, 3))
	budget := runs.Budget{Generations: 1}
	status := runs.Status{Progress: runs.Progress{Generation: 1, EnvSteps: steps, Seconds: 2},
		MaxFitness: fitness, Coverage: coverage, QDScore: 3,
		Budget: budget, Finished: true}
	must.Do(w.SaveStatus(status))
	return sweep.Line{Experiment: "training", Label: algorithm, Run: c, Budget: budget}
}

func TestClaims(t *testing.T) {
	dir := experimentsFolder(t)
	var got checked
	if answer(t, &got, "claims", "--json", "--in", dir); got.Complete != 6 || got.Missing != 0 ||
		len(got.Problems) != 0 || len(got.Claims) != len(claims.Check(&results.Tables{})) {
		t.Fatalf("%+v", got)
	}

	// Text output, with a folder that cannot be read.
	entries := must.Get(os.ReadDir(filepath.Join(dir, "runs")))
	must.Do(os.WriteFile(filepath.Join(dir, "runs", entries[0].Name(), "config.json"),
		[]byte(`{"version": 2}`), 0o666))
	stdout, stderr := succeed(t, "claims", "--in", dir)
	if strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, entries[0].Name()) {
		t.Errorf("with a broken folder: %q", stderr)
	}
	errtest.Contains(t, stdout, "open           ant-trap (table 1), seeds: ", "-> best: DADS+REWARD 1280 (± ",
		"\nopen: qd-score: needs PGA-MAP-Elites on ant-trap")
	refuses(t, mistake{[]string{"claims", "--in", filepath.Join(dir, "none")}, 1, "has no plan.jsonl"})
}

// The committed page is what the command writes from the shipped runs.
func TestCommittedPage(t *testing.T) {
	root, out := filepath.Join("..", ".."), t.TempDir()
	shipped := filepath.Join(root, "notebooks", "results")
	succeed(t, "reproduction", "--in", shipped, "--in", shipped+"-paper", "--out", out)
	if string(must.Get(os.ReadFile(filepath.Join(out, "reproduction.md")))) !=
		string(must.Get(os.ReadFile(filepath.Join(root, "docs", "reproduction.md")))) {
		t.Error("docs/reproduction.md is out of date: run `make reproduction`")
	}
}

func TestReproductionCommand(t *testing.T) {
	dir := experimentsFolder(t)
	out := filepath.Join(t.TempDir(), "docs")
	stdout, stderr := succeed(t, "reproduction", "--in", dir, "--in", experimentsFolder(t), "--out", out)
	if stderr != "" || strings.Count(stdout, "\n") != 2 {
		t.Fatalf("%q, %s", stdout, stderr)
	}
	page := string(must.Get(os.ReadFile(filepath.Join(out, "reproduction.md"))))
	picture, err := os.ReadFile(filepath.Join(out, "reproduction.png"))
	if err != nil || !strings.HasPrefix(string(picture), "\x89PNG") {
		t.Errorf("the figure: %v", err)
	}
	errtest.Equal(t, "numbers of DADS+REWARD", strings.Count(page, " 1280 = (1280) |"), 2)

	entries := must.Get(os.ReadDir(filepath.Join(dir, paper.RunsFolder)))
	damaged := filepath.Join(dir, paper.RunsFolder, entries[0].Name(), "status.json")
	must.Do(os.WriteFile(damaged, []byte("{"), 0o666))
	out = filepath.Join(t.TempDir(), "docs")
	for in, want := range map[string]string{dir: damaged, t.TempDir(): "has no plan.jsonl",
		filepath.Join(dir, "none"): "has no plan.jsonl"} {
		refuses(t, mistake{[]string{"reproduction", "--in", in, "--out", out}, 1, want})
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a page was written although a run is damaged")
	}
}
