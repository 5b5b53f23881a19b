package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
)

func TestSetAside(t *testing.T) {
	root, c := t.TempDir(), testConfig(t)
	if aside, err := SetAside(root, c); aside != "" || err != nil {
		t.Fatalf("of nothing: %q, %v", aside, err)
	}
	for _, name := range []string{".1", ".2"} {
		w := must.Get(Create(root, c))
		if _, err := SetAside(root, c); err == nil || !strings.Contains(err.Error(),
			"is being trained by process") {
			t.Fatalf("a folder in use: %v", err)
		}
		must.Get(os.Stat(filepath.Join(w.Dir, configFile)))
		w.Close()
		aside, err := SetAside(root, c)
		if err != nil || aside != filepath.Join(root, asideDir, c.Name()+name) {
			t.Fatalf("%q, %v", aside, err)
		}
		if run, err := Open(aside); err != nil || run.Name() != c.Name() {
			t.Errorf("%v, %v", run, err)
		}
		if found, broken, err := Find(root, "*"); len(found)+len(broken) > 0 || err != nil {
			t.Errorf("still listed: %v, %v, %v", found, broken, err)
		}
	}
}
