package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/progress"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

type notebookCmd struct {
	Check checkCmd `cmd:""`
}

type checkCmd struct {
	Files []string `arg:"" name:"file"`
	JSON  bool     `name:"json"`
}

// outdatedOutput is an output of a notebook with runs, or plans, that are no longer those of the code, or absent.
type outdatedOutput struct {
	Notebook string            `json:"notebook"`
	Cell     int               `json:"cell"`     // of the code cells, from 1
	Output   int               `json:"output"`   // of the cell, from 1
	Outdated map[string]string `json:"outdated"` // a reason for each such run or plan
	Absent   []string          `json:"absent"`   // runs that are not here, as those that are not shipped in a new checkout
}

// byReason returns a line for each reason, with the cells whose outputs it makes outdated.
func byReason(outdated []outdatedOutput) (lines []string) {
	type reason struct{ notebook, text string }
	cells := map[reason][]string{}
	var reasons []reason
	for _, o := range outdated {
		for _, name := range slices.Sorted(maps.Keys(o.Outdated)) {
			r := reason{o.Notebook, name + " " + o.Outdated[name]}
			if cells[r] == nil {
				reasons = append(reasons, r)
			}
			cells[r] = append(cells[r], fmt.Sprint(o.Cell))
		}
	}
	for _, r := range reasons {
		of, noun := slices.Compact(cells[r]), "cell"
		if len(of) > 1 {
			noun = "cells"
		}
		lines = append(lines, fmt.Sprintf("%s, %s %s: %s", r.notebook, noun, strings.Join(of, ", "), r.text))
	}
	return lines
}

// notebook is what a notebook's file says of its outputs.
type notebook struct {
	Cells []struct {
		Type    string `json:"cell_type"`
		Outputs []struct {
			Metadata map[string]json.RawMessage `json:"metadata"`
		} `json:"outputs"`
	} `json:"cells"`
}

// Run lists outdated outputs.
func (c *checkCmd) Run() error {
	plans := plans{found: map[string]plan{}}
	outdated, named, absent := []outdatedOutput{}, 0, 0 // absent: outputs that cannot be compared, among outdated
	bar := progress.NewBar("outputs", c.JSON)
	for i, file := range c.Files {
		bar.Update(float64(i)/float64(len(c.Files)), file)
		found, n, err := checkNotebook(&plans, file)
		if err != nil {
			bar.Close()
			return err
		}
		outdated, named = append(outdated, found...), named+n
	}
	for _, o := range outdated {
		if len(o.Outdated) == 0 {
			absent++
		}
	}
	bar.Close()
	if c.JSON {
		if err := json.NewEncoder(stdout).Encode(outdated); err != nil {
			return err
		}
	} else {
		for _, line := range byReason(outdated) {
			fmt.Fprintln(stdout, line)
		}
		for _, dir := range slices.Sorted(maps.Keys(plans.found)) {
			if p := plans.found[dir]; p.others > 0 && p.shipped {
				fmt.Fprintf(stdout, "%s has %d shipped runs that were computed by other programs than today's (%s): cells that "+
					"show them are right, and to renew them run its plan again (`qdnb sweep run`) and ship that (`qdnb sweep ship`)\n",
					dir, p.others, strings.Join(slices.Sorted(maps.Keys(p.of)), ", "))
			}
		}
		if absent > 0 {
			fmt.Fprintf(stdout, "outputs whose runs are not here: %d; rerun their cells to compare them\n", absent)
		}
	}
	if n := len(outdated) - absent; n > 0 {
		return fmt.Errorf("%d of %d outputs that name their runs are outdated: rerun their cells", n, named)
	}
	if !c.JSON {
		fmt.Fprintf(stdout, "%d outputs name their runs; none that could be compared is outdated\n", named)
	}
	return nil
}

// checkNotebook returns the outputs of a notebook that are outdated or show absent runs, and how many name their runs.
func checkNotebook(plans *plans, file string) (outdated []outdatedOutput, named int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", file, names.File(err, "give the path of a notebook, as in notebooks/watch.ipynb"))
	}
	var book notebook
	if err := json.Unmarshal(text, &book); err != nil {
		return nil, 0, fmt.Errorf("%s is not a notebook: %w", file, names.JSON(err))
	}
	if book.Cells == nil {
		return nil, 0, fmt.Errorf("%s is not a notebook: it has no cells", file)
	}
	// The last one that a cell trained, by the name without its hash. An output that compares it with another is not
	// outdated.
	trained, number := map[string]string{}, 0
	kept := map[string]bool{} // all that cells trained
	type showing struct {
		outdatedOutput
		runs  map[string]int    // the generations shown, by folder
		plans map[string]string // the identities shown, by folder
	}
	var outputs []showing
	for _, cl := range book.Cells {
		if cl.Type == "code" {
			number++
		}
		for k, output := range cl.Outputs {
			var o showing
			_ = json.Unmarshal(output.Metadata[cell.RunsKey], &o.runs) // many outputs name no runs
			_ = json.Unmarshal(output.Metadata[cell.PlansKey], &o.plans)
			if len(o.runs)+len(o.plans) == 0 {
				continue
			}
			o.outdatedOutput = outdatedOutput{file, number, k + 1, map[string]string{}, []string{}}
			outputs = append(outputs, o)
			for dir := range o.runs {
				if output.Metadata[cell.TrainedKey] != nil {
					trained[withoutHash(dir)], kept[dir] = dir, true
				}
			}
		}
	}
	for _, o := range outputs {
		for dir, generation := range o.runs {
			reason := ""
			now := trained[withoutHash(dir)]
			if _, both := o.runs[now]; now != "" && !kept[dir] && !both {
				reason = "has other settings than " + path.Base(now) + ", which a cell trained"
			}
			dir = resolve(file, dir)
			run, err := runs.Open(dir)
			if err != nil {
				o.Absent = append(o.Absent, filepath.Base(dir))
			} else {
				reason = cmp.Or(reason, whyOutdated(&plans.origins, run, generation))
			}
			if reason != "" {
				o.Outdated[filepath.Base(dir)] = reason
			}
		}
		for dir, identity := range o.plans {
			dir = resolve(file, dir)
			if reason := plans.open(dir).whyOutdated(identity); reason != "" {
				o.Outdated[filepath.Base(dir)] = reason
			}
		}
		if slices.Sort(o.Absent); len(o.Outdated)+len(o.Absent) > 0 {
			outdated = append(outdated, o.outdatedOutput)
		}
	}
	return outdated, len(outputs), nil
}

// resolve returns a folder that is given from the folder of a file.
func resolve(file, dir string) string {
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(filepath.Dir(file), dir)
}

func withoutHash(dir string) string { return dir[:strings.LastIndex(dir, "-")+1] }

// whyOutdated says why a run is no longer what an output shows, or what this build would compute.
func whyOutdated(origins *session.Origins, run *runs.Run, generation int) string {
	switch {
	case run.Status.Generation != int64(generation):
		return fmt.Sprintf("is shown at generation %d and is now at %d", generation, run.Status.Generation)
	case origins.Of(run) == session.OtherPrograms:
		return "was computed by other programs than today's"
	}
	return ""
}

// plans are the states of plans' folders.
type plans struct {
	origins session.Origins
	found   map[string]plan
}

type plan struct {
	identity string          // "" if it is not there
	others   int             // runs that were computed by other programs than today's
	of       map[string]bool // their algorithms and environments
	shipped  bool
}

func (p *plans) open(dir string) plan {
	found, known := p.found[dir]
	if known {
		return found
	}
	if data, err := paper.Open(dir); err == nil {
		found = plan{data.Identity(), 0, map[string]bool{}, data.About != nil}
		for name := range data.Generations {
			if run, err := data.Run(name); err == nil && p.origins.Of(run) == session.OtherPrograms {
				found.others, found.of[run.Config.Algorithm+" on "+run.Config.Env] = found.others+1, true
			}
		}
	}
	p.found[dir] = found
	return found
}

// whyOutdated says why the runs of a plan are no longer those that an output shows, or that this build would compute.
// Shipped runs remain those that cells show when they are rerun.
func (p plan) whyOutdated(identity string) string {
	switch {
	case p.identity == "":
		return "is not there any more"
	case p.identity != identity:
		return fmt.Sprintf("is shown with %s and now has %s", identity, p.identity)
	case p.others > 0 && !p.shipped:
		return fmt.Sprintf("has %d runs that were computed by other programs than today's", p.others)
	}
	return ""
}
