package runs

import (
	"bytes"
	"encoding/json"
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

// maxSnapshots is what a file can claim: an array without cells needs no memory.
const maxSnapshots = 1 << 12

// centroidsPath is the file with the centroids that all repertoires of an environment share.
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
	var common []float32
	if _, err := npz.ReadFile(shared, func(file *npz.Reader) (_ any, err error) {
		return nil, readParts(file, "", list(centroidsKey, &common, -1, final.Dims))
	}); err != nil {
		return err
	}
	if slices.Equal(common, final.Centroids) {
		delete(arrays, centroidsKey)
	}
	if err := npz.Write(filepath.Join(dir, repertoireFile), arrays); err != nil {
		return err
	}
	for _, folder := range []string{snapshotsDir, correctedDir} {
		snapshots, err := r.snapshots(folder, false)
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
			value, _ := number.Float64s() // it is a number
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
	final, err := r.RepertoireMap()
	if err != nil {
		return nil, err
	}
	return npz.ReadFile(path, func(file *npz.Reader) ([]Snapshot, error) {
		n, cells, err := sizes(file, fitnessesKey)
		if err != nil {
			return nil, err
		}
		if cells != final.Cells() || n > maxSnapshots {
			return nil, fmt.Errorf("it has %d snapshots of %d cells, want at most %d of %d, as in %s", n, cells,
				maxSnapshots, final.Cells(), repertoireFile)
		}
		var fitnesses []float32
		if err := readParts(file, "", list(fitnessesKey, &fitnesses, n, cells)); err != nil {
			return nil, err
		}
		corrected, of := file.Has(episodesKey), Snapshot{Correction: Correction{By: ByMean}}
		if file.Has(medianKey) {
			of.By = ByMedian
		}
		columns := map[string]*[]float64{}
		for _, p := range of.numbers(corrected) {
			columns[p.name] = new([]float64)
			if err := readParts(file, "", list(p.name, columns[p.name], n)); err != nil {
				return nil, err
			}
		}
		snapshots := make([]Snapshot, n)
		for i := range snapshots {
			snapshots[i].Repertoire = Repertoire{Dims: final.Dims, Centroids: final.Centroids,
				Fitnesses: fitnesses[i*cells : (i+1)*cells : (i+1)*cells],
				Lower:     final.Lower, Upper: final.Upper, Offset: final.Offset}
			snapshots[i].By = of.By
			for _, p := range snapshots[i].numbers(corrected) {
				if err := p.set(npz.Scalar((*columns[p.name])[i])); err != nil {
					return nil, err
				}
			}
		}
		return snapshots, nil
	})
}

// ErrWithoutPolicies is part of the error of a shipped run whose policies are needed.
var ErrWithoutPolicies = errors.New("was shipped without its policies")

// shippedWithout is the error of a shipped run whose policies are needed. The command trains it elsewhere: in its own
// folder it is complete.
func (r *Run) shippedWithout() error {
	plan := filepath.Join(r.Dir, "..", "..", "plan.jsonl")
	text, _ := os.ReadFile(plan)
	index := slices.IndexFunc(bytes.Split(text, []byte("\n")), func(text []byte) bool {
		var line struct{ Run Config }
		return json.Unmarshal(text, &line) == nil && line.Run.Name() == r.Config.Name()
	})
	if index < 0 {
		return fmt.Errorf("%s %w: train it again", r.Name(), ErrWithoutPolicies)
	}
	return fmt.Errorf("%s %w: train it again with `qdnb sweep run --plan %s --runs runs --index %d`", r.Name(),
		ErrWithoutPolicies, plan, index)
}
