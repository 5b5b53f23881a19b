package paper

import (
	"fmt"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
)

// Remark is a text in Markdown; "" shows nothing.
type Remark string

// OfShipped returns a text about the shipped runs, and none for other runs.
func OfShipped(d *Data, text string) (Remark, error) {
	if d.About == nil {
		return "", nil
	}
	return Remark(text), nil
}

// Show displays the text below the cell in a notebook, and prints it elsewhere.
func (r Remark) Show(string) error {
	if r != "" && cell.In() {
		return cell.Send(map[protocol.MIMEType]any{protocol.MIMETextMarkdown: string(r)})
	}
	if r != "" {
		fmt.Println(r)
	}
	return nil
}
