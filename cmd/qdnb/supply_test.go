package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/xla/backend"
)

// After set-up, the program works without network access.
func TestWithoutNetwork(t *testing.T) {
	unshare := []string{"unshare", "--map-root-user", "--net"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: a process without a network cannot be made here: %v %s", err, out)
	}
	t.Setenv(backend.BackendEnv, "") // XLA, whose plugin is not fetched again
	root := t.TempDir()
	for _, args := range [][]string{
		append([]string{"train", "--runs", root, "--generations", "2"}, small...),
		{"show", "map-elites-pointmaze-0", "--runs", root, "--figures", filepath.Join(root, "figures")},
		{"export", "--run", "map-elites-pointmaze-0", "--runs", root, "--out",
			filepath.Join(root, "exported.npz")},
		{"figures", "--only", "figure-1", "--out", filepath.Join(root, "figures")},
	} {
		out, err := exec.Command(unshare[0], append(append(slices.Clone(unshare[1:]), program),
			args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("qdnb %s without a network: %v\n%s", strings.Join(args, " "), err, out)
		}
		if strings.Contains(string(out), "fetching") {
			t.Errorf("qdnb %s fetches:\n%s", args[0], out)
		}
	}
}
