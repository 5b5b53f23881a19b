package runs

import (
	"fmt"
	"math"
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

// Near is the filled cell whose solution's descriptor is nearest to the given one; -1 if all are empty.
func (r *Repertoire) Near(descriptor ...float32) int {
	best, least := -1, math.Inf(1)
	for _, cell := range r.Filled() {
		distance := 0.0
		for k, x := range r.Descriptor(cell) {
			if k < len(descriptor) {
				distance += math.Pow(float64(x-descriptor[k]), 2)
			}
		}
		if distance < least {
			best, least = cell, distance
		}
	}
	return best
}
