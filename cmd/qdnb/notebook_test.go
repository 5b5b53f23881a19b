package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/runs"
)

// A notebook's outputs are outdated if their runs are gone, trained further, replaced by other settings, or computed
// by other programs.
func TestNotebookCheckListsOutdatedOutputs(t *testing.T) {
	dir := t.TempDir()
	train := func(args ...string) (string, int64) {
		succeed(t, append([]string{"train", "-q", "--backend", "go", "--runs", filepath.Join(dir, "runs"), "--algorithm",
			"map-elites", "--env", "pointmaze", "--set", "hidden=[4]", "--set", "cells=16", "--set", "cvt_samples=100",
			"--set", "episode_length=5"}, args...)...)
		found, _, err := runs.Find(filepath.Join(dir, "runs"), "*")
		must.Do(err)
		newest := found[0]
		for _, run := range found {
			if run.Status.Updated.After(newest.Status.Updated) {
				newest = run
			}
		}
		return "runs/" + newest.Name(), newest.Status.Generation
	}
	small, generation := train("--set", "batch=8", "--generations", "2")
	large, _ := train("--set", "batch=16", "--generations", "2")
	file := filepath.Join(dir, "book.ipynb")
	check := func(outputs ...string) (stdout, stderr string, status int) {
		var cells []string
		for _, output := range outputs {
			cells = append(cells, `{"cell_type":"markdown","source":[]},{"cell_type":"code","outputs":[{"output_type":"stream"},
				{"output_type":"display_data","metadata":`+output+`}]}`)
		}
		must.Do(os.WriteFile(file, []byte(`{"cells":[`+strings.Join(cells, ",")+`]}`), 0o666))
		return invoke(t, "notebook", "check", file)
	}
	of := func(run string, generation int64) string {
		return fmt.Sprintf(`{"qdnb_runs":{%q:%d}}`, run, generation)
	}
	trained := func(run string) string { return strings.Replace(of(run, 2), "{", `{"qdnb_trained":"true",`, 1) }

	if stdout, stderr, status := check(trained(small), of(small, generation), `{}`); status != 0 ||
		stdout != "2 outputs name their runs; none is outdated\n" {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	programs := filepath.Join(dir, large, "status.json")
	before := must.Get(os.ReadFile(programs))
	run := must.Get(runs.Open(filepath.Join(dir, large)))
	use := run.Status.Machines[0]
	must.Do(os.WriteFile(programs, []byte(strings.NewReplacer(use.Programs, "0123456789abcdef", use.Numbers,
		"fedcba9876543210").Replace(string(before))), 0o666))
	for _, test := range []struct {
		outputs []string
		says    string
	}{
		{[]string{of(small+"x", 2)}, "cell 1, output 2: " + filepath.Base(small) + "x is not there any more"},
		{[]string{of(small, 1)}, "is shown at generation 1 and is now at 2"},
		{[]string{`{}`, of(large, 2)}, "cell 2, output 2: " + filepath.Base(large) + " was computed by other programs than today's"},
		{[]string{trained(large), of(small, 2)}, "has other settings than " + filepath.Base(large) + ", which a cell trained"},
	} {
		stdout, stderr, status := check(test.outputs...)
		if status != 1 || !strings.Contains(stdout, test.says) || !strings.Contains(stderr, "are outdated: rerun their cells") {
			t.Errorf("status %d, %q%q, want %q", status, stdout, stderr, test.says)
		}
	}
	plan := must.Get(filepath.Abs("../../qdnb/paper/testdata/frozen"))
	identity := must.Get(paper.Open(plan)).Identity()
	if stdout, stderr, status := check(fmt.Sprintf(`{"qdnb_plans":{%q:%q}}`, plan, identity)); status != 0 {
		t.Errorf("a plan: status %d, %s%s", status, stdout, stderr)
	}
	for folder, says := range map[string]string{plan: "frozen is shown with 2 runs, 1a2b3c4d and now has " + identity,
		plan + "x": "frozenx is not there any more"} {
		stdout, _, status := check(fmt.Sprintf(`{"qdnb_plans":{%q:"2 runs, 1a2b3c4d"}}`, folder))
		if status != 1 || !strings.Contains(stdout, says) {
			t.Errorf("status %d, %q, want %q", status, stdout, says)
		}
	}
	_, _, _ = check(of(small, 1))
	stdout, _, status := invoke(t, "notebook", "check", "--json", file)
	var list []outdatedOutput
	if must.Do(json.Unmarshal([]byte(stdout), &list)); status != 1 || len(list) != 1 || list[0].Cell != 1 ||
		list[0].Outdated[filepath.Base(small)] == "" {
		t.Errorf("status %d, %s", status, stdout)
	}
	must.Do(os.WriteFile(file, []byte(`{"cells":[1]}`), 0o666))
	refuses(t, mistake{[]string{"notebook", "check", file}, 1, "is not a notebook: cells has the wrong type (number)"},
		mistake{[]string{"notebook", "check", programs + "x"}, 1, "no such file"},
		mistake{[]string{"notebook", "check", filepath.Join(dir, large, "metrics.csv")}, 1, "is not a notebook"},
		mistake{[]string{"notebook", "check", filepath.Join(dir, large, "config.json")}, 1, "it has no cells"})
}
