package runs

import (
	"errors"
	"os"
	"path/filepath"
)

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
