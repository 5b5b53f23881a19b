package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
)

// Clocks that jump between two sessions change nothing: no duration is a difference of dates.
func TestDatesOfTheFuture(t *testing.T) {
	begin(t)
	s := training(spec("map-elites"))
	want, alone := undisturbed(t, s)
	for _, date := range []time.Time{time.Now().AddDate(30, 0, 0), time.Now().AddDate(-30, 0, 0)} {
		root := halfway(t, s)
		dir := filepath.Join(root, s.results(t)[0])
		for _, file := range filesOf(t, s, root) {
			must.Do(os.Chtimes(file, date, date))
		}
		path := filepath.Join(dir, "status.json")
		var fields map[string]any
		must.Do(json.Unmarshal(must.Get(os.ReadFile(path)), &fields))
		fields["updated"] = date
		delete(fields, "sha256")
		must.Do(os.WriteFile(path, must.Get(json.Marshal(fields)), 0o666))
		succeed(t, s.command(t, root)...)
		same(t, s, root, want)
		run := must.Get(runs.Open(dir))
		if seconds := run.Status.Seconds; seconds <= 0 || seconds > 60+20*alone.took.Seconds() {
			t.Errorf("%v: it took %v seconds", date, seconds)
		}
	}
	timed := spec("map-elites")
	timed.Budget = qdnb.Generations(1 << 30)
	root := t.TempDir()
	e := succeed(t, append(trainArgs(timed, root), "--time", "1s", "--json")...)
	if !strings.Contains(e.stdout, `"finished":true`) || e.took > 30*time.Second {
		t.Errorf("a budget of a second took %v: %s", e.took, e.stdout)
	}
}
