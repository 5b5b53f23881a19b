package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb"
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

// drawing is a figure by the name of its file.
type drawing struct {
	name string
	make func() (*figures.Figure, error)
}

// drawings are the figures of a run that there is data for: of an imported policy with skills, which has no repertoire and was not
// evaluated, none.
func drawings(run *runs.Run) ([]drawing, error) {
	switch run.Config.Algorithm {
	case qdnb.Adaptation:
		return []drawing{{"adaptation", func() (*figures.Figure, error) { return figures.Adaptation(run) }}}, nil
	case qdnb.HierarchicalControl:
		return drawingsOfControl(run), nil
	}
	var list []drawing
	if run.HasRepertoire() || !run.HasSkills() { // without either it is not complete
		list = append(list, drawing{"repertoire", func() (*figures.Figure, error) { return figures.Repertoire(run) }})
		axis := figures.Evaluations
		if run.HasSkills() { // what learns counts its steps
			axis = figures.EnvSteps
		}
		list = append(list, drawing{"metrics", func() (*figures.Figure, error) {
			return figures.Metrics([]*runs.Run{run}, axis, figures.Minutes)
		}})
	}
	snapshots, err := run.Snapshots()
	if err != nil {
		return nil, err
	}
	if len(snapshots) > 0 {
		list = append(list, drawing{"snapshots", func() (*figures.Figure, error) { return figures.Snapshots(run, 5) }})
	}
	if run.HasSkills() && slices.Contains(envs.Names(), run.Config.Env) { // of one's own environment the limits are not known
		skills, err := run.Skills()
		if err != nil {
			return nil, err
		}
		if skills.Steps() > 0 {
			list = append(list, drawing{"trajectories", func() (*figures.Figure, error) { return figures.SkillTrajectories(run) }})
		}
	}
	return list, nil
}

// drawingsOfControl are those of a meta-controller: how it learned, and an episode once it is complete.
func drawingsOfControl(run *runs.Run) []drawing {
	list := []drawing{{"control", func() (*figures.Figure, error) {
		return figures.Columns([]*runs.Run{run}, figures.EnvSteps, "fitness_mean", "fitness_max", "hurdles_mean", "policy_loss", "value_loss", "entropy")
	}}}
	if run.Status.Finished {
		list = append(list, drawing{"episode", func() (*figures.Figure, error) {
			episode, err := qdnb.Watch(run, 0)
			if err != nil {
				return nil, err
			}
			return episode.Figure()
		}})
	}
	return list
}

// draw saves the figures of a run, and returns their paths.
func draw(run *runs.Run, dir, format string) ([]string, error) {
	list, err := drawings(run)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var paths []string
	var failed error
	for _, figure := range list {
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
