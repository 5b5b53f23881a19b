package runs

import (
	"bytes"
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
	// keptCheckpoints is how many checkpoints a run keeps: the second one is for the case that the
	// newest is damaged.
	keptCheckpoints = 2
	// metaKey names the array of a checkpoint that holds a checkpointMeta as JSON.
	metaKey = "meta"
	// logKey names the array of a checkpoint that holds the text of metrics.csv up to it.
	logKey = "log"
)

// checkpointMeta is what a checkpoint says about itself.
type checkpointMeta struct {
	// so that a checkpoint of another run is not taken for one of this
	Run        string          `json:"run"`
	Generation int64           `json:"generation"`
	Meta       json.RawMessage `json:"meta"`
}

// SaveCheckpoint keeps everything that is needed to go on after a generation: arrays, and anything
// else as meta, which is written as JSON; metrics.csv is kept in it, too. It is on the disk when
// SaveCheckpoint returns; only then are older checkpoints than the newest two removed. The names
// "meta" and "log" are taken.
func (w *Writer) SaveCheckpoint(generation int64, arrays map[string]npz.Array, meta any) error {
	if generation < 0 {
		return fmt.Errorf("checkpoint of %s: generation %d", w.Dir, generation)
	}
	for _, name := range []string{metaKey, logKey} {
		if _, taken := arrays[name]; taken {
			return fmt.Errorf("checkpoint of %s: an array cannot be named %q", w.Dir, name)
		}
	}
	inner, err := json.Marshal(meta)
	if err != nil {
		return fmt.Errorf("checkpoint of %s: %w", w.Dir, err)
	}
	outer, err := json.Marshal(checkpointMeta{Run: w.Name(), Generation: generation, Meta: inner})
	if err != nil {
		return fmt.Errorf("checkpoint of %s: %w", w.Dir, err)
	}
	arrays = maps.Clone(arrays)
	if arrays == nil {
		arrays = map[string]npz.Array{}
	}
	arrays[metaKey] = npz.Of(outer)
	if w.metrics != nil {
		arrays[logKey] = npz.Of(w.metrics.text)
	}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if err := arrays[name].Check(); err != nil {
			return fmt.Errorf("checkpoint of %s: array %q: %w", w.Dir, name, err)
		}
	}

	// what was logged up to here must be there when training goes on from here
	if err := w.Sync(); err != nil {
		return err
	}
	dir := filepath.Join(w.Dir, checkpointsDir)
	if err := saveSealed(filepath.Join(dir, generationFile(generation)), arrays); err != nil {
		return w.failure(err)
	}
	w.last = generation
	if err := prune(dir, generation); err != nil {
		return w.failure(err)
	}
	return w.failure(w.pruneReplay(generation))
}

// prune removes checkpoints later than the newest, which are of a session that was given up, and
// all but the newest few.
func prune(dir string, newest int64) error {
	if err := removeLater(dir, newest); err != nil {
		return err
	}
	generations, err := generationFiles(dir)
	if err != nil {
		return err
	}
	for _, g := range generations[:max(0, len(generations)-keptCheckpoints)] {
		if err := os.Remove(filepath.Join(dir, generationFile(g))); err != nil {
			return err
		}
	}
	return nil
}

// LoadCheckpoint reads the newest checkpoint that is whole, and decodes what was saved as meta into
// a pointer (nil to leave it). Generation is -1, without arrays, if there is none. Checkpoints that
// are cut off or damaged are passed over; warnings has a line for each, to be shown.
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
		arrays, inner, log, err := w.readCheckpoint(path, generation)
		var disk *fs.PathError
		// the disk or a permission, not the contents: starting from an older one would lose work
		if errors.As(err, &disk) {
			return nil, -1, warnings,
				fmt.Errorf("cannot read checkpoint %s; mend that, or remove the file to go on from an older "+
					"one (%w)", path, err)
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
			if err := json.Unmarshal(inner, meta); err != nil {
				return nil, -1, warnings, fmt.Errorf("checkpoint %s is of another version of the program: %w",
					path, err)
			}
		}
		w.last, w.log = generation, log
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

// readCheckpoint reads a checkpoint that must be of this run and of the given generation: its
// arrays, what was saved as meta, and metrics.csv as it was then, nil where an older program wrote
// it.
func (w *Writer) readCheckpoint(path string, generation int64) (arrays map[string]npz.Array,
	meta json.RawMessage, log []byte, err error) {
	arrays, err = readSealed(path)
	if err != nil {
		return nil, nil, nil, err
	}
	outer, ok := arrays[metaKey].Data.([]uint8)
	if !ok {
		return nil, nil, nil, errors.New("it has no meta")
	}
	if text, ok := arrays[logKey]; ok {
		log, _ = text.Data.([]uint8)
	}
	delete(arrays, metaKey)
	delete(arrays, logKey)
	var about checkpointMeta
	if err := json.Unmarshal(outer, &about); err != nil {
		return nil, nil, nil, syntaxError(err)
	}
	if about.Run != w.Name() || about.Generation != generation {
		return nil, nil, nil, fmt.Errorf("it is generation %d of %s", about.Generation,
			names.Plain(about.Run))
	}
	return arrays, about.Meta, log, nil
}
