package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trained returns the folder of a finished run with three rows.
func trained(t *testing.T, root string) (dir string) {
	t.Helper()
	w := create(t, root)
	must(t, w.Begin(-1, "generation", "qd_score"))
	for g := range 3 {
		must(t, w.Log(float64(g), 1.25*float64(g)))
	}
	must(t, w.SaveCheckpoint(2, nil, nil))
	must(t, w.SaveStatus(Status{Progress: Progress{Generation: 2}, Finished: true}))
	must(t, w.Close())
	return w.Dir
}

// A configuration that does not match the folder's name is refused.
func TestConfigIsThatOfTheName(t *testing.T) {
	dir := trained(t, t.TempDir())
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
