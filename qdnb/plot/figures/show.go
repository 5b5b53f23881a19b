package figures

import (
	"math"

	"example.com/qdnb/internal/cell"
)

// FolderVariable is the environment variable for the output folder of figures outside a notebook.
const FolderVariable = cell.FolderVariable

// Show displays the figure inline in a GoNB notebook. Elsewhere it saves name.png to the folder in
// [FolderVariable] (default: the current folder), which it creates if missing, and prints the path
// to standard error. A name that ends in .svg or .pdf selects that format for the file.
//
// Inline figures are PNG, the only format that untrusted notebooks display, too. They have twice
// the resolution of a screen and metadata that sets their natural size.
func (f *Figure) Show(name string) error {
	if cell.In() {
		return f.display()
	}
	return cell.Save("figure", name, f.Save, formats...)
}

func (f *Figure) display() error {
	data, err := f.PNG(Resolution)
	if err != nil {
		return err
	}
	const screen = 96 // CSS pixels per inch
	return cell.SendPNG(data, int(math.Round(f.width.Dots(screen))),
		int(math.Round(f.height.Dots(screen))))
}

// drawing is a panel or a grid.
type drawing interface{ Figure() (*Figure, error) }

func show(d drawing, name string) error {
	f, err := d.Figure()
	if err != nil {
		return err
	}
	return f.Show(name)
}

func save(d drawing, path string) error {
	f, err := d.Figure()
	if err != nil {
		return err
	}
	return f.Save(path)
}
