package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/runs"
)

// answer decodes the last line of a command's output as JSON.
func answer(t *testing.T, into any, args ...string) {
	t.Helper()
	stdout, _ := succeed(t, args...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	must.Do(json.Unmarshal([]byte(lines[len(lines)-1]), into))
}

// mazePolicy writes a policy with five skills for pointmaze, with one hidden layer of 3 units, and
// returns its path and parameters.
func mazePolicy(t *testing.T) (string, []float32) {
	t.Helper()
	row := make([]float32, (2+5+1)*3+(3+1)*4)
	for i := range row {
		row[i] = float32(math.Sin(float64(3 * i)))
	}
	path := filepath.Join(t.TempDir(), "policy.npy")
	must.Do(npz.WriteNPY(path, npz.Of(row)))
	return path, row
}

func TestImportEvalExportOfSkills(t *testing.T) {
	root := t.TempDir()
	path, row := mazePolicy(t)
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

	// Exporting skill 4 folds the skill's row of the kernel into the bias, and keeps the first two
	// columns of the last layer.
	out := filepath.Join(root, "skill.npz")
	succeed(t, "export", "--runs", root, "--run", "dads", "--skill", "4", "--out", out)
	arrays := must.Get(npz.Read(out))
	for name, want := range map[string][]float32{
		"layer_0.bias":   {row[0] + row[3+6*3], row[1] + row[3+6*3+1], row[2] + row[3+6*3+2]},
		"layer_0.kernel": row[3:9],
		"layer_1.bias":   row[24:26],
		"layer_1.kernel": {row[28], row[29], row[32], row[33], row[36], row[37]},
	} {
		if got := arrays[name].Data; !slices.Equal(got.([]float32), want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if sizes := arrays["sizes"].Data; !slices.Equal(sizes.([]int64), []int64{2, 3, 2}) {
		t.Errorf("sizes are %v", sizes)
	}
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

func TestMistakesOfImportEvalExport(t *testing.T) {
	root := t.TempDir()
	path, _ := mazePolicy(t)
	succeed(t, "import", "--runs", root, "--policy", path, "--algorithm", "dads", "--env", "pointmaze", "--set",
		"hidden=[3]")
	adaptation := emptyRun(t, root, records.Adaptation, "ant-uni")
	before, _ := os.ReadDir(root)
	eval := func(more ...string) []string {
		return append([]string{"eval", "--runs", root, "--run", "dads", "--episodes", "1"}, more...)
	}
	refuses(t, []mistake{
		{[]string{"import", "--policy", path, "--algorithm", "dads", "--env", "pointmaze", "--runs",
			root}, 1, "set hidden and skills"},
		{[]string{"import", "--policy", path, "--env", "pointmaze"}, exitUsage, "--algorithm"},
		{eval("--skill", "5"), 1, "there is no skill 5"},
		{eval("--cell", "0"), 1, "give a skill"},
		{eval("--env", "ant-umi"), 1, `did you mean "ant-uni"?`},
		{eval("--env", "ant-uni"), 1, "ant-uni has 87 observations and 8 actions"},
		{eval("--gravity", "0.5"), 1, "neither gravity nor actuators"},
		{eval("--target", "1,2"), 1, "nor a target"},
		{eval("--target", "1"), exitUsage,
			"want two coordinates, as in 10,30, not \"1\" (see `qdnb eval --help`)"},
		{eval("--episodes", "0"), 1, "episodes"},
		{eval("--figure", filepath.Join(root, "a.png")), 1, "--figure draws corrected repertoires"},
		{eval("--corrected", "--figure", filepath.Join(root, "a.txt")), 1, "known: html, pdf, png, svg"},
		{[]string{"eval", "--runs", root, "dads", "--run", "other"}, exitUsage, "one run"},
		{[]string{"eval", "--runs", root, "--run", "nothing", "--episodes", "1"}, 1, "nothing"},
		{[]string{"eval", "--runs", root, "--run", adaptation, "--episodes", "1"}, 1,
			"no policies of its own: name the run whose skills it uses, aurora"},
		{[]string{"export", "--runs", root, "--run", adaptation, "--out", filepath.Join(root, "a.npz")}, 1,
			"no policies of its own"},
		{[]string{"export", "--runs", root, "--run", "dads", "--out", path}, 1, ".npz"},
		{[]string{"export", "--runs", root, "--run", "dads", "--out", filepath.Join(path, "a.npz")}, 1,
			"policy.npy"},
		{[]string{"export", "--runs", root, "--run", "dads", "--repertoire", "--out",
			filepath.Join(root, "a.npz")}, 1, "no repertoire"},
	}...)
	if after, _ := os.ReadDir(root); len(after) != len(before) {
		t.Errorf("mistakes left %v", after)
	}
}
