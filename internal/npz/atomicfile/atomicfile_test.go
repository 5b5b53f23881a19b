package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func TestWriteReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, text := range []string{"long contents", "new", ""} {
		must.Do(WriteBytes(path, []byte(text)))
		errtest.Equal(t, "the file", string(must.Get(os.ReadFile(path))), text)
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
	errtest.Equal(t, "the file", string(must.Get(os.ReadFile(path))), "old")
	errtest.Equal(t, "files", len(must.Get(os.ReadDir(dir))), 1)
}

func TestSweepRemovesOnlyLeftovers(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(create(dir, "status.json"))
	f.Close()
	for _, name := range []string{"status.json", ".hidden"} {
		must.Do(WriteBytes(filepath.Join(dir, name), nil))
	}
	must.Do(Sweep(dir))
	errtest.Equal(t, "files", len(must.Get(os.ReadDir(dir))), 2)
}
