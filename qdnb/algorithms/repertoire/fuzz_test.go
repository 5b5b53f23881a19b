package repertoire

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
)

// FuzzCentroids reads arbitrary cache files: a file without a tessellation of the unit cube is
// recomputed.
func FuzzCentroids(f *testing.F) {
	for _, text := range []string{
		"centroids <f4 3,2 0 0.5 1", "centroids <f4 3,2 0.5 1.5", "centroids <f8 3,2 nan",
		"centroids <f4 3,2 -0 -inf", "centroids <f4 6, 0.5",
		"centroids <i8 3,2 1", "centroids |b1 3,2 1", "centroids <f4 4611686018427387904,2",
		"others <f4 3,2 0", "",
	} {
		f.Add([]byte(text), true)
	}
	f.Add(hostile.Archive("centroids <f4 3,2 0.25")[:100], false)
	f.Fuzz(func(t *testing.T, data []byte, isText bool) {
		if isText {
			data = hostile.Archive(string(data))
		}
		path := filepath.Join(t.TempDir(), "centroids.npz")
		must.Do(os.WriteFile(path, data, 0o666))
		hostile.Bounded(t, len(data), func() {
			centroids := readCentroids(path, 3, 2)
			if centroids != nil && len(centroids) != 6 {
				t.Errorf("%d numbers", len(centroids))
			}
			for _, x := range centroids {
				if !(x >= 0 && x <= 1) {
					t.Errorf("%v lies outside the unit cube", x)
				}
			}
		})
	})
}
