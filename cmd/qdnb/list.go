package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/runs"
)

type listCmd struct {
	Folder string `arg:"" optional:"" name:"folder"`
	runsFlag
	JSON bool `name:"json"`
}

// listedRun is a run in the output of `qdnb list --json`.
type listedRun struct {
	Name string `json:"name"`
	described
	State string     `json:"state"` // complete, unfinished, in training, or imported
	Date  *time.Time `json:"date"`  // of the newest state; null before the first one
}

// Run prints a line for each run. Runs that cannot be read are reported.
func (c *listCmd) Run() error {
	root := cmp.Or(c.Folder, c.folder())
	found, broken, err := runs.Find(root, "*")
	if err != nil {
		return err
	}
	report(broken)
	if len(found)+len(broken) == 0 {
		advice := "`qdnb train` makes one"
		if others := runs.Elsewhere(); len(others) > 0 {
			advice = "but in " + strings.Join(others, ", ") + ": `qdnb list " + shellWord(others[0]) + "` lists them"
		}
		err := fmt.Errorf("no runs in %s; %s", root, advice)
		if c.Folder != "" || c.Runs != "" {
			err = names.Wrongf("%w", err)
		}
		return err
	}
	list := make([]listedRun, len(found))
	for i, run := range found {
		list[i] = listedRun{Name: run.Name(), described: describe(run), State: stateOf(run), Date: dated(run)}
	}
	if c.JSON {
		err = json.NewEncoder(stdout).Encode(struct {
			Folder     string      `json:"folder"`
			Runs       []listedRun `json:"runs"`
			Unreadable int         `json:"unreadable"`
		}{root, list, len(broken)})
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("none of the runs in %s can be read", root)
	}
	if c.JSON || err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "run\talgorithm\tenvironment\tseed\tstate\tQD score\tmax fitness\tdate")
	for _, r := range list {
		score, fitness := "-", "-"
		if r.MaxFitness != nil {
			fitness = fmt.Sprintf("%.6g", *r.MaxFitness)
			if r.Algorithm != records.Adaptation { // it has no repertoire
				score = fmt.Sprintf("%.6g", r.QDScore)
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.Name, r.Algorithm, r.Env, r.Seed, r.State, score,
			fitness, dateText(r.Date))
	}
	fmt.Fprintf(w, "show one with `qdnb show %s`\n", shellWord(found[0].Dir))
	return w.Flush()
}

// stateOf is the state of a run in a word or two.
func stateOf(run *runs.Run) string {
	switch {
	case run.Status.Backend == runs.Imported:
		return "imported"
	case run.Status.Finished:
		return "complete"
	case runs.Holder(run.Dir) != "":
		return "in training"
	}
	return "unfinished"
}

// dated is the date of a run's newest state, nil before the first one.
func dated(run *runs.Run) *time.Time {
	if date := run.Status.Updated; !date.IsZero() {
		return &date
	}
	return nil
}

// dateText formats a date in this machine's time zone.
func dateText(date *time.Time) string {
	if date == nil {
		return "-"
	}
	return date.Local().Format("2006-01-02 15:04")
}
