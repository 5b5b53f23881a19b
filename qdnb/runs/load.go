package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Folder is where runs are kept if nothing else is said: $QDNB_RUNS, else "runs" in the current folder.
func Folder() string {
	if dir := os.Getenv("QDNB_RUNS"); dir != "" {
		return dir
	}
	return "runs"
}

// Load opens a run by the path of its folder, or by its name in [Folder], of which the beginning is enough if no other run
// begins so: Load("map-elites-pointmaze-0").
func Load(target string) (*Run, error) { return LoadFrom(Folder(), target) }

// LoadFrom is [Load] with another folder of runs.
func LoadFrom(root, target string) (*Run, error) {
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		return Open(target)
	}
	found, _, err := Find(root, filepath.Base(target)+"*")
	if err != nil {
		return nil, err
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no run %q, neither as a folder nor in %s: train it first", target, root)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, run := range found {
		names = append(names, run.Name())
	}
	return nil, fmt.Errorf("several runs begin with %q: give more of one of %s", target, strings.Join(names, ", "))
}
