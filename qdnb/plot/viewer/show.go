package viewer

import (
	"bytes"
	"fmt"
	"html"
	"image/png"
	"math"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/npz/atomicfile"
)

// Show displays the page below the cell in a GoNB notebook. Elsewhere it saves name.html to the
// folder in [figures.FolderVariable] (default: the current folder), which it creates if missing,
// and prints the path to standard error.
//
// Untrusted notebooks do not show the page, because Jupyter removes frames. So a picture comes
// first, as a separate output.
func (p *Page) Show(name string) error {
	if cell.In() {
		return p.display()
	}
	return cell.Save("page", name, p.Save, ".html")
}

// Save writes the page to a file. The write is atomic; the folder must exist.
func (p *Page) Save(path string) error {
	page, err := p.HTML()
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, page)
}

// Frame returns the page as an element of another page, which isolates its styles and scripts.
func (p *Page) Frame() (string, error) {
	page, err := p.HTML()
	if err != nil {
		return "", err
	}
	height := 460
	if !p.single {
		height = 540
	}
	// Only these two characters are special in the value of an attribute.
	escaped := strings.NewReplacer("&", "&amp;", `"`, "&quot;").Replace(string(bytes.TrimSpace(page)))
	return fmt.Sprintf(`<iframe title="%s" srcdoc="%s" style="width:100%%;height:%dpx;border:0;`+
		`display:block" allowfullscreen></iframe>`, html.EscapeString(p.Title), escaped, height), nil
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
	if err := cell.SendPNG(picture.Bytes(), int(math.Round(float64(size.X)/dense)),
		int(math.Round(float64(size.Y)/dense))); err != nil {
		return err
	}
	return cell.Send(map[protocol.MIMEType]any{protocol.MIMETextHTML: frame})
}
