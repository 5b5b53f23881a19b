package qdnb

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
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

// A run that is interrupted after every generation, extended, or trained in one go ends with the same
// repertoire and skills, to the byte. A learner's replay buffer is restored from disk.
func TestRunsResumeBitForBit(t *testing.T) {
	family := func(algorithm string, set ...string) func(string, int) Spec {
		return func(folder string, generations int) Spec {
			spec := smallOf(algorithm, folder, generations)
			spec.Tune = more(spec.Tune, set...)
			return spec
		}
	}
	discovery := func(algorithm string, set ...string) func(string, int) Spec {
		return func(folder string, iterations int) Spec {
			spec := smallDiscovery(algorithm, folder, iterations)
			spec.Tune = more(spec.Tune, set...)
			return spec
		}
	}
	onXLA := func(of func(string, int) Spec) func(string, int) Spec {
		return func(folder string, generations int) Spec {
			spec := of(folder, generations)
			spec.Backend = "" // if it is installed
			return spec
		}
	}
	// AURORA's loops of two: trained at 0 and 4, the threshold at 6 is not due, and at 8
	evolved := []int{4, 7}
	discovered := []int{5, 33, 36} // the replay buffer wraps around after 30
	for name, c := range map[string]struct {
		budgets []int
		of      func(folder string, generations int) Spec
	}{
		"map-elites": {evolved, family("map-elites")}, "XLA": {evolved, onXLA(family("map-elites"))},
		"bfloat16": {evolved, onXLA(family("map-elites", "weights=bfloat16"))},
		"pga":      {evolved, family("pga-map-elites")}, "starts": {evolved, family("pga-map-elites", "starts=3")},
		"aurora": {evolved, family("aurora")}, "pga-aurora": {evolved, family("pga-aurora")},
		"dns": {evolved, family("dns")}, "dcrl": {evolved, family("dcrl-map-elites")},
		"cma-mae": {evolved, family("cma-mae")}, "mome": {evolved, family("mome")}, "ascii-me": {evolved, family("ascii-me")},
		"cma-maega": {evolved, family("cma-maega")}, "dms": {evolved, family("dms")},
		"aurora-xcon": {evolved, family("aurora-xcon")},
		"ppga":        {evolved, family("ppga")},
		"fronts": {evolved, func(folder string, generations int) Spec {
			spec := solving("mome", "rastrigin-multi", folder, generations)
			spec.Tune = more(spec.Tune, "front_size=4", "iso_sigma=0.05", "line_sigma=0.5")
			return spec
		}},
		"diayn-reward": {discovered, discovery("diayn-reward")}, "smerl-dads": {discovered, discovery("smerl-dads")},
		"csf":   {discovered, discovery("csf", "negative_skills=16")},
		"metra": {discovered, discovery("metra")}, "qdac": {discovered, discovery("qdac")},
		"continuous": {discovered, discovery("metra", "continuous_skills=2")},
		"sac":        {discovered, discovery("sac", "fix_alpha=false")},
		"ball": {discovered, func(folder string, iterations int) Spec {
			spec := smallDiscovery("diayn-reward", folder, iterations)
			spec.Name = "ball"
			spec.Tune = spec.Tune.And(skilled(skills.Parts{Diversity: Ball{Weight: 10, LearningRate: 0.01}}))
			return spec
		}},
	} {
		t.Run(name, func(t *testing.T) {
			last := c.budgets[len(c.budgets)-1]
			replay := func(run *runs.Run) bool {
				files, _ := filepath.Glob(filepath.Join(run.Dir, "replay", "*"))
				return len(files) > 0
			}
			whole := train(t, c.of(t.TempDir(), last))
			folder := t.TempDir()
			for range 2 {
				stopped(t, c.of(folder, last))
			}
			run := train(t, c.of(folder, last))
			if !bytes.Equal(finished(t, run), finished(t, whole)) {
				t.Error("the interrupted run ends differently")
			}
			if s, want := run.Status, whole.Status; s.Evaluations != want.Evaluations || s.EnvSteps != want.EnvSteps ||
				s.MaxFitness != want.MaxFitness || len(s.Backends) != 1 || s.CompileSeconds <= 0 ||
				s.Seconds < s.CompileSeconds {
				t.Errorf("the interrupted run ends with %+v, want %+v", s, want)
			}
			extended := t.TempDir()
			for _, budget := range c.budgets {
				spec := c.of(extended, budget)
				spec.KeepReplay = true
				run := train(t, spec)
				if same := bytes.Equal(finished(t, run), finished(t, whole)); same != (budget == last) {
					t.Errorf("extended to generation %d of %d: the same end: %v", budget, last, same)
				}
				if learner := run.HasSkills() || learns(run.Config.Algorithm); replay(run) != learner {
					t.Errorf("its replay buffer is kept: %v", !learner)
				}
			}
			if replay(whole) {
				t.Error("a finished run keeps its replay buffer without KeepReplay")
			}
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
			for _, pattern := range []string{filepath.Join(folder, "*", pattern), filepath.Join(folder, "*", "checkpoints", pattern)} {
				for _, path := range must.Get(filepath.Glob(pattern)) {
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

func TestExtensionRefillsTheReplayBuffer(t *testing.T) {
	for want, of := range map[string]func(folder string, extended int) Spec{
		"refilled with 48 episodes": func(folder string, extended int) Spec {
			return smallOf("pga-map-elites", folder, 2+2*extended)
		},
		"refilled with 3 episodes": func(folder string, extended int) Spec { // 66 steps, 20 per episode
			return smallDiscovery("smerl-diayn", folder, 11+3*extended)
		},
		" 3 episodes": func(folder string, extended int) Spec {
			return smallDiscovery("sac", folder, 11+3*extended)
		},
	} {
		folder := t.TempDir()
		train(t, of(folder, 0))
		var run *runs.Run
		said := stderr(t, func() { run = train(t, of(folder, 1)) })
		if !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("extending a run whose buffer was deleted prints %q, want %q in one line", said, want)
		}
		if s := run.Status; s.Generation != of(folder, 1).Budget.Generations || !s.Finished {
			t.Errorf("it ends as %+v", s)
		}
		if run.HasSkills() {
			continue
		}
		// An extension was killed while it saved the buffer for the first time.
		w := must.Get(runs.Create(folder, run.Config))
		const total, capacity, width = 2000, 1000, 7
		_, _, _, err := w.LoadCheckpoint(nil)
		if err == nil {
			err = w.SaveReplay(total, capacity, width, func(from, to int64) ([]float32, error) {
				return make([]float32, (to-from)*width), nil
			})
		}
		must.Do(errors.Join(err, w.Close()))
		if run = train(t, of(folder, 2)); run.Status.Generation != 6 {
			t.Errorf("after a killed extension it ends at generation %d", run.Status.Generation)
		}
	}
}
