package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
)

// Writer owns the folder of a run during training. Its Status is what SaveStatus wrote last.
//
// A training session calls
//
//	w, err := Resume(root, config, &status, restore)
//	defer w.Close()
//	... w.Log, w.SaveSnapshot, w.SaveCheckpoint, w.SaveStatus
//	err = w.StageRepertoire(repertoire)    // and the last SaveCheckpoint
//
// Its methods report file system errors in one line that says what to do. It is not safe for
// concurrent use.
type Writer struct {
	*Run
	// TensorBoard repeats metrics.csv in an event file of the folder tensorboard. Begin rewrites it.
	TensorBoard bool
	// KeepGenotypes keeps the genotypes of snapshots.
	KeepGenotypes bool

	lock    *flock.Flock
	metrics *metricsLog
	last    int64 // generation of the newest checkpoint known to be intact, or -1
	replay  replayFiles
	staged  *Repertoire // the final one, until the last checkpoint is written
	bare    bool        // the folder had rows, but no folder of checkpoints
}

// Create creates the folder of a run below root, or opens an existing one, and takes its lock.
func Create(root string, c Config) (*Writer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	dir := filepath.Join(root, c.Name())
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, failure(root, -1, err)
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	w := &Writer{Run: &Run{Dir: dir, Config: c}, lock: lock, last: -1}
	if err := w.open(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// failure adds advice to an error of the file system.
func (w *Writer) failure(err error) error {
	if errors.Is(err, fs.ErrNotExist) && !exists(w.Dir) {
		return &advice{w.Dir + " was moved or deleted while it was written; move it back, or train again from the start", err}
	}
	return failure(w.Dir, w.last, err)
}

// SaveStatus writes status.json, with the current time as Updated.
func (w *Writer) SaveStatus(s Status) error {
	s.Updated = time.Now().UTC().Truncate(time.Millisecond)
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("status of %s: %w", w.Dir, err)
	}
	if err := atomicfile.WriteBytes(filepath.Join(w.Dir, statusFileName), append(data, '\n')); err != nil {
		return w.failure(err)
	}
	w.Status = s
	return nil
}

// SaveSource writes the source of the run's custom parts, which is no part of its identity.
func (w *Writer) SaveSource(text string) error {
	return w.failure(atomicfile.WriteBytes(filepath.Join(w.Dir, sourceFile), []byte(text)))
}

// SaveRobot writes the robot and the task that the run's environment is made of.
func (w *Writer) SaveRobot(text []byte) error {
	return w.failure(atomicfile.WriteBytes(filepath.Join(w.Dir, robotFile), text))
}

// SaveRepertoire writes repertoire.npz of a run without checkpoints. Training calls
// StageRepertoire.
func (w *Writer) SaveRepertoire(r *Repertoire) error {
	if err := w.checkRepertoire(r); err != nil {
		return err
	}
	return w.saveArrays(repertoireFile, r.arrays())
}

func (w *Writer) checkRepertoire(r *Repertoire) error {
	if r.Genotypes == nil {
		return fmt.Errorf("repertoire of %s: it has no genotypes", w.Dir)
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("repertoire of %s: %w", w.Dir, err)
	}
	return nil
}

// SaveSnapshot writes a repertoire, without its genotypes unless KeepGenotypes is set, to the folder snapshots, or to
// the folder corrected if it is a corrected one; see [SnapshotDue] and [CorrectionDue] for when.
func (w *Writer) SaveSnapshot(s Snapshot) error {
	if !w.KeepGenotypes || s.Episodes > 0 {
		s.Genotypes = nil
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("snapshot of %s: %w", w.Dir, err)
	}
	if s.Generation < 0 {
		return fmt.Errorf("snapshot of %s: generation %d", w.Dir, s.Generation)
	}
	dir := snapshotsDir
	if s.Episodes > 0 {
		dir = correctedDir
		if err := os.MkdirAll(filepath.Join(w.Dir, dir), 0o777); err != nil {
			return w.failure(err)
		}
	}
	return w.saveArrays(filepath.Join(dir, generationFile(snapshotKind, s.Generation)), s.arrays())
}

func (w *Writer) saveArrays(name string, arrays map[string]npz.Array) error {
	return w.failure(npz.Write(filepath.Join(w.Dir, name), arrays))
}

// Close releases the folder's lock. Further calls do nothing.
func (w *Writer) Close() error {
	var err error
	if w.metrics != nil {
		err = w.failure(w.metrics.close())
		w.metrics = nil
	}
	return errors.Join(err, w.lock.Unlock())
}

// Discard closes a run that never began. It removes the folder unless something was trained in it
// or it holds other files.
func (w *Writer) Discard() error {
	folders := []string{checkpointsDir, snapshotsDir}
	files := []string{configFile, metricsFile, sourceFile, robotFile, lockFile}
	entries, err := os.ReadDir(w.Dir)
	if err != nil || w.bare || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !slices.Contains(slices.Concat(folders, files, []string{replayDir}), e.Name())
	}) {
		return w.Close()
	}
	for _, d := range folders {
		if os.Remove(filepath.Join(w.Dir, d)) != nil { // not empty
			return w.Close()
		}
	}
	_ = w.DropReplay() // useless without a checkpoint
	for _, name := range files {
		_ = os.Remove(filepath.Join(w.Dir, name))
	}
	_ = os.Remove(w.Dir) // fails if other files are in it
	return w.Close()
}

// Import creates the folder of a run that was trained elsewhere, below root, and fills it through
// write, which saves a finished status last. If a finished run with the same configuration exists, it
// is returned unchanged; the configuration must therefore identify the contents. A failed import
// leaves no folder, and one that was killed is completed by the next call.
func Import(root string, c Config, write func(*Writer) error) (*Run, error) {
	dir := filepath.Join(root, c.Name())
	if run, err := Open(dir); err == nil && run.Status.Finished {
		return run, nil
	}
	w, err := Create(root, c)
	if err != nil {
		return nil, err
	}
	err = write(w)
	if err = errors.Join(err, w.Close()); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return Open(dir)
}

// SetAside moves the folder of a run to set-aside/NAME.N below root, where it is not listed as a
// run, and returns its new path, or "" if there is no such folder. It deletes nothing. It is an
// error if another process trains the run.
func SetAside(root string, c Config) (string, error) {
	dir := filepath.Join(root, c.Name())
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	lock, err := takeLock(dir)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := os.MkdirAll(filepath.Join(root, asideDir), 0o777); err != nil {
		return "", failure(root, -1, err)
	}
	for n := 1; ; n++ {
		aside := filepath.Join(root, asideDir, fmt.Sprintf("%s.%d", c.Name(), n))
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(dir, aside); err != nil {
			return "", fmt.Errorf("cannot set %s aside: %w", dir, err)
		}
		return aside, nil
	}
}

// advice is an error whose text says what to do, in place of the file system's error.
type advice struct {
	text  string
	cause error
}

func (a *advice) Error() string { return a.text }
func (a *advice) Unwrap() error { return a.cause }

// Newest names the newest intact checkpoint, for error messages.
func (w *Writer) Newest() string { return newest(w.last) }

func newest(generation int64) string {
	if generation < 0 {
		return "there is no checkpoint yet"
	}
	return fmt.Sprintf("the last checkpoint is generation %d", generation)
}

// failure adds advice to a file system error. last is the newest intact checkpoint, or -1.
func failure(dir string, last int64, err error) error {
	kept := newest(last)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &advice{fmt.Sprintf("no space left in %s; free space or give --runs (Spec.Runs) another folder; %s", dir,
			kept), err}
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return &advice{fmt.Sprintf("cannot write to %s; give --runs (Spec.Runs) a writable folder; %s", dir, kept), err}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return &advice{fmt.Sprintf("%s is not a folder; move the file away or give --runs (Spec.Runs) another folder", dir), err}
	}
	return fmt.Errorf("cannot store the run in %s; %s (%w)", dir, kept, err)
}
