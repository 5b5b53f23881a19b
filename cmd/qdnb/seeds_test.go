package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func TestSeedsAreRangesAndLists(t *testing.T) {
	for text, want := range map[string]seeds{"0..3": {0, 1, 2, 3}, "5": {5}, "-1..1,7": {-1, 0, 1, 7},
		"9223372036854775806..9223372036854775807": {9223372036854775806, 9223372036854775807}} {
		var got seeds
		if err := got.UnmarshalText([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3..1", "a", "1..", "0,", "0..100000",
		"-9223372036854775808..9223372036854775807"} {
		var got seeds
		errtest.Want(t, got.UnmarshalText([]byte(text)), "is not a list of seeds such as 0..7 or 0,3,5")
	}
}

// The command line trains one run per seed and prints a line for each.
func TestTrainSeedsPrintsALineForEach(t *testing.T) {
	args := append([]string{"train", "--runs", t.TempDir(), "--backend", "go", "--generations", "2",
		"--json"}, small...)
	stdout, stderr := succeed(t, append(args, "--seeds", "3..5")...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != 3 || !strings.Contains(stderr, "map-elites-pointmaze, 3 seeds") {
		t.Fatalf("%q, %q", stdout, stderr)
	}
	for i, line := range lines {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Seed != int64(3+i) || !r.Finished ||
			r.Generations != 2 {
			t.Errorf("line %d is %s, %v", i, line, err)
		}
	}
	var first result
	must.Do(json.Unmarshal([]byte(lines[0]), &first))
	must.Do(os.WriteFile(filepath.Join(first.Run, "config.json"), []byte("{"), 0o666))
	stdout, stderr, status := invoke(t, append(args, "--seeds", "3..6")...)
	if n := strings.Count(stdout, "\n"); n != 3 || status != 1 || !strings.Contains(stderr, "qdnb: seed 3: "+first.Run) {
		t.Errorf("with a damaged run, %d of 4 seeds are trained: %q", n, stderr)
	}
	refuses(t, mistake{append(args, "--seeds", "0..1", "--seed", "2"), exitUsage, "can't be used together"},
		mistake{append(slices.Clone(args), "--seeds", "2..0"), exitUsage, "0..7 or 0,3,5"})
}
