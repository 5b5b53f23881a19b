package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/paper"
)

type recordCmd struct {
	In  []string `placeholder:"DIR"`
	Out string   `default:"figures" placeholder:"DIR"`
}

// Run writes the page and its figure.
func (c *recordCmd) Run() error {
	if len(c.In) == 0 {
		c.In = []string{""}
	}
	var folders []*paper.Data
	for _, dir := range c.In {
		data, err := inFlag{dir}.open()
		if err != nil {
			return err
		}
		folders = append(folders, data)
	}
	text, err := paper.ReproductionPage(folders...)
	if err != nil {
		return err
	}
	figure, err := paper.ReproductionFigure(folders...)
	if err := cmp.Or(err, makeFolder(c.Out)); err != nil {
		return err
	}
	page := filepath.Join(c.Out, "reproduction.md")
	picture := filepath.Join(c.Out, "reproduction.png")
	if err := cmp.Or(figure.Save(picture),
		atomicfile.WriteBytes(page, []byte(text))); err != nil {
		return err
	}
	fmt.Printf("%s\n%s\n", page, picture)
	return nil
}
