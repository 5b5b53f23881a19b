package viewer

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image/png"
	"os"
	"path/filepath"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/npz/atomicfile"
	"example.com/qdnb/qdnb/figures"
)

// Show shows the page: in a GoNB notebook below the cell, elsewhere by saving it as name.html in the folder of [figures.FolderVariable]
// (default: the current one, made if missing) and printing that path on standard error.
//
// A notebook that its reader does not trust shows no page, as Jupyter leaves out frames. So a picture comes first, as an output of its own.
func Show(name string, p *Page) error {
	if gonbui.IsNotebook {
		return p.display()
	}
	if name == "" {
		return errors.New("viewer: a page needs a name to be saved under")
	}
	if !strings.EqualFold(filepath.Ext(name), ".html") {
		name += ".html"
	}
	path := filepath.Join(os.Getenv(figures.FolderVariable), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("viewer: folder for pages (see $%s): %w", figures.FolderVariable, err)
	}
	if err := Save(path, p); err != nil {
		return err
	}
	_, err := fmt.Fprintf(os.Stderr, "page saved: %s\n", path)
	return err
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

// display sends a picture and the page to the notebook, and waits until they have arrived, as the cell's program may end next.
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
	gonbui.SendData(&protocol.DisplayData{
		Data: map[protocol.MIMEType]any{protocol.MIMEImagePNG: picture.Bytes()},
		Metadata: map[string]any{string(protocol.MIMEImagePNG): map[string]int{
			"width": int(float64(poster.Bounds().Dx()) / dense), "height": int(float64(poster.Bounds().Dy()) / dense),
		}},
	})
	gonbui.DisplayHtml(frame)
	gonbui.Sync()
	if err := gonbui.Error(); err != nil {
		return fmt.Errorf("viewer: send page to the notebook: %w", err)
	}
	return nil
}
