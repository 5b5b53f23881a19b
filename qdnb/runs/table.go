package runs

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
)

// Table is a CSV file of numbers.
type Table struct {
	Columns []string
	Rows    [][]float64 // each of length len(Columns)
}

// ReadTable reads a CSV file of numbers with a header. An unterminated last line, which a killed
// process can leave, is ignored.
func ReadTable(path string) (*Table, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: the run has logged nothing yet", path)
	} else if err != nil {
		return nil, err
	}
	table, err := parseTable(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return table, nil
}

// Column returns the numbers of a column, or an error that lists the columns.
func (t *Table) Column(name string) ([]float64, error) {
	i := slices.Index(t.Columns, name)
	if i < 0 {
		return nil, names.Unknown("column", name, t.Columns)
	}
	return lists.Map(t.Rows, func(row []float64) float64 { return row[i] }), nil
}

func parseTable(data []byte) (*Table, error) {
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	reader := csv.NewReader(bytes.NewReader(data))
	header, err := reader.Read()
	if err == io.EOF {
		return nil, errors.New("it has no header")
	} else if err != nil {
		return nil, err
	}
	table := &Table{Columns: header}
	for i, name := range header {
		if name == "" || slices.Contains(header[:i], name) {
			return nil, fmt.Errorf("column %d of the header is empty or repeated", i+1)
		}
	}
	for {
		fields, err := reader.Read()
		if err == io.EOF {
			return table, nil
		} else if err != nil { // names the line and the problem: number of fields, a quote
			return nil, err
		}
		row := make([]float64, len(fields))
		for i, field := range fields {
			if row[i], err = strconv.ParseFloat(field, 64); err != nil {
				line, _ := reader.FieldPos(i)
				return nil, fmt.Errorf("line %d: %s is %s, not a number", line, names.Plain(header[i]), names.Quote(field))
			}
		}
		table.Rows = append(table.Rows, row)
	}
}

// formatRow formats a line of a table. Every number parses back to the same float64.
func formatRow(values []float64) string {
	return strings.Join(lists.Map(values, FormatNumber), ",") + "\n"
}

// Finite returns x for JSON: nil, and so null, if it is not finite.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// FormatNumber formats a number for a CSV file: integers without an exponent (1000000, not 1e+06),
// non-finite values as Python does.
func FormatNumber(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"))
}

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
		return fmt.Errorf("%s: %d values for the columns %s", metricsFile, len(values), strings.Join(m.columns, ","))
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
