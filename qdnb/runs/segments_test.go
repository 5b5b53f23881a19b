package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
)

// testRing is a replay buffer whose values encode their row, column and writing session.
type testRing struct {
	capacity int64
	width    int
	since    int64 // rows from this one on are of another session, if it is not 0
	asked    int64 // rows requested by the last save
}

func (r *testRing) row(row int64) []float32 {
	out, session := make([]float32, r.width), 0
	if r.since > 0 && row >= r.since {
		session = 1_000_000
	}
	for k := range out {
		out[k] = float32(int(row)*7 + k%5 + session)
	}
	return out
}

func (r *testRing) rows(from, to int64) (flat []float32, err error) {
	for row := from; row < to; row++ {
		flat = append(flat, r.row(row)...)
	}
	return flat, nil
}

func (r *testRing) save(w *Writer, total int64) error {
	r.asked = 0
	return w.SaveReplay(total, r.capacity, r.width, func(from, to int64) ([]float32, error) {
		if from < 0 || from >= to || from < total-r.capacity || to > total {
			return nil, fmt.Errorf("rows %d to %d of a ring of %d were asked for at %d", from, to, r.capacity, total)
		}
		r.asked += to - from
		return r.rows(from, to)
	})
}

// load reads the buffer and compares it with what this ring would hold.
func (r *testRing) load(w *Writer, total int64) error {
	next := max(0, total-r.capacity)
	err := w.LoadReplay(total, r.capacity, r.width, func(from int64, rows []float32) error {
		if from != next || len(rows) == 0 || len(rows)%r.width != 0 {
			return fmt.Errorf("%d numbers from row %d on, want row %d", len(rows), from, next)
		}
		for ; len(rows) > 0; rows, next = rows[r.width:], next+1 {
			if !slices.Equal(rows[:r.width], r.row(next)) {
				return fmt.Errorf("row %d is %v..., want %v...", next, rows[:min(4, r.width)], r.row(next)[:min(4, r.width)])
			}
		}
		return nil
	})
	if err == nil && next != total {
		return fmt.Errorf("rows up to %d were loaded, want %d", next, total)
	}
	return err
}

// smallSegments limits segments to a number of values during a test.
func smallSegments(t testing.TB, numbers int64) {
	before := segmentBytes
	segmentBytes = 4 * numbers
	t.Cleanup(func() { segmentBytes = before })
}

func segmentNames(t testing.TB, w *Writer) []string {
	t.Helper()
	all := must.Get(segmentFiles(filepath.Join(w.Dir, replayDir)))
	names := []string{}
	for _, s := range all {
		names = append(names, s.file())
	}
	return names
}

// ranges lists the segments in short form: 0-6 6-9.
func ranges(t testing.TB, w *Writer) string {
	t.Helper()
	var short []string
	for _, name := range segmentNames(t, w) {
		s, _ := parseSegment(name)
		short = append(short, fmt.Sprintf("%d-%d", s.from, s.to))
	}
	return strings.Join(short, " ")
}

// resume closes a writer and reopens its folder at the newest checkpoint.
func resume(t testing.TB, w *Writer, root string, want int64) *Writer {
	t.Helper()
	must.Do(w.Close())
	w = create(t, root)
	errtest.Equal(t, "generation", must.Get(w.LoadCheckpoint(nil)).Generation, want)
	return w
}

// Buffers of different shapes, filled in steps and sessions of different lengths: each of the two
// kept checkpoints has all of its rows, no row is written twice, and unneeded segments are removed.
func TestReplayRoundTrip(t *testing.T) {
	smallSegments(t, 100)
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 12 {
		root := t.TempDir()
		w := create(t, root)
		ring := &testRing{capacity: 1 + rng.Int64N(20), width: []int{1, 9, 120}[trial%3]}
		var total, before, written int64
		for g := int64(1); g <= 12; g++ {
			before = total
			if total += rng.Int64N(15); rng.IntN(4) == 0 {
				total = before
			}
			must.Do(ring.save(w, total))
			if want := total - max(written, total-ring.capacity); ring.asked != max(0, want) {
				t.Fatalf("trial %d: %d rows were asked for at %d after %d", trial, ring.asked, total, written)
			}
			written = total
			must.Do(w.SaveCheckpoint(g, nil, nil))
			for _, s := range segmentNames(t, w) {
				s, _ := parseSegment(s)
				if rows := s.to - s.from; rows > max(1, 100/int64(ring.width)) || s.to > total || s.to <= before-ring.capacity {
					t.Fatalf("trial %d: segment %+v is there at %d after %d", trial, s, total, before)
				}
			}
			if rng.IntN(3) == 0 {
				w = resume(t, w, root, g)
				must.Do(ring.load(w, total))
			}
		}
		must.Do(os.Truncate(w.checkpointPath(stateKind, 12), 10))
		w = resume(t, w, root, 11)
		must.Do(ring.load(w, before))
		must.Do(w.Close())
	}
}

// The newest checkpoint is damaged: training resumes from the previous one, whose rows are
// complete, and overwrites rows of the newest.
func TestReplayOfTheCheckpointBefore(t *testing.T) {
	smallSegments(t, 10)
	root := t.TempDir()
	w := create(t, root)
	ring := &testRing{capacity: 12, width: 2}
	for g, total := range []int64{10, 20, 33, 38} {
		must.Do(ring.save(w, total))
		must.Do(w.SaveCheckpoint(int64(g), nil, nil))
	}
	// A session that resumes from the newest checkpoint and only saves it again does not know what the previous one needs.
	w = resume(t, w, root, 3)
	must.Do(ring.load(w, 38))
	must.Do(w.SaveCheckpoint(3, nil, nil))
	must.Do(os.Truncate(w.checkpointPath(stateKind, 3), 50))
	w = resume(t, w, root, 2)
	must.Do(ring.load(w, 33))
	must.Do(w.Begin(2, "generation"))
	ring.since = 33
	must.Do(ring.save(w, 36))
	if got := ranges(t, w); !strings.HasSuffix(got, " 33-36") {
		t.Errorf("segments %s", got)
	}
	must.Do(w.SaveCheckpoint(3, nil, nil))
	w = resume(t, w, root, 3)
	must.Do(ring.load(w, 36))
	must.Do(w.Close())
}

func TestDamagedSegments(t *testing.T) {
	smallSegments(t, 12)
	root := t.TempDir()
	w := create(t, root)
	ring := &testRing{capacity: 9, width: 2}
	for g, total := range []int64{9, 14} {
		must.Do(ring.save(w, total))
		must.Do(w.SaveCheckpoint(int64(g), nil, nil))
	}
	dir := filepath.Join(w.Dir, replayDir)
	errtest.Equal(t, "segments", ranges(t, w), "0-6 6-9 9-14")
	remove := "; remove " + w.checkpointPath(stateKind, 1) + " to resume from " + generationFile(stateKind, 0)
	path := filepath.Join(dir, (segment{6, 9}).file())
	whole := must.Get(os.ReadFile(path))
	check := func(what string, damaged []byte, want string) {
		t.Helper()
		must.Do(os.WriteFile(path, damaged, 0o666))
		err := ring.load(w, 14)
		begins := "damaged replay segment " + path + ": "
		if err == nil || !strings.HasPrefix(err.Error(), begins) || !strings.HasSuffix(err.Error(), remove) ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%s: %v", what, err)
		}
	}
	w = resume(t, w, root, 1)
	eachDamage(whole, func(what string, damaged []byte) {
		must.Do(os.WriteFile(path, damaged, 0o666))
		if ring.load(w, 14) != nil || len(damaged) < len(whole) { // else the byte is unused: the rows are right
			check(what, damaged, "")
		}
	})
	check("another segment", must.Get(os.ReadFile(filepath.Join(dir, (segment{0, 6}).file()))),
		"it holds rows 0 to 6 of "+w.Name())
	check("a checkpoint", must.Get(os.ReadFile(w.checkpointPath(stateKind, 0))), "it holds rows 0 to 0 of "+w.Name())
	text := npz.Of(fmt.Appendf(nil, `{"run":%q,"from":6,"to":9}`, w.Name()))
	right := npz.Of(make([]float32, 6), 3, 2)
	type arrays = map[string]npz.Array
	for what, c := range map[string]struct {
		arrays arrays
		want   string
	}{
		"no meta":       {arrays{rowsKey: right}, "no meta"},
		"meta no JSON":  {arrays{metaKey: npz.Of([]byte(`{"run"`)), rowsKey: right}, ""},
		"another run":   {arrays{metaKey: npz.Of([]byte(`{"run":"a","from":6,"to":9}`)), rowsKey: right}, "of a;"},
		"no rows":       {arrays{metaKey: text}, "its rows are"},
		"other numbers": {arrays{metaKey: text, rowsKey: npz.Of(make([]float64, 6), 3, 2)}, "float64 [3 2]"},
		"other width":   {arrays{metaKey: text, rowsKey: npz.Of(make([]float32, 6), 2, 3)}, "float32 [2 3]"},
	} {
		must.Do(npz.Write(path, c.arrays))
		check(what, must.Get(os.ReadFile(path)), c.want)
	}
	if _, err := segmentRows(arrays{metaKey: text, rowsKey: right}, segmentMeta{w.Name(), 6, 9}, 2); err != nil {
		t.Errorf("a valid segment is refused: %v", err)
	}

	// Rows that only the newest checkpoint needs may be lost: the previous one does not read them.
	must.Do(os.WriteFile(path, whole, 0o666))
	must.Do(os.Remove(filepath.Join(dir, (segment{9, 14}).file())))
	const incomplete = "incomplete replay buffer: "
	errtest.Want(t, ring.load(w, 14), incomplete+dir+" lacks the segment with row 9"+remove)
	must.Do(os.Remove(w.checkpointPath(stateKind, 1))) // as the error advises
	w = resume(t, w, root, 0)
	must.Do(ring.load(w, 9))
	must.Do(os.Remove(filepath.Join(dir, (segment{0, 6}).file())))
	move := "; move " + w.Dir + " away to start over"
	errtest.Want(t, ring.load(w, 9), incomplete+dir+" lacks the segment with row 0"+move)
	must.Do(os.Remove(path))
	must.Do(os.Mkdir(path, 0o777)) // the disk refuses to read it
	must.Do(os.WriteFile(filepath.Join(dir, (segment{0, 6}).file()), nil, 0o666))
	errtest.Want(t, ring.load(w, 9), ": not an .npz file")
	must.Do(os.Remove(filepath.Join(dir, (segment{0, 6}).file())))
	err := (&testRing{capacity: 3, width: 2}).load(w, 9)
	errtest.Want(t, err, "cannot read replay segment "+path+"; fix the cause, or move ")
	must.Do(os.Remove(path))
	if err := ring.load(w, 9); !errors.Is(err, ErrNoReplay) || !strings.Contains(err.Error(), "9 rows of it") {
		t.Errorf("no segment: %v", err)
	}
	must.Do(ring.load(w, 0)) // nothing is needed
}

func TestDropReplay(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	must.Do(w.DropReplay()) // there is none
	ring := &testRing{capacity: 9, width: 2}
	must.Do(ring.save(w, 30))
	must.Do(w.SaveCheckpoint(0, nil, nil))
	must.Do(os.WriteFile(filepath.Join(w.Dir, replayDir, ".writing-a"), nil, 0o666))
	must.Do(w.DropReplay())
	if _, err := os.Stat(filepath.Join(w.Dir, replayDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	w = resume(t, w, root, 0)
	if err := ring.load(w, 30); !errors.Is(err, ErrNoReplay) {
		t.Errorf("%v", err)
	}
	must.Do(ring.save(w, 31)) // a session that still has the rows can continue
	must.Do(w.SaveCheckpoint(1, nil, nil))
	w = resume(t, w, root, 1)
	must.Do(ring.load(w, 31))
	must.Do(os.WriteFile(filepath.Join(w.Dir, replayDir, "notes"), nil, 0o666))
	must.Do(w.DropReplay())
	errtest.Equal(t, "files left", len(must.Get(os.ReadDir(filepath.Join(w.Dir, replayDir)))), 1)
}

func TestWrongReplaysAreRefused(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	ring := &testRing{capacity: 9, width: 2}
	none := func(from, to int64) ([]float32, error) { return nil, nil }
	for _, err := range map[string]error{
		"total":    w.SaveReplay(-1, 9, 2, none),
		"capacity": w.SaveReplay(1, 0, 2, none),
		"width":    w.SaveReplay(1, 9, 0, none),
		"length":   w.SaveReplay(1, 9, 2, none),
		"load":     w.LoadReplay(1, 9, -1, nil),
	} {
		errtest.Want(t, err, "replay buffer of "+w.Dir)
	}
	must.Do(ring.save(w, 5))
	errtest.Want(t, ring.load(w, 4), "lacks the segment with row 0")
	errtest.Want(t, ring.save(w, 4), "4 rows after 5")
	stop := errors.New("stop")
	if err := w.SaveReplay(6, 9, 2, func(int64, int64) ([]float32, error) {
		return nil, stop
	}); !errors.Is(err, stop) {
		t.Errorf("the function's error: %v", err)
	}
	if err := w.LoadReplay(5, 9, 2, func(int64, []float32) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the function's error: %v", err)
	}
	must.Do(w.SaveCheckpoint(0, nil, nil))
	w = resume(t, w, root, 0)
	err := ring.save(w, 6)
	if err == nil || !strings.Contains(err.Error(), "call LoadReplay before") || ranges(t, w) != "0-5" {
		t.Errorf("rows were not loaded: %v", err)
	}
	must.Do(ring.load(w, 5))
	must.Do(ring.save(w, 6))
}

// disk is a disk that fails at operation number at. It knows what a power failure would leave: of a file
// the contents at its last sync, under the name that it had at the last sync of itself or of its folder.
type disk struct {
	at, count int
	dead      bool              // every operation from at on fails, as after a power failure
	synced    map[string]string // contents by present path
	durable   map[string]string // contents by durable path
}

// use replaces the operations of [atomicfile] during a test.
func (d *disk) use(t *testing.T) {
	before := atomicfile.Disk
	t.Cleanup(func() { atomicfile.Disk = before })
	d.synced, d.durable = map[string]string{}, map[string]string{}
	fails := func() error {
		if d.count++; d.count == d.at || d.dead && d.count > d.at {
			return syscall.ENOSPC
		}
		return nil
	}
	atomicfile.Disk.Sync = func(f *os.File) error {
		if err := fails(); err != nil {
			return &fs.PathError{Op: "sync", Path: f.Name(), Err: err}
		}
		path := filepath.Clean(f.Name())
		if info := must.Get(f.Stat()); !info.IsDir() {
			d.synced[path] = string(must.Get(os.ReadFile(path)))
			d.durable[path] = d.synced[path]
			return nil
		}
		for name := range d.durable { // renamed files leave their old names
			if _, err := os.Stat(name); err != nil && filepath.Dir(name) == path {
				delete(d.durable, name)
			}
		}
		for _, entry := range must.Get(os.ReadDir(path)) {
			if name := filepath.Join(path, entry.Name()); !entry.IsDir() {
				d.durable[name] = d.synced[name] // nothing of a file that was never synced
			}
		}
		return nil
	}
	atomicfile.Disk.Rename = func(from, to string) error {
		if err := fails(); err != nil {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
		from, to = filepath.Clean(from), filepath.Clean(to)
		d.synced[to] = d.synced[from]
		delete(d.synced, from)
		return os.Rename(from, to)
	}
	atomicfile.Disk.Remove = func(path string) error {
		if err := fails(); err != nil {
			return &fs.PathError{Op: "remove", Path: path, Err: err}
		}
		delete(d.durable, filepath.Clean(path)) // perhaps at once
		return os.Remove(path)
	}
}

// afterPowerFailure writes what is durable below root to another folder.
func (d *disk) afterPowerFailure(t *testing.T, root string) string {
	other := t.TempDir()
	for path, contents := range d.durable {
		to := filepath.Join(other, must.Get(filepath.Rel(root, path)))
		must.Do(os.MkdirAll(filepath.Dir(to), 0o777))
		must.Do(os.WriteFile(to, []byte(contents), 0o666))
	}
	return other
}

// trainee is a process that trains, with a finished run at every fourth generation.
type trainee struct {
	*Writer
	ring    testRing
	reached int64 // the generation of the last checkpoint
	logged  int64
}

// open resumes a run, and checks the state, the rows and the replay buffer that it finds.
func (p *trainee) open(root string, c Config) (err error) {
	p.ring.capacity, p.ring.width, p.reached = 40, 8, -1
	if p.Writer, err = Create(root, c); err != nil {
		return err
	}
	from, err := p.LoadCheckpoint(nil)
	if err != nil {
		return err
	}
	reached := from.Generation
	if len(from.Warnings) > 0 || reached >= 0 && !reflect.DeepEqual(from.Arrays, gridAt(reached).arrays()) {
		return fmt.Errorf("generation %d has another state, warnings %q", reached, from.Warnings)
	}
	p.reached, p.logged = reached, reached
	if reached >= 0 {
		if err := p.ring.load(p.Writer, 30*(reached+1)); err != nil {
			return err
		}
	}
	if err := p.Begin(reached, "generation", "qd_score"); err != nil {
		return err
	}
	if table, err := p.Metrics(); err != nil || len(table.Rows) != int(reached)+1 {
		return errors.Join(err, errors.New("rows are missing"))
	}
	return nil
}

// train trains on to a generation. A resumed run that was finished, or has nothing left to train, is saved again.
func (p *trainee) train(to int64) error {
	from := p.reached + 1
	if (p.reached%4 == 3 || p.reached == to) && p.logged == p.reached {
		from--
	}
	for g := from; g <= to; g++ {
		if g > p.logged {
			if err := p.Log(float64(g), float64(g)*1.1); err != nil {
				return err
			}
			p.logged = g
		}
		status := p.Status
		status.Generation = g
		err := errors.Join(p.ring.save(p.Writer, 30*(g+1)),
			p.SaveSnapshot(Snapshot{Progress: status.Progress, Repertoire: *testRepertoire()}))
		if g%4 == 3 {
			err = errors.Join(err, p.StageRepertoire(gridAt(g).repertoire()))
		}
		if err == nil {
			err = p.SaveCheckpoint(g, gridAt(g).arrays(), nil)
		}
		if err != nil {
			return err
		}
		p.reached = g
		if err := p.SaveStatus(status); err != nil {
			return err
		}
	}
	return nil
}

// written returns the files below a folder but for those that hold times, processes or the sessions' segments.
func written(root string) map[string]string {
	files := map[string]string{}
	must.Do(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == statusFileName || d.Name() == lockFile ||
			filepath.Base(filepath.Dir(path)) == replayDir {
			return err
		}
		files[must.Get(filepath.Rel(root, path))] = string(must.Get(os.ReadFile(path)))
		return nil
	}))
	return files
}

// Whichever operation fails on a full disk, one line says so, and the process saves again, or another one
// resumes from the last checkpoint. Whenever a process is killed or the power fails, the checkpoint that was
// saved last is intact, with its rows and its replay buffer: without one of the calls of Sync it would not be.
// In the end the files are those of an undisturbed run.
func TestEveryOperationMayFail(t *testing.T) {
	const generations = 4
	c := testConfig(t)
	whole, undisturbed := disk{}, t.TempDir()
	whole.use(t)
	var p trainee
	must.Do(errors.Join(p.open(undisturbed, c), p.train(generations), p.Close()))
	want := written(undisturbed)
	for _, happens := range []string{"a failure, then a second attempt", "a failure", "a kill", "a power failure"} {
		for at := 1; at <= whole.count; at += stride() {
			root := t.TempDir()
			d := disk{at: at, dead: !strings.HasPrefix(happens, "a failure")}
			d.use(t)
			var p trainee
			err := p.open(root, c)
			if err == nil {
				err = p.train(generations)
			}
			if err == nil {
				t.Fatalf("operation %d of %d: %s without an error", at, whole.count, happens)
			}
			d.at, d.dead = 0, false
			switch happens {
			case "a power failure":
				root = d.afterPowerFailure(t, root)
			case "a kill":
				leave(filepath.Join(root, c.Name()))
			default:
				errtest.Equal(t, fmt.Sprintf("operation %d fails: causes", at), strings.Count(err.Error(), "no space left in "), 1)
			}
			if happens == "a failure, then a second attempt" && p.Writer != nil && p.metrics != nil {
				must.Do(p.train(generations))
			}
			if p.Writer != nil {
				must.Do(p.Close())
			}
			var next trainee
			if err := next.open(root, c); err != nil || next.reached < p.reached {
				t.Fatalf("operation %d (%s): generation %d, saved %d, %v", at, happens, next.reached, p.reached, err)
			}
			next.ring.since = 30 * (next.reached + 1) // its rows are others
			last := trainee{ring: testRing{since: next.ring.since}}
			must.Do(errors.Join(next.train(generations), next.Close(), last.open(root, c), last.Close()))
			if got := written(root); !maps.Equal(got, want) {
				t.Fatalf("operation %d (%s): the files are %v", at, happens, slices.Sorted(maps.Keys(got)))
			}
		}
	}
}

// leave leaves in the folder of a run what a killed process had begun to write.
func leave(dir string) {
	for _, name := range []string{checkpointsDir + "/.writing-state-000000001.npz-0",
		replayDir + "/.writing-" + segment{0, 9}.file() + "-0"} {
		if path := filepath.Join(dir, name); exists(filepath.Dir(path)) {
			must.Do(os.WriteFile(path, []byte("half"), 0o666))
		}
	}
	if path := filepath.Join(dir, metricsFile); exists(path) {
		text := append(must.Get(os.ReadFile(path)), "7,7\n8,12"...) // later rows, of which one is incomplete
		must.Do(os.WriteFile(path, text, 0o666))
	}
}
