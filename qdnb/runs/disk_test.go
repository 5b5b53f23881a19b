package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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

// lasts trains to a generation, with a finished run every fourth, and returns the generation of the last
// checkpoint that was saved.
func lasts(root string, c Config, to int64) (reached int64, err error) {
	w, err := Create(root, c)
	if err != nil {
		return -1, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	_, reached, warnings, err := w.LoadCheckpoint(nil)
	if err == nil && len(warnings) > 0 {
		err = errors.New(warnings[0])
	}
	if err != nil {
		return reached, err
	}
	ring := testRing{capacity: 40, width: 8}
	if reached >= 0 {
		if err := ring.load(w, 30*(reached+1)); err != nil {
			return reached, err
		}
	}
	if err := w.Begin(reached, "generation", "qd_score"); err != nil {
		return reached, err
	}
	if table, err := w.Metrics(); err != nil || len(table.Rows) != int(reached)+1 {
		return reached, errors.Join(err, errors.New("rows are missing"))
	}
	for g := reached + 1; g <= to; g++ {
		status := w.Status
		status.Generation = g
		err := errors.Join(w.Log(float64(g), float64(g)*1.1), ring.save(w, 30*(g+1)))
		if g%4 == 3 {
			err = errors.Join(err, w.StageRepertoire(gridAt(g).repertoire()))
		}
		if err == nil {
			err = w.SaveCheckpoint(g, gridAt(g).arrays(), nil)
		}
		if err != nil {
			return reached, err
		}
		reached = g
		if err := w.SaveStatus(status); err != nil {
			return reached, err
		}
	}
	return reached, nil
}

// Whichever operation fails on a full disk, one line says so, and the same process or another one resumes
// from the last checkpoint. Whenever the power fails, the checkpoint that was saved last is intact, with
// its rows and its replay buffer: without one of the calls of Sync it would not be.
func TestEveryOperationMayFail(t *testing.T) {
	const generations = 5
	c := testConfig(t)
	whole := disk{}
	whole.use(t)
	must.Get(lasts(t.TempDir(), c, generations))
	for _, dead := range []bool{false, true} {
		for at := 1; at <= whole.count; at++ {
			root := t.TempDir()
			d := disk{at: at, dead: dead}
			d.use(t)
			reached, err := lasts(root, c, generations)
			if err == nil {
				t.Fatalf("operation %d of %d fails without an error", at, whole.count)
			}
			if dead {
				root = d.afterPowerFailure(t, root)
			} else if strings.Count(err.Error(), "no space left in ") != 1 {
				t.Errorf("operation %d fails: %v", at, err)
			}
			d.at, d.dead = 0, false
			w := must.Get(Create(root, c))
			_, found, _, err := w.LoadCheckpoint(nil)
			must.Do(w.Close())
			if err != nil || found < reached {
				t.Fatalf("operation %d (the power fails: %v): generation %d, saved %d, %v", at, dead, found, reached, err)
			}
			if end, err := lasts(root, c, generations); end != generations || err != nil {
				t.Fatalf("operation %d (the power fails: %v): resumed to generation %d, %v", at, dead, end, err)
			}
		}
	}
}
