package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// trained returns the folder of a finished run with three rows.
func trained(t *testing.T, root string) (dir string) {
	t.Helper()
	w := create(t, root)
	must.Do(w.Begin(-1, "generation", "qd_score"))
	for g := range 3 {
		must.Do(w.Log(float64(g), 1.25*float64(g)))
	}
	must.Do(w.SaveCheckpoint(2, nil, nil))
	must.Do(w.SaveStatus(Status{Progress: Progress{Generation: 2}, Finished: true}))
	must.Do(w.Close())
	return w.Dir
}

// A configuration that does not match the folder's name is refused.
func TestConfigIsThatOfTheName(t *testing.T) {
	dir := trained(t, t.TempDir())
	path := filepath.Join(dir, configFile)
	data, err := os.ReadFile(path)
	must.Do(err)
	must.Do(os.WriteFile(path, []byte(strings.Replace(string(data), `"seed": 0`, `"seed": 1`, 1)),
		0o666))
	_, err = Open(dir)
	errtest.Want(t, err, path+" does not match its folder")
	other := filepath.Join(filepath.Dir(dir), "mine") // a name without a hash is not checked
	must.Do(os.Rename(dir, other))
	if _, err := Open(other); err != nil {
		t.Error(err)
	}
}
