package figures

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// FolderVariable is the environment variable that names the folder for figures of programs outside a notebook.
const FolderVariable = "QDNB_FIGURES"

// Show shows the figure: in a GoNB notebook inline below the cell, elsewhere by saving it as name.png in the folder
// of [FolderVariable] (default: the current one, made if missing) and printing that path on standard error. A name
// that ends in .svg or .pdf chooses that format for the file.
//
// Inline it is a PNG, the one format that also shows in a notebook that its reader does not trust, of twice the
// resolution of a screen and told to take its natural size.
func Show(name string, f *Figure) error {
	if gonbui.IsNotebook {
		return display(f)
	}
	if name == "" {
		return fmt.Errorf("figures: a figure needs a name to be saved under")
	}
	if !slices.Contains(formats, strings.ToLower(filepath.Ext(name))) {
		name += ".png"
	}
	path := filepath.Join(os.Getenv(FolderVariable), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("figures: folder for figures (see $%s): %w", FolderVariable, err)
	}
	if err := f.Save(path); err != nil {
		return err
	}
	_, err := fmt.Fprintf(os.Stderr, "figure saved: %s\n", path)
	return err
}

// display sends the figure to the notebook and waits until it has arrived, as the cell's program may end next.
func display(f *Figure) error {
	data, err := f.PNG(Resolution)
	if err != nil {
		return err
	}
	const screen = 96 // CSS pixels per inch
	// Jupyter reads an image's size from metadata under its MIME type; gonbui.DisplayPng sends none.
	gonbui.SendData(&protocol.DisplayData{
		Data: map[protocol.MIMEType]any{protocol.MIMEImagePNG: data},
		Metadata: map[string]any{string(protocol.MIMEImagePNG): map[string]int{
			"width":  int(math.Round(f.width.Dots(screen))),
			"height": int(math.Round(f.height.Dots(screen))),
		}},
	})
	gonbui.Sync()
	if err := gonbui.Error(); err != nil {
		return fmt.Errorf("figures: send figure to the notebook: %w", err)
	}
	return nil
}
