package paper

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// folder is an experiments folder that a test fills with complete runs.
type folder struct {
	dir   string
	lines []sweep.Line
}

// run writes the run of a line: its status, the text of metrics.csv if not empty, and the additions
// of fill.
func (f *folder) run(t *testing.T, line sweep.Line, status runs.Status, metrics string,
	fill ...func(*runs.Writer)) {
	t.Helper()
	w, err := runs.Create(filepath.Join(f.dir, RunsFolder), line.Run)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if metrics != "" {
		if err := os.WriteFile(filepath.Join(w.Dir, "metrics.csv"), []byte(metrics), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	status.Finished = true
	if err := w.SaveStatus(status); err != nil {
		t.Fatal(err)
	}
	for _, add := range fill {
		add(w)
	}
	f.lines = append(f.lines, line)
}

// open reads the folder by its plan. All runs must be complete.
func (f *folder) open(t *testing.T) *Data {
	t.Helper()
	file, err := os.Create(filepath.Join(f.dir, PlanFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := sweep.Write(file, f.lines); err != nil {
		t.Fatal(err)
	}
	data, err := Open(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	if data.Complete != len(f.lines) || len(data.Problems) > 0 {
		t.Fatalf("%d of %d runs, problems %v", data.Complete, len(f.lines), data.Problems)
	}
	return data
}
