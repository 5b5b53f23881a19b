// Package tables writes tables as Markdown, CSV, LaTeX and plain text and, in notebooks, as HTML.
//
// Entries are text: callers round their numbers, with [Notation.Number] as the paper does. The
// package does not import GoMLX.
package tables

import "regexp"

// Table is a table of text. All rows have as many entries as the header: missing entries are
// written as empty ones, and entries beyond the header are left out.
type Table struct {
	Caption string
	Header  []string
	Rows    [][]Entry
	Notes   []string // below the table, one sentence each
	// Grouped means that the first column groups the rows. Formats for readers leave out a group name
	// that repeats the entry above, and separate groups with a line. CSV keeps it in every row.
	Grouped bool
}

// Entry is one cell of a table.
type Entry struct {
	Text string
	Bold bool // such as the best value of its column
}

// Row returns a row of plain entries.
func Row(texts ...string) []Entry {
	row := make([]Entry, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	return row
}

// entry returns the entry at a row and a column, or an empty one if the row is too short. If shown
// is set, the entry is for readers, who see the name of a group only once.
func (t *Table) entry(row, column int, shown bool) Entry {
	if column >= len(t.Rows[row]) || shown && column == 0 && !t.begins(row) {
		return Entry{}
	}
	return t.Rows[row][column]
}

// begins reports whether a row is the first of a group; without groups every row is.
func (t *Table) begins(row int) bool {
	if !t.Grouped || row == 0 {
		return true
	}
	return t.entry(row, 0, false).Text != t.entry(row-1, 0, false).Text
}

// opens reports whether a line separates a row from the group above.
func (t *Table) opens(row int) bool { return t.Grouped && row > 0 && t.begins(row) }

// numeric reports which columns hold numbers. Those columns are right-aligned.
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

// minus matches the hyphens that readers should see as minus signs: before numbers and in
// exponents.
var minus = regexp.MustCompile(`(^|[^\pL\pN.\-_/])-(\d|inf\b)|(\de)-(\d)`)

// shown returns a text as readers see it, on one line. CSV, which programs read, keeps hyphens.
func shown(text string) string { return minus.ReplaceAllString(line(text), "$1$3−$2$4") }

// numbersOnly matches one or more numbers with signs between them, as in "7.89e5 (± 2.87e5) [5]".
var numbersOnly = regexp.MustCompile(`^[-−+±×<>≈(\[ ]*` + number + `([^\pL\pN]+` + number + `)*[^\pL\pN]*$`)

const number = `(\d[\d.]*(e[-+]?\d+|[kMG])?|nan|inf)` // also those of [Count]
