// Package tables writes tables as Markdown, CSV, LaTeX and, in notebooks, as HTML.
//
// It takes text: who makes a table rounds its numbers. It does not import GoMLX.
package tables

// Table is a table of text. All rows have as many entries as the header.
type Table struct {
	Caption string
	Header  []string
	Rows    [][]Entry
	Notes   []string // below the table, a sentence each
}

// Entry is one cell of a table.
type Entry struct {
	Text string
	Bold bool // such as the best of its column
}
