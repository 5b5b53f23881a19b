package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/policies"
)

// Of a meta-controller's episodes, the one that passed most hurdles is drawn.
func TestBestEpisodeOverHurdles(t *testing.T) {
	result := Result{Evaluated: policies.Evaluated{Fitnesses: []float32{9, 5, 7}}}
	for _, hurdles := range []int{0, 2, 1} {
		result.Recorded = append(result.Recorded, Episode{Path: [][]float32{{0, 0.5}, {1, 0.6}},
			Choices: &Choices{Skills: []int{3}, Decision: 10, Hurdles: hurdles}})
	}
	recording := Recording{Results: []Result{result}}
	file := filepath.Join(t.TempDir(), "figure.svg")
	must.Do(must.Get(must.Get(recording.Trajectories()).Figure()).Save(file))
	if text := string(must.Get(os.ReadFile(file))); !strings.Contains(text, "return 5, 2 of 10 hurdles passed") {
		t.Error("another episode is drawn")
	}
}
