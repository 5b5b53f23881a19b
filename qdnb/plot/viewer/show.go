package viewer

import (
	"bytes"
	"fmt"
	"html"
	"image/png"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/npz/atomicfile"
)

// Show shows the page: in a GoNB notebook below the cell, elsewhere by saving it as name.html in
// the folder of [figures.FolderVariable] (default: the current one, made if missing) and printing
// that path on standard error.
//
// A notebook that its reader does not trust shows no page, as Jupyter leaves out frames. So a
// picture comes first, as an output of its own.
func Show(name string, p *Page) error {
	if cell.In() {
		return p.display()
	}
	return cell.Save("page", name, func(path string) error { return Save(path, p) }, ".html")
}

// Save writes the page to a file, which appears whole or not at all; its folder must exist.
func Save(path string, p *Page) error {
	page, err := p.HTML()
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, page)
}

// Frame is the page as an element of another one, which isolates its styles and its program.
func (p *Page) Frame() (string, error) {
	page, err := p.HTML()
	if err != nil {
		return "", err
	}
	height := 460
	if !p.single {
		height = 540
	}
	// In the value of an attribute these two characters alone mean something.
	escaped := strings.NewReplacer("&", "&amp;", `"`, "&quot;").Replace(string(bytes.TrimSpace(page)))
	return fmt.Sprintf(`<iframe title="%s" srcdoc="%s" style="width:100%%;height:%dpx;border:0;display:block" allowfullscreen></iframe>`,
		html.EscapeString(p.Title), escaped, height), nil
}

// display sends a picture and the page to the notebook.
func (p *Page) display() error {
	frame, err := p.Frame()
	if err != nil {
		return err
	}
	poster, err := p.Poster()
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&picture, poster); err != nil {
		return fmt.Errorf("viewer: %w", err)
	}
	size := poster.Bounds().Size()
	if err := cell.SendPNG(picture.Bytes(), int(float64(size.X)/dense),
		int(float64(size.Y)/dense)); err != nil {
		return err
	}
	return cell.Send(map[protocol.MIMEType]any{protocol.MIMETextHTML: frame})
}
