// Command docfigures draws the figures of the pages in docs, from measurements, tables of the pages,
// shipped runs and short runs (`make docs-figures`). It runs at the root of the checkout.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
)

// pages are the figures by file below docs.
var pages = []struct {
	file string
	draw func(program) (*figures.Figure, error)
}{
	{"performance.png", performance},
	{"adaptation.png", adaptation},
	{"determinism.png", determinism},
	{"faults.png", faults},
	{"guides/verify.png", verified},
}

func main() {
	if err := draw(); err != nil {
		fmt.Fprintln(os.Stderr, "docfigures:", err)
		os.Exit(1)
	}
}

func draw() error {
	folder, err := os.MkdirTemp("", "docfigures")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	p := program{nb.Interruptible(), filepath.Join(folder, "qdnb"), folder}
	if err := exec.CommandContext(p.ctx, "go", "build", "-o", p.path, "./cmd/qdnb").Run(); err != nil {
		return err
	}
	for _, page := range pages {
		figure, err := page.draw(p)
		if err == nil {
			err = figure.Save(filepath.Join("docs", page.file))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", page.file, err)
		}
	}
	return nil
}
