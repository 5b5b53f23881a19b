package tables_test

import (
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/imagetest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/tables"
)

func TestNumber(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "1.00": 1, "1280": 1284, "-0.250": -0.25, "789000": 789_012, "-10100": -10_149,
		"0.00100": 0.001, "0.000500": 0.0005, "85.9": 85.94,
		"99900": 99_940, "100000": 99_960, "249": 249.3, "nan": math.NaN(), "inf": math.Inf(1),
		"-inf": math.Inf(-1), "12300": 12_345,
		"10.0": 9.996, "-100": -99.96, "1000": 999.6, "0.100": 0.09996, "9.99": 9.994,
		"1.62e9": 1_620_000_000, "2.00e-10": 2e-10, "1.25e-6": 1.25e-6,
	} {
		errtest.Equal(t, v, tables.Numbers(v)[0], want)
	}
}

// The numbers of a column share one notation: the one that the most demanding number needs.
func TestNotation(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{1284, 789_012, -0.25}, "1280 789000 -0.250"},
		{[]float64{3.2e6, 1.62e9, -0.25, math.Inf(1)}, "3.20e6 1.62e9 -2.50e-1 inf"},
		{[]float64{12, math.Inf(1), math.NaN()}, "12.0 inf nan"},
	} {
		errtest.Equal(t, c.values, strings.Join(tables.Numbers(c.values...), " "), c.want)
	}
	errtest.Equal(t, "a negligible number", tables.Plain.Number(1e-13), "0")
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0, 3, "0"}, {0.12345, 3, "0.123"}, {-0.5, 3, "-0.5"}, {123.4, 3, "123"}, {999.4, 3, "999"},
		{999.7, 3, "1000"}, {-999.7, 3, "-1000"}, {17234.4, 3, "17234"}, {234567, 3, "234567"},
		{2.04e-5, 2, "2e-05"}, {12.4, 2, "12"}, {99.7, 2, "100"}, {228.4, 2, "228"}, {1e9, 2, "1e+09"},
		{math.NaN(), 3, "NaN"}, {math.Inf(-1), 3, "-Inf"},
	} {
		errtest.Equal(t, c.v, tables.Short(c.v, c.digits), c.want)
	}
}

func TestProbability(t *testing.T) {
	for p, want := range map[float64]string{0.0009: "< 0.001", 0.001: "0.001", 0.25: "0.250"} {
		errtest.Equal(t, p, tables.Probability(p), want)
	}
}

func TestCountAndDuration(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0", 600: "600", 999: "999", 1000: "1k", 1234: "1.2k", 35_000: "35k", 99_900: "100k",
		999_400: "999k", 999_600: "1M", 1.25e6: "1.2M",
		1.6e9: "1.6G", 1.2e8: "120M",
	} {
		errtest.Equal(t, n, tables.Count(n), want)
	}
	for s, want := range map[float64]string{0: "0 s", 2: "2 s", 7.62: "7.6 s", 9.96: "10 s",
		119: "119 s", 119.6: "2 min", 120.1: "2 min", 130: "2.2 min", 3600: "60 min", 7140: "119 min", 7199: "2 h",
		9000: "2.5 h", 36_100: "10 h"} {
		errtest.Equal(t, fmt.Sprintf("%g s", s), tables.Duration(s), want)
	}
}

// Readers see a minus sign before numbers and in exponents; programs that read CSV get a hyphen.
// Names keep their hyphens.
func TestMinus(t *testing.T) {
	table := &tables.Table{
		Caption: "from -1", Header: []string{"method", "(-5, -2.5)"},
		Notes: []string{"-1: the opposite one."},
		Rows: [][]tables.Entry{tables.Row("ant-trap-0", "-0.250 (± 1.0e-5) | -inf"),
			tables.Row("pga-map-elites 5-10", "-3 -4")},
	}
	for _, text := range []string{table.Markdown(), regexp.MustCompile("<.*?>").ReplaceAllString(table.HTML(), ""),
		table.Text()} {
		errtest.Contains(t, text, "from −1", "(−5, −2.5)", "−1: the opposite one.", "ant-trap-0", "−0.250 (± 1.0e−5)",
			"−inf", "pga-map-elites 5-10", "−3 −4")
	}
	if text := table.LaTeX(); !strings.Contains(text, "$-$0.250") || strings.Contains(text, " -") {
		t.Error(text)
	}
	if text := table.CSV(); strings.Contains(text, "−") || !strings.Contains(text, "-0.250 (± 1.0e-5)") {
		t.Error(text)
	}
}

// sample returns a table with everything that a format must handle.
func sample() *tables.Table {
	return &tables.Table{
		Caption: "50 % of R&D",
		Header:  []string{"metric", "method_id", "scores | ±", "note"},
		Rows: [][]tables.Entry{
			{{Text: "max"}, {Text: "a_b"}, {Text: "7.89e5 (± 2)", Bold: true}, {Text: "$x$ & <b>"}},
			{{Text: "max"}, {Text: "c*d"}, {Text: "-3"}, {}},
			{{Text: "QD"}, {Text: `back\slash`}, {}},
		},
		Notes:   []string{"Two\nlines & 100 %"},
		Grouped: true,
	}
}

func TestFormats(t *testing.T) {
	table := sample()
	for name, text := range map[string]string{"table.md": table.Markdown(), "table.csv": table.CSV(),
		"table.tex": table.LaTeX(), "table.txt": table.Text(), "table.html": table.HTML()} {
		imagetest.Text(t, name, text)
	}
}

func TestEdges(t *testing.T) {
	for _, table := range []*tables.Table{{}, {Header: []string{"a", "b"}},
		{Rows: [][]tables.Entry{tables.Row("x")}, Grouped: true}} {
		for _, text := range []string{table.Markdown(), table.CSV(), table.LaTeX(), table.HTML(), table.Text()} {
			if strings.Contains(text, "x</td>") {
				t.Errorf("an entry without a column: %s", text)
			}
		}
	}
	// Rows are truncated or padded to the header.
	ragged := &tables.Table{Header: []string{"a", "b"},
		Rows: [][]tables.Entry{{}, tables.Row("x", "y", "lost")}, Grouped: true}
	if got, want := ragged.CSV(), "a,b\n,\nx,y\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{ragged.Markdown(), ragged.LaTeX(), ragged.HTML(), ragged.Text()} {
		if strings.Contains(text, "lost") {
			t.Error(text)
		}
	}
	// A row that begins with a bracket is not an argument of the line break before it.
	table := &tables.Table{Header: []string{"a"}, Rows: [][]tables.Entry{tables.Row("x"), tables.Row("[2]"), tables.Row("*")}}
	errtest.Contains(t, table.LaTeX(), "\n{}[2] \\\\\n{}* \\\\\n")
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	for ending, want := range map[string]string{
		".md": sample().Markdown(), ".csv": sample().CSV(), ".TEX": sample().LaTeX(),
		".html": sample().HTML(), ".txt": sample().Text(),
	} {
		path := filepath.Join(dir, "table"+ending)
		must.Do(sample().Save(path))
		errtest.Equal(t, path, string(must.Get(os.ReadFile(path))), want)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "table.png"):        "ends in .md, .csv, .tex, .html or .txt",
		filepath.Join(dir, "table"):            "ends in .md",
		filepath.Join(dir, "none", "table.md"): "no such file",
	} {
		errtest.Want(t, sample().Save(path), want)
	}
	must.Do(sample().Show(filepath.Join(dir, "shown.csv")))
	errtest.Equal(t, "a table that is shown", string(must.Get(os.ReadFile(filepath.Join(dir, "shown.csv")))), sample().CSV())
}

// For any entries, each format has the rows and columns of the table and preserves the text.
func FuzzFormats(f *testing.F) {
	for _, text := range []string{"", "|", `\|`, `\\`, "a&b%c_d#e{f}g~h^i", "<script>", "**x**", "`x`",
		"[a](b)", "$x$", "a\r\nb", "±–✓", "&amp;", "\"'", "\x00\xff"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	tags := regexp.MustCompile(`<[^>]*>`)
	f.Fuzz(func(t *testing.T, text string, bold bool) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return // this program produces no such text
		}
		table := &tables.Table{
			Caption: text, Header: []string{"a", text}, Notes: []string{text},
			Rows: [][]tables.Entry{{{Text: "1"}, {Text: text, Bold: bold}}, {{Text: text}, {Text: "2"}}},
		}
		plain := strings.Join(strings.Fields(text), " ")

		records, err := csv.NewReader(strings.NewReader(table.CSV())).ReadAll()
		if err != nil || len(records) != 3 || records[1][1] != plain || records[2][0] != plain {
			t.Errorf("CSV of %q is %q, %v", text, records, err)
		}

		// Unescaped pipes delimit the columns.
		rows := 0
		for _, line := range strings.Split((&tables.Table{Header: table.Header, Rows: table.Rows}).Markdown(), "\n") {
			if line != "" {
				rows++
				errtest.Equal(t, "pipes in "+line, strings.Count(line, "|")-strings.Count(line, `\|`), 3)
			}
		}
		errtest.Equal(t, "lines of Markdown", rows, 4)

		// HTML has only the tags of the table, and contains the text.
		page := table.HTML()
		for _, tag := range tags.FindAllString(page, -1) {
			name := strings.Trim(strings.Fields(tag)[0], "<>/")
			if !slices.Contains([]string{"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td",
				"span", "small", "br"}, name) {
				t.Errorf("HTML has %s", tag)
			}
		}
		errtest.Contains(t, html.UnescapeString(tags.ReplaceAllString(page, "")), plain)

		// LaTeX has no special characters besides those of the table: columns are separated by the
		// ampersands without a backslash.
		body := strings.ReplaceAll(table.LaTeX(), `\\`, "") // ends of lines
		errtest.Equal(t, "ampersands in "+body, strings.Count(body, "&")-strings.Count(body, `\&`), 3)
		if open, shut := strings.Count(body, "{")-strings.Count(body, `\{`),
			strings.Count(body, "}")-strings.Count(body, `\}`); open != shut {
			t.Errorf("%d braces open and %d close in %q", open, shut, body)
		}
		for _, special := range []string{"%", "#", "_"} {
			errtest.Equal(t, fmt.Sprintf("%s is escaped", special), strings.Count(body, special),
				strings.Count(body, `\`+special)+strings.Count(body, `$`+special))
		}

		for _, line := range strings.Split(table.Text(), "\n") {
			if strings.HasSuffix(line, " ") {
				t.Errorf("%q ends in a blank", line)
			}
		}
	})
}
