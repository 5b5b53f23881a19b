package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

type figuresCmd struct {
	inFlag
	Out        string   `default:"figures" placeholder:"DIR"`
	Experiment []string `placeholder:"NAME"`
	Only       []string `placeholder:"ID"`
	Format     []string `default:"png"`
	Tables     []string `default:"md,csv,tex"`
	List       bool
}

var (
	figureFormats = []string{"png", "svg", "pdf", "html"}
	tableFormats  = []string{"md", "csv", "tex"}
)

// Run draws the figures and writes the tables of the paper.
func (c *figuresCmd) Run() error {
	items, err := c.items()
	if err != nil {
		return err
	}
	if c.List {
		for _, item := range items {
			fmt.Fprintf(stdout, "%-11s %s\n", item.ID, item.Title)
		}
		return nil
	}
	for _, check := range []struct{ given, known []string }{{c.Format, figureFormats},
		{c.Tables, tableFormats}} {
		for _, format := range check.given {
			if !slices.Contains(check.known, format) {
				return names.Unknown("format", format, check.known)
			}
		}
	}
	data, err := c.data(items)
	if err != nil {
		return err
	}
	report(data.Problems)
	if err := makeFolder(c.Out); err != nil {
		return err
	}
	var missing []string
	for _, item := range items {
		paths, err := c.make(data, item)
		for _, path := range paths {
			fmt.Fprintln(stdout, path)
		}
		switch {
		case errors.As(err, new(*fs.PathError)): // a disk error would fail the others too
			return err
		case err != nil:
			fmt.Fprintf(os.Stderr, "qdnb: %s: %s\n", item.ID, oneLine(err))
			missing = append(missing, item.ID)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("failed to draw %d of %d items: %s", len(missing), len(items), strings.Join(missing, ", "))
	}
	return nil
}

func (c *figuresCmd) items() ([]paper.Item, error) {
	for _, experiment := range c.Experiment {
		if !slices.Contains(results.Experiments(), experiment) {
			return nil, names.Unknown("experiment", experiment, results.Experiments())
		}
	}
	var items []paper.Item
	for _, id := range c.Only {
		item, err := paper.Find(id)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	if len(c.Only) == 0 {
		items = paper.Items()
	}
	items = slices.DeleteFunc(items, func(item paper.Item) bool {
		return len(c.Experiment) > 0 && !slices.ContainsFunc(item.Experiments,
			func(e string) bool { return slices.Contains(c.Experiment, e) })
	})
	if len(items) == 0 {
		return nil, names.Wrongf("no selected figure or table uses the experiment %s: `qdnb figures "+
			"--list` lists them all", strings.Join(c.Experiment, " or "))
	}
	return items, nil
}

// data opens the experiments folder. The folder may be missing if no item needs runs.
func (c *figuresCmd) data(items []paper.Item) (*paper.Data, error) {
	dir := c.folder()
	needed := slices.ContainsFunc(items, func(item paper.Item) bool { return len(item.Experiments) > 0 })
	_, err := os.Stat(filepath.Join(dir, paper.PlanFile))
	if !needed && errors.Is(err, fs.ErrNotExist) {
		return &paper.Data{Tables: new(results.Tables), Dir: dir}, nil
	}
	return c.open()
}

// make writes the files of an item and returns their paths.
func (c *figuresCmd) make(data *paper.Data, item paper.Item) (paths []string, err error) {
	made, err := item.Draw(data)
	if err != nil {
		return nil, err
	}
	formats := c.Tables
	if item.Figure != nil {
		formats = c.Format
	}
	for _, format := range formats {
		path := filepath.Join(c.Out, item.ID+"."+format)
		if err := made.Save(path); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

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
	var origins session.Origins
	origin := func(run *runs.Run) string {
		if origins.Of(run) == session.OtherPrograms {
			return programs(&origins, run)
		}
		return string(origins.Of(run))
	}
	text, err := paper.ReproductionPage(origin, folders...)
	if err != nil {
		return err
	}
	figure, err := paper.ReproductionFigure(folders...)
	if err := cmp.Or(err, makeFolder(c.Out)); err != nil {
		return err
	}
	page := filepath.Join(c.Out, "reproduction.md")
	picture := filepath.Join(c.Out, "reproduction.png")
	if err := cmp.Or(figure.Save(picture), atomicfile.WriteBytes(page, []byte(text))); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n%s\n", page, picture)
	return nil
}
