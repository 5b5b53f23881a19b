package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// generationFile returns the name of a checkpoint or snapshot: gen-000000100.npz.
func generationFile(generation int64) string { return fmt.Sprintf("gen-%09d.npz", generation) }

// generationFiles lists the generations of the files in a folder, oldest first. Files with other
// names are skipped. A missing folder counts as empty.
func generationFiles(dir string) ([]int64, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var generations []int64
	for _, entry := range entries {
		name, ok := strings.CutPrefix(strings.TrimSuffix(entry.Name(), ".npz"), "gen-")
		generation, err := strconv.ParseInt(name, 10, 64)
		if ok && err == nil && generation >= 0 && generationFile(generation) == entry.Name() {
			generations = append(generations, generation)
		}
	}
	slices.Sort(generations)
	return generations, nil
}

// removeLater removes the files of generations after the given one.
func removeLater(dir string, generation int64) error {
	generations, err := generationFiles(dir)
	if err != nil {
		return err
	}
	for _, g := range generations {
		if g > generation {
			if err := os.Remove(filepath.Join(dir, generationFile(g))); err != nil {
				return err
			}
		}
	}
	return nil
}
