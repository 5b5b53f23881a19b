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
	"slices"
	"strings"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
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

// Item is a figure or a table of the paper.
type Item struct {
	ID    string // "figure-2", "table-1", or "figure-12a"
	Title string // one-line description
	// Experiments are the experiments whose runs it needs, as in [results.Experiments]; none for items
	// that need no runs.
	Experiments []string
	Figure      func(*Data) (*figures.Figure, error) // nil for a table
	Table       func(*Data) (*tables.Table, error)   // nil for a figure
}

// Items lists the paper's figures, then its tables, by number.
func Items() []Item {
	items := slices.Concat(illustrationItems, settingItems, mapItems, scoreItems, curveItems,
		adaptationItems, sensitivityItems)
	slices.SortStableFunc(items, func(a, b Item) int { return compareID(a.ID, b.ID) })
	return items
}

// Find returns the item with an ID such as "figure-2". It also accepts "Figure 2" and "fig 2".
func Find(id string) (Item, error) {
	wanted := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(id)), " ", "-")
	if rest, ok := strings.CutPrefix(wanted, "fig-"); ok {
		wanted = "figure-" + rest
	}
	items := Items()
	names := make([]string, len(items))
	for i, item := range items {
		if item.ID == wanted {
			return item, nil
		}
		names[i] = item.ID
	}
	return Item{}, fmt.Errorf("the paper has no figure or table %q; it has %s", id,
		strings.Join(names, ", "))
}

// compareID orders figures before tables, then by number, and 12a before 12b.
func compareID(a, b string) int {
	kindA, numberA, partA := cutID(a)
	kindB, numberB, partB := cutID(b)
	if kindA != kindB {
		return strings.Compare(kindA, kindB)
	}
	if numberA != numberB {
		return numberA - numberB
	}
	return strings.Compare(partA, partB)
}

func cutID(id string) (kind string, number int, part string) {
	kind, rest, _ := strings.Cut(id, "-")
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		number = 10*number + int(rest[end]-'0')
		end++
	}
	return kind, number, rest[end:]
}
