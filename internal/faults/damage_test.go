package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
)

// damage damages a file as disks and careless users do, and returns a description.
func damage(t *testing.T, random *rand.Rand, path string) string {
	t.Helper()
	data := must.Get(os.ReadFile(path))
	if len(data) == 0 {
		return "nothing"
	}
	what := ""
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

// halfway returns a folder of a subject's runs, stopped in the middle.
func halfway(t *testing.T, s subject) string {
	t.Helper()
	alone := invoke(t, s.command(t, t.TempDir())...).took
	for part := 0.5; ; part *= 0.8 {
		root := t.TempDir()
		p := startWith(t, []string{"QDNB_CHECKPOINT_EVERY=20ms"}, s.command(t, root)...)
		began(t, s, p, root, nil)
		time.Sleep(time.Duration(part * float64(alone)))
		_ = p.cmd.Process.Kill()
		if e := p.wait(); e.status != 0 && len(checkpoints(t, s, root)) >= 2 {
			return root
		}
		if part < 0.01 {
			t.Fatal("it cannot be stopped halfway")
		}
	}
}

// filesOf lists the files of a subject's first run that may be damaged. metrics.csv has no
// checksum.
func filesOf(t *testing.T, s subject, root string) (files []string) {
	t.Helper()
	dir := filepath.Join(root, s.results(t)[0])
	must.Do(filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !slices.Contains([]string{"lock", "metrics.csv"}, entry.Name()) &&
			!strings.HasPrefix(entry.Name(), ".writing-") {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// kindOf classifies files as in the table of docs/reliability.md.
func kindOf(dir, path string) string {
	name, _ := filepath.Rel(dir, path)
	folder, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return folder
}

// A stopped run with one damaged file resumes to the same bytes, or names the file.
func TestDamagedWhileStopped(t *testing.T) {
	begin(t)
	const trials = 8 // of each kind of file
	for _, s := range []subject{training(spec("map-elites")), training(spec("pga-aurora")),
		training(spec("smerl-dads")), adaptation} {
		t.Run(s.name, func(t *testing.T) {
			want, _ := undisturbed(t, s)
			stopped, name := halfway(t, s), s.results(t)[0]
			kinds := map[string][]string{}
			for _, file := range filesOf(t, s, stopped) {
				kind := kindOf(filepath.Join(stopped, name), file)
				kinds[kind] = append(kinds[kind], file)
			}
			for kind, files := range kinds {
				damaged(t, stopped, trials, func(random *rand.Rand) string { return files[random.IntN(len(files))] },
					func(t *testing.T, root, file, what string) {
						e := invoke(t, s.command(t, root)...)
						difference := ""
						if e.status == 0 {
							difference = compareRuns(filepath.Join(root, name), filepath.Join(want, name))
						}
						switch {
						case kind == "snapshots" && strings.Contains(difference, file+": "):
							// Training does not read it, and nothing can recreate it; commands that read it report the damage.
						case e.status == 0 && difference != "":
							t.Errorf("%s: it resumes to a different result: %s; it said %q", what, difference, e.stderr)
						case e.status != 0 && (e.status != 1 || !strings.Contains(lastLine(e.stderr), filepath.Base(file))):
							t.Errorf("%s: status %d, %q does not name the file", what, e.status, e.stderr)
						}
					})
			}
		})
	}
}

// damaged damages one file of copies of a folder, as often as it is told.
func damaged(t *testing.T, folder string, trials int, choose func(*rand.Rand) string,
	check func(t *testing.T, root, file, what string)) {
	t.Helper()
	random := dice(t)
	for range trials {
		root := t.TempDir()
		must.Do(os.CopyFS(root, os.DirFS(folder)))
		relative := must.Get(filepath.Rel(folder, choose(random)))
		file := filepath.Join(root, relative)
		check(t, root, file, relative+": "+damage(t, random, file))
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// A finished run with one damaged file is shown, exported and evaluated as before, or the error names the file.
func TestDamagedWhenFinished(t *testing.T) {
	begin(t)
	for _, algorithm := range []string{"map-elites", "diayn"} {
		t.Run(algorithm, func(t *testing.T) {
			s0 := spec(algorithm)
			s0.Budget = qdnb.Generations(20)
			s := training(s0)
			finished, _ := undisturbed(t, s)
			commands := func(root string) [][]string {
				dir := filepath.Join(root, s.results(t)[0])
				return [][]string{{"show", dir}, {"show", dir, "--figures", filepath.Join(root, "out")},
					{"export", "--run", dir, "--repertoire", "--out", filepath.Join(root, "out.npz")},
					append(trainArgs(s0, root), "--json"), {"eval", "--json", "--run", dir, "--episodes", "2"}}
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
			for _, file := range filesOf(t, s, finished) {
				if strings.Contains(file, "checkpoints") || strings.HasSuffix(file, "status.json") {
					continue
				}
				damaged(t, finished, 2, func(*rand.Rand) string { return file }, func(t *testing.T, root, file, what string) {
					for i, args := range commands(root) {
						switch e := invoke(t, args...); {
						case e.status != 0 && !strings.Contains(lastLine(e.stderr), filepath.Base(file)):
							t.Errorf("%s: %q fails with %q, which does not name the file", what, args, e.stderr)
						case e.status == 0 && shown(root, e) != want[i]:
							t.Errorf("%s: %q shows something else; it said %q", what, args, e.stderr)
						}
					}
				})
			}
		})
	}
}
