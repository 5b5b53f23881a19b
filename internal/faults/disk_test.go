package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
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
