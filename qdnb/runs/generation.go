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

	"example.com/qdnb/internal/npz/atomicfile"
)

// Kinds of files of a generation. The first two make up a checkpoint.
const stateKind, repertoireKind, snapshotKind = "state", "repertoire", "gen"

// generationFile returns the name of a file of a generation, such as state-000000100.npz.
func generationFile(kind string, generation int64) string {
	return fmt.Sprintf("%s-%09d.npz", kind, generation)
}

func generationOf(name string) (kind string, generation int64, ok bool) {
	kind, digits, _ := strings.Cut(strings.TrimSuffix(name, ".npz"), "-")
	generation, err := strconv.ParseInt(digits, 10, 64)
	return kind, generation, err == nil && generation >= 0 && generationFile(kind, generation) == name
}

// generations lists the generations of the files of a kind in a folder, oldest first.
func generations(dir, kind string) ([]int64, error) {
	list, err := filesIn(dir, func(name string) (int64, bool) {
		of, generation, ok := generationOf(name)
		return generation, ok && of == kind
	})
	slices.Sort(list)
	return list, err
}

// removeGenerations removes the files of all kinds whose generation meant selects.
func removeGenerations(dir string, meant func(int64) bool) error {
	parse := func(name string) (int64, bool) {
		_, generation, ok := generationOf(name)
		return generation, ok
	}
	return removeFiles(dir, parse, meant)
}

// filesIn parses the names in a folder, which may be missing; parse rejects others.
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
		if err := atomicfile.Disk.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return err
}
