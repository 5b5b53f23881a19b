package runs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/protobuf/protobuftest"
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
			errtest.Equal(t, "as text", got, want)
		}
	}
	if got := fmt.Sprint([]*Run{run, run}); len(got) > 250 {
		t.Errorf("a list of runs prints %s", got)
	}
	want := `{"algorithm":"a","env":"b","hyperparameters":{"c":1},"seed":0}`
	errtest.Equal(t, "the configuration prints", fmt.Sprint(run.Config), want)
	errtest.Equal(t, "no run", fmt.Sprint((*Run)(nil)), "<nil>")
}

// scalars returns what the event file of a run holds, one text per record.
func scalars(t *testing.T, run *Run) (texts []string) {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(run.Dir, eventsDir, eventsPattern)))
	if len(files) != 1 {
		t.Fatalf("event files %v", files)
	}
	sum := func(data []byte) uint32 {
		crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
		return crc>>15 | crc<<17 + 0xa282ead8
	}
	for data := must.Get(os.ReadFile(files[0])); len(data) > 0; {
		size := binary.LittleEndian.Uint64(data)
		body := data[12:][:size]
		if sum(data[:8]) != binary.LittleEndian.Uint32(data[8:]) || sum(body) != binary.LittleEndian.Uint32(data[12+size:]) {
			t.Fatal("a checksum is wrong")
		}
		event := protobuftest.Fields(t, body)
		text := fmt.Sprint(event[2], event[3])
		for _, session := range event[7] {
			text += fmt.Sprint(" session ", protobuftest.Fields(t, session)[1])
		}
		for _, summary := range event[5] {
			for _, value := range protobuftest.Fields(t, summary)[1] {
				scalar := protobuftest.Fields(t, value)
				text += fmt.Sprint(" ", scalar[1], scalar[2])
			}
		}
		texts, data = append(texts, text), data[16+size:]
	}
	return texts
}

// An event file has the rows of metrics.csv, also of an interrupted run that resumes, and of a
// finished one that is asked for it later.
func TestEvents(t *testing.T) {
	root := t.TempDir()
	row := func(generation, score string) string {
		return fmt.Sprintf("[%s] [] [seconds] [%s] [qd_score] [%s]", generation, generation, score)
	}
	head := []string{"[] [brain.Event:2]", "[] [] session [1]"}
	w := create(t, root)
	w.TensorBoard = true
	begin := func(generation int64) {
		must.Do(w.Begin(generation, "generation", "seconds", "qd_score", "max_fitness", FinalColumn))
	}
	begin(-1)
	must.Do(w.Log(0, 0, -2.5, math.Inf(-1), 0))
	must.Do(w.Log(1, 1, 4, math.NaN(), 0))
	must.Do(w.Log(2, 2, 5, math.NaN(), 0))
	errtest.Equal(t, "scalars", scalars(t, w.Run), append(head, row("0", "-2.5"), row("1", "4"), row("2", "5")))
	begin(1)
	must.Do(w.Log(2, 2, 6, math.NaN(), 0))
	must.Do(w.Close())
	want := append(head, row("0", "-2.5"), row("1", "4"), row("2", "6"))
	errtest.Equal(t, "resumed", scalars(t, w.Run), want)
	w = create(t, root) // it resumes without events
	begin(1)
	must.Do(w.Log(2, 2, 7, math.NaN(), 0))
	must.Do(w.Close())
	want[len(want)-1] = row("2", "7")
	for range 2 {
		must.Do(w.WriteEvents())
		errtest.Equal(t, "later", scalars(t, w.Run), want)
	}
}
