package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/claims"
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
	must.Do(w.Log(1, 1000, 2, fitness, coverage, 3))
	budget := runs.Budget{Generations: 1}
	status := runs.Status{Progress: runs.Progress{Generation: 1, EnvSteps: 1000, Seconds: 2},
		MaxFitness: fitness, Coverage: coverage, QDScore: 3,
		Budget: budget, Finished: true}
	must.Do(w.SaveStatus(status))
	return sweep.Line{Experiment: "training", Label: algorithm, Run: c, Budget: budget}
}

func TestClaims(t *testing.T) {
	root := t.TempDir()
	var lines []sweep.Line
	for seed := range int64(3) {
		for algorithm, fitness := range map[string]float64{"smerl-diayn": 449, "smerl-dads": 448,
			"pga-map-elites": 977, "dads-reward": 1280} {
			lines = append(lines, made(t, root, algorithm, seed, fitness+float64(seed), 50+float64(seed)))
		}
	}
	plan := filepath.Join(t.TempDir(), "plan.jsonl")
	file, err := os.Create(plan)
	if err == nil {
		err = sweep.Write(file, append(lines, sweep.Line{Experiment: "training", Label: "aurora",
			Run: runs.Config{Algorithm: "aurora", Env: "ant-trap"}}))
	}
	if err == nil {
		err = file.Close()
	}
	must.Do(err)
	for _, c := range []struct {
		args    []string
		missing int
	}{{[]string{"--runs", root}, 0}, {[]string{"--runs", root, "--plan", plan}, 1}} {
		stdout, stderr, status := invoke(t, append([]string{"claims", "--json"}, c.args...)...)
		var got checked
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != 0 || stderr != "" {
			t.Fatalf("%v: status %d, %v, %s%s", c.args, status, err, stdout, stderr)
		}
		if got.Complete != len(lines) || got.Missing != c.missing || len(got.Problems) != 0 || len(
			got.Claims) != len(claims.All()) {
			t.Errorf("%v: %+v", c.args, got)
		}
		for id, want := range map[string]claims.Verdict{
			"ant-trap-smerl": claims.Holds, "ant-trap-coverage": claims.HoldsNot,
			"qd-score": claims.NotEnough,
		} {
			i := slices.IndexFunc(got.Claims, func(r claims.Result) bool { return r.ID == id })
			if i < 0 || got.Claims[i].Verdict != want || want !=
				claims.NotEnough && got.Claims[i].MinSeeds != 3 {
				t.Errorf("%v: %s is %+v, want %s of 3 seeds", c.args, id, got.Claims[i], want)
			}
		}
	}

	// Text output, with a folder that cannot be read.
	must.Do(os.WriteFile(filepath.Join(root, lines[0].Run.Name(), "config.json"),
		[]byte(`{"version": 2}`), 0o666))
	stdout, stderr, status := invoke(t, "claims", "--runs", root)
	if status != 0 || strings.Count(strings.TrimSpace(stderr), "\n") != 0 || !strings.Contains(stderr,
		lines[0].Run.Name()) {
		t.Errorf("with a broken folder: status %d, %q", status, stderr)
	}
	for _, want := range []string{
		"n/a at this scale  ant-trap-smerl (table 1), 2 to 3 seeds\n                   on ant-trap " +
			"SMERL stays in the trap",
		"-> fewer than 3 seeds", "not enough data    qd-score (table 1)", "-> needs ",
		fmt.Sprintf("lack data.\nOf %d runs, %d are complete, 0 incomplete and 0 not started.\n",
			len(lines)-1, len(lines)-1),
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	for _, line := range strings.Split(stdout, "\n") {
		if len([]rune(line)) > 100 {
			t.Errorf("the line %q is longer than 100", line)
		}
	}

	for want, args := range map[string][]string{
		"there are no runs in": {"--runs", filepath.Join(root, "none")},
		"does not exist":       {"--runs", root, "--plan", filepath.Join(root, "none")},
	} {
		stdout, stderr, status := invoke(t, append([]string{"claims"}, args...)...)
		if status != 1 || stdout != "" || !strings.Contains(stderr,
			want) || strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
			t.Errorf("claims %v: status %d, %q", args, status, stderr)
		}
	}
}
