package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"

	"example.com/qdnb/internal/must"
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
}

// Each picture in docs is drawn by a command, and what commands draw is there.
func TestPicturesHaveCommands(t *testing.T) {
	t.Chdir("../..")
	drawn := []string{"reproduction.png"} // by `make reproduction`
	for _, page := range pages {
		drawn = append(drawn, page.file)
	}
	var found []string
	for _, pattern := range []string{"docs/*.png", "docs/*.gif", "docs/*/*.png", "docs/*/*.gif"} {
		for _, file := range must.Get(filepath.Glob(pattern)) {
			found = append(found, filepath.ToSlash(must.Get(filepath.Rel("docs", file))))
		}
	}
	slices.Sort(drawn)
	slices.Sort(found)
	if !slices.Equal(found, drawn) {
		t.Errorf("docs has the pictures %v; commands draw %v", found, drawn)
	}
}
