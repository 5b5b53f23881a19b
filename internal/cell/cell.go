// Package cell displays output below a notebook cell, or says where a program outside a notebook
// saves its files.
package cell

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// In reports whether the program runs in a notebook cell.
func In() bool { return gonbui.IsNotebook }

// Send displays data in several formats, from which the notebook chooses. It waits until the data
// has arrived, because the cell's program may end next.
func Send(formats map[protocol.MIMEType]any) error {
	return send(&protocol.DisplayData{Data: formats})
}

// SendPNG displays a PNG file at a size in CSS pixels. Jupyter reads the size from metadata under
// the format's name, which gonbui.DisplayPng does not send.
func SendPNG(data []byte, width, height int) error {
	return send(&protocol.DisplayData{
		Data: map[protocol.MIMEType]any{protocol.MIMEImagePNG: data},
		Metadata: map[string]any{string(protocol.MIMEImagePNG): map[string]int{"width": width,
			"height": height}},
	})
}

func send(data *protocol.DisplayData) error {
	gonbui.SendData(data)
	gonbui.Sync()
	if err := gonbui.Error(); err != nil {
		return fmt.Errorf("send to the notebook: %w", err)
	}
	return nil
}

// FolderVariable is the environment variable that names the folder in which programs outside a
// notebook save files.
const FolderVariable = "QDNB_FIGURES"

// Save saves a file in the folder of FolderVariable (default: the current folder), which it creates
// if missing, and prints the path on standard error. what describes the file in messages. A name
// without one of the endings gets the first.
func Save(what, name string, save func(path string) error, endings ...string) error {
	if name == "" {
		return fmt.Errorf("a %s needs a name to be saved under", what)
	}
	if !slices.Contains(endings, strings.ToLower(filepath.Ext(name))) {
		name += endings[0]
	}
	path := filepath.Join(os.Getenv(FolderVariable), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cannot create the folder for each %s (see $%s): %w", what, FolderVariable, err)
	}
	if err := save(path); err != nil {
		return err
	}
	_, err := fmt.Fprintf(os.Stderr, "%s saved: %s\n", what, path)
	return err
}
