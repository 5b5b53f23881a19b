package runs

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// Configurations with the same name prefix are listed with their differences.
func TestLoadListsTheCandidates(t *testing.T) {
	root := t.TempDir()
	for _, batch := range []int{1000, 200} {
		s := defaults()
		s.Batch = batch
		c := must.Get(NewConfig("map-elites", "pointmaze", 0, s))
		if batch == 200 {
			c.Parts = map[string]string{"emitter": "0123456789abcdef"}
		}
		w := must.Get(Create(root, c))
		w.Close()
	}
	_, err := LoadFrom(root, "map-elites-pointmaze-0")
	if err == nil {
		t.Fatal("the first of two is loaded")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `2 runs begin with "map-elites-pointmaze-0"`) {
		t.Fatal(err)
	}
	for _, want := range []string{" (batch=1000)", " (batch=200, emitter=0123456789abcdef)"} {
		if !strings.HasSuffix(lines[1], want) && !strings.HasSuffix(lines[2], want) {
			t.Errorf("%v\nwants %q", err, want)
		}
	}
}

// A prefix that ends with a seed is that seed's run, even if it is damaged and those of other seeds
// are not.
func TestLoadTellsSeedsApart(t *testing.T) {
	root, dirs := t.TempDir(), map[int64]string{}
	for _, seed := range []int64{1, 10, 11} {
		w := must.Get(Create(root, must.Get(NewConfig("map-elites", "arm", seed, defaults()))))
		dirs[seed] = w.Dir
		w.Close()
	}
	for target, seed := range map[string]int64{"map-elites-arm-1": 1, "map-elites-arm-10": 10,
		filepath.Join(root, "map-elites-arm-1"):              1,
		filepath.Base(dirs[1])[:len("map-elites-arm-1-abc")]: 1, "map-elites-arm-1-": 1} {
		errtest.Equal(t, "seed of "+target, must.Get(LoadFrom(root, target)).Config.Seed, seed)
	}
	errtest.Want(t, errtest.Of(LoadFrom(root, "map-elites-arm-2")), "no run")
	must.Do(os.Remove(filepath.Join(dirs[11], configFile)))
	must.Do(os.WriteFile(filepath.Join(dirs[1], configFile), []byte("{"), 0o666))
	errtest.Want(t, errtest.Of(LoadFrom(root, "map-elites-arm-1")), dirs[1], "restore it or move the folder away")
}

// A run that cannot be read is not a missing run, which would be trained again.
func TestLoadSaysThatARunIsDamaged(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	must.Do(os.WriteFile(filepath.Join(w.Dir, configFile), []byte(`{"algorithm":`), 0o666))
	for _, target := range []string{w.Name(), w.Name()[:10]} {
		errtest.Want(t, errtest.Of(LoadFrom(root, target)), filepath.Join(w.Name(), configFile),
			"restore it or move the folder away")
	}
}

// The error of a damaged array names the file once.
func TestDamagedRepertoireIsNamedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "repertoire.npz")
	must.Do(testRepertoire().Write(path))
	data := must.Get(os.ReadFile(path))
	data[bytes.Index(data, []byte("centroids.npy"))+len("centroids.npy")+40] ^= 4
	must.Do(os.WriteFile(path, data, 0o666))
	if _, err := ReadRepertoire(path, true); err == nil || strings.Count(err.Error(), path) != 1 {
		t.Error(err)
	}
}

// A path is looked up in its own folder only: the runs folder may have a run of the same name.
func TestLoadDoesNotLeaveTheFolderOfAPath(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	prefix := w.Name()[:len(w.Name())-4]
	for _, path := range []string{w.Dir, filepath.Join(root, prefix)} {
		errtest.Equal(t, path, must.Get(LoadFrom(t.TempDir(), path)).Dir, w.Dir)
	}
	elsewhere := filepath.Join(t.TempDir(), prefix)
	if run, err := LoadFrom(root, elsewhere); err == nil {
		t.Errorf("%s loads %s", elsewhere, run.Dir)
	}
}

// The runs of notebooks are in a folder of their own, which the error names.
func TestLoadNamesTheFolderThatHasTheRun(t *testing.T) {
	root := t.TempDir()
	w := must.Get(Create(filepath.Join(root, "notebooks", "runs"), testConfig(t)))
	w.Close()
	for folder, want := range map[string]string{root: filepath.Join("notebooks", "runs", w.Name()),
		filepath.Join(root, "notebooks"): ""} {
		t.Chdir(folder)
		run, err := Load(w.Name()[:len(w.Name())-4])
		if want == "" && (err != nil || run.Name() != w.Name()) ||
			want != "" && (err == nil || !strings.HasSuffix(err.Error(), "did you mean "+want+"?")) {
			t.Errorf("in %s: %v", folder, err)
		}
	}
	must.Do(os.MkdirAll(filepath.Join(root, "docs"), 0o777))
	must.Do(os.Rename(filepath.Join(root, "notebooks", "runs"), filepath.Join(root, "runs")))
	t.Chdir(filepath.Join(root, "docs"))
	if _, err := Load(w.Name()); err == nil || !strings.HasSuffix(err.Error(),
		"did you mean "+filepath.Join("..", "runs", w.Name())+"?") {
		t.Error(err)
	}
}

// A run prints as a line, with and without its address.
func TestRunPrintsAsALine(t *testing.T) {
	run := &Run{Dir: "runs/a-b-0-12345678", Config: Config{Algorithm: "a", Env: "b", Hyperparameters: []byte(`{"c":1}`)}}
	for want, status := range map[string]Status{
		"runs/a-b-0-12345678: unfinished, generation 0, 0 evaluations": {MaxFitness: math.Inf(-1)},
		"runs/a-b-0-12345678: generation 7, 80 evaluations, max fitness -1.5": {
			Progress: Progress{Generation: 7, Evaluations: 80}, MaxFitness: -1.5, Finished: true},
		"runs/a-b-0-12345678: generation 7, 80 evaluations, max fitness 2, QD score 30, coverage 12.50 %": {
			Progress: Progress{Generation: 7, Evaluations: 80}, MaxFitness: 2, QDScore: 30, Coverage: 12.5,
			Finished: true},
	} {
		run.Status = status
		for _, got := range []string{fmt.Sprint(run), fmt.Sprint(*run), fmt.Sprintf("%v", run), run.String()} {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
	if got := fmt.Sprint([]*Run{run, run}); len(got) > 250 {
		t.Errorf("a list of runs prints %s", got)
	}
	want := `{"algorithm":"a","env":"b","hyperparameters":{"c":1},"seed":0}`
	errtest.Equal(t, "the configuration prints", fmt.Sprint(run.Config), want)
	errtest.Equal(t, "no run", fmt.Sprint((*Run)(nil)), "<nil>")
}
