package main

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// listed writes a run with a status.
func listed(t *testing.T, root, algorithm string, seed int64, status runs.Status) string {
	t.Helper()
	w := must.Get(runs.Create(root, must.Get(runs.NewConfig(algorithm, "arm", seed, map[string]int{"batch": 16}))))
	must.Do(errors.Join(w.SaveStatus(status), w.Close()))
	return w.Name()
}

// A folder is listed in order, whatever the states of its runs, and one that cannot be read does not
// hide the others.
func TestList(t *testing.T) {
	root := filepath.Join(t.TempDir(), "notebooks", "runs")
	ten := listed(t, root, "map-elites", 10, runs.Status{MaxFitness: -1.5, QDScore: 20.25, Finished: true})
	two := listed(t, root, "map-elites", 2, runs.Status{MaxFitness: math.Inf(-1)})
	aurora := listed(t, root, "aurora", 3, runs.Status{MaxFitness: 1, QDScore: 2, Backend: runs.Imported, Finished: true})
	broken := listed(t, root, "broken", 0, runs.Status{})
	must.Do(os.WriteFile(filepath.Join(root, broken, "config.json"), []byte("{"), 0o666))
	must.Do(os.Mkdir(filepath.Join(root, "notes"), 0o777))

	stdout, stderr := succeed(t, "list", root)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	date := must.Get(runs.LoadFrom(root, ten)).Status.Updated.Local().Format("2006-01-02 15:04")
	for i, want := range []string{"run algorithm environment seed state QD score max fitness date",
		aurora + " aurora arm 3 imported 2 1 " + date, two + " map-elites arm 2 unfinished - - " + date,
		ten + " map-elites arm 10 complete 20.25 -1.5 " + date,
		"show one with `qdnb show " + filepath.Join(root, aurora) + "`"} {
		if len(lines) != 5 || strings.Join(strings.Fields(lines[i]), " ") != want {
			t.Fatalf("line %d of\n%s\nis not %q", i, stdout, want)
		}
	}
	if !strings.Contains(stderr, filepath.Join(broken, "config.json")) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("the run that cannot be read: %s", stderr)
	}

	again, _ := succeed(t, "list", "--json", "--runs", root)
	var answer struct {
		Runs []struct {
			Name, Env, State, Date string
			Seed                   int
			QDScore                float64  `json:"qd_score"`
			MaxFitness             *float64 `json:"max_fitness"`
		}
		Unreadable int
	}
	must.Do(json.Unmarshal([]byte(again), &answer))
	if r := answer.Runs; len(r) != 3 || answer.Unreadable != 1 || r[1].Name != two || r[1].MaxFitness != nil ||
		*r[2].MaxFitness != -1.5 || r[2].QDScore != 20.25 || r[2].Seed != 10 || r[0].State != "imported" || r[0].Date == "" {
		t.Error(again)
	}

	refuses(t, mistake{[]string{"list", filepath.Join(root, "notes")}, 1, "no runs in " + filepath.Join(root, "notes")},
		mistake{[]string{"list", filepath.Join(root, "none")}, 1, "`qdnb train` makes one"})
	t.Chdir(filepath.Dir(filepath.Dir(root)))
	refuses(t, mistake{[]string{"list"}, 1, "no runs in runs; but in notebooks/runs: `qdnb list notebooks/runs` lists them"})
}

// The provenance of a run is shown: budget, date, machine and commit, and in JSON the hyperparameters.
func TestShowProvenance(t *testing.T) {
	root := t.TempDir()
	commit := strings.Repeat("0123456789", 4)
	name := listed(t, root, "map-elites", 1, runs.Status{Budget: runs.Budget{Generations: 7}, Machines: []runs.MachineUse{
		{Machine: "an abacus", Version: "v1.2", Commit: commit, After: -1},
		{Machine: "a slide rule", Version: "v1.3", Commit: "unknown", After: 4}}})
	date := must.Get(runs.LoadFrom(root, name)).Status.Updated
	stdout, _ := succeed(t, "show", name, "--runs", root)
	errtest.Contains(t, stdout, "\nbudget         7 generations\n", "\ndate           "+dateText(&date)+"\n",
		"\nmachine        an abacus (from generation 0)\n", "\nmachine        a slide rule (from generation 5)\n",
		"\ncommit         "+commit+", version v1.2 (from generation 0)\n")
	if strings.Contains(stdout, "source") {
		t.Errorf("a run without custom parts has a source:\n%s", stdout)
	}
	source := filepath.Join(root, name, "source.txt")
	must.Do(os.WriteFile(source, nil, 0o666))
	if stdout, _ := succeed(t, "show", name, "--runs", root, "-v"); !strings.Contains(stdout,
		"\nsource         "+source+"\n") {
		t.Errorf("no source in\n%s", stdout)
	}
	stdout, _ = succeed(t, "show", name, "--runs", root, "--json")
	var answer struct {
		Hyperparameters map[string]int
		Machines        []runs.MachineUse
		Budget          runs.Budget
		Date            string
	}
	must.Do(json.Unmarshal([]byte(stdout), &answer))
	if answer.Hyperparameters["batch"] != 16 || len(answer.Machines) != 2 || answer.Machines[0].Commit != commit ||
		answer.Budget.Generations != 7 || !strings.HasPrefix(answer.Date, date.Format("2006-01-02T15:04:05")) {
		t.Error(stdout)
	}
}

// A folder none of whose runs can be read is an error, as JSON, too.
func TestListOfBrokenRuns(t *testing.T) {
	root := t.TempDir()
	name := listed(t, root, "map-elites", 1, runs.Status{})
	must.Do(os.WriteFile(filepath.Join(root, name, "status.json"), []byte("{"), 0o666))
	for _, args := range [][]string{{"list", root}, {"list", root, "--json"}} {
		if _, stderr, status := invoke(t, args...); status != 1 || !strings.Contains(stderr, "none of the runs") {
			t.Errorf("%q: status %d, %q", args, status, stderr)
		}
	}
}
