package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
)

// Without a plugin, or with a wrong one, one line says so. If no backend was requested, the Go
// backend takes over with a message.
func TestPlugins(t *testing.T) {
	begin(t)
	s := training(spec("map-elites"))
	dir := t.TempDir()
	bare := []string{"PATH=" + dir, "HOME=" + dir, "QDNB_BACKEND=", "GOMLX_BACKEND=",
		"LD_LIBRARY_PATH=", "PJRT_PLUGIN_LIBRARY_PATH="}
	text := filepath.Join(dir, "text.so")
	must.Do(os.WriteFile(text, []byte("no library"), 0o666))

	e := startWith(t, bare, append(s.command(t, t.TempDir()), "--backend", "cpu")...).wait()
	e.oneLine(t, 1, "no plugin", "QDNB_NO_DOWNLOAD")
	e = startWith(t, bare, s.command(t, t.TempDir())...).wait()
	e.oneLine(t, 0, "no XLA", "QDNB_NO_DOWNLOAD", "pure Go backend")
	startWith(t, bare, append(s.command(t, t.TempDir()), "--backend", text)...).wait().oneLine(t, 1, text)
	startWith(t, bare, append(s.command(t, t.TempDir()), "--backend",
		filepath.Join(dir, "none.so"))...).wait().oneLine(t, 1, "none.so")
	startWith(t, bare, append(s.command(t, t.TempDir()), "--backend", dir)...).wait().oneLine(t, 1, dir)

	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("SKIPPED: there is no C compiler to make plugins of the wrong kind")
	}
	for name, source := range map[string]string{
		"nosymbol": `int nothing;`,
		"nothing":  `const void *GetPjrtApi(void) { return 0; }`,
		// struct_size, extension_start; version: struct_size, extension_start, major, minor; all
		// functions are absent.
		"version": `#include <stddef.h>
static struct {
	size_t size; void *extension;
	struct { size_t size; void *extension; int major, minor; } version;
	void *functions[200];
} api = {sizeof api, 0, {24, 0, 99, 7}};
const void *GetPjrtApi(void) { return &api; }`,
	} {
		library := filepath.Join(dir, name+".so")
		command := exec.Command(compiler, "-shared", "-fPIC", "-o", library, "-x", "c", "-")
		command.Stdin = strings.NewReader(source)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("cc: %v %s", err, out)
		}
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			startWith(t, bare, append(s.command(t, root), "--backend", library)...).wait().oneLine(t, 1, library)
			if left, _ := filepath.Glob(filepath.Join(root, "map-elites-*")); len(left) > 0 {
				t.Errorf("it leaves %q", left)
			}
		})
	}
}
