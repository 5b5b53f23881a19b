package faults

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
)

// disk is a small file system in memory.
type disk struct{ dir string }

// mounted mounts a disk of the given size; that needs root.
func mounted(t *testing.T, size string) disk {
	t.Helper()
	begin(t)
	d := disk{t.TempDir()}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs",
		d.dir).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no file system can be mounted here, which needs root: %v %s", err, out)
	}
	t.Cleanup(func() {
		must.Do(syscall.Unmount(d.dir, 0))
	})
	return d
}

// remount changes the disk's options, such as size=1m or ro.
func (d disk) remount(t *testing.T, options string) {
	t.Helper()
	out, err := exec.Command("mount", "-o", "remount,"+options, d.dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// refused checks that a process failed with a last line that contains all words.
func (e ending) refused(t *testing.T, words ...string) {
	t.Helper()
	last := lastLine(e.stderr)
	if e.status != 1 || strings.Count(e.stderr, "qdnb: ") > 1 && !strings.Contains(e.stderr, "failed") {
		t.Errorf("status %d: %q", e.status, e.stderr)
	}
	for _, word := range words {
		errtest.Contains(t, last, word)
	}
}

// If the disk fills during training, a run fails with one line; with more space it resumes to the
// same bytes.
func TestFullDisk(t *testing.T) {
	for _, s := range []subject{training(spec("map-elites")), training(spec("pga-aurora")),
		training(spec("smerl-dads")), adaptation, control, plan} {
		t.Run(s.name, func(t *testing.T) {
			d := mounted(t, "8k")
			want, _ := undisturbed(t, s)
			d.remount(t, "size=1m")
			root := filepath.Join(d.dir, "runs")
			args := s.command(t, root)
			full := 0
			for kilobytes := 24; ; kilobytes += 28 {
				d.remount(t, "size="+strconv.Itoa(kilobytes)+"k")
				e := invoke(t, args...)
				if e.status == 0 {
					break
				}
				full++
				e.refused(t, "no space left in "+d.dir, "free space")
				if full > 40 {
					t.Fatal("there is never enough space")
				}
			}
			same(t, s, root, want)
			t.Logf("the disk was full %d times", full)
			if full == 0 {
				t.Error("the disk was never full")
			}
		})
	}
}

// The same holds when the results of a plan, figures or exports are written.
func TestFullDiskOfResults(t *testing.T) {
	d := mounted(t, "12k")
	s := training(spec("map-elites"))
	finished, _ := undisturbed(t, s)
	run := filepath.Join(finished, s.results(t)[0])
	args := plan.command(t, t.TempDir())
	succeed(t, args...)
	must.Do(os.WriteFile(filepath.Join(d.dir, "filler"), make([]byte, 8<<10), 0o666))
	for _, command := range [][]string{
		{"show", run, "--figures", filepath.Join(d.dir, "figures")},
		{"export", "--run", run, "--repertoire", "--out", filepath.Join(d.dir, "out.npz")},
		append(args, "--out", filepath.Join(d.dir, "results")),
		{"figures", "--in", filepath.Dir(args[3+1]), "--out", filepath.Join(d.dir, "all")},
	} {
		invoke(t, command...).refused(t, d.dir)
	}
}

// An error names a folder that is not writable; finished runs in it can be read.
func TestReadOnlyDisk(t *testing.T) {
	d := mounted(t, "4m")
	s := training(spec("map-elites"))
	d.remount(t, "ro")
	e := invoke(t, s.command(t, filepath.Join(d.dir, "runs"))...)
	e.oneLine(t, 1, "cannot write to "+d.dir, "--runs")
	d.remount(t, "rw")
	root := filepath.Join(d.dir, "runs")
	p := start(t, s.command(t, root)...)
	began(t, s, p, root, nil)
	_ = p.cmd.Process.Kill()
	p.wait()
	d.remount(t, "ro")
	invoke(t, s.command(t, root)...).oneLine(t, 1, "cannot write to "+d.dir, "--runs")
	d.remount(t, "rw")
	succeed(t, s.command(t, root)...)
	want, _ := undisturbed(t, s)
	same(t, s, root, want)
	d.remount(t, "ro")
	succeed(t, s.command(t, root)...) // it is there
	invoke(t, "show", filepath.Join(root, s.results(t)[0]), "--figures",
		filepath.Join(d.dir, "figures")).refused(t, d.dir)
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
