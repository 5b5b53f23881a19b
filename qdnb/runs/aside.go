package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// asideDir is the folder below that of the runs that holds runs which were set aside. [Find] does
// not look into it.
const asideDir = "set-aside"

// SetAside moves the folder of a run to set-aside/NAME.N below root, where it is not listed as a
// run, and returns its new path; "" if there is no such folder. Nothing is deleted. It is an error
// if another process trains the run.
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
			return "", fmt.Errorf("%s cannot be set aside: %w", dir, err)
		}
		return aside, nil
	}
}
