package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/qdnb/qdnb/algorithms/records"
)

// Each algorithm has a picture, and a page has the command of its run.
func TestPicturesOfAlgorithms(t *testing.T) {
	t.Chdir("../..")
	drawn := []string{"ppo"} // of the paper's figure
	for _, a := range algorithms {
		if _, err := commandOf(cmp.Or(a.like, a.name)); err != nil {
			t.Error(err)
		}
		drawn = append(drawn, a.name)
	}
	for _, name := range records.Names() {
		if !slices.Contains(drawn, name) {
			t.Errorf("algorithms has no entry for the picture of %s", name)
		}
	}
	for _, page := range pages {
		if _, err := os.Stat(filepath.Join("docs", page.file)); err != nil {
			t.Errorf("make docs-figures draws it, but it was not committed: %v", err)
		}
	}
}
