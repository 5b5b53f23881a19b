package main

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla/backend"
)

// benchReport runs a benchmark with --json.
func benchReport(t *testing.T, args ...string) map[string]float64 {
	t.Helper()
	stdout, stderr, status := invoke(t, append(append([]string{"bench"}, args...), "--json")...)
	if status != 0 {
		t.Fatalf("%v: status %d: %s", args, status, stderr)
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatalf("%v in %q", err, stdout)
	}
	numbers := map[string]float64{}
	for key, value := range all {
		if x, ok := value.(float64); ok {
			numbers[key] = x
		}
	}
	return numbers
}

func TestBenchInsertion(t *testing.T) {
	r := benchReport(t, "insertion", "--batch", "20", "--better", "6", "--repeats", "2")
	if r["best_s"] <= 0 || r["entered"] < 1 || r["entered"] > 6 || r["params"] != 90376 {
		t.Errorf("insertion of 6 of 20: %v", r)
	}
	if _, stderr, status := invoke(t, "bench", "insertion", "--batch", "3", "--better",
		"4"); status == 0 || !strings.Contains(stderr, "not 3 and 4") {
		t.Errorf("4 better candidates in a batch of 3: status %d, %s", status, stderr)
	}
}

func TestBenchAdaptation(t *testing.T) {
	r := benchReport(t, "adaptation", "--env", "walker-uni", "--policies", "3", "--episodes", "2",
		"--values", "2", "--steps", "4", "--repeats", "1")
	if r["best_s"] <= 0 || r["whole_s"] < r["best_s"] || r["batch"] != 6 || r["env_steps_per_s"] <= 0 {
		t.Errorf("adaptation of 3 policies: %v", r)
	}
	for want, args := range map[string][]string{
		"not 21":    {"--values", "21"},
		"not 0 and": {"--env", "walker-uni", "--policies", "0"},
		"and 0":     {"--env", "walker-uni", "--policies", "1", "--episodes", "0"},
		"pointmaze": {"--env", "pointmaze"},
	} {
		if _, stderr, status := invoke(t, append([]string{"bench", "adaptation"},
			args...)...); status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %s", args, status, stderr)
		}
	}
}

func TestBenchCeilings(t *testing.T) {
	if _, stderr, status := invoke(t, "bench", "ceilings", "--backend",
		"go"); status == 0 || !strings.Contains(stderr, "plugin") {
		t.Errorf("ceilings of the Go backend: status %d, %s", status, stderr)
	}
	if p := xlatest.Best(t); p.Kind == backend.Go || testing.Short() {
		t.Skip("SKIPPED: ceilings take some seconds, on XLA")
	}
	r := benchReport(t, "ceilings")
	for _, rate := range []string{"products_gflops", "arithmetic_gflops", "cache_gbs", "memory_gbs"} {
		if r[rate] <= 0 {
			t.Errorf("%s is %v", rate, r[rate])
		}
	}
}
