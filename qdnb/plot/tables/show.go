package tables

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/npz/atomicfile"
)

// writers are the formats of files by their extension.
var writers = map[string]func(*Table) string{".md": (*Table).Markdown, ".csv": (*Table).CSV, ".tex": (*Table).LaTeX,
	".html": (*Table).HTML, ".txt": (*Table).Text}

func writerOf(path string) func(*Table) string { return writers[strings.ToLower(filepath.Ext(path))] }

// Save writes the table to a file atomically, in the format of the path's extension: .md, .csv,
// .tex, .html or .txt.
func (t *Table) Save(path string) error {
	write := writerOf(path)
	if write == nil {
		return fmt.Errorf("tables: %s: use a file name that ends in .md, .csv, .tex, .html or .txt", path)
	}
	if err := atomicfile.WriteBytes(path, []byte(write(t))); err != nil {
		return fmt.Errorf("tables: save table: %w", err)
	}
	return nil
}

// Show displays the table below the cell in a GoNB notebook. Elsewhere it writes to the file name
// if that has an extension of [Table.Save], and otherwise prints the table to standard output.
//
// In a notebook the output is HTML, which untrusted notebooks display, too, with plain text as an
// alternative.
func (t *Table) Show(name string) error {
	if cell.In() {
		page := t.HTML()
		if runs := cell.Caption(); runs != "" {
			page += "<div style=\"font-size:0.75em;color:gray\">" + hypertext(runs) + "</div>\n"
		}
		return cell.Send(map[protocol.MIMEType]any{protocol.MIMETextHTML: page,
			protocol.MIMETextPlain: t.Text()})
	}
	if writerOf(name) != nil {
		return t.Save(name)
	}
	_, err := fmt.Fprintln(os.Stdout, t.Text())
	return err
}
