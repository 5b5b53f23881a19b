package runs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// metricsLog writes each row at once: a killed process leaves at most one partial row.
type metricsLog struct {
	file    *os.File
	columns []string
	row     []float64  // the last one, nil before
	size    int64      // of the file
	events  *eventsLog // nil: none is written
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
// which must exceed the previous row's. Numbers are formatted so that they parse back
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
