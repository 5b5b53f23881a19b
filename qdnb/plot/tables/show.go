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

// formats are what a table is saved as, by the ending of the file's name.
var formats = []struct {
	ending string
	write  func(*Table) string
}{
	{".md", (*Table).Markdown},
	{".csv", (*Table).CSV},
	{".tex", (*Table).LaTeX},
	{".html", (*Table).HTML},
	{".txt", (*Table).Text},
}

// format is the place among formats of a file's name, -1 if it is none of a table.
func format(name string) int {
	ending := strings.ToLower(filepath.Ext(name))
	for i, f := range formats {
		if f.ending == ending {
			return i
		}
	}
	return -1
}

// Save writes the table to a file, whole or not at all, in the format that the path's ending names:
// .md, .csv, .tex, .html or .txt.
func (t *Table) Save(path string) error {
	i := format(path)
	if i < 0 {
		return fmt.Errorf("tables: %s: the file of a table ends in .md, .csv, .tex, .html or .txt", path)
	}
	if err := atomicfile.WriteBytes(path, []byte(formats[i].write(t))); err != nil {
		return fmt.Errorf("tables: save table: %w", err)
	}
	return nil
}

// Show shows the table: in a GoNB notebook below the cell; elsewhere on standard output, or in a
// file of that name if it ends as [Table.Save] asks for.
//
// In a notebook it is HTML, which notebooks that their reader does not trust show, too, and plain
// text beside it.
func Show(name string, t *Table) error {
	if cell.In() {
		return cell.Send(map[protocol.MIMEType]any{protocol.MIMETextHTML: t.HTML(),
			protocol.MIMETextPlain: t.Text()})
	}
	if format(name) >= 0 {
		return t.Save(name)
	}
	_, err := fmt.Fprintln(os.Stdout, t.Text())
	return err
}
