package repertoire

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/wheel"
	"example.com/qdnb/xla/random"
)

// CVT are the settings of a centroidal Voronoi tessellation of descriptor space (Vassiliades,
// Chatzilygeroudis and Mouret 2018): k-means over points drawn uniformly in the unit cube, then
// scaled to the limits.
type CVT struct {
	Cells int `json:"cells" limits:"1,131072"` // cells of the repertoire; paper: 1024
	// CVTSamples is the number of points that the tessellation clusters; paper: 50 000.
	CVTSamples int `json:"cvt_samples"`
	// CVTSeed is the seed of the tessellation, the same for all runs of an environment.
	CVTSeed int64 `json:"cvt_seed"`
}

// DefaultCVT returns the tessellation of the paper's repertoires. The seed is one of six that were
// tried: with some seeds, pointmaze's upper room stays empty for thousands of generations.
func DefaultCVT() CVT { return CVT{1024, 50_000, 4} }

// Check rejects values that cannot work.
func (c CVT) Check() error {
	return cmp.Or(limits.Of(c), limits.Int("cvt_samples", c.CVTSamples, c.Cells, 1<<24))
}

// Settings of scikit-learn's k-means, which the paper used: at most 300 iterations, until the
// centroids move by less than 1e-4 of the samples' variance (1/12 in the unit cube).
const (
	cvtIterations = 300
	cvtTolerance  = 1e-4 / 12
)

// Centroids computes the centroids between limits of d dimensions, [Cells, d], or loads them from
// the cache. All runs of an environment share one tessellation on every backend, as the paper says.
// Cache failures are ignored.
func (c CVT) Centroids(lower, upper []float32) (npz.Array, error) {
	d := len(lower)
	if d == 0 || len(upper) != d {
		return npz.Array{}, fmt.Errorf("a tessellation needs as many lower as upper limits, not %d and %d", d, len(upper))
	}
	if err := c.Check(); err != nil {
		return npz.Array{}, err
	}
	unit, err := c.shipped(d)
	if err != nil {
		return npz.Array{}, err
	}
	if path := c.cachePath(d); unit == nil {
		if unit = readCentroids(path, c.Cells, d); unit == nil {
			unit = c.unitCentroids(d)
			if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
				// the cache only saves seconds
				_ = npz.Write(path, map[string]npz.Array{"centroids": npz.Of(unit, c.Cells, d)})
			}
		}
	}
	scaled := make([]float32, len(unit))
	for i, x := range unit {
		// the conversion to float32 prevents fusion with the sum
		scaled[i] = lower[i%d] + float32(x*(upper[i%d]-lower[i%d]))
	}
	return npz.Of(scaled, c.Cells, d), nil
}

// tables are the centroids in the unit cube of 1024 cells, 50 000 samples and seeds 0 and 4, in two
// and four dimensions, as XLA computed them on CPUs with AVX-512 for the first runs.
//
//go:embed centroids.npz
var tables []byte

// shipped returns the centroids of tables, nil for other settings.
func (c CVT) shipped(d int) ([]float32, error) {
	file, err := npz.NewReader(bytes.NewReader(tables), int64(len(tables)))
	name := fmt.Sprintf("%dd-%d", d, c.CVTSeed)
	if err != nil || c.Cells != 1024 || c.CVTSamples != 50_000 || !file.Has(name) {
		return nil, err
	}
	table, err := file.Read(name)
	if err != nil {
		return nil, err
	}
	return table.Float32s()
}

// unitCentroids computes the centroids in the unit cube of d dimensions.
func (c CVT) unitCentroids(d int) []float32 {
	stream := random.NewStream(c.CVTSeed)
	points, coordinate := make([]float64, c.CVTSamples*d), make([]float32, c.CVTSamples)
	for k := range d {
		stream.FoldIn(1 + k).Uniform(coordinate)
		for i, x := range coordinate {
			points[i*d+k] = float64(x)
		}
	}
	centroids := make([]float32, c.Cells*d)
	for i, x := range kMeans(stream.FoldIn(0), points, d, c.Cells, cvtIterations, cvtTolerance) {
		centroids[i] = float32(x)
	}
	return centroids
}

// cachePath returns the path of the cache file, or "" without a cache folder.
func (c CVT) cachePath(d int) string {
	dir, err := wheel.CacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "3 %d %d %d %d", d, c.Cells, c.CVTSamples, c.CVTSeed))
	return filepath.Join(dir, "cvt", fmt.Sprintf("%dd-%d-%s.npz", d, c.Cells, hex.EncodeToString(sum[:4])))
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
