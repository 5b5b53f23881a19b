package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/npz"
	"example.com/qdnb/qdnb/runs"
)

// drawn lists the figures that show draws of the only run in a folder.
func drawn(t *testing.T, root string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "*-0-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("runs %v, %v", found, err)
	}
	dir := filepath.Join(t.TempDir(), "figures")
	if stdout, stderr, status := invoke(t, "show", found[0], "--figures", dir); status != 0 {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

// Show draws what there is: of skills their trajectories too, of a policy that was imported nothing.
func TestShowDrawsWhatThereIs(t *testing.T) {
	root := t.TempDir()
	args := []string{"train", "-q", "--backend", "go", "--runs", root, "--algorithm", "diayn-reward", "--env", "pointmaze", "--generations", "2"}
	for _, set := range []string{"env_batch_size=10", "replay_buffer_size=200", "cells=32", "cvt_samples=500", "hidden=[8,8]", "episode_length=20",
		"batch_size=8", "grad_updates_per_step=0.1", "evaluation_states=3"} {
		args = append(args, "--set", set)
	}
	if _, stderr, status := invoke(t, args...); status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if got, want := drawn(t, root), "metrics.png repertoire.png snapshots.png trajectories.png"; got != want {
		t.Errorf("of trained skills: %s, want %s", got, want)
	}

	found, _ := filepath.Glob(filepath.Join(root, "*-0-*"))
	skills, err := runs.ReadSkills(filepath.Join(found[0], "skills.npz"))
	if err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy.npy")
	if err := npz.WriteNPY(policy, npz.Of(skills.Policy)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of, want string
		args     []string
	}{
		{"imported skills", "", []string{"--algorithm", "diayn-reward", "--policy", policy, "--set", "hidden=[8,8]"}},
		{"an imported repertoire", "metrics.png repertoire.png snapshots.png",
			[]string{"--algorithm", "map-elites", "--repertoire", filepath.Join(found[0], "repertoire.npz"), "--set", "hidden=[8,8]"}},
	} {
		root := t.TempDir()
		if _, stderr, status := invoke(t, append([]string{"import", "--runs", root, "--env", "pointmaze"}, c.args...)...); status != 0 {
			t.Fatalf("import: status %d: %s", status, stderr)
		}
		if got := drawn(t, root); got != c.want {
			t.Errorf("of %s: %q, want %q", c.of, got, c.want)
		}
	}
}
