package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/names"
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
		if err := w.metrics.file.Sync(); err != nil {
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
		err := os.Remove(w.checkpointPath(genotypesKind, generation))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	dir, kept := filepath.Join(w.Dir, checkpointsDir), keptCheckpoints
	if w.staged != nil {
		kept = 1
		if err := os.Rename(w.checkpointPath(repertoireKind, generation),
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

// LoadCheckpoint reads the newest intact checkpoint and decodes its meta into a pointer (nil to
// skip it). If there is none, generation is -1 and arrays is nil. Truncated or damaged checkpoints
// are skipped; warnings has a line to show for each.
func (w *Writer) LoadCheckpoint(meta any) (arrays map[string]npz.Array, generation int64,
	warnings []string, err error) {
	all, err := generations(filepath.Join(w.Dir, checkpointsDir), stateKind)
	if err != nil {
		return nil, -1, nil, w.failure(err)
	}
	slices.Reverse(all)
	for i, generation := range all {
		path := w.checkpointPath(stateKind, generation)
		arrays, about, err := w.readCheckpoint(path, generation)
		// a disk or permission error, not damage: starting from an older checkpoint would lose work
		if disk := (*fs.PathError)(nil); errors.As(err, &disk) {
			return nil, -1, warnings,
				fmt.Errorf("cannot read checkpoint %s; fix the cause, or remove the file to resume from an "+
					"older one (%w)", path, err)
		}
		if err != nil {
			next := "starting from the beginning"
			if i+1 < len(all) {
				next = "trying " + generationFile(stateKind, all[i+1])
			}
			warnings = append(warnings, fmt.Sprintf("checkpoint %s is damaged (%s); %s",
				filepath.Base(path), strings.TrimPrefix(err.Error(), path+": "), next))
			continue
		}
		if meta != nil {
			if err := json.Unmarshal(about.Meta, meta); err != nil {
				return nil, -1, warnings, fmt.Errorf("checkpoint %s was written by another version of the "+
					"program: %w", path, err)
			}
		}
		w.last = generation
		return arrays, generation, warnings, nil
	}
	return nil, -1, warnings, nil
}

// readCheckpoint reads a checkpoint, which must be of this run and of the given generation.
func (w *Writer) readCheckpoint(path string, generation int64) (arrays map[string]npz.Array,
	about checkpointMeta, err error) {
	if arrays, err = npz.ReadFile(path, (*npz.Reader).ReadAll); err != nil {
		return nil, about, err
	}
	if err := metaOf(arrays, &about); err != nil {
		return nil, about, err
	}
	delete(arrays, metaKey)
	if about.Run != w.Name() || about.Generation != generation {
		return nil, about, fmt.Errorf("it is generation %d of %s", about.Generation,
			names.Plain(about.Run))
	}
	for _, name := range about.Genotypes {
		if err := fillRows(arrays, name, w.checkpointPath(genotypesKind, generation), name); err != nil {
			return nil, about, err
		}
	}
	if name := about.Repertoire; name != "" {
		path := w.checkpointPath(repertoireKind, generation)
		if !exists(path) {
			path = filepath.Join(w.Dir, repertoireFile)
		}
		if err := fillRows(arrays, name, path, genotypesKey); err != nil {
			return nil, about, err
		}
	}
	return arrays, about, nil
}

// fillRows adds an array of genotypes, whose rows of filled cells are an array of a file. A file
// with fitnesses, which is a repertoire, must have those of the checkpoint.
func fillRows(arrays map[string]npz.Array, name, path, key string) error {
	var others npz.Array
	rows, err := npz.ReadFile(path, func(file *npz.Reader) (rows npz.Array, err error) {
		if key == genotypesKey && file.Has(fitnessesKey) {
			if others, err = file.Read(fitnessesKey); err != nil {
				return rows, err
			}
		}
		return file.Read(key)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing", path)
	} else if err != nil {
		return err
	}
	fitnesses, known := arrays[strings.TrimSuffix(name, genotypesKey)+fitnessesKey].Data.([]float32)
	flat, floats := rows.Data.([]float32)
	cells := (&Repertoire{Fitnesses: fitnesses}).Filled()
	if same, ok := others.Data.([]float32); ok && !sameBits(same, fitnesses) {
		return fmt.Errorf("%s is of another state", path)
	}
	if !known || !floats || len(rows.Shape) != 2 || rows.Shape[0] != len(cells) ||
		len(fitnesses) > maxArrayBytes/4/max(1, rows.Shape[1]) {
		return fmt.Errorf("%s: %s %v are not the genotypes of %d filled cells", path, rows.DType(),
			rows.Shape, len(cells))
	}
	r := Repertoire{Fitnesses: fitnesses, Genotypes: flat, Params: rows.Shape[1]}
	arrays[name] = npz.Of(r.AllGenotypes(), len(fitnesses), r.Params)
	return nil
}

func metaOf(arrays map[string]npz.Array, about any) error {
	text, ok := arrays[metaKey].Data.([]uint8)
	if !ok {
		return errors.New("it has no metadata")
	}
	if err := json.Unmarshal(text, about); err != nil {
		return syntaxError(err)
	}
	return nil
}
