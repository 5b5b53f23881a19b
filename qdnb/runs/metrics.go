package runs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz/atomicfile"
)

// metricsLog writes each row at once: a killed process leaves at most one partial row.
type metricsLog struct {
	file    *os.File
	columns []string
	row     []float64  // the last one, nil before
	size    int64      // of the file
	events  *eventsLog // nil: none is written
}

// Begin prepares the folder for training after a generation: that of the loaded checkpoint, or -1
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
		if err := removeGenerations(filepath.Join(w.Dir, dir),
			func(g int64) bool { return g > generation }); err != nil {
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

// Lost says which files of a run are missing or damaged, so that Begin would delete what was computed or
// go on with a part of it; "" if none are. generation and damaged are the results of LoadCheckpoint. A
// process that is killed before its first checkpoint may have left rows and snapshots, but no status
// that counts them.
func (w *Writer) Lost(generation int64, damaged []string) string {
	if generation >= 0 {
		if _, err := w.Metrics(); err != nil {
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
	case !w.bare && len(damaged) == 0:
		return ""
	}
	why, _, _ := strings.Cut(strings.Join(damaged, "; "), "; starting from")
	return fmt.Sprintf("%s, but %s", has, cmp.Or(why, "it has no checkpoint to resume from"))
}

// rewind rewrites metrics.csv unless it holds exactly the header and the complete rows up to a
// generation. Rows of the end of a budget are dropped. It returns the last row and the file's size.
func (w *Writer) rewind(path string, generation float64, columns []string) (last []float64,
	size int64, err error) {
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

// FinalColumn is the column of metrics.csv that is 1 in the row of a measurement at the end of the
// budget, else 0. The row may follow one of the same generation. Begin drops it: an extended run
// has the rows of one that never ended there.
const FinalColumn = "final"

func final(columns []string, row []float64) bool {
	i := slices.Index(columns, FinalColumn)
	return i >= 0 && row[i] != 0
}

// LastRow returns the last row of metrics.csv; nil if there is none.
func (w *Writer) LastRow() []float64 { return w.metrics.row }

// Log appends a row to metrics.csv: one value per column of Begin. The first value is a generation,
// which must exceed that of the previous row. Numbers are formatted so that they parse back
// exactly.
func (w *Writer) Log(values ...float64) error {
	m, last := w.metrics, -1.0
	if m == nil {
		return fmt.Errorf("%s: call Begin before Log", w.Dir)
	}
	if m.row != nil {
		last = m.row[0]
	}
	switch {
	case len(values) != len(m.columns):
		return fmt.Errorf("%s: %d values for the columns %s", metricsFile, len(values),
			strings.Join(m.columns, ","))
	case !(values[0] > last || values[0] == last && final(m.columns, values)):
		return fmt.Errorf("%s: generation %v follows %v", metricsFile, values[0], last)
	}
	row := formatRow(values)
	if _, err := m.file.WriteString(row); err != nil {
		// A full disk may have taken part of the row. If truncating fails too, the next Begin repairs it.
		return w.failure(errors.Join(err, m.file.Truncate(m.size)))
	}
	m.row, m.size = values, m.size+int64(len(row))
	if m.events == nil {
		return nil
	}
	_, err := m.events.file.Write(m.events.append(nil, values))
	return w.failure(err)
}

func (m *metricsLog) close() (err error) {
	if m.events != nil {
		err = m.events.file.Close()
	}
	return errors.Join(err, m.file.Sync(), m.file.Close())
}
