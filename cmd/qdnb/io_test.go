package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/runs"
)

// answer decodes the last line of a command's output as JSON.
func answer(t *testing.T, into any, args ...string) {
	t.Helper()
	stdout, _ := succeed(t, args...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	must.Do(json.Unmarshal([]byte(lines[len(lines)-1]), into))
}

func TestImportEvalOfSkills(t *testing.T) {
	root := t.TempDir()
	row := make([]float32, (2+5+1)*3+(3+1)*4) // of five skills, with a hidden layer of 3 units
	for i := range row {
		row[i] = float32(math.Sin(float64(3 * i)))
	}
	path := filepath.Join(t.TempDir(), "policy.npy")
	must.Do(npz.WriteNPY(path, npz.Of(row)))
	args := []string{"import", "--json", "--runs", root, "--policy", path, "--algorithm", "dads",
		"--env", "pointmaze", "--set", "hidden=[3]", "--set", "episode_length=40"}
	var made, again importResult
	answer(t, &made, args...)
	answer(t, &again, args...)
	if made.Run != again.Run || made.Params != len(row) || *made.Skills != 5 || made.Cells != nil ||
		made.MaxFitness != nil || made.Env != "pointmaze" {
		t.Errorf("%+v, then %+v", made, again)
	}
	if stdout, _ := succeed(t, "show", "dads", "--runs", root); !strings.Contains(stdout, made.Run) {
		t.Errorf("show: %s", stdout)
	}

	var all, one, same evaluation
	var standard evaluation
	answer(t, &standard, "eval", "dads", "--json", "--backend", "go", "--runs", root)
	if standard.Run != made.Run || standard.Episodes != 100 {
		t.Errorf("eval RUN is %+v", standard)
	}
	eval := []string{"eval", "--json", "--backend", "go", "--runs", root, "--run", "dads", "--episodes", "3"}
	answer(t, &all, append(eval, "--seed", "2")...)
	answer(t, &same, append(eval, "--seed", "3")...)
	answer(t, &one, append(eval, "--seed", "2", "--skill", "4,1")...)
	if all.Run != made.Run || all.Env != "pointmaze" || all.Episodes != 3 || all.Steps != 40 ||
		all.Backend != "go" || len(all.Results) != 5 || len(one.Results) != 2 || *one.Results[1].Skill != 1 ||
		!slices.Equal(one.Results[0].Lengths, []int{40, 40, 40}) || len(one.Results[0].Fitnesses) != 3 {
		t.Fatalf("%+v and %+v", all, one)
	}
	for k, r := range all.Results {
		if *r.Skill != k || r.Cell != nil || *r.FitnessMean >= 0 || *r.FitnessStd <= 0 ||
			*r.FitnessMedian >= 0 || len(r.DescriptorMean) != 2 {
			t.Errorf("skill %d: %+v", k, r)
		}
	}
	if *one.Results[0].Skill != 4 || *one.Results[0].FitnessMean != *all.Results[4].FitnessMean ||
		*same.Results[4].FitnessMean == *all.Results[4].FitnessMean {
		t.Errorf("skill 4 has fitness %g alone, %g among all, %g from another seed",
			*one.Results[0].FitnessMean, *all.Results[4].FitnessMean, *same.Results[4].FitnessMean)
	}

	// The text output has the same numbers.
	stdout, _ := succeed(t, "eval", "--backend", "go", "--runs", root, "--run", "dads", "--episodes", "3",
		"--seed", "2")
	errtest.Contains(t, stdout, "run            "+made.Run+"\n", "environment    pointmaze\n",
		"episodes       3 of 40 steps\n", "backend        go\n",
		fmt.Sprintf("skill 4        fitness %.6g, std %.4g, median %.6g; descriptor [",
			*all.Results[4].FitnessMean, *all.Results[4].FitnessStd, *all.Results[4].FitnessMedian))
}

func TestImportEvalExportOfARepertoire(t *testing.T) {
	root := t.TempDir()
	source := must.Get(runs.LoadFrom(trained(), "map-elites-pointmaze-0")).Dir
	var made importResult
	answer(t, &made, "import", "--json", "--runs", root, "--repertoire", source, "--algorithm",
		"aurora", "--env", "pointmaze", "--set", "hidden=[8,8]", "--set", "episode_length=8")
	if made.Run == source || *made.Cells != 32 || *made.Filled < 1 || made.MaxFitness == nil ||
		made.QDScore <= 0 || made.Skills != nil {
		t.Errorf("%+v", made)
	}
	var found [2]evaluation
	for i, run := range []string{source, made.Run} { // the same policies
		answer(t, &found[i], "eval", "--json", "--backend", "go", "--run", run, "--episodes", "2")
	}
	a, b := found[0].Results[0], found[1].Results[0]
	if *a.Cell != *b.Cell || *a.FitnessMean != *b.FitnessMean || a.Skill != nil {
		t.Errorf("%+v and %+v", found[0], found[1])
	}
	out := filepath.Join(root, "all.npz")
	stdout, _ := succeed(t, "export", "--run", made.Run, "--repertoire", "--out", out)
	errtest.Contains(t, stdout, "genotypes")
}

// An imported fitness below the offset, and descriptors outside of the limits, are reported.
func TestImportOfWhatTheEnvironmentDoesNotProvideFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "repertoire.npz")
	const params = 3*4 + 5*2
	must.Do(npz.Write(file, map[string]npz.Array{
		"genotypes":   npz.Of(make([]float32, 3*params), 3, params),
		"fitnesses":   npz.Of([]float32{-60, -10, float32(math.Inf(-1))}),
		"descriptors": npz.Of([]float32{0, 0, 2, 0, 0, 0}, 3, 2),
		"centroids":   npz.Of([]float32{0, 0, 1, 0, 0, 1}, 3, 2)}))
	for length, want := range map[string]string{
		"20": "qdnb: the lowest fitness, -60, is below -46.862, which the offset of pointmaze allows: it " +
			"lowers the QD score; if episodes are longer, set episode_length\n" +
			"qdnb: 1 of 2 descriptors are outside of the limits of pointmaze, \"final x\" from -1 to 1\n",
		"30": "qdnb: 1 of 2 descriptors are outside of the limits of pointmaze, \"final x\" from -1 to 1\n",
	} {
		_, stderr := succeed(t, "import", "--runs", t.TempDir(), "--repertoire", file, "--algorithm", "map-elites",
			"--env", "pointmaze", "--set", "hidden=[4]", "--set", "episode_length="+length)
		errtest.Equal(t, fmt.Sprintf("%s steps", length), stderr, want)
	}
}
