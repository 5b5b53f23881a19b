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

// generationOf returns the generation in the name of a file.
func generationOf(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(strings.TrimSuffix(name, ".npz"), "gen-")
	generation, err := strconv.ParseInt(digits, 10, 64)
	return generation, ok && err == nil && generation >= 0 && generationFile(generation) == name
}

// generationFiles lists the generations of the files in a folder, oldest first.
func generationFiles(dir string) ([]int64, error) {
	generations, err := filesIn(dir, generationOf)
	slices.Sort(generations)
	return generations, err
}

// removeLater removes the files of generations after the given one.
func removeLater(dir string, generation int64) error {
	return removeFiles(dir, generationOf, func(g int64) bool { return g > generation })
}

// filesIn parses the names in a folder, and skips names that parse rejects. A missing folder counts
// as empty.
func filesIn[T any](dir string, parse func(name string) (T, bool)) (list []T, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if file, ok := parse(entry.Name()); ok {
			list = append(list, file)
		}
	}
	return list, nil
}

// removeFiles removes the files of [filesIn] that meant selects.
func removeFiles[T any](dir string, parse func(name string) (T, bool), meant func(T) bool) error {
	names, err := filesIn(dir, func(name string) (string, bool) {
		file, ok := parse(name)
		return name, ok && meant(file)
	})
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return err
}
