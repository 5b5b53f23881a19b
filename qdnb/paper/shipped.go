package paper

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// A shipped folder is an experiments folder with two more files: aboutFile, and sumsFile with the
// SHA-256 of every other file, as sha256sum prints them. Its runs are written by shipRun.
const (
	aboutFile = "about.json"
	sumsFile  = "SHA256SUMS"
)

// shippedFolder is the place of the shipped folder in a checkout.
var shippedFolder = filepath.Join("notebooks", "results")

// About says where shipped runs come from.
type About struct {
	Scale   string `json:"scale"`            // such as "medium"
	Machine string `json:"machine"`          // that trained the runs
	Commit  string `json:"commit,omitempty"` // of the program that trained them
}

// complete sets a missing machine or commit to those that the runs record.
func (a *About) complete(trained []*runs.Run) error {
	var machines, commits []string
	add := func(list *[]string, text string) {
		if text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, run := range trained {
		for _, use := range run.Status.Machines {
			add(&machines, use.Machine)
			add(&commits, use.Commit)
		}
	}
	a.Machine = cmp.Or(a.Machine, strings.Join(machines, "; "))
	a.Commit = cmp.Or(a.Commit, strings.Join(commits, ", "))
	if a.Machine == "" {
		return errors.New("the runs do not record their machine: name it with --machine")
	}
	return nil
}

// Shipped reports whether an experiments folder was written by [Ship].
func Shipped(dir string) bool {
	return exists(filepath.Join(dir, aboutFile)) || exists(filepath.Join(dir, sumsFile))
}

// Shipment is what [Ship] wrote.
type Shipment struct {
	Runs, Left int   // runs that were shipped, and lines of the plan that are not complete
	Bytes      int64 // of all files
}

// Ship writes the data that figures need from the complete runs of a plan to a folder: the lines of
// these runs as plan.jsonl, their configurations, statuses, thinned and rounded metrics,
// repertoires without genotypes, and thinned trajectories of some skills. It replaces a folder that
// it wrote before, and refuses to replace any other. The same runs give the same bytes.
func Ship(dir string, lines []sweep.Line, runsFolder string, about About) (Shipment, error) {
	var s Shipment
	if exists(dir) && !Shipped(dir) {
		return s, fmt.Errorf("%s exists and holds no shipped runs: choose another folder", dir)
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return s, err
	}
	next, err := os.MkdirTemp(parent, ".shipping-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(next)
	if err := s.write(next, lines, runsFolder, about); err != nil {
		return s, err
	}
	if err := os.Chmod(next, 0o755); err != nil {
		return s, err
	}
	// dir may be the only copy of its runs: it is removed last.
	last := next + "-replaced"
	moved := os.Rename(dir, last)
	if moved != nil && !errors.Is(moved, fs.ErrNotExist) {
		return s, moved
	}
	err = os.Rename(next, dir)
	if err != nil && moved == nil {
		return s, errors.Join(err, os.Rename(last, dir))
	}
	return s, errors.Join(err, os.RemoveAll(last))
}

// write fills an empty folder.
func (s *Shipment) write(dir string, lines []sweep.Line, runsFolder string, about About) error {
	var shipped []sweep.Line
	var trained []*runs.Run
	done := map[string]bool{}
	for _, state := range sweep.Inspect(runsFolder, lines) {
		name := state.Run.Name()
		if state.Err != nil {
			return state.Err
		}
		if state.Status != sweep.Done {
			s.Left++
			continue
		}
		shipped = append(shipped, state.Line)
		if done[name] {
			continue
		}
		done[name] = true
		run, err := runs.Open(filepath.Join(runsFolder, name))
		if err != nil {
			return err
		}
		if err := shipRun(run, filepath.Join(dir, RunsFolder)); err != nil {
			return err
		}
		trained = append(trained, run)
	}
	if s.Runs = len(done); s.Runs == 0 {
		return fmt.Errorf("no run of the plan is complete in %s", runsFolder)
	}
	if err := atomicfile.Write(filepath.Join(dir, PlanFile),
		func(w io.Writer) error { return sweep.Write(w, shipped) }); err != nil {
		return err
	}
	if err := about.complete(trained); err != nil {
		return err
	}
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, aboutFile), append(text, '\n')); err != nil {
		return err
	}
	sums, size, err := sumsOf(dir)
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, file := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&list, "%s  %s\n", sums[file], file)
	}
	s.Bytes = size + int64(list.Len())
	return atomicfile.WriteBytes(filepath.Join(dir, sumsFile), list.Bytes())
}

// sumsOf returns the SHA-256 of the files of a shipped folder, by path, and their size. Hidden
// files, the list of sums itself, and folders within runs, such as the figures of `qdnb show`, are
// left out.
func sumsOf(dir string) (sums map[string]string, size int64, err error) {
	sums = map[string]string{}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		hidden := strings.HasPrefix(entry.Name(), ".")
		switch {
		case entry.IsDir() && (hidden || strings.Count(name, "/") > 1):
			return filepath.SkipDir
		case entry.IsDir() || hidden || name == sumsFile:
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		sums[name] = hex.EncodeToString(sum[:])
		size += int64(len(data))
		return nil
	})
	return sums, size, err
}

// verify checks a shipped folder, and returns what its files say about the runs. The error names
// the first file that is missing or damaged.
func verify(dir string) (*About, error) {
	const advice = "restore the folder, for example with git"
	list, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: %s", filepath.Join(dir, sumsFile), advice)
	} else if err != nil {
		return nil, err
	}
	want := map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, file, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "  ")
		if !ok || len(sum) != 2*sha256.Size {
			return nil, fmt.Errorf("%s is damaged: %s", filepath.Join(dir, sumsFile), advice)
		}
		want[file] = sum
	}
	have, _, err := sumsOf(dir)
	if err != nil {
		return nil, err
	}
	for _, file := range []string{aboutFile, PlanFile} {
		want[file] = cmp.Or(want[file], "listed") // a list without them is damaged
	}
	for _, file := range slices.Sorted(maps.Keys(want)) {
		path := filepath.Join(dir, filepath.FromSlash(file))
		switch sum, ok := have[file]; {
		case !ok:
			return nil, fmt.Errorf("%s is missing, but %s lists it: %s", path, sumsFile, advice)
		case sum != want[file]:
			return nil, fmt.Errorf("%s is damaged: its sha256 differs from %s; %s", path, sumsFile, advice)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(have)) {
		if want[file] == "" {
			return nil, fmt.Errorf("%s is not in %s: %s", filepath.Join(dir, filepath.FromSlash(file)),
				sumsFile, advice)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, aboutFile))
	if err != nil {
		return nil, err
	}
	about := &About{}
	if err := runs.Decode(text, about); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, aboutFile), err)
	}
	return about, nil
}

// checkComplete returns an error unless all runs of a shipped plan were read.
func checkComplete(dir string, t *results.Tables) error {
	if len(t.Problems) > 0 {
		return t.Problems[0]
	}
	if t.Complete != t.Lines {
		return fmt.Errorf("%s has %d runs, but only %d of them are complete in %s: ship them again",
			filepath.Join(dir, PlanFile), t.Lines, t.Complete, filepath.Join(dir, RunsFolder))
	}
	return nil
}

// notShipped is the error of a figure or table without runs in a shipped folder. Notebooks print it
// in place of the figure; see package nb.
type notShipped struct{ text string }

// Error implements error.
func (e notShipped) Error() string { return e.text }

// Absent says that an output has nothing to show, which is no failure.
func (e notShipped) Absent() bool { return true }
