// Package tables writes tables as Markdown, CSV, LaTeX and plain text and, in notebooks, as HTML.
//
// It takes text: who makes a table rounds its numbers, with [Number] as the paper does. It does not
// import GoMLX.
package tables

import "regexp"

// Table is a table of text. All rows have as many entries as the header; those that a row lacks are
// written as empty ones, and those beyond the header are left out.
type Table struct {
	Caption string
	Header  []string
	Rows    [][]Entry
	Notes   []string // below the table, a sentence each
	// Grouped tells that the first column groups the rows. Where it repeats the entry above it is
	// left out for readers, and a new group begins with a line; CSV has it in every row.
	Grouped bool
}

// Entry is one cell of a table.
type Entry struct {
	Text string
	Bold bool // such as the best of its column
}

// Row makes a row of plain entries.
func Row(texts ...string) []Entry {
	row := make([]Entry, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	return row
}

// entry is that of a row and a column, empty where the row is too short. shown tells that it is for
// readers, who see the name of a group once.
func (t *Table) entry(row, column int, shown bool) Entry {
	if column >= len(t.Rows[row]) || shown && column == 0 && !t.begins(row) {
		return Entry{}
	}
	return t.Rows[row][column]
}

// begins tells whether a row is the first one of a group; without groups every row is.
func (t *Table) begins(row int) bool {
	if !t.Grouped || row == 0 {
		return true
	}
	return t.entry(row, 0, false).Text != t.entry(row-1, 0, false).Text
}

// numeric tells which columns hold numbers, which are written to the right.
func (t *Table) numeric() []bool {
	columns := make([]bool, len(t.Header))
	for c := range columns {
		numbers, others := 0, 0
		for r := range t.Rows {
			switch text := line(t.entry(r, c, false).Text); {
			case text == "" || text == "–":
			case numbersOnly.MatchString(text):
				numbers++
			default:
				others++
			}
		}
		columns[c] = numbers > 0 && others == 0
	}
	return columns
}

// minus finds the hyphens that readers should see as a minus: before numbers, and in their
// exponents.
var minus = regexp.MustCompile(`(^|[^\pL\pN.\-_/])-(\d|inf\b)|(\de)-(\d)`)

// shown is the line of a text as readers see it. CSV, which programs read, keeps the hyphens.
func shown(text string) string { return minus.ReplaceAllString(line(text), "$1$3−$2$4") }

// numbersOnly is one number or some with signs between them, as in "7.89e5 (± 2.87e5) [5]".
var numbersOnly = regexp.MustCompile(
	`^[-−+±×<>≈(\[ ]*(\d[\d.]*(e[-+]?\d+)?|nan|inf)([^\pL\pN]+(\d[\d.]*(e[-+]?\d+)?|nan|inf))*[^\pL\pN]*$`)
