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

	"example.com/qdnb/internal/names"
)

// Table is the contents of a CSV file of numbers.
type Table struct {
	Columns []string
	Rows    [][]float64 // each as long as Columns
}

// ReadTable reads a CSV file of numbers with a header. A last line without its end, which a killed
// process may leave, is passed over.
func ReadTable(path string) (*Table, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: the run has logged nothing yet", path)
	} else if err != nil {
		return nil, err
	}
	table, err := parseTable(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return table, nil
}

// Column gives the numbers of a column, or an error that names the columns there are.
func (t *Table) Column(name string) ([]float64, error) {
	i := slices.Index(t.Columns, name)
	if i < 0 {
		return nil, names.Unknown("column", name, t.Columns)
	}
	column := make([]float64, len(t.Rows))
	for row := range t.Rows {
		column[row] = t.Rows[row][i]
	}
	return column, nil
}

// parseTable reads the whole lines of a CSV file.
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
			return nil, fmt.Errorf("column %d of the header is empty or there twice", i+1)
		}
	}
	for {
		fields, err := reader.Read()
		if err == io.EOF {
			return table, nil
		} else if err != nil { // says the line and what is wrong: the number of fields, a quote
			return nil, err
		}
		row := make([]float64, len(fields))
		for i, field := range fields {
			if row[i], err = strconv.ParseFloat(field, 64); err != nil {
				line, _ := reader.FieldPos(i)
				return nil, fmt.Errorf("line %d: %s is %s, which is not a number", line, names.Plain(header[i]),
					names.Quote(field))
			}
		}
		table.Rows = append(table.Rows, row)
	}
}

// formatRow writes a line of a table. Every number is read back as the same float64.
func formatRow(values []float64) string {
	fields := make([]string, len(values))
	for i, v := range values {
		fields[i] = FormatNumber(v)
	}
	return strings.Join(fields, ",") + "\n"
}

// FormatNumber writes a number of a CSV file: whole ones without an exponent (1000000, not 1e+06)
// and what is not finite as Python does.
func FormatNumber(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case v == math.Trunc(v) && math.Abs(v) < 1<<53:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
