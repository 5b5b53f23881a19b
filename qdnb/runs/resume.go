package runs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
)

// Checkpoint is what training resumes from.
type Checkpoint struct {
	Generation int64 // -1 from the start
	Arrays     map[string]npz.Array
	Warnings   []string // a line for each damaged checkpoint that was skipped
}

// Resume takes the folder of a run below root for training, a new one or one that an interrupted, a
// killed or a finished session left. In this order, it
//
//  1. takes the lock ([Create]);
//  2. sweeps temporary files, and reads config.json, which must fit the folder's name, or writes it;
//  3. reads the newest intact checkpoint with its genotypes, and the status in it ([Writer.LoadCheckpoint]);
//  4. calls restore, which compiles what continues from the checkpoint, reads its replay buffer
//     ([Writer.LoadReplay]), and returns the columns of metrics.csv;
//  5. drops later checkpoints, snapshots and corrected repertoires, which an abandoned session left;
//  6. rewinds metrics.csv and the events of TensorBoard to the checkpoint ([Writer.Begin]).
//
// The first [Writer.SaveReplay] drops the rows of a replay buffer that are later than the
// checkpoint. Until restore has returned, no file of an earlier session changes but the lock: after
// an error the folder is as before, and is removed if nothing was trained in it. Results without a
// checkpoint are an error, since training would replace them.
func Resume(root string, c Config, status *Status,
	restore func(*Writer, Checkpoint) (columns []string, err error)) (*Writer, error) {
	w, err := Create(root, c)
	if err != nil {
		return nil, err
	}
	var columns []string
	from, err := w.LoadCheckpoint(status)
	switch {
	case err != nil:
	case w.lost(from) != "":
		err = fmt.Errorf("%s %s: restore that, or --fresh (Spec.Fresh) sets the run aside and starts again, as does "+
			"moving its folder away", w.Dir, w.lost(from))
	case from.Generation < 0:
		*status = Status{MaxFitness: math.Inf(-1)}
	}
	if err == nil {
		columns, err = restore(w, from)
	}
	if err == nil {
		err = w.Begin(from.Generation, columns...)
	}
	if err != nil {
		_ = w.Discard()
		return nil, err
	}
	return w, nil
}

// lost says which files of a run are missing or damaged, so that Begin would delete what was computed or
// resume with a part of it; "" if none are. A process that is killed before its first checkpoint may have
// left rows and snapshots, but no status that counts them.
func (w *Writer) lost(from Checkpoint) string {
	if from.Generation >= 0 {
		if err := w.checkMetrics(); err != nil {
			return fmt.Sprintf("has a checkpoint, but no valid %s", metricsFile)
		}
		return ""
	}
	has := "has been trained"
	switch s := w.Status; {
	case s.Finished || w.HasRepertoire():
		has = "has results"
	case s.Evaluations > 0 || s.Generation > 0:
		has = fmt.Sprintf("has %d generations and %d evaluations", s.Generation, s.Evaluations)
	case !w.bare && len(from.Warnings) == 0:
		return ""
	}
	why, _, _ := strings.Cut(strings.Join(from.Warnings, "; "), "; starting from")
	return fmt.Sprintf("%s, but %s", has, cmp.Or(why, "it has no checkpoint to resume from"))
}

// open reads or writes the configuration, and removes temporary files of a killed process.
func (w *Writer) open() error {
	w.bare = exists(filepath.Join(w.Dir, metricsFile)) && !exists(filepath.Join(w.Dir, checkpointsDir))
	for _, d := range []string{"", checkpointsDir, snapshotsDir, correctedDir, replayDir} {
		dir := filepath.Join(w.Dir, d)
		if d == checkpointsDir || d == snapshotsDir {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return w.failure(err)
			}
		}
		if err := atomicfile.Sweep(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return w.failure(err)
		}
	}
	if path := filepath.Join(w.Dir, configFile); !exists(path) {
		file, err := w.Config.file()
		if err != nil {
			return err
		}
		if err := atomicfile.WriteBytes(path, file); err != nil {
			return w.failure(err)
		}
	}
	run, err := Open(w.Dir) // its hash matches the configuration
	if errors.As(err, new(*fs.PathError)) {
		return w.failure(err)
	} else if err != nil {
		return err
	}
	w.Status = run.Status
	return nil
}

// LoadCheckpoint reads the newest intact checkpoint and decodes its meta into a pointer (nil to
// skip it). If there is none, its generation is -1. Truncated or damaged checkpoints are skipped.
func (w *Writer) LoadCheckpoint(meta any) (from Checkpoint, err error) {
	from.Generation = -1
	all, err := generations(filepath.Join(w.Dir, checkpointsDir), stateKind)
	if err != nil {
		return from, w.failure(err)
	}
	slices.Reverse(all)
	for i, generation := range all {
		path := w.checkpointPath(stateKind, generation)
		arrays, about, err := w.readCheckpoint(path, generation)
		// a disk or permission error, not damage: starting from an older checkpoint would lose work
		if disk := (*fs.PathError)(nil); errors.As(err, &disk) {
			return from, fmt.Errorf("cannot read checkpoint %s; fix the cause, or remove the file to resume from an "+
				"older one (%w)", path, err)
		}
		if err != nil {
			next := "starting from the beginning"
			if i+1 < len(all) {
				next = "trying " + generationFile(stateKind, all[i+1])
			}
			from.Warnings = append(from.Warnings, fmt.Sprintf("checkpoint %s is damaged (%s); %s",
				filepath.Base(path), strings.TrimPrefix(err.Error(), path+": "), next))
			continue
		}
		if meta != nil {
			if err := json.Unmarshal(about.Meta, meta); err != nil {
				return from, fmt.Errorf("checkpoint %s was written by another version of the program: %w", path, err)
			}
		}
		w.last, from.Generation, from.Arrays = generation, generation, arrays
		break
	}
	return from, nil
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
		return nil, about, fmt.Errorf("it is generation %d of %s", about.Generation, names.Plain(about.Run))
	}
	for _, name := range about.Genotypes {
		if err := fillRows(arrays, name, path, arrays[name]); err != nil {
			return nil, about, err
		}
	}
	if about.Repertoire != "" {
		err = w.readFinalRows(arrays, about.Repertoire, generation)
	}
	return arrays, about, err
}

// readFinalRows adds the array of genotypes that are in the final repertoire, which must have the
// fitnesses of the checkpoint.
func (w *Writer) readFinalRows(arrays map[string]npz.Array, name string, generation int64) error {
	path := w.checkpointPath(repertoireKind, generation)
	if !exists(path) {
		path = filepath.Join(w.Dir, repertoireFile)
	}
	var final Repertoire
	rows, err := npz.ReadFile(path, func(file *npz.Reader) (npz.Array, error) {
		if err := readParts(file, "", list(fitnessesKey, &final.Fitnesses, -1)); err != nil {
			return npz.Array{}, err
		}
		return file.Read(genotypesKey)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is missing", path)
	case err != nil:
		return err
	case !sameBits(final.Fitnesses, fitnessesOf(arrays, name)):
		return fmt.Errorf("%s is of another state", path)
	}
	return fillRows(arrays, name, path, rows)
}

// fitnessesOf returns the fitnesses of the repertoire whose genotypes have a name; nil if there are none.
func fitnessesOf(arrays map[string]npz.Array, name string) []float32 {
	fitnesses, _ := arrays[strings.TrimSuffix(name, genotypesKey)+fitnessesKey].Data.([]float32)
	return fitnesses
}

// fillRows adds an array of genotypes, given the rows of the filled cells, which are from a file.
func fillRows(arrays map[string]npz.Array, name, path string, rows npz.Array) error {
	r := Repertoire{Fitnesses: fitnessesOf(arrays, name)}
	flat, ok := rows.Data.([]float32)
	if cells := len(r.Filled()); !ok || r.Fitnesses == nil || len(rows.Shape) != 2 || rows.Shape[0] != cells ||
		r.Cells() > maxArrayBytes/4/max(1, rows.Shape[1]) {
		return fmt.Errorf("%s: %s %v are not the genotypes of %d filled cells", path, rows.DType(), rows.Shape, cells)
	}
	r.Genotypes, r.Params = flat, rows.Shape[1]
	arrays[name] = npz.Of(r.AllGenotypes(), r.Cells(), r.Params)
	return nil
}

func metaOf(arrays map[string]npz.Array, about any) error {
	text, ok := arrays[metaKey].Data.([]uint8)
	if !ok {
		return errors.New("it has no metadata")
	}
	if err := json.Unmarshal(text, about); err != nil {
		return names.JSON(err)
	}
	return nil
}

// Begin prepares the folder for training after the generation of the loaded checkpoint, or after -1
// to start from scratch. It drops rows of metrics.csv, snapshots and (damaged) checkpoints of later
// generations, which an interrupted session left. The columns of metrics.csv are fixed for the life
// of a run; the first one must be "generation".
func (w *Writer) Begin(generation int64, columns ...string) error {
	if len(columns) == 0 || columns[0] != "generation" {
		return fmt.Errorf("the first column of %s must be generation, not %q", metricsFile, columns)
	}
	for i, name := range columns {
		if name == "" || strings.ContainsAny(name, ",\"\r\n ") {
			return fmt.Errorf("%q is not a valid column name for %s", name, metricsFile)
		}
		if slices.Contains(columns[:i], name) {
			return fmt.Errorf("%s has two columns %q", metricsFile, name)
		}
	}
	for _, dir := range []string{checkpointsDir, snapshotsDir, correctedDir} {
		if err := removeGenerations(filepath.Join(w.Dir, dir), func(g int64) bool { return g > generation }); err != nil {
			return w.failure(err)
		}
	}
	if w.metrics != nil {
		err := w.metrics.close()
		w.metrics = nil
		if err != nil {
			return w.failure(err)
		}
	}
	path := filepath.Join(w.Dir, metricsFile)
	row, size, err := w.rewind(path, float64(generation), columns)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return w.failure(err)
	}
	w.metrics = &metricsLog{file: file, columns: columns, row: row, size: size}
	if w.TensorBoard {
		w.metrics.events, err = w.beginEvents()
	} else {
		err = os.RemoveAll(filepath.Join(w.Dir, eventsDir)) // it would lack rows
	}
	return w.failure(err)
}

// rewind rewrites metrics.csv unless it holds exactly the header and the complete rows up to a
// generation. Rows of the end of a budget are dropped. It returns the last row and the file's size.
func (w *Writer) rewind(path string, generation float64, columns []string) (last []float64, size int64, err error) {
	header := strings.Join(columns, ",") + "\n"
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, w.failure(err)
	}
	var kept bytes.Buffer
	kept.WriteString(header)
	if generation >= 0 && bytes.IndexByte(data, '\n') >= 0 {
		table, err := parseTable(data)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w; restore it or move the folder away", path, err)
		}
		if len(table.Rows) > 0 && !slices.Equal(table.Columns, columns) {
			return nil, 0, fmt.Errorf("%s has the columns %s, but this program logs %s; move the folder "+
				"away to start over", path, names.List(table.Columns), names.List(columns))
		}
		for _, row := range table.Rows {
			if (last == nil || row[0] > last[0]) && row[0] <= generation && !final(columns, row) {
				kept.WriteString(formatRow(row))
				last = row
			}
		}
	}
	if !bytes.Equal(data, kept.Bytes()) {
		if err := atomicfile.WriteBytes(path, kept.Bytes()); err != nil {
			return nil, 0, w.failure(err)
		}
	}
	return last, int64(kept.Len()), nil
}
