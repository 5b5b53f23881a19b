package runs

import (
	"bytes"
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

// metricsLog appends to metrics.csv. Each row is written at once, so that a killed process leaves
// at most the last row unfinished.
type metricsLog struct {
	file    *os.File
	columns []string
	last    float64 // generation of the last row
	text    []byte  // the header and all rows: a checkpoint has them, too
}

// LogSeal tells whether metrics.csv is as it was written.
type LogSeal struct {
	Bytes  int64  `json:"bytes"` // that were written; more may have been since
	SHA256 string `json:"sha256"`
}

// seal is that of what was logged; zero before Begin.
func (m *metricsLog) seal() LogSeal {
	if m == nil {
		return LogSeal{}
	}
	return LogSeal{int64(len(m.text)), digest(m.text)}
}

// check tells whether a file begins with what was sealed.
func (s LogSeal) check(path string) error {
	if s == (LogSeal{}) {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.Bytes < 0 || int64(len(data)) < s.Bytes || digest(data[:s.Bytes]) != s.SHA256 {
		return fmt.Errorf("%s is damaged: it is not what was logged; remove status.json beside it and "+
			"train again, which restores both from the checkpoint", path)
	}
	return nil
}

// Begin readies the folder for going on after a generation, that of the checkpoint which was
// loaded, or -1 to begin anew: rows of metrics.csv, snapshots and (damaged) checkpoints of later
// generations, which a session that was cut off has left, are dropped. The columns of metrics.csv
// are fixed for the life of a run; the first one must be "generation".
func (w *Writer) Begin(generation int64, columns ...string) error {
	if len(columns) == 0 || columns[0] != "generation" {
		return fmt.Errorf("the first column of %s must be generation, not %q", metricsFile, columns)
	}
	for i, name := range columns {
		if slices.Contains(columns[:i], name) || name == "" || strings.ContainsAny(name, ",\"\r\n ") {
			return fmt.Errorf("%q is not a name for a column of %s", name, metricsFile)
		}
	}
	for _, dir := range []string{checkpointsDir, snapshotsDir} {
		if err := removeLater(filepath.Join(w.Dir, dir), generation); err != nil {
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
	last, text, err := w.rewind(path, float64(generation), columns)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return w.failure(err)
	}
	w.metrics = &metricsLog{file: file, columns: columns, last: last, text: text}
	return nil
}

// rewind rewrites metrics.csv if it has more, or less, than the header and whole rows up to a
// generation: those that the checkpoint has, or, where that is of an older program, those of the
// file. It returns the generation of the last row, or -1, and the text of the file.
func (w *Writer) rewind(path string, generation float64, columns []string) (last float64,
	text []byte, err error) {
	header := strings.Join(columns, ",") + "\n"
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, nil, w.failure(err)
	}
	var kept bytes.Buffer
	kept.WriteString(header)
	last = -1
	rows := data
	if w.log != nil {
		rows = w.log
	}
	if generation >= 0 && bytes.IndexByte(rows, '\n') >= 0 {
		table, err := parseTable(rows)
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(table.Rows) > 0 && !slices.Equal(table.Columns, columns) {
			return 0, nil, fmt.Errorf("%s has the columns %s, this program logs %s; move the folder away "+
				"to train anew", path,
				names.List(table.Columns), names.List(columns))
		}
		for _, row := range table.Rows {
			if row[0] > last && row[0] <= generation {
				kept.WriteString(formatRow(row))
				last = row[0]
			}
		}
	}
	if !bytes.Equal(data, kept.Bytes()) {
		if err := atomicfile.WriteBytes(path, kept.Bytes()); err != nil {
			return 0, nil, w.failure(err)
		}
	}
	return last, kept.Bytes(), nil
}

// Log appends a row to metrics.csv: one value per column of Begin, the first being a generation
// after that of the row before. Numbers are written so that they are read back as they are.
func (w *Writer) Log(values ...float64) error {
	m := w.metrics
	switch {
	case m == nil:
		return fmt.Errorf("%s: Begin must come before Log", w.Dir)
	case len(values) != len(m.columns):
		return fmt.Errorf("%s: %d values for the columns %s", metricsFile, len(values),
			strings.Join(m.columns, ","))
	case !(values[0] > m.last):
		return fmt.Errorf("%s: generation %v follows %v", metricsFile, values[0], m.last)
	}
	row := formatRow(values)
	if _, err := m.file.WriteString(row); err != nil {
		// A full disk may have taken half of the row. If that cannot be undone either, the next
		// Begin does it.
		return w.failure(errors.Join(err, m.file.Truncate(int64(len(m.text)))))
	}
	m.last, m.text = values[0], append(m.text, row...)
	return nil
}

// Sync makes sure that the rows logged so far survive a power failure. SaveCheckpoint does so
// itself.
func (w *Writer) Sync() error {
	if w.metrics == nil {
		return nil
	}
	return w.failure(w.metrics.file.Sync())
}

func (m *metricsLog) close() error { return errors.Join(m.file.Sync(), m.file.Close()) }
