package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz/atomicfile"
)

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
				if strings.Count(err.Error(), "no space left in ") != 1 {
					t.Errorf("operation %d fails: %v", at, err)
				}
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
