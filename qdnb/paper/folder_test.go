package paper

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// folder is an experiments folder that a test fills with complete runs.
type folder struct {
	dir   string
	lines []sweep.Line
}

func newFolder(t *testing.T) *folder { return &folder{dir: t.TempDir()} }

// run writes the run of a line: its status, the text of metrics.csv if not empty, and the additions
// of fill.
func (f *folder) run(t *testing.T, line sweep.Line, status runs.Status, metrics string, fill ...func(*runs.Writer)) {
	t.Helper()
	w := must.Get(runs.Create(filepath.Join(f.dir, RunsFolder), line.Run))
	defer w.Close()
	if metrics != "" {
		must.Do(os.WriteFile(filepath.Join(w.Dir, "metrics.csv"), []byte(metrics), 0o666))
	}
	status.Finished = true
	must.Do(w.SaveStatus(status))
	for _, add := range fill {
		add(w)
	}
	f.lines = append(f.lines, line)
}

// open reads the folder by its plan. All runs must be complete.
func (f *folder) open(t *testing.T) *Data {
	t.Helper()
	file := must.Get(os.Create(filepath.Join(f.dir, PlanFile)))
	defer file.Close()
	must.Do(sweep.Write(file, f.lines))
	data := must.Get(Open(f.dir))
	if data.Complete != len(f.lines) || len(data.Problems) > 0 {
		t.Fatalf("%d of %d runs, problems %v", data.Complete, len(f.lines), data.Problems)
	}
	return data
}
