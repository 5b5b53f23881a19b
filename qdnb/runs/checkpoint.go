package runs

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
)

// A checkpoint is the file state-GEN.npz. The last checkpoint of a run reads the genotypes of the
// final repertoire, which are most of the bytes, from repertoire.npz. That is repertoire-GEN.npz
// until the state is on disk: so a process killed in between leaves checkpoints whose genotypes
// exist.

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
	// Genotypes names the arrays without the rows of empty cells, and Repertoire the one in
	// repertoire.npz.
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
		return fmt.Errorf("checkpoint of %s: generation %d, or an array has the reserved name %q", w.Dir, generation, metaKey)
	}
	inner, err := json.Marshal(meta)
	if err != nil {
		return fmt.Errorf("checkpoint of %s: %w", w.Dir, err)
	}
	about := checkpointMeta{Run: w.Name(), Generation: generation, Meta: inner}
	state := map[string]npz.Array{}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if err := arrays[name].Check(); err != nil {
			return fmt.Errorf("checkpoint of %s: array %q: %w", w.Dir, name, err)
		}
		switch rows, ok := filledRows(arrays, name); {
		case !ok:
			state[name] = arrays[name]
		case about.Repertoire == "" && w.stagedHas(arrays, name, rows):
			about.Repertoire = name
		default:
			state[name] = rows
			about.Genotypes = append(about.Genotypes, name)
		}
	}
	outer, err := json.Marshal(about)
	if err != nil {
		return fmt.Errorf("checkpoint of %s: %w", w.Dir, err)
	}
	state[metaKey] = npz.Of(outer)
	return w.failure(w.writeCheckpoint(generation, state))
}

func (w *Writer) writeCheckpoint(generation int64, state map[string]npz.Array) error {
	if w.metrics != nil { // rows logged up to here must exist when training resumes from here
		if err := atomicfile.Disk.Sync(w.metrics.file); err != nil {
			return err
		}
	}
	final := w.checkpointPath(repertoireKind, generation)
	if w.staged != nil {
		if err := npz.Write(final, w.staged.arrays()); err != nil {
			return err
		}
	}
	if err := npz.Write(w.checkpointPath(stateKind, generation), state); err != nil {
		return err
	}
	w.last = generation
	kept := keptCheckpoints
	if w.staged != nil {
		kept = 1
		if err := atomicfile.Disk.Rename(final, filepath.Join(w.Dir, repertoireFile)); err != nil {
			return err
		}
		if err := atomicfile.SyncDir(w.Dir); err != nil {
			return err
		}
		w.staged = nil
	}
	// later checkpoints are of an abandoned session
	dir := filepath.Join(w.Dir, checkpointsDir)
	all, err := generations(dir, stateKind)
	if err != nil {
		return err
	}
	at := slices.Index(all, generation)
	oldest := all[max(0, at+1-kept)]
	if err := removeGenerations(dir, func(g int64) bool { return g < oldest || g > generation }); err != nil {
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
	return w.staged != nil && sameBits(fitnessesOf(arrays, name), w.staged.Fitnesses) &&
		sameBits(rows.Data.([]float32), w.staged.filledGenotypes(w.staged.Filled()))
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// filledRows returns the rows of the filled cells if an array is the genotypes of a repertoire.
func filledRows(arrays map[string]npz.Array, name string) (rows npz.Array, ok bool) {
	flat, floats := arrays[name].Data.([]float32)
	fitnesses, shape := fitnessesOf(arrays, name), arrays[name].Shape
	if !strings.HasSuffix(name, genotypesKey) || !floats || len(shape) != 2 || fitnesses == nil || shape[0] != len(fitnesses) {
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
