package figures

import (
	"math"

	"example.com/qdnb/internal/cell"
)

// FolderVariable is the environment variable that names the folder for figures of programs outside
// a notebook.
const FolderVariable = cell.FolderVariable

// Show shows the figure: in a GoNB notebook inline below the cell, elsewhere by saving it as
// name.png in the folder of [FolderVariable] (default: the current one, made if missing) and
// printing that path on standard error. A name that ends in .svg or .pdf chooses that format for
// the file.
//
// Inline it is a PNG, the one format that also shows in a notebook that its reader does not trust,
// of twice the resolution of a screen and told to take its natural size.
func Show(name string, f *Figure) error {
	if cell.In() {
		return display(f)
	}
	return cell.Save("figure", name, f.Save, formats...)
}

// display sends the figure to the notebook.
func display(f *Figure) error {
	data, err := f.PNG(Resolution)
	if err != nil {
		return err
	}
	const screen = 96 // CSS pixels per inch
	return cell.SendPNG(data, int(math.Round(f.width.Dots(screen))),
		int(math.Round(f.height.Dots(screen))))
}
