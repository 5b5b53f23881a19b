package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
)

// A second process on a run is rejected with one line, and the first is unaffected.
func TestTwoOnOneRun(t *testing.T) {
	begin(t)
	for _, s := range []subject{training(spec("map-elites")), training(spec("smerl-dads"))} {
		want, _ := undisturbed(t, s)
		root := t.TempDir()
		p := start(t, s.command(t, root)...)
		began(t, s, p, root, nil)
		for range 3 {
			e := invoke(t, s.command(t, root)...)
			if e.status == 0 { // the first is done by now
				break
			}
			e.oneLine(t, 1, s.results(t)[0], "is being trained by process "+strconv.Itoa(p.cmd.Process.Pid),
				"wait for it or stop it")
		}
		if e := p.wait(); e.status != 0 || e.stderr != "" {
			t.Errorf("the first one: status %d, %s", e.status, e.stderr)
		}
		same(t, s, root, want)
	}
}

// Three processes share a plan while one of them is killed.
func TestThreeOnOnePlan(t *testing.T) {
	begin(t)
	want, alone := undisturbed(t, plan)
	root := t.TempDir()
	args := plan.command(t, root)
	first, second, third := start(t, args...), start(t, args...), start(t, args...)
	time.Sleep(alone.took / 2)
	_ = first.cmd.Process.Kill()
	first.wait()
	for _, p := range []*process{second, third} {
		if e := p.wait(); e.status != 0 {
			t.Errorf("status %d: %s", e.status, e.stderr)
		}
	}
	same(t, plan, root, want)
}

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
		data, err := os.ReadFile(path)
		must.Do(err)
		var fields map[string]any
		must.Do(json.Unmarshal(data, &fields))
		fields["updated"] = date
		delete(fields, "sha256")
		data = must.Get(json.Marshal(fields))
		must.Do(os.WriteFile(path, data, 0o666))
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
