package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
)

// A checkpoint is the file state-GEN.npz, and genotypes-GEN.npz with the genotypes of the filled
// cells of its repertoires, which are most of the bytes. The state is written last. The last
// checkpoint of a run reads the genotypes of the final repertoire from repertoire.npz, which is
// repertoire-GEN.npz until the state is on disk: so a process killed in between leaves checkpoints
// whose genotypes exist.

const (
	// keptCheckpoints is how many checkpoints a run keeps: the second one is used if the newest is
	// damaged. A finished run keeps only the last one.
	keptCheckpoints = 2
	// metaKey names a checkpoint's array of a checkpointMeta as JSON.
	metaKey = "meta"
)

// maxArrayBytes is the largest size of an array of genotypes with all cells.
var maxArrayBytes = 1 << 38

type checkpointMeta struct {
	Run        string          `json:"run"` // detects checkpoints of another run
	Generation int64           `json:"generation"`
	Meta       json.RawMessage `json:"meta"`
	// Genotypes names the arrays in genotypes-GEN.npz, and Repertoire the one in repertoire.npz.
	Genotypes  []string `json:"genotypes,omitempty"`
	Repertoire string   `json:"repertoire,omitempty"`
}

// SaveCheckpoint saves everything needed to resume after a generation: arrays, and any other state
// as meta, which is written as JSON. The checkpoint is on disk when SaveCheckpoint returns; only
// then are checkpoints other than the newest two removed. The name "meta" is reserved.
//
// Of a repertoire's array "genotypes", next to the array "fitnesses" (both with the same prefix),
// only the rows of filled cells are saved; the other rows are zero when they are loaded.
//
// After [Writer.StageRepertoire], the checkpoint is the last one of a finished run. SaveCheckpoint
// then also replaces repertoire.npz and removes all other checkpoints.
func (w *Writer) SaveCheckpoint(generation int64, arrays map[string]npz.Array, meta any) error {
	if _, taken := arrays[metaKey]; taken || generation < 0 {
		return fmt.Errorf("checkpoint of %s: generation %d, or an array has the reserved name %q",
			w.Dir, generation, metaKey)
	}
	inner, err := json.Marshal(meta)
	if err != nil {
		return fmt.Errorf("checkpoint of %s: %w", w.Dir, err)
	}
	about := checkpointMeta{Run: w.Name(), Generation: generation, Meta: inner}
	state, genotypes := map[string]npz.Array{}, map[string]npz.Array{}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if err := arrays[name].Check(); err != nil {
			return fmt.Errorf("checkpoint of %s: array %q: %w", w.Dir, name, err)
		}
		switch rows, apart := filledRows(arrays, name); {
		case !apart:
			state[name] = arrays[name]
		case about.Repertoire == "" && w.stagedHas(arrays, name, rows):
			about.Repertoire = name
		default:
			genotypes[name] = rows
			about.Genotypes = append(about.Genotypes, name)
		}
	}
	outer, err := json.Marshal(about)
	if err != nil {
		return fmt.Errorf("checkpoint of %s: %w", w.Dir, err)
	}
	state[metaKey] = npz.Of(outer)
	return w.failure(w.writeCheckpoint(generation, state, genotypes))
}

func (w *Writer) writeCheckpoint(generation int64, state, genotypes map[string]npz.Array) error {
	if w.metrics != nil { // rows logged up to here must exist when training resumes from here
		if err := atomicfile.Disk.Sync(w.metrics.file); err != nil {
			return err
		}
	}
	staged := map[string]npz.Array{}
	if w.staged != nil {
		staged = w.staged.arrays()
	}
	for _, file := range []struct {
		kind   string
		arrays map[string]npz.Array
	}{{genotypesKind, genotypes}, {repertoireKind, staged}, {stateKind, state}} {
		if len(file.arrays) == 0 {
			continue
		}
		if err := npz.Write(w.checkpointPath(file.kind, generation), file.arrays); err != nil {
			return err
		}
	}
	w.last = generation
	if len(genotypes) == 0 { // those of an earlier checkpoint of the generation
		err := atomicfile.Disk.Remove(w.checkpointPath(genotypesKind, generation))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	dir, kept := filepath.Join(w.Dir, checkpointsDir), keptCheckpoints
	if w.staged != nil {
		kept = 1
		if err := atomicfile.Disk.Rename(w.checkpointPath(repertoireKind, generation),
			filepath.Join(w.Dir, repertoireFile)); err != nil {
			return err
		}
		if err := atomicfile.SyncDir(w.Dir); err != nil {
			return err
		}
		w.staged = nil
	}
	// later checkpoints are of an abandoned session
	all, err := generations(dir, stateKind)
	if err != nil {
		return err
	}
	at := slices.Index(all, generation)
	oldest := all[max(0, at+1-kept)]
	if err := removeGenerations(dir,
		func(g int64) bool { return g < oldest || g > generation }); err != nil {
		return err
	}
	return w.pruneReplay(generation)
}

func (w *Writer) checkpointPath(kind string, generation int64) string {
	return filepath.Join(w.Dir, checkpointsDir, generationFile(kind, generation))
}

// StageRepertoire takes the final repertoire of a run in training. The next SaveCheckpoint replaces
// repertoire.npz by it.
func (w *Writer) StageRepertoire(r *Repertoire) error {
	if err := w.checkRepertoire(r); err != nil {
		return err
	}
	w.staged = r
	return nil
}

// stagedHas reports whether the final repertoire has the genotypes of a checkpoint's array.
func (w *Writer) stagedHas(arrays map[string]npz.Array, name string, rows npz.Array) bool {
	if w.staged == nil {
		return false
	}
	fitnesses := arrays[strings.TrimSuffix(name, genotypesKey)+fitnessesKey].Data.([]float32)
	staged := w.staged.filledGenotypes(w.staged.Filled())
	return sameBits(fitnesses, w.staged.Fitnesses) && sameBits(rows.Data.([]float32), staged)
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b,
		func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// filledRows returns the rows of the filled cells if an array is the genotypes of a repertoire.
func filledRows(arrays map[string]npz.Array, name string) (rows npz.Array, ok bool) {
	prefix, ok := strings.CutSuffix(name, genotypesKey)
	flat, floats := arrays[name].Data.([]float32)
	fitnesses, known := arrays[prefix+fitnessesKey].Data.([]float32)
	shape := arrays[name].Shape
	if !ok || !floats || !known || len(shape) != 2 || shape[0] != len(fitnesses) {
		return rows, false
	}
	r := Repertoire{Fitnesses: fitnesses, Genotypes: flat, Params: shape[1]}
	cells := r.Filled()
	return npz.Of(r.filledGenotypes(cells), len(cells), shape[1]), true
}

func pick[T any](flat []T, width int, rows []int) []T {
	out := make([]T, len(rows)*width)
	for i, row := range rows {
		copy(out[i*width:(i+1)*width], flat[row*width:])
	}
	return out
}
