package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
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
}

// fakeGymnasium is a module in place of gymnasium: a point on a line, which actions move, is to reach 0.5.
const fakeGymnasium = `
class Space:
    def __init__(self, *limits): self.low, self.high = limits; self.shape = (len(self.low),)
class Env:
    observation_space, action_space = Space([-1, -1], [1, 1]), Space([-0.1], [0.1])
    class spec: max_episode_steps = 10
    def reset(self, seed=None):
        self.x, self.v = 0.0, 0.0
        return [self.x, self.v], {}
    def step(self, action):
        self.v = action[0]
        self.x += self.v
        print("noise")
        return [self.x, self.v], float("nan") if self.x < -0.9 else -abs(self.x - 0.5), False, False, {}
def make(name): return Env()
`

// A Python process evaluates policies as nn.Act does, for a run that is extended, shown and continued
// by another algorithm. A process that fails is one line.
func TestSimulatorProcess(t *testing.T) {
	if exec.Command("python3", "-c", "").Run() != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	modules, root := t.TempDir(), t.TempDir()
	must.Do(os.WriteFile(filepath.Join(modules, "gymnasium.py"), []byte(fakeGymnasium), 0o666))
	t.Setenv("PYTHONPATH", modules)
	tool := must.Get(filepath.Abs("../../tools/gymnasium_simulator.py"))
	command := "exec python3 " + tool + " Line-v0 --descriptor 0 1 --offset 1.5 --hidden 3 --processes "
	args := func(processes, algorithm string, more ...string) []string {
		return append([]string{"train", "--json", "--quiet", "--backend", "go", "--runs", root, "--algorithm", algorithm,
			"--simulator", command + processes, "--set", "hidden=[3]", "--set", "batch=8", "--set", "cells=16",
			"--set", "cvt_samples=100"}, more...)
	}
	var made result
	answer(t, &made, args("1", "map-elites", "--set", "iso_sigma=0.5", "--generations", "3")...)
	answer(t, &made, args("2", "map-elites", "--set", "iso_sigma=0.5", "--generations", "9")...)
	r := must.Get(must.Get(runs.Open(made.Run)).Repertoire())
	for _, cell := range r.Filled() {
		x, v, total := float32(0), float32(0), 0.0
		for range 10 {
			v = 0.1 * nn.Act([]int{2, 3, 1}, r.Genotype(cell), []float32{x, v})[0]
			x += v
			total -= math.Abs(float64(x) - 0.5)
		}
		if math.Abs(total-float64(r.Fitnesses[cell])) > 1e-4 {
			t.Errorf("cell %d has fitness %g, evaluated here %g", cell, r.Fitnesses[cell], total)
		}
	}
	if made.Evaluations != 80 || made.EnvSteps != 800 || made.Env != "Line-v0" || len(r.Filled()) < 2 {
		t.Errorf("%+v, %d cells", made, len(r.Filled()))
	}
	var dns result
	answer(t, &dns, args("1", "dns", "--generations", "2", "--from", filepath.Base(made.Run))...)
	if *dns.MaxFitness < *made.MaxFitness-1e-6 {
		t.Errorf("the best fitness is %g after a start from %g", *dns.MaxFitness, *made.MaxFitness)
	}
	facts := func(name string) string {
		return fmt.Sprintf(`echo '{"name": %q, "observations": 2, "actions": 1, "length": 9, "descriptor": `+
			`{"components": ["x"], "lower": [0], "upper": [1]}}'; read line; `, name)
	}
	for want, simulator := range map[string]string{
		"give --hidden the layers":        command + "1 --hidden 4",
		"(exit status 3): see its output": "exit 3",
		`wrote "hello", which is no`:      "echo hello",
		"the environment has no name":     "echo '{}'; cat",
		"(exit status 4)":                 facts("dead") + "exit 4",
		"(signal: killed)":                facts("mute") + "exec sleep 60 >&-",
		"1048576 bytes in a line":         "cat /dev/zero",
		"2 fitnesses and 1 numbers":       facts("short") + `echo '{"fitness": "AAAAAAAAAAA=", "descriptors": "AAAAAA=="}'; cat`,
		"30 results do not fit the 8":     facts("long") + `echo '{"fitness": "` + strings.Repeat("AAAA", 40) + `", "descriptors": "` + strings.Repeat("AAAA", 40) + `"}'; cat`,
	} {
		broken := args("1", "map-elites", "--generations", "9", "--set", "slice=1")
		broken[10] = simulator
		_, stderr, status := invoke(t, broken...)
		if status != 1 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") > 1 {
			t.Errorf("%s: status %d, %s", simulator, status, stderr)
		}
	}
}

// Training in a folder with an imported repertoire says that it exists; --from continues it.
func TestImportedRepertoireIsMentioned(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(t.TempDir(), "r.npz")
	must.Do(npz.Write(path, map[string]npz.Array{"genotypes": npz.Of(make([]float32, 24), 2, 12),
		"fitnesses": npz.Of([]float32{-30, -20}), "descriptors": npz.Of(make([]float32, 4), 2, 2),
		"centroids": npz.Of([]float32{0, 0, 0.1, 0.1}, 2, 2)}))
	both := []string{"--runs", root, "--algorithm", "map-elites", "--env", "pointmaze", "--set", "hidden=[2]", "--set",
		"episode_length=20"}
	succeed(t, append([]string{"import", "--repertoire", path}, both...)...)
	train := append([]string{"train", "--backend", "go", "--generations", "1", "--set", "batch=4", "--set", "cells=4",
		"--set", "cvt_samples=10"}, both...)
	_, stderr, _ := invoke(t, train...)
	_, name, _ := strings.Cut(stderr, "--from ")
	name, _, _ = strings.Cut(name, " ")
	errtest.Contains(t, stderr, "is not continued by")
	if _, stderr := succeed(t, append(train, "--from", name)...); strings.Contains(stderr, "is not continued by") {
		t.Error(stderr)
	}
}
