package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/claims"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

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
