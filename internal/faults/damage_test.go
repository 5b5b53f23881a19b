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
			stopped := halfway(t, s)
			random := dice(t)
			dir := filepath.Join(stopped, s.results(t)[0])
			kinds := map[string][]string{}
			for _, file := range filesOf(t, s, stopped) {
				kinds[kindOf(dir, file)] = append(kinds[kindOf(dir, file)], file)
			}
			for kind, files := range kinds {
				survived, refused := 0, 0
				for range trials {
					root := t.TempDir()
					must.Do(os.CopyFS(root, os.DirFS(stopped)))
					args := s.command(t, root)
					relative, _ := filepath.Rel(stopped, files[random.IntN(len(files))])
					what := relative + ": " + damage(t, random, filepath.Join(root, relative))
					e := invoke(t, args...)
					if e.status == 0 {
						survived++
						difference := compareRuns(filepath.Join(root, s.results(t)[0]),
							filepath.Join(want, s.results(t)[0]))
						if kind == "snapshots" && strings.Contains(difference, filepath.Join(root, relative)+": ") {
							// Training does not read it, and nothing can recreate it; commands that read it report the
							// damage.
							survived--
							refused++
							continue
						}
						if difference != "" {
							t.Errorf("%s: it resumes to a different result: %s; it said %q", what, difference, e.stderr)
						}
						continue
					}
					refused++
					if last := lastLine(e.stderr); e.status != 1 || !strings.Contains(last,
						filepath.Base(relative)) {
						t.Errorf("%s: status %d, %q does not name the file", what, e.status, e.stderr)
					}
				}
				t.Logf("%s: %d damaged, %d resumed to the same bytes, %d were rejected by name", kind, trials,
					survived, refused)
			}
		})
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// A finished run with one damaged file shows and exports the same as before, or the error names the
// file.
func TestDamagedWhenFinished(t *testing.T) {
	begin(t)
	const trials = 4
	for _, algorithm := range []string{"map-elites", "diayn"} {
		t.Run(algorithm, func(t *testing.T) {
			s0 := spec(algorithm)
			s0.Budget = qdnb.Generations(20)
			s := training(s0)
			finished, _ := undisturbed(t, s)
			name := s.results(t)[0]
			random := dice(t)
			commands := func(root string) map[string][]string {
				dir := filepath.Join(root, name)
				list := map[string][]string{
					"show": {"show", dir}, "figures": {"show", dir, "--figures", filepath.Join(root, "out")},
					"export": {"export", "--run", dir, "--repertoire", "--out", filepath.Join(root, "out.npz")},
					"train":  append(trainArgs(s0, root), "--json"),
				}
				if algorithm == "diayn" {
					list["eval"] = []string{"eval", "--json", "--run", dir, "--episodes", "2"}
				}
				return list
			}
			// shown returns the output of the commands that show and export, and how they ended.
			shown := func(root string) (texts map[string]string, ends map[string]ending) {
				texts, ends = map[string]string{}, map[string]ending{}
				for command, args := range commands(root) {
					e := invoke(t, args...)
					ends[command] = e
					text := strings.ReplaceAll(e.stdout, root, "ROOT")
					for _, pattern := range []string{"out/*.png", "out.npz"} {
						made, _ := filepath.Glob(filepath.Join(root, pattern))
						for _, file := range made {
							data := must.Get(os.ReadFile(file))
							text += fmt.Sprintf("%s %x\n", filepath.Base(file), data)
							must.Do(os.Remove(file))
						}
					}
					texts[command] = text
				}
				return texts, ends
			}
			want, _ := shown(finished)
			for _, file := range filesOf(t, s, finished) {
				relative, _ := filepath.Rel(finished, file)
				if strings.Contains(relative, "checkpoints") || strings.HasSuffix(relative, "status.json") {
					continue
				}
				if strings.Contains(relative, "snapshots") && random.IntN(4) > 0 {
					continue
				}
				as, refused := 0, 0
				for range trials {
					root := t.TempDir()
					must.Do(os.CopyFS(root, os.DirFS(finished)))
					what := relative + ": " + damage(t, random, filepath.Join(root, relative))
					got, ends := shown(root)
					for command, text := range got {
						switch e := ends[command]; {
						case e.status == 0 && text == want[command]:
							as++
						case e.status == 0:
							t.Errorf("%s: %s shows something else; it said %q\n%.300s\nwant\n%.300s", what, command,
								e.stderr, text, want[command])
						case !strings.Contains(lastLine(e.stderr), filepath.Base(relative)):
							t.Errorf("%s: %s fails with %q, which does not name the file", what, command, e.stderr)
						default:
							refused++
						}
					}
				}
				t.Logf("%s: %d times damaged, %d commands showed what they did before, %d named the file",
					filepath.Base(relative), trials, as, refused)
			}
		})
	}
}
