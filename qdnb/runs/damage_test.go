package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trained returns the folder of a finished run with three rows, and its metrics.
func trained(t *testing.T, root string) (dir string, log []byte) {
	t.Helper()
	w := create(t, root)
	must(t, w.Begin(-1, "generation", "qd_score"))
	for g := range 3 {
		must(t, w.Log(float64(g), 1.25*float64(g)))
	}
	must(t, w.SaveCheckpoint(2, nil, nil))
	must(t, w.SaveStatus(Status{Progress: Progress{Generation: 2}, Finished: true}))
	must(t, w.Close())
	log, err := os.ReadFile(filepath.Join(w.Dir, metricsFile))
	must(t, err)
	return w.Dir, log
}

// Lost or changed log rows are restored from the checkpoint, with a warning.
func TestLogIsRestoredFromTheCheckpoint(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"flipped": func(b []byte) []byte { b[len(b)-2] ^= 1; return b },
		"gone":    func([]byte) []byte { return nil },
	} {
		root := t.TempDir()
		dir, log := trained(t, root)
		path := filepath.Join(dir, metricsFile)
		if data := spoil([]byte(string(log))); data != nil {
			must(t, os.WriteFile(path, data, 0o666))
		} else {
			must(t, os.Remove(path))
		}
		run, err := Open(dir)
		must(t, err)
		if _, err := run.Metrics(); err == nil || !strings.Contains(err.Error(), path+" is damaged") {
			t.Errorf("%s: reading it gives %v", name, err)
		}
		w := create(t, root)
		_, generation, warnings, err := w.LoadCheckpoint(nil)
		must(t, err)
		if generation != 2 || len(warnings) != 1 || !strings.Contains(warnings[0], metricsFile) {
			t.Errorf("%s: generation %d, %q", name, generation, warnings)
		}
		must(t, w.Begin(generation, "generation", "qd_score"))
		must(t, w.Close())
		if data, err := os.ReadFile(path); err != nil || string(data) != string(log) {
			t.Errorf("%s: it is %q (%v), want %q", name, data, err, log)
		}
	}
}

// Any changed bit of a status is detected, except in the checksum's key.
func TestStatusIsSealed(t *testing.T) {
	dir, _ := trained(t, t.TempDir())
	path := filepath.Join(dir, statusFileName)
	whole, err := os.ReadFile(path)
	must(t, err)
	want, err := parseStatus(whole)
	must(t, err)
	for at := range whole {
		data := []byte(string(whole))
		data[at] ^= 1 << (at % 8)
		if got, err := parseStatus(data); err == nil && (got.Progress != want.Progress || got.Finished !=
			want.Finished || got.Log != want.Log) {
			t.Fatalf("byte %d: %+v", at, got)
		}
	}
}

// A configuration that does not match the folder's name is refused.
func TestConfigIsThatOfTheName(t *testing.T) {
	dir, _ := trained(t, t.TempDir())
	path := filepath.Join(dir, configFile)
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte(strings.Replace(string(data), `"seed": 0`, `"seed": 1`, 1)),
		0o666))
	_, err = Open(dir)
	if err == nil || !strings.Contains(err.Error(), path+" does not match its folder") {
		t.Errorf("%v", err)
	}
	other := filepath.Join(filepath.Dir(dir), "mine") // a name without a hash is not checked
	must(t, os.Rename(dir, other))
	if _, err := Open(other); err != nil {
		t.Error(err)
	}
}
