package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// asideDir is the subfolder of the runs folder that holds runs that were set aside. [Find] ignores
// it.
const asideDir = "set-aside"

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
