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
				return nil, fmt.Errorf("line %d: %s is %s, not a number", line, names.Plain(header[i]),
					names.Quote(field))
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
