package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/paper"
)

type recordCmd struct {
	In  []string `placeholder:"DIR"`
	Out string   `default:"figures" placeholder:"DIR"`
}

// Run writes the record and its figure.
func (c *recordCmd) Run() error {
	if len(c.In) == 0 {
		c.In = []string{paper.Folder()}
	}
	var folders []*paper.Data
	for _, path := range c.In {
		open := paper.Open
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			open = paper.OpenPlan
		}
		data, err := open(path)
		if err != nil {
			return err
		}
		folders = append(folders, data)
	}
	record, err := paper.Reproduce(folders...)
	if err != nil {
		return err
	}
	figure, err := record.Figure()
	if err := cmp.Or(err, makeFolder(c.Out)); err != nil {
		return err
	}
	page := filepath.Join(c.Out, "reproduction.md")
	picture := filepath.Join(c.Out, "reproduction.png")
	if err := cmp.Or(figure.Save(picture),
		atomicfile.WriteBytes(page, []byte(record.Markdown()))); err != nil {
		return err
	}
	fmt.Printf("%s\n%s\n", page, picture)
	return nil
}
