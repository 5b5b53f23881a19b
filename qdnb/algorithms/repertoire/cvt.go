package repertoire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla"
)

// CVT describes a centroidal Voronoi tessellation of descriptor space (Vassiliades,
// Chatzilygeroudis and Mouret 2018): k-means over Samples points drawn uniformly in the unit cube,
// then scaled to the limits.
type CVT struct {
	Cells   int
	Samples int // paper: 50 000
	Seed    int64
	Lower   []float32
	Upper   []float32
}

// DefaultCVT returns the tessellation of the paper's repertoires, without limits. The seed is one
// of six that were tried: with some seeds, pointmaze's upper room stays empty for thousands of
// generations (ARCHITECTURE.md has the numbers).
func DefaultCVT() CVT { return CVT{Cells: 1024, Samples: 50_000, Seed: 4} }

// Settings of scikit-learn's k-means, which the paper used: at most 300 iterations, until the
// centroids move by less than 1e-4 of the samples' variance (1/12 in the unit cube).
const (
	cvtIterations = 300
	cvtTolerance  = 1e-4 / 12
)

// Centroids computes the centroids, [Cells*d] row-major, or loads them from the cache. All runs of
// an environment share one tessellation on every backend, as the paper says. Cache failures are
// ignored.
func (c CVT) Centroids() ([]float32, error) {
	d := len(c.Lower)
	switch {
	case d == 0 || len(c.Upper) != d:
		return nil, errors.Errorf("a tessellation needs as many lower as upper limits, not %d and %d", d,
			len(c.Upper))
	case c.Cells < 1:
		return nil, errors.Errorf("a repertoire needs at least 1 cell, not %d", c.Cells)
	case c.Samples < c.Cells:
		return nil, errors.Errorf("%d cells need at least as many samples, not %d: raise cvt_samples",
			c.Cells, c.Samples)
	}
	path := c.cachePath()
	unit := readCentroids(path, c.Cells, d)
	if unit == nil {
		unit = c.unitCentroids()
		if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
			// the cache only saves seconds
			_ = npz.Write(path, map[string]npz.Array{"centroids": npz.Of(unit, c.Cells, d)})
		}
	}
	scaled := make([]float32, len(unit))
	for i, x := range unit {
		// the conversion to float32 prevents fusion with the sum
		scaled[i] = c.Lower[i%d] + float32(x*(c.Upper[i%d]-c.Lower[i%d]))
	}
	return scaled, nil
}

// unitCentroids computes the centroids in the unit cube.
func (c CVT) unitCentroids() []float32 {
	d := len(c.Lower)
	stream := xla.NewStream(c.Seed)
	points, coordinate := make([]float32, c.Samples*d), make([]float32, c.Samples)
	for k := range d {
		stream.FoldIn(1 + k).Uniform(coordinate)
		for i, x := range coordinate {
			points[i*d+k] = x
		}
	}
	return kMeans(stream.FoldIn(0), points, d, c.Cells, cvtIterations, cvtTolerance)
}

// cachePath returns the path of the cache file, or "" without a cache folder.
func (c CVT) cachePath() string {
	dir, err := xla.CacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "2 %d %d %d %d", len(c.Lower), c.Cells, c.Samples, c.Seed))
	return filepath.Join(dir, "cvt", fmt.Sprintf("%dd-%d-%s.npz", len(c.Lower), c.Cells,
		hex.EncodeToString(sum[:4])))
}

// readCentroids returns the centroids in the unit cube, or nil if the file does not contain them.
func readCentroids(path string, cells, d int) []float32 {
	arrays, err := npz.Read(path)
	if err != nil {
		return nil
	}
	array, ok := arrays["centroids"]
	if !ok || len(array.Shape) != 2 || array.Shape[0] != cells || array.Shape[1] != d {
		return nil
	}
	flat, err := array.Float32s()
	// written so that NaN fails, too
	if err != nil || slices.ContainsFunc(flat, func(x float32) bool { return !(x >= 0 && x <= 1) }) {
		return nil
	}
	return flat
}
