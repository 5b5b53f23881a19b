package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/qdnb/internal/npz/atomicfile"
)

// Import creates the folder of a run that was trained elsewhere, below root. write fills it through
// a writer. The folder is written under a unique hidden name and then renamed, so it appears
// complete or not at all. If a finished run with the same configuration exists, it is returned
// unchanged; the configuration must therefore identify the contents.
func Import(root string, c Config, write func(*Writer) error) (*Run, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	target := filepath.Join(root, c.Name())
	if _, err := os.Lstat(target); err == nil {
		return imported(target)
	}
	made, err := makeFolders(root)
	if err != nil {
		return nil, failure(root, -1, err)
	}
	run, err := importInto(root, target, c, write)
	if err != nil {
		for _, dir := range made {
			_ = os.Remove(dir) // fails if it is not empty
		}
	}
	return run, err
}

// imported opens a run that exists already.
func imported(dir string) (*Run, error) {
	run, err := Open(dir)
	if err != nil {
		return nil, fmt.Errorf("%s already exists: %w", dir, err)
	}
	if !run.Status.Finished {
		return nil, fmt.Errorf("%s already exists and is incomplete; move it away", dir)
	}
	return run, nil
}

func importInto(root, target string, c Config, write func(*Writer) error) (*Run, error) {
	hidden, err := os.MkdirTemp(root, ".import-")
	if err != nil {
		return nil, failure(root, -1, err)
	}
	defer os.RemoveAll(hidden)
	w, err := Create(hidden, c)
	if err != nil {
		return nil, err
	}
	err = write(w)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	if err := os.Rename(w.Dir, target); err != nil {
		if _, there := os.Lstat(target); there == nil { // another process was faster
			return imported(target)
		}
		return nil, failure(root, -1, err)
	}
	if err := atomicfile.SyncDir(root); err != nil {
		return nil, failure(root, -1, err)
	}
	return Open(target)
}

// makeFolders creates a folder and its missing parents, and returns those it created, innermost
// first.
func makeFolders(dir string) ([]string, error) {
	var missing []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	return missing, os.MkdirAll(dir, 0o777)
}
