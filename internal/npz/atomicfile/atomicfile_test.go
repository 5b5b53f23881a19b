package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/internal/must"
)

func TestWriteReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, text := range []string{"long contents", "new", ""} {
		must.Do(WriteBytes(path, []byte(text)))
		if got := string(must.Get(os.ReadFile(path))); got != text {
			t.Errorf("the file holds %q, want %q", got, text)
		}
	}
}

func TestFailureLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	must.Do(WriteBytes(path, []byte("old")))
	failure := errors.New("failure")
	err := Write(path, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Error(err)
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	if got := string(must.Get(os.ReadFile(path))); got != "old" {
		t.Errorf("the file holds %q", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder holds %v", entries)
	}
}

func TestSweepRemovesOnlyLeftovers(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(create(dir, "status.json"))
	f.Close()
	for _, name := range []string{"status.json", ".hidden"} {
		must.Do(WriteBytes(filepath.Join(dir, name), nil))
	}
	must.Do(Sweep(dir))
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("the folder holds %v", entries)
	}
}
