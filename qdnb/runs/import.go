package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/qdnb/internal/npz/atomicfile"
)

// Import makes the folder of a run below root that was not trained here: write fills it through a
// writer. The folder appears whole or not at all: it is written under another name, hidden and of
// this call alone, and then renamed. A run of the same configuration that is there and finished is
// returned as it is; the configuration must tell contents apart.
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
			_ = os.Remove(dir) // stays if anything is in it
		}
	}
	return run, err
}

// imported opens a run that is there already.
func imported(dir string) (*Run, error) {
	run, err := Open(dir)
	if err != nil {
		return nil, fmt.Errorf("%s is in the way: %w", dir, err)
	}
	if !run.Status.Finished {
		return nil, fmt.Errorf("%s is in the way and not complete; move it away", dir)
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

// makeFolders makes a folder and those above it that are not there, and lists what it made, the
// innermost first.
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
