package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.com/qdnb/qdnb/figures"
	"example.com/qdnb/qdnb/runs"
)

type showCmd struct {
	Target  string `arg:"" name:"run" help:"Folder of a run, or its name in the folder of the runs; the beginning of a name is enough if it is the only one."`
	Runs    string `help:"Folder of the runs (default $QDNB_RUNS, else \"runs\")."`
	Figures string `placeholder:"DIR" help:"Draw the figures into this folder (default: \"figures\" in the run's folder)."`
	Format  string `enum:"png,svg,pdf" default:"png" help:"Format of the figures: png, svg or pdf."`
	JSON    bool   `name:"json" help:"Print the numbers as one JSON object and draw nothing."`
}

// Run prints and draws.
func (c *showCmd) Run() error {
	run, err := c.find()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(run)
	}
	printRun(run)
	dir := c.Figures
	if dir == "" {
		dir = filepath.Join(run.Dir, "figures")
	}
	paths, err := draw(run, dir, c.Format)
	for _, path := range paths {
		fmt.Printf("figure         %s\n", path)
	}
	return err
}

// find opens the run that the argument names.
func (c *showCmd) find() (*runs.Run, error) {
	if c.Runs != "" {
		return runs.LoadFrom(c.Runs, c.Target)
	}
	return runs.Load(c.Target)
}

// draw saves the figures of a run that there is data for, and returns their paths.
func draw(run *runs.Run, dir, format string) ([]string, error) {
	if run.HasSkills() && !run.HasRepertoire() { // skills that were imported: nothing is known of their training
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var paths []string
	var failed error
	for _, figure := range []struct {
		name string
		make func() (*figures.Figure, error)
	}{
		{"repertoire", func() (*figures.Figure, error) { return figures.Repertoire(run) }},
		{"metrics", func() (*figures.Figure, error) {
			return figures.Metrics([]*runs.Run{run}, figures.Evaluations, figures.Minutes)
		}},
		{"snapshots", func() (*figures.Figure, error) { return figures.Snapshots(run, 5) }},
	} {
		f, err := figure.make()
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", figure.name, err))
			continue
		}
		path := filepath.Join(dir, figure.name+"."+format)
		if err := f.Save(path); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, failed
}
