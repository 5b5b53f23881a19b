package runs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
)

const (
	// keptCheckpoints is how many checkpoints a run keeps: the second one is used if the newest is
	// damaged. A finished run keeps only the last one.
	keptCheckpoints = 2
	// metaKey names a checkpoint's array of a checkpointMeta as JSON.
	metaKey = "meta"
	// logKey names a checkpoint's array of the text of metrics.csv up to the checkpoint.
	logKey = "log"
)

type checkpointMeta struct {
	Run        string          `json:"run"` // detects checkpoints of another run
	Generation int64           `json:"generation"`
	Meta       json.RawMessage `json:"meta"`
	// Files and Shapes describe the arrays whose rows are in other files; see rows.go.
	Files  []string         `json:"files,omitempty"`
	Shapes map[string][]int `json:"shapes,omitempty"`
}

// SaveCheckpoint saves everything needed to resume after a generation: arrays, and any other state
// as meta, which is written as JSON. It also stores metrics.csv. The checkpoint is on disk when
// SaveCheckpoint returns; only then are checkpoints other than the newest two removed. The names
// "meta" and "log" are reserved.
//
// Of a repertoire's array "genotypes", next to the array "fitnesses" (both with the same prefix),
// only the rows of filled cells are saved, each once, however many checkpoints hold it; the other
// rows are zero when they are loaded.
//
// After [Writer.StageRepertoire], the checkpoint is the last one of a finished run. SaveCheckpoint
// then also replaces repertoire.npz and removes all other checkpoints.
func (w *Writer) SaveCheckpoint(generation int64, arrays map[string]npz.Array, meta any) error {
	if generation < 0 {
		return fmt.Errorf("checkpoint of %s: generation %d", w.Dir, generation)
	}
	for _, name := range []string{metaKey, logKey} {
		if _, taken := arrays[name]; taken {
			return fmt.Errorf("checkpoint of %s: the array name %q is reserved", w.Dir, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if err := arrays[name].Check(); err != nil {
			return fmt.Errorf("checkpoint of %s: array %q: %w", w.Dir, name, err)
		}
	}
	inner, err := json.Marshal(meta)
	if err != nil {
		return fmt.Errorf("checkpoint of %s: %w", w.Dir, err)
	}
	arrays = maps.Clone(arrays)
	if arrays == nil {
		arrays = map[string]npz.Array{}
	}
	about := checkpointMeta{Run: w.Name(), Generation: generation, Meta: inner}
	rows, err := w.saveRows(arrays, &about)
	if err != nil {
		return w.failure(err)
	}
	outer, err := json.Marshal(about)
	if err != nil {
		return fmt.Errorf("checkpoint of %s: %w", w.Dir, err)
	}
	arrays[metaKey] = npz.Of(outer)
	if w.metrics != nil {
		arrays[logKey] = npz.Of(w.metrics.text)
	}

	// rows logged up to here must exist when training resumes from here
	if err := w.Sync(); err != nil {
		return err
	}
	dir := filepath.Join(w.Dir, checkpointsDir)
	if err := saveSealed(filepath.Join(dir, generationFile(generation)), arrays); err != nil {
		return w.failure(err)
	}
	w.last = generation
	kept := keptCheckpoints
	if w.rows.staged != nil {
		kept = 1
		if err := w.publish(); err != nil {
			return w.failure(err)
		}
	}
	w.rows = rows
	if err := prune(dir, generation, kept); err != nil {
		return w.failure(err)
	}
	return w.failure(cmp.Or(w.pruneReplay(generation), w.pruneRows()))
}

// prune removes checkpoints later than the newest, which an abandoned session left, and all but the
// newest kept ones.
func prune(dir string, newest int64, kept int) error {
	if err := removeLater(dir, newest); err != nil {
		return err
	}
	generations, err := generationFiles(dir)
	if err != nil || len(generations) <= kept {
		return err
	}
	oldest := generations[len(generations)-kept]
	return removeFiles(dir, generationOf, func(g int64) bool { return g < oldest })
}

// LoadCheckpoint reads the newest intact checkpoint and decodes its meta into a pointer (nil to
// skip it). If there is none, generation is -1 and arrays is nil. Truncated or damaged checkpoints
// are skipped; warnings has a line to show for each.
func (w *Writer) LoadCheckpoint(meta any) (arrays map[string]npz.Array, generation int64,
	warnings []string, err error) {
	dir := filepath.Join(w.Dir, checkpointsDir)
	generations, err := generationFiles(dir)
	if err != nil {
		return nil, -1, nil, w.failure(err)
	}
	slices.Reverse(generations)
	for i, generation := range generations {
		name := generationFile(generation)
		path := filepath.Join(dir, name)
		arrays, about, log, err := w.readCheckpoint(path, generation)
		var rows rowFiles
		if err == nil {
			rows, err = w.loadRows(arrays, about)
		}
		var disk *fs.PathError
		// a disk or permission error, not damage: starting from an older checkpoint would lose work
		if errors.As(err, &disk) {
			return nil, -1, warnings,
				fmt.Errorf("cannot read checkpoint %s; fix the cause, or remove the file to resume from an "+
					"older one (%w)", path, err)
		}
		if err != nil {
			next := "starting from the beginning"
			if i+1 < len(generations) {
				next = "trying " + generationFile(generations[i+1])
			}
			warnings = append(warnings, fmt.Sprintf("checkpoint %s is damaged (%v); %s", name, err, next))
			continue
		}
		if meta != nil {
			if err := json.Unmarshal(about.Meta, meta); err != nil {
				return nil, -1, warnings, fmt.Errorf("checkpoint %s was written by another version of the "+
					"program: %w", path, err)
			}
		}
		w.last, w.log, w.rows = generation, log, rows
		if text, err := os.ReadFile(filepath.Join(w.Dir,
			metricsFile)); err == nil && !bytes.HasPrefix(text, log) || errors.Is(err,
			fs.ErrNotExist) && log != nil {
			warnings = append(warnings,
				fmt.Sprintf("%s is damaged or was edited; its rows are restored from checkpoint %s",
					filepath.Join(w.Dir, metricsFile), name))
		}
		return arrays, generation, warnings, nil
	}
	return nil, -1, warnings, nil
}

// readCheckpoint reads a checkpoint, which must be of this run and of the given generation. It
// returns its arrays, its meta and metrics.csv at that time; log is nil if an older program wrote
// the checkpoint.
func (w *Writer) readCheckpoint(path string, generation int64) (arrays map[string]npz.Array,
	about checkpointMeta, log []byte, err error) {
	if arrays, err = readSealed(path, (*npz.Reader).ReadAll); err != nil {
		return nil, about, nil, err
	}
	if about, err = parseMeta(arrays[metaKey]); err != nil {
		return nil, about, nil, err
	}
	if text, ok := arrays[logKey]; ok {
		log, _ = text.Data.([]uint8)
	}
	delete(arrays, metaKey)
	delete(arrays, logKey)
	if about.Run != w.Name() || about.Generation != generation {
		return nil, about, nil, fmt.Errorf("it is generation %d of %s", about.Generation,
			names.Plain(about.Run))
	}
	return arrays, about, log, nil
}

func parseMeta(a npz.Array) (about checkpointMeta, err error) {
	text, ok := a.Data.([]uint8)
	if !ok {
		return about, errors.New("it has no metadata")
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return about, syntaxError(err)
	}
	return about, nil
}
