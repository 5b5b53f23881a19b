package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"example.com/qdnb/internal/npz"
)

// A shipped run is the folder of a finished run, reduced to what figures need. A folder of
// snapshots is one file with fitnesses, because all repertoires of a run have the same cells. Its
// name is the folder's with this suffix.
const shippedSuffix = ".npz"

// maxSnapshots is the number of snapshots that a file can claim: an array without cells needs no
// memory.
const maxSnapshots = 1 << 12

// centroidsPath is the file with the centroids that the repertoires of an environment share, in a
// folder next to that of the runs.
func centroidsPath(runDir, env string) string {
	return filepath.Join(runDir, "..", "..", "centroids", env+".npz")
}

// ShipRepertoire writes the final repertoire of a run, its snapshots and its corrected repertoires
// to the folder of a shipped run. They have no genotypes and no origins. Their centroids are in a
// file of the environment, unless that has other ones.
func (r *Run) ShipRepertoire(dir string) error {
	final, err := r.RepertoireMap()
	if err != nil {
		return err
	}
	final.Origins = nil // only evaluations of the policies need them
	arrays := final.arrays()
	shared := centroidsPath(dir, r.Config.Env)
	if !exists(shared) {
		if err := os.MkdirAll(filepath.Dir(shared), 0o777); err != nil {
			return err
		}
		if err := npz.Write(shared, map[string]npz.Array{centroidsKey: arrays[centroidsKey]}); err != nil {
			return err
		}
	}
	common, err := readFile(shared, func(file *npz.Reader) ([]float32, error) {
		centroids, err := file.Read(centroidsKey)
		if err != nil {
			return nil, err
		}
		return centroids.Float32s()
	})
	if err != nil {
		return err
	}
	if slices.Equal(common, final.Centroids) {
		delete(arrays, centroidsKey)
	}
	if err := npz.Write(filepath.Join(dir, repertoireFile), arrays); err != nil {
		return err
	}
	for _, folder := range []string{snapshotsDir, correctedDir} {
		snapshots, err := r.snapshots(folder)
		if err == nil && len(snapshots) > 0 {
			err = shipSnapshots(filepath.Join(dir, folder+shippedSuffix), snapshots, final)
		}
		if err != nil {
			return fmt.Errorf("%s of %s: %w", folder, r.Dir, err)
		}
	}
	return nil
}

func shipSnapshots(path string, snapshots []Snapshot, final *Repertoire) error {
	columns := map[string][]float64{}
	var fitnesses []float32
	for _, s := range snapshots {
		if s.Cells() != final.Cells() || !slices.Equal(s.Centroids, final.Centroids) {
			return errors.New("they and the final repertoire have different cells")
		}
		for name, number := range arraysOf(s.numbers(s.Episodes > 0)...) {
			value, err := number.Float64s()
			if err != nil {
				return err
			}
			columns[name] = append(columns[name], value...)
		}
		fitnesses = append(fitnesses, s.Fitnesses...)
	}
	arrays := map[string]npz.Array{fitnessesKey: npz.Of(fitnesses, len(snapshots), final.Cells())}
	for name, column := range columns {
		arrays[name] = npz.Of(column)
	}
	return npz.Write(path, arrays)
}

// shippedSnapshots reads the snapshots of a shipped run, which have no descriptors.
func (r *Run) shippedSnapshots(path string) ([]Snapshot, error) {
	file, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	final, err := r.RepertoireMap()
	if err != nil {
		return nil, err
	}
	snapshots, err := splitSnapshots(file, final)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return snapshots, nil
}

func splitSnapshots(file *npz.Reader, final *Repertoire) ([]Snapshot, error) {
	n, cells, err := sizes(file, fitnessesKey)
	if err != nil {
		return nil, err
	}
	if cells != final.Cells() || n > maxSnapshots {
		return nil, fmt.Errorf("it has %d snapshots of %d cells, want at most %d of %d, as in %s", n, cells,
			maxSnapshots, final.Cells(), repertoireFile)
	}
	var fitnesses []float32
	if err := readParts(file, "", part{fitnessesKey, &fitnesses, []int{n, cells}, false}); err != nil {
		return nil, err
	}
	corrected := file.Has(episodesKey)
	columns := map[string][]float64{}
	for _, p := range new(Snapshot).numbers(corrected) {
		a, err := file.Read(p.name)
		if err != nil {
			return nil, err
		}
		if columns[p.name], err = a.Float64s(); err != nil || a.Len() != n {
			return nil, fmt.Errorf("%s has shape %v, not one of %d numbers", p.name, a.Shape, n)
		}
	}
	snapshots := make([]Snapshot, n)
	for i := range snapshots {
		snapshots[i].Repertoire = Repertoire{Dims: final.Dims, Centroids: final.Centroids,
			Fitnesses: fitnesses[i*cells : (i+1)*cells : (i+1)*cells],
			Lower:     final.Lower, Upper: final.Upper, Offset: final.Offset}
		for _, p := range snapshots[i].numbers(corrected) {
			if err := p.set(npz.Scalar(columns[p.name][i])); err != nil {
				return nil, err
			}
		}
	}
	return snapshots, nil
}

// shippedWithout is the error of a run whose policies were not shipped.
func (r *Run) shippedWithout() error {
	plan := filepath.Join(filepath.Dir(filepath.Dir(r.Dir)), "plan.jsonl")
	return fmt.Errorf("%s was shipped without its policies: train it again, for example with "+
		"`qdnb sweep run --plan %s`", r.Name(), plan)
}
