package qdnb

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
)

// finished returns the final repertoire and skills of a run.
func finished(t *testing.T, run *runs.Run) []byte {
	t.Helper()
	data := repertoireBytes(t, run)
	if run.HasSkills() {
		data = append(data, must.Get(os.ReadFile(filepath.Join(run.Dir, "skills.npz")))...)
	}
	return data
}

// resumes checks that runs which are interrupted after every generation, extended, or trained in one go end
// with the same repertoire and skills, to the byte. of returns the spec of a run with a budget; the last
// of budgets is that of whole.
func resumes(t *testing.T, whole *runs.Run, of func(folder string, generations int) Spec, budgets ...int) {
	t.Helper()
	last := budgets[len(budgets)-1]
	folder := t.TempDir()
	for range 2 {
		stopped(t, of(folder, last))
	}
	run := train(t, of(folder, last))
	if !bytes.Equal(finished(t, run), finished(t, whole)) {
		t.Error("the interrupted run ends differently")
	}
	if s, want := run.Status, whole.Status; s.Evaluations != want.Evaluations || s.EnvSteps != want.EnvSteps ||
		s.MaxFitness != want.MaxFitness || len(s.Backends) != 1 || s.CompileSeconds <= 0 ||
		s.Seconds < s.CompileSeconds {
		t.Errorf("the interrupted run ends with %+v, want %+v", s, want)
	}
	replay := func(run *runs.Run) bool {
		files, _ := filepath.Glob(filepath.Join(run.Dir, "replay", "*"))
		return len(files) > 0
	}
	extended, learner := t.TempDir(), false
	for _, budget := range budgets {
		spec := of(extended, budget)
		spec.KeepReplay = true
		run := train(t, spec)
		if same := bytes.Equal(finished(t, run), finished(t, whole)); same != (budget == last) {
			t.Errorf("extended to generation %d of %d: the same end: %v", budget, last, same)
		}
		if budget != budgets[0] && replay(run) != learner {
			t.Errorf("its replay buffer is kept: %v", !learner)
		}
		learner = replay(run)
	}
	if critic := run.HasSkills() || slices.Contains(records.Of(cmp.Or(run.Status.Base, run.Config.Algorithm)).Columns,
		"critic_loss"); critic && !learner {
		t.Error("its replay buffer is lost")
	}
	if replay(whole) {
		t.Error("a finished run keeps its replay buffer without KeepReplay")
	}
}

// Settings, backends and parts that change what a checkpoint holds resume like the algorithms themselves.
func TestVariantsResumeBitForBit(t *testing.T) {
	family := func(algorithm, backend string, set ...string) func(string, int) Spec {
		return func(folder string, generations int) Spec {
			spec := smallRun(algorithm, folder, generations)
			spec.Tune, spec.Backend = more(spec.Tune, set...), backend
			return spec
		}
	}
	evolved, discovered := []int{4, 7}, []int{5, 33, 36}
	for name, c := range map[string]struct {
		budgets []int
		of      func(folder string, generations int) Spec
	}{
		"XLA":      {evolved, family("map-elites", "")}, // if it is installed
		"bfloat16": {evolved, family("map-elites", "", "weights=bfloat16")},
		"starts":   {evolved, family("pga-map-elites", "go", "starts=3")},
		"fronts": {evolved, func(folder string, generations int) Spec {
			spec := solving("mome", "rastrigin-multi", folder, generations)
			spec.Tune = more(spec.Tune, "front_size=4", "iso_sigma=0.05", "line_sigma=0.5")
			return spec
		}},
		"continuous": {discovered, family("metra", "go", "continuous_skills=2")},
		"entropy":    {discovered, family("sac", "go", "fix_alpha=false")},
		"ball": {discovered, func(folder string, iterations int) Spec {
			spec := smallDiscovery("diayn-reward", folder, iterations)
			spec.Name = "ball"
			spec.Tune = spec.Tune.And(skilled(skills.Parts{Diversity: Ball{Weight: 10, LearningRate: 0.01}}))
			return spec
		}},
	} {
		t.Run(name, func(t *testing.T) {
			resumes(t, train(t, c.of(t.TempDir(), c.budgets[len(c.budgets)-1])), c.of, c.budgets...)
		})
	}
}

// Without an intact checkpoint, extending would start again over the finished run, also where an
// extension was killed or a damaged status was removed.
func TestExtensionNeedsACheckpoint(t *testing.T) {
	whole := train(t, small(t.TempDir(), 2))
	flip := func(name string) func(dir string) {
		return func(dir string) {
			path := filepath.Join(dir, name)
			data := must.Get(os.ReadFile(path))
			data[len(data)/3] ^= 1
			must.Do(os.WriteFile(path, data, 0o666))
		}
	}
	remove := func(name string) func(dir string) {
		return func(dir string) { must.Do(os.RemoveAll(filepath.Join(dir, name))) }
	}
	const state, damaged = "checkpoints/state-000000002.npz", "state-000000002.npz is damaged ("
	for name, c := range map[string]struct {
		harm func(dir string)
		want string
	}{
		"missing":    {remove("checkpoints"), "no checkpoint to resume from"},
		"damaged":    {flip(state), damaged},
		"genotypes":  {flip("repertoire.npz"), damaged},
		"incomplete": {remove("repertoire.npz"), damaged},
		"no status":  {func(dir string) { remove("status.json")(dir); flip(state)(dir) }, damaged},
		"rows":       {remove("metrics.csv"), "has a checkpoint, but no valid metrics.csv"},
		"killed": {func(dir string) {
			w := must.Get(runs.Create(filepath.Dir(dir), whole.Config))
			s := w.Status
			s.Finished = false
			must.Do(errors.Join(w.SaveStatus(s), w.Close()))
			flip(state)(dir)
		}, damaged},
	} {
		folder := t.TempDir()
		dir := filepath.Join(folder, whole.Name())
		must.Do(os.CopyFS(dir, os.DirFS(whole.Dir)))
		c.harm(dir)
		before := contents(t, dir)
		said := stderr(t, func() {
			errtest.Want(t, errtest.Of(Train(t.Context(), small(folder, 3))), dir, c.want, "--fresh sets the run aside")
		})
		if same := maps.Equal(before, contents(t, dir)); said != "" || !same {
			t.Errorf("%s: the refused extension says %q, and the files are unchanged: %v", name, said, same)
		}
	}
}

// An unfinished run whose checkpoints are missing or damaged does not start again over its rows and
// snapshots, and a finished run without its repertoire is not complete.
func TestLostFilesAreReported(t *testing.T) {
	whole, half := train(t, small(t.TempDir(), 2)), small(t.TempDir(), 40)
	stopped(t, half)
	for _, c := range []struct {
		of        Spec
		dir       string
		harm, why string
	}{
		{half, half.Runs, "state-*.npz", "generations and "},
		{half, half.Runs, "checkpoints", "but it has no checkpoint to resume from"},
		{half, half.Runs, "status.json checkpoints", "has been trained, but it has no checkpoint to resume from"},
		{half, half.Runs, "flip", "is damaged ("},
		{small("", 2), filepath.Dir(whole.Dir), "repertoire.npz", "lacks its repertoire.npz"},
	} {
		folder := t.TempDir()
		must.Do(os.CopyFS(folder, os.DirFS(c.dir)))
		for _, pattern := range strings.Fields(c.harm) {
			for _, below := range []string{"*", filepath.Join("*", "checkpoints")} {
				for _, path := range must.Get(filepath.Glob(filepath.Join(folder, below, pattern))) {
					must.Do(os.RemoveAll(path))
				}
			}
		}
		if c.harm == "flip" {
			for _, path := range must.Get(filepath.Glob(filepath.Join(folder, "*", "checkpoints", "*"))) {
				must.Do(os.Truncate(path, 100))
			}
		}
		before := contents(t, folder)
		c.of.Runs = folder
		errtest.Want(t, errtest.Of(Train(background, c.of)), c.why, "--fresh sets the run aside")
		if !maps.Equal(before, contents(t, folder)) {
			t.Errorf("%s: files changed", c.harm)
		}
		c.of.Fresh = true
		train(t, c.of)
	}
}

// contents returns the files below a folder, except the lock.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must.Do(filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != "lock" {
			files[path] = string(must.Get(os.ReadFile(path)))
		}
		return err
	}))
	return files
}

// A finished learner can be extended only with its replay buffer. Without it, or with a part of it,
// as a process leaves that is killed while it deletes the buffer, one line says so.
func TestExtensionNeedsTheReplayBuffer(t *testing.T) {
	for name, of := range map[string]func(folder string, extended int) Spec{
		"pga": func(folder string, extended int) Spec { return smallOf("pga-map-elites", folder, 2+2*extended) },
		"sac": func(folder string, extended int) Spec { return smallDiscovery("sac", folder, 11+3*extended) },
	} {
		folder := t.TempDir()
		run := train(t, of(folder, 0))
		for range 2 {
			before := contents(t, run.Dir)
			errtest.Want(t, errtest.Of(Train(t.Context(), of(folder, 1))), run.Dir, "its replay buffer was not kept",
				"--fresh trains it again", "--keep-replay")
			if !maps.Equal(before, contents(t, run.Dir)) {
				t.Errorf("%s: the refused extension changes files", name)
			}
			must.Do(os.MkdirAll(filepath.Join(run.Dir, "replay"), 0o777))
			must.Do(os.WriteFile(filepath.Join(run.Dir, "replay", "000000000000-000000000001.npz"), nil, 0o666))
		}
	}
}
