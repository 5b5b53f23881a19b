package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
)

func create(t testing.TB, root string) *Writer {
	t.Helper()
	w := must.Get(Create(root, testConfig(t)))
	t.Cleanup(func() { w.Close() })
	return w
}

// train saves what a training session saves between two generations, every 10 generations.
func train(t testing.TB, w *Writer, from, to int64) {
	t.Helper()
	must.Do(w.Begin(from, "generation", "qd_score"))
	for g := max(from+10, 0) / 10 * 10; g <= to; g += 10 {
		must.Do(w.Log(float64(g), float64(g)*1.1))
		s := w.Status
		s.Generation, s.Evaluations = g, 1000*g
		must.Do(w.SaveSnapshot(Snapshot{Progress: s.Progress, Repertoire: *testRepertoire()}))
		must.Do(w.SaveCheckpoint(g, map[string]npz.Array{"state": npz.Of([]int64{g, g * g})}, s.Progress))
		must.Do(w.SaveStatus(s))
	}
}

func TestRunRoundTrip(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	errtest.Equal(t, "the checkpoint of a new run", must.Get(w.LoadCheckpoint(nil)), Checkpoint{Generation: -1})
	train(t, w, -1, 40)
	must.Do(w.SaveRepertoire(testRepertoire()))
	must.Do(w.Close())
	must.Do(w.Close())

	r := must.Get(Open(w.Dir))
	if r.Name() != filepath.Base(w.Dir) || r.Status.Generation != 40 || r.Status.Updated.IsZero() {
		t.Errorf("the run is %+v", r)
	}
	table := must.Get(r.Metrics())
	errtest.Equal(t, "generations", must.Get(table.Column("generation")), []float64{0, 10, 20, 30, 40})
	errtest.Equal(t, "repertoire", must.Get(r.Repertoire()), packedRepertoire())
	withoutGenotypes := packedRepertoire()
	withoutGenotypes.Genotypes = nil
	errtest.Equal(t, "map of the repertoire", must.Get(r.RepertoireMap()), withoutGenotypes)
	snapshots := must.Get(r.Snapshots())
	if len(snapshots) != 5 || snapshots[2].Generation != 20 || snapshots[2].Evaluations != 20000 ||
		snapshots[2].Stats().Filled != 2 {
		t.Errorf("snapshots %+v", snapshots)
	}
	errtest.Equal(t, "checkpoints", must.Get(generations(filepath.Join(r.Dir, checkpointsDir), stateKind)), []int64{30, 40})

	again := create(t, root)
	var progress Progress
	errtest.Equal(t, "the checkpoint", must.Get(again.LoadCheckpoint(&progress)),
		Checkpoint{Generation: 40, Arrays: map[string]npz.Array{"state": npz.Of([]int64{40, 1600})}})
	errtest.Equal(t, "its evaluations", progress.Evaluations, 40000)
}

// stride is 1, or more in short tests with the race detector, which these tests of one goroutine tell nothing.
func stride() int {
	if testing.Short() {
		return 16
	}
	return 1
}

// eachDamage calls a function with each flipped bit of a byte, and with each length, of a file.
func eachDamage(whole []byte, check func(what string, damaged []byte)) {
	for i := 0; i < len(whole); i += stride() {
		damaged := slices.Clone(whole)
		damaged[i] ^= 1 << (i % 8)
		check(fmt.Sprintf("bit flip at byte %d", i), damaged)
		check(fmt.Sprintf("cut off at byte %d", i), whole[:i])
	}
}

func TestOneWriterOnly(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	_, err := Create(root, testConfig(t))
	want := fmt.Sprintf("is being trained by process %d on ", os.Getpid())
	errtest.Want(t, err, want, ", which is this one; Close its other Search")
	errtest.Want(t, HeldError{w.Dir, "process 1 on another"}, "process 1 on another; wait for it or stop it")
	must.Get(Open(w.Dir))
	// The second one leaves the folders alone, which the first needs.
	must.Do(w.SaveSnapshot(Snapshot{Repertoire: *testRepertoire()}))
	must.Do(w.Close())
	must.Do(create(t, root).Close())

	// A process that only looks who holds the folder is waited for.
	look := flock.New(filepath.Join(w.Dir, lockFile), flock.SetFlag(os.O_RDONLY))
	if taken, err := look.TryRLock(); !taken || err != nil {
		t.Fatalf("a shared lock: %t, %v", taken, err)
	}
	time.AfterFunc(lockPatience/5, func() { _ = look.Close() })
	must.Do(create(t, root).Close())
}

func TestEditedConfigIsRefused(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	must.Do(w.Close())
	path := filepath.Join(w.Dir, configFile)
	text := string(must.Get(os.ReadFile(path)))
	for edit, want := range map[string]string{
		strings.Replace(text, "1000", "500", 1):       "does not match its folder",
		strings.Replace(text, `"batch"`, `"bach"`, 1): "does not match its folder",
		strings.Replace(text, `"seed"`, `"sed"`, 1):   `did you mean "seed"?`,
		text[:len(text)/2]:                            "ends too early",
		"":                                            "ends too early",
		strings.Replace(text, "pointmaze", "../../etc", 1): "cannot be part of a folder's name",
	} {
		must.Do(os.WriteFile(path, []byte(edit), 0o666))
		errtest.Want(t, errtest.Of(Create(root, testConfig(t))), want, path)
	}
	var value any // reformatting is not an edit
	must.Do(json.Unmarshal([]byte(text), &value))
	compact := must.Get(json.Marshal(value))
	must.Do(os.WriteFile(path, compact, 0o666))
	must.Do(create(t, root).Close())
	must.Do(os.WriteFile(path, []byte(strings.Replace(text, "1000", "500", 1)), 0o666))
	other := filepath.Join(root, "mine") // a name without a hash is not checked
	must.Do(os.Rename(w.Dir, other))
	must.Get(Open(other))
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	for _, c := range []Config{
		{Algorithm: "map-elites", Env: "pointmaze", Seed: 10},
		{Algorithm: "map-elites", Env: "pointmaze", Seed: 2},
		{Algorithm: "aurora", Env: "pointmaze", Seed: 3},
	} {
		w := must.Get(Create(root, c))
		must.Do(w.Close())
	}
	must.Do(os.MkdirAll(filepath.Join(root, "map-elites-cache"), 0o777)) // no run
	must.Do(os.WriteFile(filepath.Join(root, "notes"), nil, 0o666))
	must.Do(os.MkdirAll(filepath.Join(root, "broken"), 0o777))
	must.Do(os.WriteFile(filepath.Join(root, "broken", configFile), []byte("{"), 0o666))

	names := func(runs []*Run) (seeds []int64) {
		for _, r := range runs {
			seeds = append(seeds, r.Config.Seed)
		}
		return seeds
	}
	for pattern, want := range map[string]string{"*": "[3 2 10] 1 <nil>", "map-elites-*": "[2 10] 0 <nil>",
		"none/*": "[] 0 <nil>", "[": `[] 0 pattern "[": syntax error in pattern`} {
		found, broken, err := Find(root, pattern)
		errtest.Equal(t, "seeds, damaged runs and error of "+pattern, fmt.Sprint(names(found), len(broken), err), want)
		for _, err := range broken {
			errtest.Want(t, err, "broken")
		}
	}
}

func TestReadingWhatIsNotThere(t *testing.T) {
	errtest.Want(t, errtest.Of(Open(t.TempDir())), "no run in")
	w := create(t, t.TempDir())
	errtest.Want(t, errtest.Of(w.Repertoire()), "finish training")
	errtest.Want(t, errtest.Of(w.Metrics()), "logged nothing")
	errtest.Equal(t, "snapshots", len(must.Get(w.Snapshots())), 0)
	for text, says := range map[string]string{`{"generation":`: "not valid JSON: it ends too early",
		`{"generation":"x"}`: "(generation has the wrong type (string))", `[]`: "(its value has the wrong type (array))"} {
		must.Do(os.WriteFile(filepath.Join(w.Dir, statusFileName), []byte(text), 0o666))
		errtest.Want(t, errtest.Of(Open(w.Dir)), "status.json is damaged", says)
	}
}

func TestLogChecksItsRows(t *testing.T) {
	w := create(t, t.TempDir())
	errtest.Want(t, w.Log(1), "Begin")
	for _, columns := range [][]string{nil, {"qd_score"}, {"generation", "generation"},
		{"generation", "a,b"}, {"generation", ""}} {
		errtest.Want(t, w.Begin(-1, columns...))
	}
	must.Do(w.Begin(-1, "generation", "qd_score"))
	must.Do(w.Log(0, 1))
	for _, row := range [][]float64{{1}, {1, 2, 3}, {0, 1}, {-1, 1}} {
		errtest.Want(t, w.Log(row...))
	}
	errtest.Want(t, w.Begin(0, "generation", "coverage"), "has the columns generation, qd_score")
	must.Do(w.Begin(-1, "generation", "coverage")) // starting over allows other columns
	errtest.Equal(t, metricsFile, string(must.Get(os.ReadFile(filepath.Join(w.Dir, metricsFile)))), "generation,coverage\n")
}

func TestWrongCheckpointsAreRefused(t *testing.T) {
	w := create(t, t.TempDir())
	for _, err := range map[string]error{
		"negative": w.SaveCheckpoint(-1, nil, nil),
		"taken":    w.SaveCheckpoint(1, map[string]npz.Array{"meta": npz.Scalar(1.0)}, nil),
		"shape":    w.SaveCheckpoint(1, map[string]npz.Array{"a": {Shape: []int{2}, Data: []float32{1}}}, nil),
		"meta":     w.SaveCheckpoint(1, nil, func() {}),
		"snapshot": w.SaveSnapshot(Snapshot{Progress: Progress{Generation: -1}}),
		"map":      w.SaveRepertoire(&Repertoire{}),
	} {
		errtest.Want(t, err)
	}
	must.Do(w.SaveCheckpoint(1, nil, "text"))
	var number int
	errtest.Want(t, errtest.Of(w.LoadCheckpoint(&number)), "another version")
}

// Tests may run as root, who can write everywhere. A file in place of a folder stops root too.
func TestObstaclesGiveOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	for _, root := range []string{file, filepath.Join(file, "below")} {
		errtest.Want(t, errtest.Of(Create(root, testConfig(t))), root+" is not a folder; ", "--runs")
	}
	w := create(t, t.TempDir())
	must.Do(w.SaveCheckpoint(50, nil, nil))
	dir := filepath.Join(w.Dir, checkpointsDir)
	must.Do(os.Rename(dir, dir+"-moved"))
	must.Do(os.WriteFile(dir, nil, 0o666))
	errtest.Want(t, w.SaveCheckpoint(60, nil, nil), "is not a folder")
	for cause, want := range map[error]string{
		syscall.ENOSPC: "no space left in runs/a; free space or give --runs (Spec.Runs) another folder; the last checkpoint is",
		syscall.EDQUOT: "no space left in runs/a; ",
		syscall.EROFS:  "cannot write to runs/a; give --runs (Spec.Runs) a writable folder; the last checkpoint is generation 50",
		syscall.EACCES: "cannot write to runs/a; ",
		syscall.EIO:    "cannot store the run in runs/a; the last checkpoint is generation 50 (",
	} {
		err := failure("runs/a", 50, &fs.PathError{Op: "write", Path: "x", Err: cause})
		if !strings.HasPrefix(err.Error(), want) || !errors.Is(err, cause) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	errtest.Equal(t, "nil", failure("runs/a", -1, nil), nil)
	must.Do(os.RemoveAll(w.Dir))
	errtest.Want(t, w.SaveStatus(Status{}), w.Dir+" was moved or deleted while it was written; move it back")
}

func TestDiscardRemovesOnlyARunThatNeverBegan(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	must.Do(w.SaveReplay(1, 9, 1, func(int64, int64) ([]float32, error) { return []float32{1}, nil }))
	must.Do(w.Discard())
	errtest.Equal(t, "what is left of a run that never began", must.Get(os.ReadDir(root)), nil)

	w = create(t, root)
	must.Do(w.Begin(-1, "generation")) // another run of a group failed after it
	must.Do(w.Discard())
	errtest.Equal(t, "what is left of a run that logged nothing", must.Get(os.ReadDir(root)), nil)

	w = create(t, root)
	must.Do(w.SaveStatus(Status{Finished: true})) // shipped, without checkpoints
	must.Do(w.Discard())
	must.Get(Open(w.Dir + "/"))

	w = create(t, root)
	must.Do(w.Begin(-1, "generation"))
	must.Do(w.SaveCheckpoint(3, map[string]npz.Array{"state": npz.Of([]int64{3})}, nil))
	must.Do(w.Discard())
	w = create(t, root)
	errtest.Equal(t, "the generation after Discard", must.Get(w.LoadCheckpoint(nil)).Generation, 3)
}

// grid is a repertoire of 8 cells in training: each cell has the generation in which it was filled, or -1.
type grid [8]int64

const gridParams = 3

// gridAt returns the grid after a generation: cell k changes every k+1 generations from generation
// k on; the last cell is never filled.
func gridAt(generation int64) (g grid) {
	for k := range g {
		g[k] = -1
		if n := int64(k); generation >= n && k < len(g)-1 {
			g[k] = n + (generation-n)/(n+1)*(n+1)
		}
	}
	return g
}

// arrays are those of a checkpoint. The passive repertoire has the individuals of the other cells.
func (g grid) arrays() map[string]npz.Array {
	genotypes, passive := make([]float32, len(g)*gridParams), make([]float32, len(g)*gridParams)
	fitnesses, empty := make([]float32, len(g)), float32(math.Inf(-1))
	passiveFitnesses := slices.Clone(fitnesses)
	for k, generation := range g {
		fitnesses[k], passiveFitnesses[len(g)-1-k] = empty, empty
		if generation >= 0 {
			genotype := []float32{float32(k), float32(generation), float32(k) / 7}
			fitnesses[k], passiveFitnesses[len(g)-1-k] = float32(generation), 1
			copy(genotypes[k*gridParams:], genotype)
			copy(passive[(len(g)-1-k)*gridParams:], genotype)
		}
	}
	return map[string]npz.Array{
		"genotypes": npz.Of(genotypes, len(g), gridParams), "fitnesses": npz.Of(fitnesses),
		"passive_genotypes": npz.Of(passive, len(g), gridParams),
		"passive_fitnesses": npz.Of(passiveFitnesses), "state": npz.Of(g[:]),
	}
}

// repertoire is the final repertoire: the passive one.
func (g grid) repertoire() *Repertoire {
	arrays := g.arrays()
	return &Repertoire{Params: gridParams, Dims: 1,
		Genotypes:   arrays["passive_genotypes"].Data.([]float32),
		Fitnesses:   arrays["passive_fitnesses"].Data.([]float32),
		Descriptors: make([]float32, len(g)), Centroids: make([]float32, len(g))}
}

// advance saves a checkpoint of each generation from (exclusive) to to.
func advance(t testing.TB, w *Writer, from, to int64) {
	t.Helper()
	for g := from + 1; g <= to; g++ {
		must.Do(w.SaveCheckpoint(g, gridAt(g).arrays(), nil))
	}
}

// expect loads the newest checkpoint, which must be of a generation.
func expect(t testing.TB, w *Writer, want int64) (warnings []string) {
	t.Helper()
	from, err := w.LoadCheckpoint(nil)
	if err != nil || from.Generation != want {
		t.Fatalf("generation %d, want %d: %q, %v", from.Generation, want, from.Warnings, err)
	}
	if want >= 0 && !reflect.DeepEqual(from.Arrays, gridAt(want).arrays()) {
		t.Fatalf("generation %d: %v", want, from.Arrays)
	}
	return from.Warnings
}

// checkpointFiles counts the files of checkpoints, and repertoire.npz if there is one.
func checkpointFiles(w *Writer) int {
	n := len(must.Get(filepath.Glob(filepath.Join(w.Dir, checkpointsDir, "*"))))
	if w.HasRepertoire() {
		n++
	}
	return n
}

// A finished run has the genotypes of its repertoire in repertoire.npz alone.
func TestFinishedRunStoresItsRepertoireOnce(t *testing.T) {
	w := create(t, t.TempDir())
	advance(t, w, -1, 20)
	must.Do(w.StageRepertoire(gridAt(20).repertoire()))
	must.Do(w.SaveCheckpoint(20, gridAt(20).arrays(), nil))
	errtest.Equal(t, "the state and repertoire.npz", checkpointFiles(w), 2)
	stored, err := npz.Read(w.checkpointPath(stateKind, 20))
	if _, twice := stored["passive_genotypes"]; err != nil || twice || !slices.Equal(stored["genotypes"].Shape, []int{7, 3}) {
		t.Errorf("stored are %v, %v", stored, err)
	}
	if r, err := w.Repertoire(); err != nil || len(r.Genotypes) != 7*gridParams ||
		!slices.Equal(r.AllGenotypes(), gridAt(20).repertoire().Genotypes) {
		t.Errorf("%+v, %v", r, err)
	}
	expect(t, w, 20)

	// a repertoire of another state, none, and one with other genotypes
	must.Do(w.SaveRepertoire(gridAt(3).repertoire()))
	errtest.Contains(t, expect(t, w, -1)[0], "repertoire.npz is of another state")
	must.Do(os.Remove(filepath.Join(w.Dir, repertoireFile)))
	errtest.Contains(t, expect(t, w, -1)[0], "repertoire.npz is missing")
	arrays := gridAt(20).arrays()
	arrays["passive_genotypes"].Data.([]float32)[3] = 99
	must.Do(w.StageRepertoire(gridAt(20).repertoire()))
	must.Do(w.SaveCheckpoint(20, arrays, nil))
	errtest.Equal(t, "arrays", must.Get(w.LoadCheckpoint(nil)).Arrays, arrays)
}

// Any damage of a checkpoint is detected: the checkpoint before is used.
func TestDamagedCheckpoints(t *testing.T) {
	w := create(t, t.TempDir())
	advance(t, w, -1, 2)
	path := w.checkpointPath(stateKind, 2)
	content := must.Get(os.ReadFile(path))
	check := func(what string, data []byte) {
		t.Helper()
		must.Do(os.WriteFile(path, data, 0o666))
		from, err := w.LoadCheckpoint(nil)
		switch g := from.Generation; {
		case err == nil && g == 2 && reflect.DeepEqual(from.Arrays, gridAt(2).arrays()): // unused bytes
		case err == nil && g == 1 && len(from.Warnings) == 1 && reflect.DeepEqual(from.Arrays, gridAt(1).arrays()) &&
			strings.HasPrefix(from.Warnings[0], "checkpoint state-000000002.npz is damaged (") &&
			strings.HasSuffix(from.Warnings[0], "; trying state-000000001.npz"):
		default:
			t.Fatalf("%s: generation %d, %q, %v", what, g, from.Warnings, err)
		}
	}
	eachDamage(content, check)
	check("a byte more", append(slices.Clone(content), 0))
	check("of another generation", must.Get(os.ReadFile(w.checkpointPath(stateKind, 1))))
	other := must.Get(Create(filepath.Dir(w.Dir), Config{Algorithm: "a", Env: "b"}))
	defer other.Close()
	must.Do(other.SaveCheckpoint(2, nil, nil))
	check("of another run", must.Get(os.ReadFile(other.checkpointPath(stateKind, 2))))
	must.Do(os.Remove(path))
	expect(t, w, 1)
	// A disk or permission error is reported, since an older checkpoint would lose work.
	must.Do(os.Symlink(path, path)) // reading it is an error of the file system, but it is there
	errtest.Want(t, errtest.Of(w.LoadCheckpoint(nil)), "cannot read checkpoint ", path)
}

// A damaged checkpoint does not count as one of the two that are kept.
func TestDamagedCheckpointsAreNotKept(t *testing.T) {
	w := create(t, t.TempDir())
	train(t, w, -1, 20)
	must.Do(os.Truncate(w.checkpointPath(stateKind, 20), 100))
	must.Get(w.LoadCheckpoint(nil))
	train(t, w, 10, 10)
	must.Do(w.SaveCheckpoint(15, nil, nil))
	errtest.Equal(t, "checkpoints", must.Get(generations(filepath.Join(w.Dir, checkpointsDir), stateKind)), []int64{10, 15})
	for _, g := range []int64{10, 15} {
		must.Do(os.Truncate(w.checkpointPath(stateKind, g), 100))
	}
	if warnings := expect(t, w, -1); len(warnings) != 2 || !strings.Contains(warnings[1], "starting from the beginning") {
		t.Errorf("%q", warnings)
	}
}

// Other arrays are stored as they are: of other types, without fitnesses, with one axis. So are those of an
// empty repertoire.
func TestOtherArraysAreStoredWhole(t *testing.T) {
	w, empty := create(t, t.TempDir()), float32(math.Inf(-1))
	for g, arrays := range []map[string]npz.Array{{
		"genotypes": npz.Of([]float64{1, 2}, 2, 1), "fitnesses": npz.Of([]float32{1, 1}),
		"a_genotypes": npz.Of([]float32{1, 2}, 2, 1),
		"b_genotypes": npz.Of([]float32{1, 2}), "b_fitnesses": npz.Of([]float32{1, 1}),
		"c_genotypes": npz.Of([]float32{1, 2}, 1, 2), "c_fitnesses": npz.Of([]float32{1, 1}),
	}, {
		"genotypes": npz.Of(make([]float32, 6), 2, 3), "fitnesses": npz.Of([]float32{empty, empty}),
	}} {
		must.Do(w.SaveCheckpoint(int64(g), arrays, nil))
		errtest.Equal(t, "arrays", must.Get(w.LoadCheckpoint(nil)).Arrays, arrays)
	}
}
