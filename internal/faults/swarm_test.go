package faults

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/backend"
)

// world is a folder in which the runs of a subject are trained and disturbed.
type world struct {
	*testing.T
	subject subject
	draw    *rand.Rand
	root    string
	args    []string
	disk    string        // the file system of root, if it is one of its own
	alone   time.Duration // that an undisturbed process takes
	spared  []string      // damaged files that training does not read, and nothing can recreate
}

// faults disturb the runs of a world. They report whether a process has completed the runs.
var faults = []func(*world) (what string, done bool){killed, stopped, damaged, moved, full, readOnly}

// Whatever happens to its runs, a command that is rerun completes them with the bytes of an undisturbed one, which has
// all workers. A seed draws what happens, also how many workers each process has: QDNB_SWARM=SEED tries that one again.
// There are two seeds for each subject.
func TestSwarm(t *testing.T) {
	var list []subject
	switch {
	case os.Getenv(determinismEnv) != "":
		list = onXLA(t)
	default:
		begin(t)
		if list = subjects(); plugin == "" {
			t.Log("there is no XLA plugin, so only the pure Go backend is disturbed; `make plugin` fetches it")
		} else {
			list = append(list, onXLA(t, "map-elites", "pga-aurora", "smerl-dads")...)
		}
	}
	type end struct {
		root  string
		alone time.Duration
	}
	wanted := map[string]end{}
	first, last := 0, 2*len(list)-1
	if seed := os.Getenv("QDNB_SWARM"); seed != "" {
		first = must.Get(strconv.Atoi(seed))
		last = first
	}
	for seed := first; seed <= last; seed++ {
		s := list[seed%len(list)]
		want, ok := wanted[s.name]
		if !ok {
			root, e := undisturbed(t, s)
			want = end{root, e.took}
			wanted[s.name] = want
		}
		t.Run(fmt.Sprintf("QDNB_SWARM=%d %s", seed, s.name), func(t *testing.T) {
			w := &world{T: t, subject: s, draw: rand.New(rand.NewPCG(uint64(seed), 0)), alone: want.alone}
			size := "16m"
			if s.xla {
				size = "512m" // transitions of ants, and networks of the paper's size
			}
			w.disk = mounted(t, size)
			w.root = filepath.Join(cmp.Or(w.disk, t.TempDir()), "runs")
			w.args = s.command(w.root)
			for range 2 + w.draw.IntN(5) {
				what, done := faults[w.draw.IntN(len(faults))](w)
				if t.Log(what); done {
					break
				}
			}
			w.invoke().says(t, 0)
			for _, name := range s.results() {
				dir := filepath.Join(w.root, name)
				errtest.Equal(t, name, difference(dir, filepath.Join(want.root, name), w.spared...), "")
				if took := must.Get(runs.Open(dir)).Status.Seconds; took <= 0 || took > 60+20*want.alone.Seconds() {
					t.Errorf("%s took %v seconds", name, took)
				}
			}
		})
	}
}

// start starts the command of the world with some of the numbers of workers.
func (w *world) start(env ...string) *process {
	workers := []string{"", "1", "10"}[w.draw.IntN(3)]
	return start(w.T, append(env, backend.WorkersEnv+"="+workers), w.args...)
}

func (w *world) invoke() ending { return w.start().wait() }

// begun waits until a process has written a checkpoint, or has ended.
func (w *world) begun(p *process) {
	before := w.files("state-*.npz")
	for slices.Equal(w.files("state-*.npz"), before) {
		select {
		case <-p.ended:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// files lists the files of the runs whose names match a pattern.
func (w *world) files(pattern string) (list []string) {
	for _, name := range w.subject.results() {
		for _, folder := range []string{".", "*"} {
			list = append(list, must.Get(filepath.Glob(filepath.Join(w.root, name, folder, pattern)))...)
		}
	}
	return list
}

// killed kills a process at any moment, or soon after it has written a checkpoint.
func killed(w *world) (what string, done bool) {
	p := w.start()
	if w.draw.IntN(2) == 0 {
		time.Sleep(time.Duration(w.draw.Float64() * float64(w.alone) * 0.9))
	} else {
		w.begun(p)
		time.Sleep(time.Duration(w.draw.IntN(100)) * time.Millisecond)
	}
	_ = p.cmd.Process.Kill()
	e := p.wait()
	if e.status != 0 && e.signal != syscall.SIGKILL || w.subject.trains() && !w.subject.xla && e.stderr != "" {
		w.Errorf("killed: status %d, signal %v, %q", e.status, e.signal, e.stderr)
	}
	return "killed", e.status == 0
}

// stopped sends signals. One makes a process save a checkpoint and say so, unless it comes before there is anything to
// save. A second one makes it exit at once.
func stopped(w *world) (what string, done bool) {
	all := [][]syscall.Signal{{syscall.SIGINT}, {syscall.SIGTERM}, {syscall.SIGINT, syscall.SIGINT},
		{syscall.SIGTERM, syscall.SIGINT}}
	signals := all[w.draw.IntN(len(all))]
	delay, once := time.Duration(w.draw.IntN(400))*time.Millisecond, len(signals) == 1
	var p *process
	if once {
		p = w.start("QDNB_CHECKPOINT_EVERY=1h") // so that it saves because of the signal
		time.Sleep(delay)
	} else {
		p = w.start("QDNB_CHECKPOINT_EVERY=0s")
		w.begun(p)
	}
	for _, signal := range signals {
		_ = p.cmd.Process.Signal(signal)
		time.Sleep(5 * time.Millisecond) // the first one is taken by now
	}
	sent := time.Now()
	e := p.wait()
	switch {
	case e.status == 0, e.status == 130 && (!once || !w.subject.trains() || delay < 100*time.Millisecond):
	case once && e.status == 130:
		e.says(w.T, 130, "interrupted", "is saved at generation", "rerun the same command to resume")
		errtest.Contains(w.T, e.stderr, "qdnb: stopping") // in the line before
		errtest.Equal(w.T, "times that it says how to resume", strings.Count(e.stderr, "resume"), 1)
	case !once && e.signal == signals[1] && time.Since(sent) < 5*time.Second:
	case once && e.signal == signals[0] && delay < 100*time.Millisecond:
	default:
		w.Errorf("%v after %v: status %d, signal %v, %s", signals, delay, e.status, e.signal, e.stderr)
	}
	return fmt.Sprint(signals), e.status == 0
}

// damaged damages a file as disks and careless users do: a process says which one, and leaves the others alone, or does
// without. metrics.csv has no checksum.
func damaged(w *world) (what string, done bool) {
	files := slices.DeleteFunc(w.files("*"), func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.IsDir() || info.Size() == 0 || strings.HasPrefix(filepath.Base(path), ".writing-") ||
			slices.Contains([]string{"lock", "metrics.csv"}, filepath.Base(path))
	})
	if len(files) == 0 {
		return "nothing to damage", false
	}
	path := files[w.draw.IntN(len(files))]
	intact := must.Get(os.ReadFile(path))
	what = filepath.Base(path) + ": " + damage(w.draw, path)
	if filepath.Base(filepath.Dir(path)) == "snapshots" {
		w.spared = append(w.spared, filepath.Join("snapshots", filepath.Base(path))) // commands that read it say so
		return what, false
	}
	e := w.invoke()
	if e.status != 0 {
		if e.status != 1 || !strings.Contains(lastLine(e.stderr), filepath.Base(path)) {
			w.Errorf("%s: status %d, %q does not name the file", what, e.status, e.stderr)
		}
		must.Do(os.WriteFile(path, intact, 0o666))
	}
	return what, e.status == 0
}

// moved moves the dates of all files into the future or the past: no duration is a difference of dates.
func moved(w *world) (what string, done bool) {
	date := time.Now().AddDate(30-60*w.draw.IntN(2), 0, 0)
	for _, path := range w.files("*") {
		must.Do(os.Chtimes(path, date, date))
	}
	for _, path := range w.files("status.json") {
		var fields map[string]any
		must.Do(json.Unmarshal(must.Get(os.ReadFile(path)), &fields))
		fields["updated"] = date
		must.Do(os.WriteFile(path, must.Get(json.Marshal(fields)), 0o666))
	}
	return date.String(), false
}

// full fills the disk but for some kilobytes.
func full(w *world) (what string, done bool) {
	if w.disk == "" {
		return "no disk to fill", false
	}
	var disk syscall.Statfs_t
	must.Do(syscall.Statfs(w.disk, &disk))
	left, filler := 20+w.draw.IntN(200), filepath.Join(w.disk, "filler")
	must.Do(os.WriteFile(filler, make([]byte, max(0, int(disk.Bavail)*int(disk.Bsize)-left<<10)), 0o666))
	e := w.invoke()
	if must.Do(os.Remove(filler)); e.status != 0 {
		e.says(w.T, 1, "no space left in "+w.disk, "free space")
	}
	return fmt.Sprintf("%d kB are left", left), e.status == 0
}

// readOnly makes the disk read-only. Runs that are complete can be read.
func readOnly(w *world) (what string, done bool) {
	if w.disk == "" {
		return "no disk", false
	}
	remount(w.T, w.disk, "ro")
	e := w.invoke()
	if remount(w.T, w.disk, "rw"); e.status != 0 {
		e.says(w.T, 1, "cannot write to "+w.disk, "--runs")
	}
	return "read-only", e.status == 0
}

// mounted mounts a small file system in memory, and returns its folder; that needs root.
func mounted(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Logf("no file system can be mounted here, which needs root: %v %s", err, out)
		return ""
	}
	t.Cleanup(func() { must.Do(syscall.Unmount(dir, 0)) })
	return dir
}

// remount changes the options of a file system, such as ro.
func remount(t *testing.T, dir, options string) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "remount,"+options, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

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
