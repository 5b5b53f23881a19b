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

// outdatedOutput is an output of a notebook with runs, or plans, that are no longer those of the code.
type outdatedOutput struct {
	Notebook string            `json:"notebook"`
	Cell     int               `json:"cell"`   // of the code cells, from 1
	Output   int               `json:"output"` // of the cell, from 1
	Runs     int               `json:"runs"`   // that it shows
	Outdated map[string]string `json:"outdated"`
}

// String says the reason for one of the runs.
func (o outdatedOutput) String() string {
	name := slices.Sorted(maps.Keys(o.Outdated))[0]
	text := fmt.Sprintf("%s, cell %d, output %d: %s %s", o.Notebook, o.Cell, o.Output, name, o.Outdated[name])
	if o.Runs > 1 {
		text += fmt.Sprintf(" (%d of its %d runs are outdated)", len(o.Outdated), o.Runs)
	}
	return text
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
	var origins session.Origins
	outdated, named := []outdatedOutput{}, 0
	bar := progress.NewBar("outputs", c.JSON)
	for i, file := range c.Files {
		bar.Update(float64(i)/float64(len(c.Files)), file)
		found, n, err := checkNotebook(&origins, file)
		if err != nil {
			bar.Close()
			return err
		}
		outdated, named = append(outdated, found...), named+n
	}
	bar.Close()
	if c.JSON {
		if err := json.NewEncoder(stdout).Encode(append([]outdatedOutput{}, outdated...)); err != nil {
			return err
		}
	} else {
		for _, o := range outdated {
			fmt.Fprintln(stdout, o)
		}
	}
	if len(outdated) > 0 {
		return fmt.Errorf("%d of %d outputs that name their runs are outdated: rerun their cells", len(outdated), named)
	}
	if !c.JSON {
		fmt.Fprintf(stdout, "%d outputs name their runs; none is outdated\n", named)
	}
	return nil
}

// checkNotebook returns the outdated outputs of a notebook, and how many outputs name their runs.
func checkNotebook(origins *session.Origins, file string) (outdated []outdatedOutput, named int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, err
	}
	var book notebook
	if err := json.Unmarshal(text, &book); err != nil {
		return nil, 0, fmt.Errorf("%s is not a notebook: %w", file, names.JSON(err))
	}
	if book.Cells == nil {
		return nil, 0, fmt.Errorf("%s is not a notebook: it has no cells", file)
	}
	trained, number := map[string]string{}, 0 // the last one that a cell trained, by the name without its hash
	kept := map[string]bool{}                 // all that cells trained
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
			count := len(o.runs) + len(o.plans)
			if count == 0 {
				continue
			}
			o.outdatedOutput = outdatedOutput{file, number, k + 1, count, map[string]string{}}
			outputs = append(outputs, o)
			for dir := range o.runs {
				if output.Metadata[cell.TrainedKey] != nil {
					trained[withoutHash(dir)], kept[dir] = path.Base(dir), true
				}
			}
		}
	}
	for _, o := range outputs {
		for dir, generation := range o.runs {
			reason := ""
			if now := trained[withoutHash(dir)]; now != "" && !kept[dir] {
				reason = "has other settings than " + now + ", which a cell trained"
			}
			dir = resolve(file, dir)
			if reason = cmp.Or(reason, whyOutdated(origins, dir, generation)); reason != "" {
				o.Outdated[filepath.Base(dir)] = reason
			}
		}
		for dir, identity := range o.plans {
			dir = resolve(file, dir)
			if reason := whyPlanOutdated(origins, dir, identity); reason != "" {
				o.Outdated[filepath.Base(dir)] = reason
			}
		}
		if len(o.Outdated) > 0 {
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
func whyOutdated(origins *session.Origins, dir string, generation int) string {
	run, err := runs.Open(dir)
	switch {
	case err != nil:
		return "is not there any more"
	case run.Status.Generation != int64(generation):
		return fmt.Sprintf("is shown at generation %d and is now at %d", generation, run.Status.Generation)
	case origins.Of(run) == session.OtherPrograms:
		return "was computed by other programs than today's"
	}
	return ""
}

// whyPlanOutdated says why the runs of a plan's folder are no longer those that an output shows, or that this build would
// compute.
func whyPlanOutdated(origins *session.Origins, dir, identity string) string {
	data, err := paper.Open(dir)
	if err != nil {
		return "is not there any more"
	}
	if now := data.Identity(); now != identity {
		return fmt.Sprintf("is shown with %s and now has %s", identity, now)
	}
	others := 0
	for name := range data.Generations {
		if run, err := data.Run(name); err == nil && origins.Of(run) == session.OtherPrograms {
			others++
		}
	}
	if others > 0 {
		return fmt.Sprintf("has %d runs that were computed by other programs than today's", others)
	}
	return ""
}
