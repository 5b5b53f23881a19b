// Package paper draws every figure and table of the paper, by number, from the runs of its
// experiments, and compares results with the paper's printed numbers.
//
// [Open] reads an experiments folder, which has plan.jsonl and a folder runs. [Items] lists the
// figures and tables. The package only draws and aggregates. It does not import GoMLX, so a
// notebook cell that uses it starts in a second.
package paper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// FolderVariable is the environment variable that names the experiments folder.
const FolderVariable = "QDNB_EXPERIMENTS"

// Contents of an experiments folder.
const (
	PlanFile   = "plan.jsonl"
	RunsFolder = "runs"
)

// Folder returns the experiments folder: the value of [FolderVariable] if set; else
// build/experiments/small in the current folder or the nearest parent with a Makefile and a go.mod
// (a checkout of qdnb); else experiments in the current folder.
func Folder() string {
	if dir := os.Getenv(FolderVariable); dir != "" {
		return dir
	}
	here, err := os.Getwd()
	if err != nil {
		return "experiments"
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "Makefile")) && exists(filepath.Join(dir, "go.mod")) {
			return filepath.Join(dir, "build", "experiments", "small")
		}
		if dir == filepath.Dir(dir) {
			return filepath.Join(here, "experiments")
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Data are the runs for figures and tables.
type Data struct {
	*results.Tables
	Dir   string // the experiments folder
	Lines []sweep.Line
}

// Open reads an experiments folder. Runs that are incomplete or unreadable are left out of figures
// and counted in Tables.
func Open(dir string) (*Data, error) {
	path := filepath.Join(dir, PlanFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: make the runs with experiments.Prepare in a notebook, or "+
			"`make experiments`", dir, PlanFile)
	}
	return OpenPlan(path)
}

// OpenPlan reads the runs of a plan from the folder runs next to it, as Open does.
func OpenPlan(path string) (*Data, error) {
	dir := filepath.Dir(path)
	lines, err := sweep.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := results.Collect(filepath.Join(dir, RunsFolder), lines)
	if err != nil {
		return nil, err
	}
	return &Data{Tables: t, Dir: dir, Lines: lines}, nil
}

// errNoData is returned by functions called without data.
var errNoData = errors.New("there are no runs: open an experiments folder with paper.Open")

// Run opens a run by its name.
func (d *Data) Run(name string) (*runs.Run, error) {
	return runs.Open(filepath.Join(d.Dir, RunsFolder, name))
}
