package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/npz"
)

func goldenFile(name string) string { return filepath.Join("..", "..", "envs", "testdata", name) }

// Compared with itself, a backend has its usual distance from golden files and none from the other
// backend, in tables and in JSON.
func TestVerifyAgainst(t *testing.T) {
	args := []string{"verify", "--backend", "go", "--against", "go", goldenFile("traj_pointmaze.npz"),
		goldenFile("onestep_pointmaze.npz")}
	stdout, stderr, status := invoke(t, args...)
	for _, want := range []string{
		"| environment | quantity | numbers | go from golden files | go from go |",
		"| pointmaze | positions | 512 | 0 / ", "|  | rewards | 256 |",
		"| environment | comparison | 1 | 10 | 50 | 100 | 250 | return |",
		"| pointmaze | go from go | 0 / 0 |",
		"initial states 1e−6 apart", "2 files PASS on go",
	} {
		if status != 0 || !strings.Contains(stdout, want) {
			t.Fatalf("status %d, no %q in %s%s", status, want, stdout, stderr)
		}
	}
	stdout, stderr, status = invoke(t, append(args, "--json")...)
	type distance struct{ Median, Worst float64 }
	var found struct {
		Backend, Against string
		Files            int
		Pass             bool
		Steps            []struct {
			Env, Quantity string
			Numbers       int
			Golden, Other distance
		}
		Episodes []struct {
			Episodes      int
			Other, Nudged []distance
			Return        float64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || status != 0 {
		t.Fatalf("status %d, %v, %s%s", status, err, stdout, stderr)
	}
	if found.Backend != "go" || found.Against != "go" || found.Files != 2 || !found.Pass || len(
		found.Steps) != 3 || len(found.Episodes) != 1 {
		t.Fatalf("%+v", found)
	}
	for _, s := range found.Steps {
		if s.Numbers < 256 || s.Golden.Worst < s.Golden.Median || s.Golden.Worst > 1e-6 || s.Other !=
			(distance{}) {
			t.Errorf("%+v", s)
		}
	}
	e := found.Episodes[0]
	if e.Episodes != 32 || e.Return < 1 || e.Other[4] != (distance{}) || e.Nudged[0].Worst <=
		0 || e.Nudged[0].Worst > 1e-5 {
		t.Errorf("%+v", e)
	}
}

func TestVerifyAgainstTellsWhatFails(t *testing.T) {
	arrays, err := npz.Read(goldenFile("onestep_pointmaze.npz"))
	if err != nil {
		t.Fatal(err)
	}
	arrays["reward"].Data.([]float32)[7] += 0.25
	wrong := filepath.Join(t.TempDir(), "onestep_pointmaze.npz")
	if err := npz.Write(wrong, arrays); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(filepath.Dir(wrong), "traj_moon.npz")
	if err := npz.Write(none, arrays); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := invoke(t, "verify", "--backend", "go", "--against", "go", wrong, none)
	if status != 1 || strings.Contains(stdout, "PASS") || !strings.Contains(stdout,
		"| rewards | 256 | 0 / 0.25 | 0 / 0 |") ||
		!strings.Contains(stderr, wrong+": FAIL") || !strings.Contains(stderr,
		`unknown environment "moon"`) || !strings.Contains(stderr, "2 of 2 files FAIL on go") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	for want, args := range map[string][]string{
		"--json requires --against": {"--json"},
		`unknown backend "abacus"`:  {"--backend", "go", "--against", "abacus"},
	} {
		_, stderr, status := invoke(t, append([]string{"verify", wrong}, args...)...)
		if status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %q", args, status, stderr)
		}
	}
}
