package viewer

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/draw"
	"image/png"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
)

// Show displays the page below the cell in a GoNB notebook. Elsewhere it saves name.html to the
// folder in $QDNB_FIGURES (default: the current folder), which it creates if missing,
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

// SaveSplit writes the page to a file, and its films to files in a folder of the same name next to it:
// walker.html and walker/0.js. The page loads a film when its entry is selected, from a server or from a disk, so
// it may have thousands.
func (p *Page) SaveSplit(path string) error {
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	page, films, err := p.html(url.PathEscape(filepath.Base(folder)))
	if err == nil {
		err = os.MkdirAll(folder, 0o777)
	}
	for i, film := range films {
		if err == nil {
			err = atomicfile.WriteBytes(filepath.Join(folder, fmt.Sprintf("%d.js", i)), fmt.Appendf(nil, "film(%d, %q)\n", i, film))
		}
	}
	if err == nil {
		err = atomicfile.WriteBytes(path, page)
	}
	return err
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
	return cell.Send(map[protocol.MIMEType]any{protocol.MIMETextHTML: frame + cell.CaptionHTML()})
}

const (
	posterWidth, posterHeight = 960, 240 // CSS pixels
	posterFrames              = 4
	dense                     = 1.5 // pixels per CSS pixel; twice as many would make notebooks large
)

// Poster returns a still picture of the page, for places that cannot show pages: frames of its
// first film in sequence, next to the map if there is one.
func (p *Page) Poster() (image.Image, error) {
	if p.first() < 0 {
		return nil, errNoFilm
	}
	frames, width := posterFrames, posterWidth
	var chart image.Image
	if p.cells != nil {
		c := *p.cells
		c.Title = ""
		panel, err := figures.Map(c)
		if err != nil {
			return nil, err
		}
		fig, err := panel.Figure()
		if err != nil {
			return nil, err
		}
		w, h := fig.Bounds()
		const screen = 96
		if chart, err = fig.Image(int(math.Round(dense * screen * posterHeight / h.Dots(screen)))); err != nil {
			return nil, err
		}
		frames, width = posterFrames-1, posterWidth-int(posterHeight*w/h)
	}
	strip, err := scene.Strip(p.entries[p.first()].Film, frames, int(dense*float64(width)/float64(frames)), dense*posterHeight)
	if err != nil || chart == nil {
		return strip, err
	}
	left := chart.Bounds().Dx()
	both := image.NewNRGBA(image.Rect(0, 0, left+strip.Bounds().Dx(), dense*posterHeight))
	draw.Draw(both, both.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(both, chart.Bounds(), chart, chart.Bounds().Min, draw.Src)
	draw.Draw(both, strip.Bounds().Add(image.Pt(left, 0)), strip, strip.Bounds().Min, draw.Src)
	return both, nil
}
