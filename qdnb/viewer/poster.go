package viewer

type poster struct {
	png           []byte
	width, height int // CSS pixels
}

// Poster is a picture of the page.
func (p *Page) Poster() (*poster, error) { return &poster{}, nil }
