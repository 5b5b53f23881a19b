package figures

import (
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// Snapshots are picked at about equal ratios of generations, without repeats where ratios fall
// between snapshots.
func TestSnapshots(t *testing.T) {
	for n, want := range map[int][]int{1: {9}, 2: {0, 9}, 5: {0, 1, 3, 8, 9},
		9: {0, 1, 2, 3, 4, 5, 7, 8, 9}, 10: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		if got := byRatio([]int64{6, 12, 17, 23, 28, 34, 39, 45, 50, 100}, n); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
	if got := byRatio([]int64{0, 1, 2}, 9); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("more than there are: %v", got)
	}

	config := must.Get(runs.NewConfig("map-elites", "pointmaze", 0, map[string]any{}))
	w := must.Get(runs.Create(t.TempDir(), config))
	defer w.Close()
	cells := sampleCells()
	repertoire := runs.Repertoire{Params: 1, Dims: 2, Lower: []float32{-1, -1}, Upper: []float32{1, 1}}
	for i, c := range cells.Centroids {
		repertoire.Centroids = append(repertoire.Centroids, float32(c[0]), float32(c[1]))
		repertoire.Fitnesses = append(repertoire.Fitnesses, float32(cells.Fitness[i]))
	}
	repertoire.Descriptors = repertoire.Centroids
	for _, g := range []int64{6, 12, 17, 23, 28, 34, 39, 45, 50, 100} {
		must.Do(w.SaveSnapshot(runs.Snapshot{Progress: runs.Progress{Generation: g},
			Repertoire: repertoire}))
	}
	text := svgOf(t, must.Get(Snapshots(w.Run, 5)), nil)
	for title, want := range map[string]int{"generation 6": 1, "generation 23": 1, "generation 28": 0,
		"generation 100": 1, "final y": 1} {
		if n := strings.Count(text, ">"+title+"<"); n != want {
			t.Errorf("%d times %q, want %d", n, title, want)
		}
	}
	if _, err := Snapshots(w.Run, 0); err == nil {
		t.Error("no error without snapshots")
	}
}
