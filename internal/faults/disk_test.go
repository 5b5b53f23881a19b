package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
)

// damage damages a file as disks and careless users do, and returns a description.
func damage(random *rand.Rand, path string) (what string) {
	data := must.Get(os.ReadFile(path))
	switch random.IntN(5) {
	case 0:
		n := random.IntN(len(data))
		data, what = data[:n], fmt.Sprintf("cut off at %d of %d", n, len(data))
	case 1: // a block that was never written
		at := random.IntN(len(data))
		n := min(len(data)-at, 1+random.IntN(512))
		clear(data[at : at+n])
		what = fmt.Sprintf("zeros from %d to %d of %d", at, at+n, len(data))
	default:
		at, bit := random.IntN(len(data)), random.IntN(8)
		data[at] ^= 1 << bit
		what = fmt.Sprintf("bit %d of byte %d of %d", bit, at, len(data))
	}
	must.Do(os.WriteFile(path, data, 0o666))
	return what
}

// A finished run with one damaged file is shown, exported and evaluated as before, or the error names the file.
func TestDamagedWhenFinished(t *testing.T) {
	begin(t)
	for i, algorithm := range []string{"map-elites", "diayn"} {
		t.Run(algorithm, func(t *testing.T) {
			short := spec(algorithm)
			short.Budget = qdnb.Generations(20)
			s := training(short)
			finished, _ := undisturbed(t, s)
			name := s.results()[0]
			commands := func(root string) [][]string {
				dir := filepath.Join(root, name)
				return [][]string{{"show", dir}, {"show", dir, "--figures", filepath.Join(root, "out")},
					{"export", "--run", dir, "--repertoire", "--out", filepath.Join(root, "out.npz")},
					append(s.command(root), "--json"), {"eval", "--json", "--run", dir, "--episodes", "2"}}
			}
			shown := func(root string, e ending) string { // what a command prints and writes
				text := strings.ReplaceAll(e.stdout, root, "ROOT")
				for _, file := range append(must.Get(filepath.Glob(filepath.Join(root, "out/*.png"))), filepath.Join(root, "out.npz")) {
					data, _ := os.ReadFile(file)
					text += fmt.Sprintf("%s %x\n", filepath.Base(file), data)
					_ = os.Remove(file)
				}
				return text
			}
			var want []string
			for _, args := range commands(finished) {
				want = append(want, shown(finished, succeed(t, args...)))
			}
			draw := rand.New(rand.NewPCG(uint64(i), 0))
			for _, pattern := range []string{"*.*", "snapshots/*", "*.*", "snapshots/*"} {
				for _, path := range must.Get(filepath.Glob(filepath.Join(finished, name, pattern))) {
					base := filepath.Base(path)
					if base == "status.json" || base == "metrics.csv" { // which have no checksum
						continue
					}
					root := t.TempDir()
					must.Do(os.CopyFS(root, os.DirFS(finished)))
					what := base + ": " + damage(draw, filepath.Join(root, strings.TrimPrefix(path, finished)))
					for i, args := range commands(root) {
						switch e := invoke(t, args...); {
						case e.status != 0 && !strings.Contains(lastLine(e.stderr), base):
							t.Errorf("%s: %q fails with %q, which does not name the file", what, args, e.stderr)
						case e.status == 0 && shown(root, e) != want[i]:
							t.Errorf("%s: %q shows something else; it said %q", what, args, e.stderr)
						}
					}
				}
			}
		})
	}
}

// On a full disk, commands that write figures, exports or the results of a plan say so.
func TestFullDiskOfResults(t *testing.T) {
	begin(t)
	disk := mounted(t, "12k")
	if disk == "" {
		t.Skip("SKIPPED: a full disk needs root")
	}
	s, out := planned(), filepath.Join(disk, "out")
	root, _ := undisturbed(t, s)
	run, args := filepath.Join(root, s.results()[1]), s.command(root)
	must.Do(os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 8<<10), 0o666))
	for _, command := range [][]string{
		{"show", run, "--figures", out},
		{"export", "--run", run, "--repertoire", "--out", out + ".npz"},
		append(args, "--out", out),
		{"figures", "--in", filepath.Dir(root), "--out", out},
	} {
		invoke(t, command...).says(t, 1, disk)
	}
}

// Without a plugin, or with a wrong one, one line says so. If no backend was requested, the Go
// backend takes over with a message.
func TestPlugins(t *testing.T) {
	begin(t)
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	must.Do(os.WriteFile(text, []byte("no library"), 0o666))
	says := func(backend string, status int, words ...string) {
		t.Helper()
		root, s := t.TempDir(), training(spec("map-elites"))
		bare := []string{"PATH=" + dir, "HOME=" + dir, "QDNB_BACKEND=", "GOMLX_BACKEND=", "LD_LIBRARY_PATH=",
			"PJRT_PLUGIN_LIBRARY_PATH="}
		start(t, bare, append(s.command(root), "--backend", backend)...).wait().says(t, status, words...)
		if left, _ := filepath.Glob(filepath.Join(root, "map-elites-*")); status != 0 && len(left) > 0 {
			t.Errorf("it leaves %q", left)
		}
	}
	says("cpu", 1, "no plugin", "QDNB_NO_DOWNLOAD")
	says("", 0, "no XLA", "QDNB_NO_DOWNLOAD", "pure Go backend")
	says(text, 1, text)
	says(filepath.Join(dir, "none.so"), 1, "none.so")
	says(dir, 1, dir)
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
		says(library, 1, library)
	}
}
